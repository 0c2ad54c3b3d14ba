//! The one writer: from the inbox to the commit, and what follows a commit.

pub(crate) mod batches;
pub(crate) mod cache;
pub(crate) mod commit;
pub(crate) mod corrections;
pub(crate) mod inbox;
pub(crate) mod numbering;
pub(crate) mod parts;
pub(crate) mod persistence;
pub(crate) mod refusals;
pub(crate) mod retry;
