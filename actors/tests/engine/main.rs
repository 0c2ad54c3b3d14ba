//! The engine: scripts that hold it to docs/tracking.md, and properties of any track.

mod alerts;
mod analytics;
mod attributes;
mod bounds;
mod changes;
mod differences;
mod dry_run;
mod fences;
mod fuel;
mod instants;
mod jitter;
mod late;
#[path = "../ledger/mod.rs"]
mod ledger;
mod nearness;
mod overspeed;
mod passages;
mod properties;
mod recorded;
mod records;
mod reports;
mod rules;
mod script;
mod silences;
mod standing;
#[expect(dead_code, reason = "the detector's own tests use the rest")]
#[path = "../fuel/tank.rs"]
mod tank;
mod timelines;
mod trips;
