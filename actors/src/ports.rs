//! What the live core needs from outside: a durable store, and a cache for readers elsewhere.
//!
//! Implemented by the server's `store`; the core knows no SQL.

use std::collections::HashMap;
use std::error::Error;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::geofence::{FenceSet, FenceTimeline};
use crate::model::{
    Change, Connection, Fix, GeofenceId, OrganizationId, Silence, Timestamp, Vehicle, VehicleId,
};
use crate::tracking::{Effects, NearSpan, Record, VehicleState};
pub use crate::tracking::{Slice, StoredFix};
use crate::watch::Audience;

/// The cause of an error on the other side of a port.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why the store did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It does not answer, or not in time. The batch being committed may or may not be stored.
    #[error("the store is away: {0}")]
    Away(#[source] Cause),
    /// It answers, but will never accept this: a value that it cannot hold. Nothing of it is stored.
    #[error("the store refuses it: {0}")]
    Refused(#[source] Cause),
    /// Another server has taken over: this one must stop.
    #[error("another server has taken over the store")]
    TakenOver,
}

impl StoreError {
    /// The store is away because of `cause`.
    pub fn away(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Away(cause.into().into())
    }

    /// The store refuses something because of `cause`.
    pub fn refused(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Refused(cause.into().into())
    }
}

/// Why the cache did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CacheError {
    /// It does not answer in time.
    #[error("no answer in time")]
    Timeout,
    /// It answers with an error, or cannot be reached.
    #[error("{0}")]
    Failed(#[source] Cause),
    /// Another server has taken over and writes there: what this one knows may be old.
    #[error("another server has taken over")]
    TakenOver,
}

/// One vehicle's part of a transaction.
#[derive(Clone, Debug)]
pub struct VehicleWrite {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The organization the vehicle belongs to.
    pub organization_id: OrganizationId,
    /// What to store. Records are not numbered yet.
    pub effects: Box<Effects>,
    /// The engine's state after these effects.
    pub state: Arc<VehicleState>,
    /// The server's clock when it was judged.
    pub judged_at: Timestamp,
}

/// One transaction: everything or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// In the order they were applied; a vehicle may occur more than once.
    pub writes: Vec<VehicleWrite>,
}

/// How one write's fixes ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stored now.
    pub stored: u64,
    /// Stored before.
    pub duplicates: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.stored += more.stored;
        self.duplicates += more.duplicates;
    }
}

/// The result of one write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// How its fixes ended.
    pub counts: Counts,
    /// Its records as they are stored now, numbered: revisions, corrections and retractions included. Records that
    /// were stored before are not among them.
    pub records: Vec<Record>,
    /// Where the vehicle's dirty mark begins after the batch; `None`: it is clean.
    pub dirty_from: Option<Timestamp>,
    /// Whether the batch left changes that wait for their numbers, or drivers to be put right.
    pub leaves_changes: bool,
}

impl Committed {
    /// Whether the vehicle has a dirty mark after the batch.
    #[must_use]
    pub const fn is_dirty(&self) -> bool {
        self.dirty_from.is_some()
    }
}

/// A fix that is not stored with the others, for a reason that will not go away.
#[derive(Clone, Debug)]
pub struct RefusedFix {
    /// The vehicle that reported it.
    pub vehicle_id: VehicleId,
    /// The fix.
    pub fix: Fix,
    /// Why it was refused, for the operator.
    pub reason: String,
}

/// A vehicle and its newest committed state.
#[derive(Clone, Debug)]
pub struct VehicleSeed {
    /// The vehicle.
    pub vehicle: Vehicle,
    /// The engine's state; the default one for a vehicle that never reported.
    pub state: VehicleState,
    /// Whether the stored state could not be read: `state` is [`VehicleState::lost`].
    pub is_lost: bool,
    /// Taken out of use, but a server stopped before its stays were ended: the next start ends them.
    pub is_removed: bool,
    /// Where its dirty mark begins; `None`: it is clean.
    pub dirty_from: Option<Timestamp>,
    /// What the newest record of its connection says, and when the vehicle had been heard then.
    pub connection: Option<(Connection, Timestamp)>,
}

