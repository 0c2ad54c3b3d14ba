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

use crate::actor::runtime::permits::{Pass, Permits};
use crate::model::{OrganizationId, VehicleId};
use crate::sighting::{Lookout, Sighting, Slot, Slots};
use crate::tracking::VehicleState;
use crate::watch::{Audience, Interest};

/// Between two tellings, for each who was woken by the first: few are told at once, for many it is worth while to
/// gather. So however many watch, about 25,000 are woken in a second.
const PAUSE_EACH: Duration = Duration::from_micros(40);
/// And not longer, however many there are.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Where vehicles were seen and who looks out for them.
#[derive(Clone)]
pub(crate) struct Sightings {
    shared: Arc<Shared>,
}

struct Shared {
    /// How many look out.
    lookouts: AtomicUsize,
    permits: Permits,
    board: Mutex<Board>,
    /// Something has to wait for the end of a pause.
    waits: Notify,
}

/// What is told, in one order; commits are told under its lock.
#[derive(Default)]
pub(crate) struct Board {
    order: u64,
    /// What was judged in an earlier term does not count any more.
    term: u64,
    /// What was told of vehicles and is not known to be stored.
    open: HashMap<VehicleId, Arc<Sighting>, FxBuildHasher>,
    groups: HashMap<Audience, Group>,
}

/// Those who watch the same vehicles are told in the same rhythm, and keep nobody else waiting.
#[derive(Default)]
struct Group {
    slots: Slots,
    /// In the order in which it was seen.
    waiting: Vec<Arc<Sighting>>,
    quiet_until: Option<Instant>,
}

/// What was told of a vehicle when its commit comes.
pub(crate) enum Told {
    /// Nothing that is open.
    Nothing,
    /// Just what is committed.
    This,
    /// Something newer.
    Newer(Arc<Sighting>),
}

impl Sightings {
    /// Nobody looks out yet. What has to wait is told on the thread.
    pub(crate) fn begin(thread: &ArbiterHandle, permits: Permits) -> Self {
        let (board, waits) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { lookouts: AtomicUsize::new(0), permits, board, waits });
        let sightings = Self { shared };
        thread.spawn(sightings.clone().keep_telling());
        sightings
    }

    /// The board, for whoever tells of commits.
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        self.shared.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A vehicle judged what has that pass, and has not handed it over yet.
    pub(crate) fn see(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
        pass: &Pass,
    ) {
        if !self.is_watched() {
            return;
        }
        let mut board = self.board();
        // After a failed commit there is a moment from which on the truth is told, and no other.
        if pass.is_current()
            && pass.term >= board.term
            && board.see(vehicle, organization, state, Instant::now())
        {
            self.shared.waits.notify_one();
        }
    }

    /// The same, of what cannot be stored because the store is away: until it answers again.
    pub(crate) fn glimpse(
        &self,
        vehicle: VehicleId,
        organization: OrganizationId,
        state: &Arc<VehicleState>,
    ) {
        let mut board = self.board();
        let is_away = self.shared.permits.coming_term().is_some_and(|term| term > board.term);
        if is_away && board.see(vehicle, organization, state, Instant::now()) {
            self.shared.waits.notify_one();
        }
    }

    /// Whether anybody looks out for anything.
    pub(crate) fn is_watched(&self) -> bool {
        self.shared.lookouts.load(Ordering::Acquire) > 0
    }

    /// Looks out for what is of interest, from now on.
    pub(crate) fn look_out(&self, interest: &Interest, board: &mut Board) -> Lookout {
        if !interest.positions && !interest.fuel {
            return Lookout::blind();
        }
        let (audience, vehicles) = (interest.audience, interest.vehicles.clone());
        let slot = Arc::new(Slot::default());
        board.groups.entry(audience).or_default().slots.add(&slot, vehicles.as_deref());
        self.shared.lookouts.fetch_add(1, Ordering::AcqRel);
        let hub = self.clone();
        Lookout::new(slot, move |slot| {
            let mut board = hub.board();
            if let Some(group) = board.groups.get_mut(&audience) {
                group.slots.remove(slot, vehicles.as_deref());
                if group.slots.is_empty() {
                    board.groups.remove(&audience);
                }
            }
            hub.shared.lookouts.fetch_sub(1, Ordering::AcqRel);
        })
    }

    /// The store answers again, and what it holds is about to be told: nothing before counts any more. Answers
    /// the vehicles of which something else was told.
    pub(crate) fn begin_anew(&self, board: &mut Board) -> Vec<VehicleId> {
        board.term = self.shared.permits.coming_term().unwrap_or(u64::MAX);
        for group in board.groups.values_mut() {
            group.waiting.clear();
        }
        board.open.drain().map(|(vehicle, _)| vehicle).collect()
    }

    /// Tells what waits for the end of a pause, for ever.
    async fn keep_telling(self) {
        loop {
            let due = self.board().next_due();
            let waits = self.shared.waits.notified();
            match due {
                None => waits.await,
                Some(due) => tokio::select! {
                    () = sleep_until(due) => self.board().tell_due(Instant::now()),
                    () = waits => {}
                },
            }
        }
    }
}

impl Board {
    /// Counts what is told.
    pub(crate) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// Whether it has to wait, and is the first that does.
    fn see(
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
        let sighting = Arc::new(Sighting::new(vehicle, organization, Arc::clone(state), order));
        self.open.insert(vehicle, Arc::clone(&sighting));
        let mut waits = false;
        for audience in audiences {
            let Some(group) = self.groups.get_mut(&audience).filter(|group| group.slots.has(vehicle)) else {
                continue;
            };
            group.waiting.push(Arc::clone(&sighting));
            if group.quiet_until.is_none_or(|until| until <= now) {
                group.tell(now);
            } else {
                waits |= group.waiting.len() == 1;
            }
        }
        waits
    }

    /// A vehicle's state is committed.
    pub(crate) fn commit(&mut self, vehicle: VehicleId, state: &Arc<VehicleState>) -> Told {
        let Some(open) = self.open.get(&vehicle) else {
            self.forget_waiting(vehicle);
            return Told::Nothing;
        };
        if !open.is_of(state) {
            return Told::Newer(Arc::clone(open));
        }
        open.note_stored();
        self.open.remove(&vehicle);
        Told::This
    }

    /// What was told of a vehicle last, if it is open, is not going to be stored.
    pub(crate) fn withdraw(&mut self, vehicle: VehicleId) -> bool {
        self.forget_waiting(vehicle);
        self.open.remove(&vehicle).is_some()
    }

    fn forget_waiting(&mut self, vehicle: VehicleId) {
        for group in self.groups.values_mut() {
            group.waiting.retain(|sighting| sighting.vehicle_id != vehicle);
        }
    }

    /// What was told of the vehicles of interest and is open.
    pub(crate) fn open_of(&self, interest: &Interest) -> Vec<Arc<Sighting>> {
        let open = self.open.values().filter(|sighting| {
            interest.audience.sees(sighting.organization_id) && interest.vehicle(sighting.vehicle_id)
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
