//! What the live core needs from outside: a durable store, and a cache for readers elsewhere.
//!
//! Implemented by the server's `store`; the core knows no SQL.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::model::{Event, Fence, GeofenceId, OrganizationId, Vehicle, VehicleId};
use crate::tracking::{Effects, VehicleState};
use crate::watch::Audience;

/// Why the store did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It does not answer, or not in time. What was being committed may or may not be stored.
    #[error("the store is away: {0}")]
    Away(String),
    /// Another server has taken over: this one must stop.
    #[error("another server has taken over the store")]
    TakenOver,
}

/// One vehicle's part of a transaction.
#[derive(Clone, Debug)]
pub struct VehicleWrite {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// What to store. Events are numbered.
    pub effects: Effects,
    /// The engine's state after it.
    pub state: Arc<VehicleState>,
}

/// One transaction: everything or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// In the order they were applied; a vehicle may occur more than once.
    pub writes: Vec<VehicleWrite>,
    /// The number after the last event's; the store refuses a batch that does not follow on.
    pub next_sequence: i64,
    /// How many events there are in it.
    pub event_count: i64,
}

/// How one write's fixes ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stored now.
    pub stored: u64,
    /// Stored before.
    pub duplicates: u64,
}

/// A vehicle and its newest committed state.
#[derive(Clone, Debug)]
pub struct VehicleSeed {
    /// The vehicle.
    pub vehicle: Vehicle,
    /// The engine's state; the default one for a vehicle that never reported.
    pub state: VehicleState,
    /// Taken out of use, but a server stopped before its stays were ended: they are at the start.
    pub is_removed: bool,
}

/// Everything the core holds in memory, as stored.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    /// Every vehicle in use, and those taken out whose stays are still open.
    pub vehicles: Vec<VehicleSeed>,
    /// Every fence with all its versions, deleted ones too.
    pub fences: Vec<Fence>,
    /// Fences with a version whose records may be missing because a server stopped in between.
    pub unsettled: Vec<(OrganizationId, GeofenceId)>,
    /// The number of the next event.
    pub next_sequence: i64,
}

/// What is stored now of vehicles whose last commit was doubtful.
#[derive(Clone, Debug, Default)]
pub struct Reread {
    /// Their states.
    pub states: Vec<(VehicleId, VehicleState)>,
    /// Events from the asked number on, in order.
    pub events: Vec<Event>,
    /// The number of the next event.
    pub next_sequence: i64,
}

/// The durable store of fixes, states, visits and events.
pub trait TrackStore: Send + Sync + 'static {
    /// Reads everything the core starts from.
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>>;

    /// Commits a batch; answers for each write. An error is doubtful: it may be stored all the same.
    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Counts>, StoreError>>;

    /// Reads back what a doubtful commit left: the vehicles' states and the events from `sequence` on.
    /// The commit that was given up must be over by then, stored or not: one that lands later would
    /// write past what memory believes.
    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, Result<Reread, StoreError>>;

    /// Notes that every record of a fence's versions up to this one is committed.
    fn mark_settled(&self, fence: GeofenceId, version: i64) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Newest vehicle states for readers outside the process. May lag and may fail: nothing rests on it.
pub trait LiveCache: Send + Sync + 'static {
    /// Puts the newest state of some vehicles.
    fn put<'a>(
        &'a self,
        states: &'a [(OrganizationId, VehicleId, Arc<VehicleState>)],
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// The log of committed events, for watchers that resume.
pub trait EventLog: Send + Sync + 'static {
    /// Events of an audience by number, from `sequence` on, at most `limit`.
    fn events_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, Result<Vec<Event>, StoreError>>;
}
