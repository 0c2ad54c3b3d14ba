//! The engine: scripts that hold it to docs/tracking.md, and properties of any track.

mod analytics;
mod changes;
mod jitter;
mod late;
#[path = "../ledger/mod.rs"]
mod ledger;
mod passages;
mod properties;
mod rules;
mod script;
mod timelines;
