//! The live side as trackers and dispatchers see it: the real server behind real sockets, on each engine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bad_input;
mod child;
mod feed;
mod kills;
mod late;
mod orders;
mod raw_data;
mod resume;
mod server;
mod slice;
mod tracker;
mod wire;
