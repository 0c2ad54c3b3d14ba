//! How positions reach subscribers ahead of their commit: a vehicle publishes what it judged here, from its own
//! thread, and its subscribers are woken at once. Without subscribers this costs one atomic load.
//!
//! What is published may turn out not to be stored: it stays open until its commit is known. When the commit fails,
//! `Occupancy` sends the stored state of every vehicle that has an open position.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::actor::runtime::permits::{Permits, WriteTicket};
use crate::model::{OrganizationId, Timestamp, VehicleId};
use crate::provisional::{PositionSubscription, ProvisionalPosition, SubscriberQueue, Subscribers};
use crate::tracking::VehicleState;
use crate::watch::{Audience, Interest};

/// The pause between two deliveries to a group, per subscriber woken by the first: a few are served at once, for
/// many it pays to gather. However many watch, about 25,000 are woken per second.
const PAUSE_EACH: Duration = Duration::from_micros(40);
/// The longest pause, whatever the number of subscribers.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Provisional positions and their subscribers.
#[derive(Clone)]
pub(crate) struct PositionHub {
    shared: Arc<Shared>,
}

struct Shared {
    /// The number of subscribers.
    subscribers: AtomicUsize,
    permits: Permits,
    hub_state: Mutex<HubState>,
    /// Notified when a position has to wait for the end of a pause.
    waits: Notify,
}

/// What was published, in one order; commits are announced under its lock too.
#[derive(Default)]
pub(crate) struct HubState {
    order: u64,
    /// Positions judged in an earlier generation are void.
    generation: u64,
    /// The newest published position of each vehicle that is not known to be stored.
    open: HashMap<VehicleId, Arc<ProvisionalPosition>, FxBuildHasher>,
    /// Where the committed dirty marks begin.
    dirty: HashMap<VehicleId, Timestamp, FxBuildHasher>,
    groups: HashMap<Audience, Group>,
}

/// Subscribers with the same audience: they are served in one rhythm, and hold up no other group.
#[derive(Default)]
struct Group {
    slots: Subscribers,
    /// In the order of publication.
    waiting: Vec<Arc<ProvisionalPosition>>,
    quiet_until: Option<Instant>,
}

/// How a commit compares with what was published of its vehicle.
pub(crate) enum Uncommitted {
    /// Nothing published is still open.
    Nothing,
    /// Exactly the committed state was published, and that it stands up to this instant.
    This(Option<Timestamp>),
    /// Something newer was published.
    Newer(Arc<ProvisionalPosition>),
}

impl PositionHub {
    /// One without subscribers; [`Self::keep_telling`] serves the groups whose pause ends.
    pub(crate) fn new(permits: Permits) -> Self {
        let (hub_state, waits) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { subscribers: AtomicUsize::new(0), permits, hub_state, waits });
        Self { shared }
    }

    /// Locks the state; commits are announced under this lock too.
    pub(crate) fn lock(&self) -> MutexGuard<'_, HubState> {
        self.shared.hub_state.lock()
    }

    /// Publishes the state that a vehicle judged under `ticket`, before it hands the write over.
    pub(crate) fn publish(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        settled: Option<Timestamp>,
        ticket: &WriteTicket,
    ) {
        if !self.is_watched() {
            return;
        }
        let mut hub_state = self.lock();
        // After a failed commit the stored state is sent at one point in the order; nothing judged before may
        // follow it.
        if ticket.is_current()
            && ticket.generation >= hub_state.generation
            && hub_state.publish(vehicle, organization, state, settled, Instant::now())
        {
            self.shared.waits.notify_one();
        }
    }

    /// Publishes a state that cannot be stored because the store is away; it stays open until the store answers
    /// again.
    pub(crate) fn publish_unstorable(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        settled: Option<Timestamp>,
    ) {
        let mut hub_state = self.lock();
        let is_away =
            self.shared.permits.next_generation().is_some_and(|generation| generation > hub_state.generation);
        if is_away && hub_state.publish(vehicle, organization, state, settled, Instant::now()) {
            self.shared.waits.notify_one();
        }
    }

    /// Whether there are any subscribers.
    pub(crate) fn is_watched(&self) -> bool {
        self.shared.subscribers.load(Ordering::Acquire) > 0
    }

    /// Subscribes to the positions of interest, from now on.
    pub(crate) fn subscribe(&self, interest: &Interest, hub_state: &mut HubState) -> PositionSubscription {
        if !interest.states() {
            return PositionSubscription::blind();
        }
        let (audience, vehicles) = (interest.audience, interest.vehicles.clone());
        let slot = Arc::new(SubscriberQueue::default());
        hub_state.groups.entry(audience).or_default().slots.add(&slot, vehicles.as_deref());
        self.shared.subscribers.fetch_add(1, Ordering::AcqRel);
        let hub = self.clone();
        PositionSubscription::new(slot, move |slot| {
            let mut hub_state = hub.lock();
            if let Some(group) = hub_state.groups.get_mut(&audience) {
                group.slots.remove(slot, vehicles.as_deref());
                if group.slots.is_empty() {
                    hub_state.groups.remove(&audience);
                }
            }
            hub.shared.subscribers.fetch_sub(1, Ordering::AcqRel);
        })
    }

    /// Called when the store answers again, just before its contents are announced: whatever was published before
    /// is void. Returns the vehicles that had an open position.
    pub(crate) fn begin_anew(&self, hub_state: &mut HubState) -> Vec<VehicleId> {
        hub_state.generation = self.shared.permits.next_generation().unwrap_or(u64::MAX);
        for group in hub_state.groups.values_mut() {
            group.waiting.clear();
        }
        hub_state.open.drain().map(|(vehicle, _)| vehicle).collect()
    }

    /// Serves the groups whose pause has ended; never returns.
    pub(crate) async fn keep_telling(self) {
        loop {
            let due = self.lock().next_due();
            let waits = self.shared.waits.notified();
            match due {
                None => waits.await,
                Some(due) => tokio::select! {
                    () = sleep_until(due) => self.lock().tell_due(Instant::now()),
                    () = waits => {}
                },
            }
        }
    }
}

