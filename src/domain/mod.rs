//! What the interface speaks of, as parsed values and rules. Pure: no I/O, no clock, no HTTP.

pub mod nearest;
