//! What a watcher of the live core receives: a snapshot, then every commit, in order, and beside them where
//! vehicles are before that is committed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use crate::model::{GeofenceId, OrganizationId, VehicleId, VisitId};
pub use crate::provisional::{PositionBatch, PositionSubscription, ProvisionalPosition};
use crate::tracking::{Record, VehicleState};
use crate::view::{HeldFence, LiveFuel};

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

/// What a watcher wants to be woken for. It may be told more.
#[derive(Clone, Debug)]
pub struct Interest {
    /// Whose vehicles.
    pub audience: Audience,
    /// Where vehicles are, before it is committed too.
    pub positions: bool,
    /// Who goes in and out of fences.
    pub occupancy: bool,
    /// Geofence events.
    pub events: bool,
    /// Fuel: the levels of vehicles that report any, refuels and drains.
    pub fuel: bool,
    /// Only these vehicles.
    pub vehicles: Option<Arc<HashSet<VehicleId>>>,
    /// Only these fences, in what is told of fences.
    pub fences: Option<Arc<HashSet<GeofenceId>>>,
}

impl From<Audience> for Interest {
    /// Everything that an audience may see.
    fn from(audience: Audience) -> Self {
        let (positions, occupancy, events, fuel) = (true, true, true, true);
        Self { audience, positions, occupancy, events, fuel, vehicles: None, fences: None }
    }
}

impl Interest {
    /// Whether it is about a vehicle.
    #[must_use]
    pub fn vehicle(&self, vehicle: VehicleId) -> bool {
        self.vehicles.as_ref().is_none_or(|vehicles| vehicles.contains(&vehicle))
    }

    /// Whether it is about a fence.
    #[must_use]
    pub fn fence(&self, fence: GeofenceId) -> bool {
        self.fences.as_ref().is_none_or(|fences| fences.contains(&fence))
    }

    /// Whether anything of a commit is for this watcher. Of its audience it is already.
    pub(crate) fn wants(&self, update: &Update) -> bool {
        update.vehicles.iter().any(|changed| self.vehicle(changed.vehicle_id) && self.change(changed))
            || ((self.positions || self.fuel) && update.removed.iter().any(|vehicle| self.vehicle(*vehicle)))
            || update.records.iter().any(|told| self.record(&told.record))
    }

    fn change(&self, changed: &VehicleUpdate) -> bool {
        let crossed = || {
            changed.left.iter().any(|fence| self.fence(*fence))
                || changed.entered.iter().any(|held| self.fence(held.geofence_id))
        };
        self.positions || (self.fuel && changed.state.fuel.is_some()) || (self.occupancy && crossed())
    }

    /// Whether it is about records at all.
    #[must_use]
    pub const fn any_records(&self) -> bool {
        self.events || self.fuel
    }

    /// Whether it is about a record: in any of the fences, where there are some named.
    #[must_use]
    pub fn record(&self, record: &Record) -> bool {
        let is_asked = if record.kind().is_fuel() { self.fuel } else { self.events };
        let in_fence = || record.is_in(|fence| self.fence(fence));
        is_asked && self.vehicle(record.vehicle_id) && (self.fences.is_none() || in_fence())
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

    /// The wire form, made by the first who asks.
    pub fn encoded(&self, encode: impl FnOnce(&Record) -> String) -> &str {
        self.encoded.get_or_init(|| encode(&self.record).into_boxed_str())
    }
}

/// A vehicle's state after a commit, and which fences it entered and left by it.
#[derive(Debug)]
pub struct VehicleUpdate {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its state now.
    pub state: Arc<VehicleState>,
    /// Fences it is in now and was not before, or not by this visit.
    pub entered: Vec<HeldFence>,
    /// Fences it was in before and is not now, or by another visit; they come before `entered`.
    pub left: Vec<GeofenceId>,
    /// Where it was seen since, which was told already.
    pub provisional: Option<Arc<ProvisionalPosition>>,
    /// Counts what is told: provisional with a smaller one are out of date, those with a greater one are newer.
    pub order: u64,
    encoded: OnceLock<Box<str>>,
}

impl VehicleUpdate {
    pub(crate) fn new(
        vehicle_id: VehicleId,
        organization_id: OrganizationId,
        before: Option<&VehicleState>,
        state: Arc<VehicleState>,
    ) -> Self {
        let (entered, left) = before.map_or_else(
            || (state.open_stays().map(HeldFence::from).collect(), Vec::new()),
            |before| crossed(before, &state),
        );
        let (provisional, order, encoded) = (None, 0, OnceLock::new());
        Self { vehicle_id, organization_id, state, entered, left, provisional, order, encoded }
    }

