//! What holds the actors together: threads, permits, the directory of vehicles and the way to each.

pub(crate) mod core;
pub(crate) mod directory;
pub(crate) mod handles;
pub(crate) mod permits;
pub(crate) mod registry;
pub(crate) mod router;
pub(crate) mod settlement;
pub(crate) mod threads;
mod vehicle_settlement;
pub(crate) mod watchdog;
pub(crate) mod workers;
