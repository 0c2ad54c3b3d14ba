//! One vehicle: its actor, what it is asked, the chain of its writes, and the fixes it panics on.

pub(crate) mod actor;
mod lifecycle;
pub(crate) mod messages;
pub(crate) mod parts;
pub(crate) mod poison;
pub(crate) mod provisional;
pub(crate) mod report_batch;
pub(crate) mod write_chain;
