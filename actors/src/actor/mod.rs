//! The shell: the only folder that says actix. Each actor translates messages into calls of the
//! pure engine and effects into messages; none decides anything about geofences itself.
//!
//! Asks go at the edge ([`crate::live`]), tells go downstream. Messages flow along a line, not in a circle: edge →
//! directory → vehicle → persistence → occupancy. Persistence offers new states to the cache, and sends the
//! vehicles that are dirty to the coordinator of corrections, which comes in at the edge like every other caller. A
//! vehicle publishes its position to subscribers before the commit (`watch/hub.rs`); nothing waits for that.

pub(crate) mod runtime;
pub(crate) mod vehicle;
pub(crate) mod watch;
pub(crate) mod writer;
