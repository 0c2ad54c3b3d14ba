//! What becomes of commits, as a test plans it, and what is noted of them.

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is stored and says so.
    None,
    /// It is not stored and says that it failed.
    Refuse,
    /// It is stored and says that it failed.
    Doubt,
    /// It is stored and says that it failed, and from then on the store is away.
    Vanish,
    /// It is stored and never answers.
    HangStored,
    /// It is not stored and never answers.
    Hang,
    /// It panics, and is not stored.
    Panic,
    /// Another server has taken over.
    TakenOver,
    /// It is stored, and a fix is missing from its accounts.
    Miscount,
    /// It is stored, and its records are told with numbers one too high.
    Misnumber,
}

/// One commit as it came.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) writes: usize,
    pub(crate) rows: usize,
    /// Rows, events and one for each write: what the core's bound counts.
    pub(crate) weight: usize,
}