/// Everything the core keeps in memory, as stored.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    /// Every vehicle in use, and those taken out whose stays are still open or that are dirty.
    pub vehicles: Vec<VehicleSeed>,
    /// The fences of each organization that has any, with all their versions, deleted ones too; already prepared, because a store may
    /// need them to replay its log.
    pub fences: HashMap<OrganizationId, FenceSet>,
    /// Versions of fences whose records may be missing: a server stopped in between, or they take
    /// effect later.
    pub unsettled: Vec<(OrganizationId, GeofenceId, i64)>,
    /// Versions of calibrations that may not have marked their vehicle dirty yet, and the instant from which they
    /// apply.
    pub uncalibrated: Vec<(VehicleId, i64, Timestamp)>,
    /// How much silence makes the vehicles of each organization stale and offline; those of others are never told to be.
    pub silences: Vec<(OrganizationId, Silence)>,
    /// The number of the next record.
    pub next_sequence: i64,
}

/// The stored state of vehicles whose last commit was doubtful.
#[derive(Clone, Debug, Default)]
pub struct Reread {
    /// Their states.
    pub states: Vec<(VehicleId, VehicleState)>,
    /// Those of them that have a dirty mark, and where it begins.
    pub dirty: Vec<(VehicleId, Timestamp)>,
    /// Records from the asked number on, in order.
    pub records: Vec<Record>,
    /// Changes of master data from the asked number on, in order.
    pub changes: Vec<Change>,
    /// The number of the next record.
    pub next_sequence: i64,
}

/// Changes of master data that are numbered at once at most.
pub const MAX_NUMBERED: usize = 500;

