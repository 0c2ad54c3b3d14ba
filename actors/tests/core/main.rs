//! The live core through its public handle: a store that fails on demand, a clock that tests set, and the
//! invariants that must hold whatever happens.

mod audit;
mod backpressure;
mod cached;
mod client;
mod commits;
mod connections;
mod edits;
mod failures;
mod fault;
mod fences;
mod late;
#[path = "../ledger/mod.rs"]
mod ledger;
mod panics;
mod passivation;
mod poison;
mod port;
mod seen;
mod settled;
mod stopping;
mod store;
mod storm;
mod vehicles;
mod watchdog;
mod watching;
mod workers;
mod world;
