//! The engine: scripts that hold it to docs/tracking.md, and properties of any track.

mod changes;
mod jitter;
mod passages;
mod properties;
mod rules;
mod script;
