//! What happens to commits, as planned by a test, and what is recorded of them.

/// What happens to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is stored, and is reported as stored.
    None,
    /// It is not stored, and is reported as failed.
    Refuse,
    /// It is stored but reported as failed.
    Doubt,
    /// It is stored but reported as failed, and from then on the store is away.
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
    /// It is stored, and its records are answered with numbers one too high.
    Misnumber,
}

/// One commit as the store got it.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) writes: usize,
    pub(crate) rows: usize,
    /// Rows, events and one per write: what the core's bound counts.
    pub(crate) weight: usize,
    /// How often drivers were put right before it.
    pub(crate) numberings: usize,
}
