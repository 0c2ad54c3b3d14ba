//! What the interface speaks of, as parsed values and rules. Pure: no I/O, no clock, no HTTP.

pub mod account;
pub mod field;
pub mod members;
pub mod nearest;
pub mod tracker;
mod words;