impl HubState {
    /// Numbers the next announcement.
    pub(crate) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// Returns whether a group's queue was empty and the position now waits in it.
    fn publish(
        &mut self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        settled: Option<Timestamp>,
        now: Instant,
    ) -> bool {
        let audiences = [Audience::Organization(organization), Audience::Everyone];
        let has = |audience| self.groups.get(audience).is_some_and(|group| group.slots.has(vehicle));
        if !audiences.iter().any(has) {
            return false;
        }
        let order = self.next_order();
        let settled = settled.min(state.settled_through(self.dirty.get(&vehicle).copied()));
        let position = ProvisionalPosition::new(vehicle, organization, Arc::clone(state), settled, order);
        let position = Arc::new(position);
        self.open.insert(vehicle, Arc::clone(&position));
        let mut waits = false;
        for audience in audiences {
            let Some(group) = self.groups.get_mut(&audience).filter(|group| group.slots.has(vehicle)) else {
                continue;
            };
            group.waiting.push(Arc::clone(&position));
            if group.quiet_until.is_none_or(|until| until <= now) {
                group.tell(now);
            } else {
                waits |= group.waiting.len() == 1;
            }
        }
        waits
    }

    /// Takes note that a vehicle's state is committed.
    pub(crate) fn commit(&mut self, vehicle: VehicleId, state: &Arc<VehicleState>) -> Uncommitted {
        let Some(open) = self.open.get(&vehicle) else {
            self.forget_waiting(vehicle);
            return Uncommitted::Nothing;
        };
        let told = if open.is_of(state) {
            Uncommitted::This(open.settled_through)
        } else if open.fix() == state.last.as_ref() && open.attributes() == state.attributes.as_ref() {
            // A state that came to be behind it has the same position: late fixes add nothing to that.
            Uncommitted::Nothing
        } else {
            return Uncommitted::Newer(Arc::clone(open));
        };
        open.note_stored();
        self.open.remove(&vehicle);
        told
    }

    /// Takes note of a vehicle's committed dirty mark.
    pub(crate) fn mark(&mut self, vehicle: VehicleId, dirty_from: Option<Timestamp>) {
        match dirty_from {
            Some(from) => self.dirty.insert(vehicle, from),
            None => self.dirty.remove(&vehicle),
        };
    }

    /// Discards the vehicle's last published position, which will not be stored; returns whether one was open.
    pub(crate) fn withdraw(&mut self, vehicle: VehicleId) -> bool {
        self.forget_waiting(vehicle);
        self.open.remove(&vehicle).is_some()
    }

    fn forget_waiting(&mut self, vehicle: VehicleId) {
        for group in self.groups.values_mut() {
            group.waiting.retain(|position| position.vehicle_id != vehicle);
        }
    }

    /// The open positions of the vehicles of interest.
    pub(crate) fn uncommitted_of(&self, interest: &Interest) -> Vec<Arc<ProvisionalPosition>> {
        let open = self.open.values().filter(|position| {
            interest.audience.sees(position.organization_id) && interest.vehicle(position.vehicle_id)
        });
        open.cloned().collect()
    }

    fn next_due(&self) -> Option<Instant> {
        let waiting = self.groups.values().filter(|group| !group.waiting.is_empty());
        waiting.filter_map(|group| group.quiet_until).min()
    }

    fn tell_due(&mut self, now: Instant) {
        for group in self.groups.values_mut() {
            if !group.waiting.is_empty() && group.quiet_until.is_none_or(|until| until <= now) {
                group.tell(now);
            }
        }
    }
}

impl Group {
    fn tell(&mut self, now: Instant) {
        let woken = self.slots.tell(&std::mem::take(&mut self.waiting));
        self.quiet_until = Some(now + (PAUSE_EACH * woken).min(MAX_PAUSE));
    }
}
