//! The live side as trackers and dispatchers see it: the real server behind real sockets, on each engine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ahead;
mod answers;
mod away;
mod bad_input;
mod clock;
mod export;
mod feed;
mod flood;
mod fuel;
mod fuel_log;
#[path = "../../actors/examples/fuel_benchmark/input.rs"]
mod input;
mod kills;
mod late;
mod orders;
mod poison;
mod proxy;
mod raw_data;
mod resume;
mod retention;
#[expect(dead_code, reason = "the server detects here")]
#[path = "../../actors/examples/fuel_benchmark/score.rs"]
mod score;
mod server;
mod slice;
#[expect(dead_code, reason = "the detector's own tests use the rest")]
#[path = "../../actors/tests/fuel/tank.rs"]
mod tank;
mod tracker;
mod transfer;
mod wire;
mod writer;
