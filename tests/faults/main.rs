//! Nothing acknowledged is ever lost: the real program, a real PostgreSQL and a real Redis, broken at
//! random moments while real traces come in, and every promise checked afterwards.
//!
//! `WAYPOST_TEST_SEED=` replays a run's moments, `WAYPOST_TEST_BINARY=` names another program than the one
//! just built, `WAYPOST_TEST_DATA=` a folder of other traces. The ignored tests are the full runs, each
//! of which prints its figures; CONTRIBUTING.md lists them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod backup;
mod book;
mod cache;
mod cluster;
mod crowd;
mod database;
mod devices;
mod disk;
mod dispatcher;
mod drill;
mod edits;
mod figures;
mod forged;
mod ground;
mod kills;
mod ledger;
mod lines;
mod node_edits;
mod outlets;
mod ownership;
mod purge;
#[expect(dead_code, reason = "tests of the live server use the rest")]
#[path = "../live/receiver.rs"]
mod receiver;
mod seed;
mod senders;
mod shelf;
mod silence;
mod stop;
mod storm;
mod tracker;
mod upgrade;
mod wire;
