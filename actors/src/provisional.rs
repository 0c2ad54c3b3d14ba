//! Provisional positions: judged, but not known to be committed. They are state, not events: a subscriber that does
//! not take them gets the newest of each vehicle later. Knows nothing of who judges and who commits.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};

use crate::model::{Attributes, Fix, Motion, OrganizationId, Timestamp, VehicleId};
use crate::tracking::VehicleState;
use crate::view::LiveFuel;

/// Batches that may wait for a watcher before they are merged.
const MAX_BATCHES: usize = 128;

/// A subscriber that is served without being woken counts as this fraction of one that is.
const BUSY_PART: u32 = 4;
/// The number of names under which a batch keeps wire forms.
const MAX_WIRE_FORMS: usize = 8;

/// A vehicle's newest fix as it was judged. Which fences it is in by that fix is not published before the commit.
#[derive(Debug)]
pub struct ProvisionalPosition {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The organization the vehicle belongs to.
    pub organization_id: OrganizationId,
    /// Position in the order of announcements, which includes commits.
    pub order: u64,
    /// Up to where its timeline stands ([`VehicleState::settled_through`]), once this is committed.
    pub settled_through: Option<Timestamp>,
    state: Arc<VehicleState>,
    stored: AtomicBool,
    /// The wire form while it is not stored, and once it is.
    encoded: [OnceLock<Box<str>>; 2],
}

impl ProvisionalPosition {
    pub(crate) fn new(
        vehicle_id: VehicleId,
        organization_id: OrganizationId,
        state: Arc<VehicleState>,
        settled_through: Option<Timestamp>,
        order: u64,
    ) -> Self {
        let (stored, encoded) = (AtomicBool::new(false), Default::default());
        Self { vehicle_id, organization_id, order, settled_through, state, stored, encoded }
    }

    /// The newest evaluated fix.
    #[must_use]
    pub fn fix(&self) -> Option<&Fix> {
        self.state.last.as_ref()
    }

    /// What that fix carries beside where the vehicle is.
    #[must_use]
    pub fn attributes(&self) -> Option<&Attributes> {
        self.state.attributes.as_ref()
    }

    /// Whether the vehicle moves, by that fix.
    #[must_use]
    pub fn motion(&self) -> Motion {
        self.state.trail.motion
    }

    /// Its fuel, if it ever reported any.
    #[must_use]
    pub fn fuel(&self) -> Option<LiveFuel> {
        LiveFuel::of(self.vehicle_id, &self.state)
    }

    /// Whether it reports fuel.
    #[must_use]
    pub fn has_fuel(&self) -> bool {
        self.state.fuel.is_some()
    }

    /// Whether it is committed by now.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.stored.load(Ordering::Acquire)
    }

    pub(crate) fn note_stored(&self) {
        self.stored.store(true, Ordering::Release);
    }

    /// Whether it was made from this very state.
    pub(crate) fn is_of(&self, state: &Arc<VehicleState>) -> bool {
        Arc::ptr_eq(&self.state, state)
    }

    /// The wire form, which may say whether it is stored; encoded on first use.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> String) -> &str {
        // If it is stored while being encoded, this form says so a little early.
        self.encoded[usize::from(self.is_stored())].get_or_init(|| encode(self).into_boxed_str())
    }
}

/// Positions that are published together, each vehicle once. Keeps their wire forms, so that each form is made once
/// for all subscribers that ask for it.
pub struct PositionBatch {
    /// The positions.
    pub provisional: Vec<Arc<ProvisionalPosition>>,
    encoded: Mutex<Vec<(Box<str>, WireForm)>>,
}

/// A wire form that its owner understands.
type WireForm = Arc<dyn std::any::Any + Send + Sync>;

impl fmt::Debug for PositionBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PositionBatch").field("provisional", &self.provisional).finish_non_exhaustive()
    }
}

impl PositionBatch {
    pub(crate) const fn new(provisional: Vec<Arc<ProvisionalPosition>>) -> Self {
        Self { provisional, encoded: Mutex::new(Vec::new()) }
    }

    /// The newest of each vehicle.
    pub(crate) fn newest(provisional: impl DoubleEndedIterator<Item = Arc<ProvisionalPosition>>) -> Self {
        let mut known = HashSet::new();
        Self::new(provisional.rev().filter(|provisional| known.insert(provisional.vehicle_id)).collect())
    }

    /// The wire form of this name, encoded on first use. All callers that use one name must ask for one type.
    pub fn encoded<T: Send + Sync + 'static>(
        &self,
        name: &str,
        encode: impl FnOnce(&[Arc<ProvisionalPosition>]) -> T,
    ) -> Arc<T> {
        let mut known = self.encoded.lock();
        let found = known.iter().find(|(of, _)| **of == *name);
        if let Some(form) = found.and_then(|(_, form)| Arc::clone(form).downcast().ok()) {
            return form;
        }
        if known.len() >= MAX_WIRE_FORMS {
            // Beyond the limit, a caller with a name of its own encodes for itself.
            drop(known);
            return Arc::new(encode(&self.provisional));
        }
        let form = Arc::new(encode(&self.provisional));
        known.push((name.into(), Arc::clone(&form) as WireForm));
        form
    }
}

