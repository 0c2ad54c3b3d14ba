//! The workloads: which worlds, which systems, at which pace, and what of it goes into the table.

pub(crate) mod contests;
pub(crate) mod edits;
pub(crate) mod fan_out;
pub(crate) mod growth;
pub(crate) mod idle;
pub(crate) mod inputs;
pub(crate) mod latency;
pub(crate) mod restart;
pub(crate) mod soak;
pub(crate) mod storage;
