//! The way of a position to those who watch, past the commit: a vehicle tells here what it judged, on its own
//! thread, and whoever looks out for it is woken at once. With nobody who looks, it costs one look at a number.
//!
//! What is told here may turn out not to be stored: until its commit is known it stays open, and when the commit
//! fails, `Occupancy` tells the truth of every vehicle that has something open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::prelude::ArbiterHandle;
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::actor::runtime::permits::{Permits, WriteTicket};
use crate::model::{OrganizationId, VehicleId};
use crate::provisional::{PositionSubscription, ProvisionalPosition, SubscriberQueue, Subscribers};
use crate::tracking::VehicleState;
use crate::watch::{Audience, Interest};

/// Between two tellings, for each who was woken by the first: few are told at once, for many it is worth while to
/// gather. So however many watch, about 25,000 are woken in a second.
const PAUSE_EACH: Duration = Duration::from_micros(40);
/// And not longer, however many there are.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Where vehicles were seen and who looks out for them.
#[derive(Clone)]
pub(crate) struct PositionHub {
    shared: Arc<Shared>,
}

struct Shared {
    /// How many look out.
    subscribers: AtomicUsize,
    permits: Permits,
    hub_state: Mutex<HubState>,
    /// Something has to wait for the end of a pause.
    waits: Notify,
}

/// What is told, in one order; commits are told under its lock.
#[derive(Default)]
pub(crate) struct HubState {
    order: u64,
    /// What was judged in an earlier generation does not count any more.
    generation: u64,
    /// What was told of vehicles and is not known to be stored.
    open: HashMap<VehicleId, Arc<ProvisionalPosition>, FxBuildHasher>,
    groups: HashMap<Audience, Group>,
}

/// Those who watch the same vehicles are told in the same rhythm, and keep nobody else waiting.
#[derive(Default)]
struct Group {
    slots: Subscribers,
    /// In the order in which it was seen.
    waiting: Vec<Arc<ProvisionalPosition>>,
    quiet_until: Option<Instant>,
}

/// What was told of a vehicle when its commit comes.
pub(crate) enum Uncommitted {
    /// Nothing that is open.
    Nothing,
    /// Just what is committed.
    This,
    /// Something newer.
    Newer(Arc<ProvisionalPosition>),
}

impl PositionHub {
    /// Nobody looks out yet. What has to wait is told on the thread.
    pub(crate) fn begin(thread: &ArbiterHandle, permits: Permits) -> Self {
        let (hub_state, waits) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { subscribers: AtomicUsize::new(0), permits, hub_state, waits });
        let hub = Self { shared };
        thread.spawn(hub.clone().keep_telling());
        hub
    }

    /// The state, locked; commits are told under this lock too.
    pub(crate) fn lock(&self) -> MutexGuard<'_, HubState> {
        self.shared.hub_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A vehicle judged what has that ticket, and has not handed it over yet.
    pub(crate) fn publish(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        ticket: &WriteTicket,
    ) {
        if !self.is_watched() {
            return;
        }
        let mut hub_state = self.lock();
        // After a failed commit there is a moment from which on the truth is told, and no other.
        if ticket.is_current()
            && ticket.generation >= hub_state.generation
            && hub_state.publish(vehicle, organization, state, Instant::now())
        {
            self.shared.waits.notify_one();
        }
    }

    /// The same, of what cannot be stored because the store is away: until it answers again.
    pub(crate) fn publish_unstorable(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
    ) {
        let mut hub_state = self.lock();
        let is_away =
            self.shared.permits.next_generation().is_some_and(|generation| generation > hub_state.generation);
        if is_away && hub_state.publish(vehicle, organization, state, Instant::now()) {
            self.shared.waits.notify_one();
        }
    }

    /// Whether anybody looks out for anything.
    pub(crate) fn is_watched(&self) -> bool {
        self.shared.subscribers.load(Ordering::Acquire) > 0
    }

    /// Looks out for what is of interest, from now on.
    pub(crate) fn subscribe(&self, interest: &Interest, hub_state: &mut HubState) -> PositionSubscription {
        if !interest.positions && !interest.fuel {
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

    /// The store answers again, and what it holds is about to be told: nothing before counts any more. Answers
    /// the vehicles of which something else was told.
    pub(crate) fn begin_anew(&self, hub_state: &mut HubState) -> Vec<VehicleId> {
        hub_state.generation = self.shared.permits.next_generation().unwrap_or(u64::MAX);
        for group in hub_state.groups.values_mut() {
            group.waiting.clear();
        }
        hub_state.open.drain().map(|(vehicle, _)| vehicle).collect()
    }

    /// Tells what waits for the end of a pause, for ever.
    async fn keep_telling(self) {
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
    /// Counts what is told.
    pub(crate) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// Whether it has to wait, and is the first that does.
    fn publish(
        &mut self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        now: Instant,
    ) -> bool {
        let audiences = [Audience::Organization(organization), Audience::Everyone];
        let has = |audience| self.groups.get(audience).is_some_and(|group| group.slots.has(vehicle));
        if !audiences.iter().any(has) {
            return false;
        }
        let order = self.next_order();
        let position = Arc::new(ProvisionalPosition::new(vehicle, organization, Arc::clone(state), order));
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

    /// A vehicle's state is committed.
    pub(crate) fn commit(&mut self, vehicle: VehicleId, state: &Arc<VehicleState>) -> Uncommitted {
        let Some(open) = self.open.get(&vehicle) else {
            self.forget_waiting(vehicle);
            return Uncommitted::Nothing;
        };
        if !open.is_of(state) {
            return Uncommitted::Newer(Arc::clone(open));
        }
        open.note_stored();
        self.open.remove(&vehicle);
        Uncommitted::This
    }

    /// What was told of a vehicle last, if it is open, is not going to be stored.
    pub(crate) fn withdraw(&mut self, vehicle: VehicleId) -> bool {
        self.forget_waiting(vehicle);
        self.open.remove(&vehicle).is_some()
    }

    fn forget_waiting(&mut self, vehicle: VehicleId) {
        for group in self.groups.values_mut() {
            group.waiting.retain(|position| position.vehicle_id != vehicle);
        }
    }

    /// What was told of the vehicles of interest and is open.
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
