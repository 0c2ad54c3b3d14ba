//! The live side as trackers and dispatchers see it: the real server behind real sockets, on each engine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bad_input;
mod child;
mod feed;
mod fuel;
mod kills;
mod late;
mod orders;
mod raw_data;
mod resume;
mod retention;
mod server;
mod slice;
#[expect(dead_code, reason = "the detector's own tests use the rest")]
#[path = "../../actors/tests/fuel/tank.rs"]
mod tank;
mod tracker;
mod transfer;
mod wire;
