//! What a watcher of the live core receives: a snapshot, then every commit, in order; alongside, the positions of
//! vehicles ahead of their commit.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use crate::model::{
    Change, ChangedResource, Connection, GeofenceId, OrganizationId, Timestamp, VehicleId, VisitId,
};
pub use crate::provisional::{PositionBatch, PositionSubscription, ProvisionalPosition};
use crate::tracking::{Record, VehicleState};
use crate::view::{HeldFence, LiveFuel, VehicleNow};

/// Whose vehicles a watcher sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// One organization's.
    Organization(OrganizationId),
    /// Every organization's: a platform operator.
    Everyone,
}

impl Audience {
    /// Whether this audience sees an organization.
    #[must_use]
    pub fn sees(self, organization: OrganizationId) -> bool {
        match self {
            Self::Organization(own) => own == organization,
            Self::Everyone => true,
        }
    }
}

/// What a watcher wants to be woken for. It may be sent more.
#[derive(Clone, Debug)]
pub struct Interest {
    /// The audience whose vehicles it watches.
    pub audience: Audience,
    /// Positions, including those ahead of their commit.
    pub positions: bool,
    /// Vehicles entering and leaving fences.
    pub occupancy: bool,
    /// Geofence events.
    pub events: bool,
    /// The fuel levels of vehicles that report any, including those ahead of their commit.
    pub fuel_levels: bool,
    /// Refuels, drains and their alerts.
    pub fuel_events: bool,
    /// Changes of master data.
    pub changes: bool,
    /// Only these vehicles.
    pub vehicles: Option<Arc<HashSet<VehicleId>>>,
    /// Only these fences, in updates about fences.
    pub fences: Option<Arc<HashSet<GeofenceId>>>,
}

impl From<Audience> for Interest {
    /// Everything that an audience may see.
    fn from(audience: Audience) -> Self {
        Self { positions: true, occupancy: true, fuel_levels: true, ..Self::of_log(audience) }
    }
}

impl Interest {
    /// Everything of the log that an audience may see, and nothing of the states of vehicles: a fix that makes no record
    /// costs such a watcher nothing.
    #[must_use]
    pub const fn of_log(audience: Audience) -> Self {
        Self {
            audience,
            positions: false,
            occupancy: false,
            events: true,
            fuel_levels: false,
            fuel_events: true,
            changes: true,
            vehicles: None,
            fences: None,
        }
    }

    /// Whether this interest includes states of vehicles: where they are, or their fuel.
    #[must_use]
    pub const fn states(&self) -> bool {
        self.positions || self.fuel_levels
    }

    /// Whether this interest includes a vehicle.
    #[must_use]
    pub fn vehicle(&self, vehicle: VehicleId) -> bool {
        self.vehicles.as_ref().is_none_or(|vehicles| vehicles.contains(&vehicle))
    }

    /// Whether this interest includes a fence.
    #[must_use]
    pub fn fence(&self, fence: GeofenceId) -> bool {
        self.fences.as_ref().is_none_or(|fences| fences.contains(&fence))
    }

    /// Whether any part of a commit is of interest; the update holds only what the audience may see.
    pub(crate) fn wants(&self, update: &Update) -> bool {
        update.vehicles.iter().any(|changed| self.vehicle(changed.vehicle_id) && self.change(changed))
            || (self.states() && update.removed.iter().any(|vehicle| self.vehicle(*vehicle)))
            || update.records.iter().any(|told| self.record(&told.record))
            || update.changes.iter().any(|change| self.master_data(change))
    }

    /// Whether this interest includes a change of master data; where vehicles or fences are named, one of a vehicle
    /// or fence must be of those.
    #[must_use]
    pub fn master_data(&self, change: &Change) -> bool {
        let is_named = match change.resource {
            ChangedResource::Vehicle => self.vehicle(VehicleId(change.resource_id)),
            ChangedResource::Geofence => self.fence(GeofenceId(change.resource_id)),
            _ => true,
        };
        self.changes && is_named
    }

    fn change(&self, changed: &VehicleUpdate) -> bool {
        let crossed = || {
            changed.left.iter().any(|fence| self.fence(*fence))
                || changed.entered.iter().any(|held| self.fence(held.geofence_id))
        };
        self.positions || (self.fuel_levels && changed.state.fuel.is_some()) || (self.occupancy && crossed())
    }

