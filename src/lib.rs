//! Waypost: a real-time fleet tracking server. The library behind the binary and its tests.

pub mod cli;
pub mod demo;
pub mod store;
pub mod trace;
