//! The engine: scripts that hold it to docs/tracking.md, and properties of any track.

mod analytics;
mod changes;
mod jitter;
mod passages;
mod properties;
mod rules;
mod script;