    /// Whether this interest includes anything that the log holds.
    #[must_use]
    pub const fn any_of_log(&self) -> bool {
        self.any_records() || self.changes
    }

    /// Whether this interest includes any records.
    #[must_use]
    pub const fn any_records(&self) -> bool {
        self.events || self.fuel_events
    }

    /// Whether this interest includes a record; where fences are named, it must concern one of them.
    #[must_use]
    pub fn record(&self, record: &Record) -> bool {
        let is_asked = if record.is_fuel() { self.fuel_events } else { self.events };
        let in_fence = || record.is_in(|fence| self.fence(fence));
        is_asked && record.is_of(|vehicle| self.vehicle(vehicle)) && (self.fences.is_none() || in_fence())
    }
}

/// A committed record, with room for its wire form, so that it is encoded once for all watchers.
#[derive(Debug)]
pub struct CommittedRecord {
    /// The record, numbered.
    pub record: Record,
    encoded: OnceLock<Box<str>>,
}

impl CommittedRecord {
    /// A record just committed or read from the log.
    #[must_use]
    pub const fn new(record: Record) -> Self {
        Self { record, encoded: OnceLock::new() }
    }

    /// The wire form, encoded on first use.
    pub fn encoded(&self, encode: impl FnOnce(&Record) -> String) -> &str {
        self.encoded.get_or_init(|| encode(&self.record).into_boxed_str())
    }
}

/// A vehicle's state after a commit, and the fences that the commit made it enter and leave.
#[derive(Debug)]
pub struct VehicleUpdate {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The organization the vehicle belongs to.
    pub organization_id: OrganizationId,
    /// Its state now.
    pub state: Arc<VehicleState>,
    /// Fences it is in now and was not before, or not by this visit.
    pub entered: Vec<HeldFence>,
    /// Fences it was in before and is not now, or by another visit; they come before `entered`.
    pub left: Vec<GeofenceId>,
    /// A newer position that was already published, if any.
    pub provisional: Option<Arc<ProvisionalPosition>>,
    /// Up to where its timeline stands ([`VehicleState::settled_through`]).
    pub settled_through: Option<Timestamp>,
    /// Whether it is heard of, as the log tells.
    pub connection: Connection,
    /// Position in the order of announcements: provisional positions with a smaller number are out of date, those
    /// with a greater one are newer.
    pub order: u64,
    encoded: OnceLock<Box<str>>,
}

impl VehicleUpdate {
    pub(crate) fn new(
        vehicle_id: VehicleId,
        organization_id: OrganizationId,
        (entered, left): Crossed,
        VehicleNow { state, settled_through, connection }: VehicleNow,
    ) -> Self {
        let (provisional, order, encoded) = (None, 0, OnceLock::new());
        Self {
            vehicle_id,
            organization_id,
            state,
            entered,
            left,
            provisional,
            settled_through,
            connection,
            order,
            encoded,
        }
    }

    /// Whether a watcher who knows the previous state would see no difference, fences aside.
    pub(crate) fn looks_like(&self, before: &VehicleState, settled_before: Option<Timestamp>) -> bool {
        let shown =
            |state: &VehicleState| (state.last, state.trail.motion, LiveFuel::of(self.vehicle_id, state));
        self.settled_through == settled_before && shown(&self.state) == shown(before)
    }

    /// The vehicle as it is committed.
    #[must_use]
    pub fn now(&self) -> VehicleNow {
        let Self { state, settled_through, connection, .. } = self;
        VehicleNow { state: Arc::clone(state), settled_through: *settled_through, connection: *connection }
    }

    /// Whether it entered or left a fence.
    pub(crate) const fn crossed(&self) -> bool {
        !self.entered.is_empty() || !self.left.is_empty()
    }

    /// The wire form of the vehicle as committed, encoded on first use.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> String) -> &str {
        self.encoded.get_or_init(|| encode(self).into_boxed_str())
    }
}

/// Fences entered, and left.
pub(crate) type Crossed = (Vec<HeldFence>, Vec<GeofenceId>);