    /// Whether a watcher who knows the state before would see no difference, fences aside.
    pub(crate) fn looks_like(&self, before: &VehicleState) -> bool {
        let shown =
            |state: &VehicleState| (state.last, state.trail.motion, LiveFuel::of(self.vehicle_id, state));
        shown(&self.state) == shown(before)
    }

    /// Whether it went into a fence or out of one.
    pub(crate) const fn crossed(&self) -> bool {
        !self.entered.is_empty() || !self.left.is_empty()
    }

    /// The wire form of the vehicle as it is committed, made by the first who asks.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> String) -> &str {
        self.encoded.get_or_init(|| encode(self).into_boxed_str())
    }
}

/// The fences that a vehicle is in by another visit than before, or was not in; and those of which the opposite holds.
/// By visit: within one commit it may leave a fence and come back.
fn crossed(before: &VehicleState, now: &VehicleState) -> (Vec<HeldFence>, Vec<GeofenceId>) {
    fn visits(state: &VehicleState) -> impl Iterator<Item = VisitId> {
        state.open_stays().map(|stay| stay.visit_id)
    }
    // Nearly always, in however many it is.
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
#[derive(Debug)]
pub struct Update {
    /// Vehicles with their state after the commit; each once. Without those of which it changed no more than
    /// [`PositionSubscription`]s were told before.
    pub vehicles: Vec<Arc<VehicleUpdate>>,
    /// Vehicles that were taken out of use.
    pub removed: Vec<VehicleId>,
    /// Records, by number.
    pub records: Vec<Arc<CommittedRecord>>,
    /// The number of the next record of the log.
    pub next_sequence: i64,
}

impl Update {
    pub(crate) fn is_empty(&self) -> bool {
        self.vehicles.is_empty() && self.removed.is_empty() && self.records.is_empty()
    }
}

/// A watcher's beginning: everything as it is, and the ways on which what comes later is told.
/// The channel of commits is bounded; a watcher that lets it fill finds it closed, and must watch anew.
#[derive(Debug)]
pub struct Watch {
    /// Every vehicle of the audience with its newest committed state.
    pub vehicles: Vec<(VehicleId, OrganizationId, Arc<VehicleState>)>,
    /// Where some of them were seen since; for who wants positions.
    pub provisional: Vec<Arc<ProvisionalPosition>>,
    /// The number of the first event that the channel will bring: the log holds all before it.
    pub next_sequence: i64,
    /// Every commit from here on that is of interest.
    pub updates: mpsc::Receiver<Arc<Update>>,
    /// Where vehicles are seen from here on.
    pub subscription: PositionSubscription,
    pub(crate) told_up_to: Arc<AtomicI64>,
}

/// What a watcher is told next.
#[derive(Debug)]
pub enum News {
    /// A commit, and what was seen by now: what is older than a vehicle's state in the commit is out of date.
    Commit(Arc<Update>, Vec<Arc<PositionBatch>>),
    /// Where vehicles are, after every commit that was told before.
    Provisional(Vec<Arc<PositionBatch>>),
    /// It has lagged too far behind and must watch anew.
    Lost,
}

impl Watch {
    /// The number of the first event that this watcher does not know of, or know not to be of interest; `None`
    /// while some wait to be taken.
    #[must_use]
    pub fn known_up_to(&self) -> Option<i64> {
        let told_up_to = self.told_up_to.load(Ordering::Acquire);
        self.updates.is_empty().then_some(told_up_to)
    }

    /// The next news; of positions alone only if `positions`: those who do not want them yet are not woken for
    /// them, and later get the newest of each vehicle.
    pub fn poll_news(&mut self, positions: bool, cx: &mut Context<'_>) -> Poll<News> {
        // What was seen before a commit was told is taken with it or before it, and no commit that came before
        // what was seen is left behind: the two ways are filled in one order, under one lock.
        match self.updates.try_recv() {
            Ok(update) => return Poll::Ready(News::Commit(update, self.subscription.take())),
            Err(TryRecvError::Disconnected) => return Poll::Ready(News::Lost),
            Err(TryRecvError::Empty) => {}
        }
        if positions && self.subscription.poll_ready(cx).is_ready() {
            let seen = self.subscription.take();
            // Not by a poll: that one also finds nothing when it is the task's turn to yield.
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
