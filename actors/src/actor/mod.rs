//! The shell: the only folder that says actix. Each actor translates messages into calls of the
//! pure engine and effects into messages; none decides anything about geofences itself.
//!
//! Asks go at the edge ([`crate::live`]), tells go downstream. Who tells whom is a line, not a
//! circle: edge → directory → vehicle → persistence → occupancy; persistence offers the cache what is new, and tells the
//! coordinator of corrections who is dirty, and that one comes in at the edge like everybody else. A vehicle
//! tells those who watch where it is before that is committed (`sightings`); nobody waits for that.

pub(crate) mod runtime;
pub(crate) mod vehicle;
pub(crate) mod watch;
pub(crate) mod writer;