/// The positions that wait for one subscriber: bounded by the number of vehicles, however long they wait.
#[derive(Default)]
pub(crate) struct SubscriberQueue {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    batches: Vec<Arc<PositionBatch>>,
    waker: Option<Waker>,
}

impl SubscriberQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }

    /// Adds a batch; returns whether the subscriber had to be woken.
    pub(crate) fn put(&self, batch: &Arc<PositionBatch>) -> bool {
        let waker = {
            let mut waiting = self.waiting();
            waiting.batches.push(Arc::clone(batch));
            if waiting.batches.len() > MAX_BATCHES {
                let all = waiting.batches.iter().flat_map(|batch| &batch.provisional).cloned();
                let merged = PositionBatch::newest(all);
                waiting.batches = vec![Arc::new(merged)];
            }
            waiting.waker.take()
        };
        waker.map(Waker::wake).is_some()
    }
}

/// Removes a subscriber's queue from the hub.
type Leave = Box<dyn FnOnce(&Arc<SubscriberQueue>) + Send + Sync>;

/// A subscription to positions; ends when dropped.
pub struct PositionSubscription {
    slot: Arc<SubscriberQueue>,
    leave: Option<Leave>,
}

impl fmt::Debug for PositionSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PositionSubscription").finish_non_exhaustive()
    }
}

impl PositionSubscription {
    /// A subscription that receives nothing.
    pub(crate) fn blind() -> Self {
        Self { slot: Arc::default(), leave: None }
    }

    pub(crate) fn new(
        slot: Arc<SubscriberQueue>,
        leave: impl FnOnce(&Arc<SubscriberQueue>) + Send + Sync + 'static,
    ) -> Self {
        Self { slot, leave: Some(Box::new(leave)) }
    }

    /// Waits until a batch is there to be taken.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.slot.waiting();
        if !waiting.batches.is_empty() {
            return Poll::Ready(());
        }
        match &mut waiting.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// The batches that wait, oldest first.
    pub fn take(&mut self) -> Vec<Arc<PositionBatch>> {
        let mut waiting = self.slot.waiting();
        waiting.waker = None;
        std::mem::take(&mut waiting.batches)
    }
}

impl Drop for PositionSubscription {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave(&self.slot);
        }
    }
}

/// The subscribers' queues, by the vehicles they want.
#[derive(Default)]
pub(crate) struct Subscribers {
    wide: Vec<Arc<SubscriberQueue>>,
    of_vehicles: HashMap<VehicleId, Vec<Arc<SubscriberQueue>>>,
}

impl Subscribers {
    pub(crate) fn add(&mut self, slot: &Arc<SubscriberQueue>, vehicles: Option<&HashSet<VehicleId>>) {
        match vehicles {
            None => self.wide.push(Arc::clone(slot)),
            Some(vehicles) => {
                for vehicle in vehicles {
                    self.of_vehicles.entry(*vehicle).or_default().push(Arc::clone(slot));
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: &Arc<SubscriberQueue>, vehicles: Option<&HashSet<VehicleId>>) {
        let is_other = |known: &Arc<SubscriberQueue>| !Arc::ptr_eq(known, slot);
        match vehicles {
            None => self.wide.retain(is_other),
            Some(vehicles) => {
                for vehicle in vehicles {
                    if let Some(known) = self.of_vehicles.get_mut(vehicle) {
                        known.retain(is_other);
                        if known.is_empty() {
                            self.of_vehicles.remove(vehicle);
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wide.is_empty() && self.of_vehicles.is_empty()
    }

    /// Whether anyone subscribes to a vehicle.
    pub(crate) fn has(&self, vehicle: VehicleId) -> bool {
        !self.wide.is_empty() || self.of_vehicles.contains_key(&vehicle)
    }

    /// Gives each subscriber the positions it wants. Returns how many had to be woken; for those who want every
    /// vehicle, at least a fraction of their number, since the others are busy or do not want positions yet.
    pub(crate) fn tell(&self, seen: &[Arc<ProvisionalPosition>]) -> u32 {
        let mut woken = 0;
        if !self.wide.is_empty() {
            let batch = Arc::new(PositionBatch::newest(seen.iter().cloned()));
            woken += self.wide.iter().map(|slot| u32::from(slot.put(&batch))).sum::<u32>();
            woken = woken.max(self.wide.len() as u32 / BUSY_PART);
        }
        for provisional in seen.iter().filter(|_| !self.of_vehicles.is_empty()) {
            let Some(slots) = self.of_vehicles.get(&provisional.vehicle_id) else { continue };
            let batch = Arc::new(PositionBatch::new(vec![Arc::clone(provisional)]));
            woken += slots.iter().map(|slot| u32::from(slot.put(&batch))).sum::<u32>();
        }
        woken
    }
}
