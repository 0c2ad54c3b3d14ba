//! The engine: scripts that hold it to docs/tracking.md, and properties of any track.

mod changes;
mod late;
#[path = "../ledger/mod.rs"]
mod ledger;
mod properties;
mod rules;
mod script;
mod timelines;