/// The durable store of fixes, states, visits and records.
pub trait TrackStore: Send + Sync + 'static {
    /// Reads everything the core starts from.
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>>;

    /// Commits a batch; answers for each write. After an error the outcome is unknown: the batch may be stored all
    /// the same.
    ///
    /// In one transaction, with the row of numbers locked from the beginning:
    /// - `rows`: as their [`Freshness`](crate::tracking::Freshness) says; every row found late marks the vehicle
    ///   ([`Mark::of_fix`](crate::tracking::Mark::of_fix), merged with the stored mark). `effects.late` always
    ///   marks it.
    /// - `records` get the next numbers in the batch's order. A record whose id is stored and active is neither
    ///   numbered nor written nor answered, nor is the row of `visits` that was made with it: a correction may know
    ///   better than the live path when it happened. A record that is stored as retracted becomes active again,
    ///   with this write's values, the next revision and a new number; so does the end of one that is stored as
    ///   still going on ([`Record::supersedes`]).
    /// - `correction`: [`diff`](crate::tracking::diff()) against the stored active records of the vehicle with
    ///   `confirmed_at` in its part and the stored records, whatever their status and instant, with an id among its
    ///   records. The records it returns in `told` are written and numbered anew; those in `moved` only get their
    ///   `confirmed_at`. Visits are undone as it says, then `visits` are put: one without an exit leaves the stored
    ///   exit alone, which may belong to a part that stands. Checkpoints of the part are deleted, `checkpoints` are
    ///   put. `quarantines` are set, except where a fix is stored as `future`. `dirty` replaces the mark.
    /// - `fuel_rows` are put, each replacing one of the same instant; those of a correction also as
    ///   [`Correction::fuel_rows`](crate::tracking::Correction::fuel_rows) says.
    /// - the state of the last write of each vehicle is its newest.
    ///
    /// A later write of the same batch sees the result of an earlier one. [`StoreError::Refused`] is certain:
    /// nothing of the batch is stored, and it would be refused again.
    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Committed>, StoreError>>;

    /// Gives the changes of master data that wait for them, the first [`MAX_NUMBERED`] at most, the next numbers, in the order
    /// in which they were made, in a transaction of its own that locks the row of numbers first. After an error the
    /// outcome is unknown. An empty answer: nothing waits.
    fn number_changes(&self) -> BoxFuture<'_, Result<Vec<Change>, StoreError>>;

    /// Puts records right whose driver is another one since an assignment was made, corrected or ended for the past, by somebody
    /// or by a card: a part of what waits, in a transaction of its own that locks the row of numbers first. Answers the
    /// records with another driver, each with the next revision and number, and whether anything waits still. Once nothing
    /// waits, alerts that hang on master data and on the server's clock are put right and answered too: those of
    /// licences that have expired, and those of silent vehicles that are gone. After an error other than
    /// [`StoreError::Refused`] the outcome is unknown.
    fn revise_drivers(&self) -> BoxFuture<'_, Result<(Vec<Record>, bool), StoreError>>;

    /// Stores records of connections with the next numbers and the vehicles' names, in a transaction of its own that locks
    /// the row of numbers first; answers those it stored. Leaves out those whose id is stored and those of vehicles
    /// that are deleted. After an error other than [`StoreError::Refused`] the outcome is unknown.
    fn log_connections<'a>(&'a self, records: &'a [Record])
    -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Reads the next part of a vehicle's timeline that awaits a correction; `None`: it is clean.
    fn slice(&self, vehicle: VehicleId) -> BoxFuture<'_, Result<Option<Slice>, StoreError>>;

    /// The parts of some vehicles' timelines after an instant that a geofence may have to do with, each vehicle at most once;
    /// a vehicle that never came near it since is left out. As stored when this is called, or later. This default answers
    /// all of all of them, which is always right, and slow.
    fn came_near<'a>(
        &'a self,
        fence: &'a FenceTimeline,
        from: Timestamp,
        vehicles: &'a [VehicleId],
    ) -> BoxFuture<'a, Result<Vec<(VehicleId, NearSpan)>, StoreError>> {
        let _ = fence;
        let all = vehicles.iter().map(|vehicle| (*vehicle, NearSpan::since(from))).collect();
        Box::pin(ready(Ok(all)))
    }

    /// Reads back what a doubtful commit left: the vehicles' states, and the records and changes from `sequence` on. By then the
    /// abandoned commit must be over, stored or not: if it landed later, the store would no longer match what
    /// memory was given.
    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, Result<Reread, StoreError>>;

    /// Keeps a refused fix for the operator; a fix that is already kept stays as it is.
    fn keep_refused_fix<'a>(&'a self, refused: &'a RefusedFix) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Notes that every record of this version of a fence is committed, or left to a correction by a dirty mark.
    /// Other versions of the fence are settled on their own.
    fn mark_settled(&self, fence: GeofenceId, version: i64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Notes that the past is put right for this version of a vehicle's calibration and those before it, or left to
    /// a correction by a dirty mark.
    fn mark_calibrated(&self, vehicle: VehicleId, version: i64) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// A vehicle's newest committed state.
pub type Newest = (OrganizationId, VehicleId, Arc<VehicleState>);

/// Newest vehicle states for readers outside the process. May lag and may fail: nothing depends on it.
pub trait LiveCache: Send + Sync + 'static {
    /// Takes some vehicles out, then puts the newest state of others. `now`: the server's clock, by which a
    /// reader tells two states of a vehicle apart.
    fn put<'a>(
        &'a self,
        removed: &'a [(OrganizationId, VehicleId)],
        states: &'a [Newest],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), CacheError>>;

    /// Puts the states of all vehicles there are, and drops what else their organizations have.
    fn fill<'a>(&'a self, states: &'a [Newest], now: Timestamp) -> BoxFuture<'a, Result<(), CacheError>>;

    /// Whether it still has what it was filled with; a cache that was emptied does not.
    fn is_filled(&self) -> BoxFuture<'_, Result<bool, CacheError>>;
}

/// The log of committed records and changes, for watchers that resume.
pub trait RecordLog: Send + Sync + 'static {
    /// Records of an audience by number, from `sequence` on, at most `limit`.
    fn records_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, Result<Vec<Record>, StoreError>>;

    /// Changes of master data of an audience by number, from `sequence` on, at most `limit`.
    fn changes_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, Result<Vec<Change>, StoreError>>;

    /// Whether what is told to an audience can go on at `sequence`, where `next` is the next number: whether all that was numbered
    /// between is told from there on.
    fn goes_on_from(&self, audience: Audience, sequence: i64, next: i64) -> bool;
}