/// The fences entered and left between two states. Compared by visit, since within one commit a vehicle may leave a
/// fence and come back.
pub(crate) fn crossed(before: &VehicleState, now: &VehicleState) -> Crossed {
    fn visits(state: &VehicleState) -> impl Iterator<Item = VisitId> {
        state.open_stays().map(|stay| stay.visit_id)
    }
    // The usual case, however many fences it is in.
    if visits(before).eq(visits(now)) {
        return (Vec::new(), Vec::new());
    }
    let goes_on =
        |visit: VisitId, state: &VehicleState| state.open_stays().any(|stay| stay.visit_id == visit);
    let entered = now.open_stays().filter(|stay| !goes_on(stay.visit_id, before));
    let left = before.open_stays().filter(|stay| !goes_on(stay.visit_id, now));
    (entered.map(HeldFence::from).collect(), left.map(|stay| stay.geofence_id).collect())
}

/// What one commit changed for a watcher's audience.
#[derive(Debug, Default)]
pub struct Update {
    /// Vehicles with their state after the commit, each once. Leaves out those whose state
    /// [`PositionSubscription`]s had received in full before.
    pub vehicles: Vec<Arc<VehicleUpdate>>,
    /// Vehicles that were taken out of use.
    pub removed: Vec<VehicleId>,
    /// Records, by number.
    pub records: Vec<Arc<CommittedRecord>>,
    /// Changes of master data, by number.
    pub changes: Vec<Change>,
    /// The next number of the log.
    pub next_sequence: i64,
}

impl Update {
    pub(crate) fn is_empty(&self) -> bool {
        self.vehicles.is_empty()
            && self.removed.is_empty()
            && self.records.is_empty()
            && self.changes.is_empty()
    }
}

/// What a watcher starts from: a snapshot of the present, and the channels that bring what follows. The channel of
/// commits is bounded; a watcher that lets it fill finds it closed, and must watch anew.
#[derive(Debug)]
pub struct Watch {
    /// Every vehicle of the audience with its newest committed state.
    pub vehicles: Vec<(VehicleId, OrganizationId, VehicleNow)>,
    /// Newer positions of some of them; only for watchers that want positions.
    pub provisional: Vec<Arc<ProvisionalPosition>>,
    /// The number of the first event that the channel will bring: the log holds all before it.
    pub next_sequence: i64,
    /// Every commit from here on that is of interest.
    pub updates: mpsc::Receiver<Arc<Update>>,
    /// Positions from here on.
    pub subscription: PositionSubscription,
    pub(crate) told_up_to: Arc<AtomicI64>,
}

/// The next news for a watcher.
#[derive(Debug)]
pub enum News {
    /// A commit, and the positions published by now: those older than a vehicle's state in the commit are out of
    /// date.
    Commit(Arc<Update>, Vec<Arc<PositionBatch>>),
    /// Positions, later than every commit received so far.
    Provisional(Vec<Arc<PositionBatch>>),
    /// The watcher has lagged too far behind and must watch anew.
    Lost,
}

impl Watch {
    /// The number of the first event that this watcher has not received or knows not to be of interest; `None`
    /// while commits wait to be taken.
    #[must_use]
    pub fn known_up_to(&self) -> Option<i64> {
        let told_up_to = self.told_up_to.load(Ordering::Acquire);
        self.updates.is_empty().then_some(told_up_to)
    }

    /// The next news; positions alone only if `positions`: a watcher that does not want them yet is not woken for
    /// them, and later gets the newest of each vehicle.
    pub fn poll_news(&mut self, positions: bool, cx: &mut Context<'_>) -> Poll<News> {
        // Both channels are filled in one order, under one lock. So a position published before a commit is taken
        // with it or before it, and no commit that preceded a position is left behind.
        match self.updates.try_recv() {
            Ok(update) => return Poll::Ready(News::Commit(update, self.subscription.take())),
            Err(TryRecvError::Disconnected) => return Poll::Ready(News::Lost),
            Err(TryRecvError::Empty) => {}
        }
        if positions && self.subscription.poll_ready(cx).is_ready() {
            let seen = self.subscription.take();
            // `try_recv`, not `poll_recv`: the latter also returns nothing when the task's cooperative budget is
            // used up.
            return Poll::Ready(match self.updates.try_recv() {
                Ok(update) => News::Commit(update, seen),
                Err(TryRecvError::Disconnected) => News::Lost,
                Err(TryRecvError::Empty) => News::Provisional(seen),
            });
        }
        self.updates.poll_recv(cx).map(|update| match update {
            Some(update) => News::Commit(update, self.subscription.take()),
            None => News::Lost,
        })
    }
}
