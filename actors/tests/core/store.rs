//! A store in memory that keeps books, holds commits back and fails on demand.
//!
//! It is as strict as the real one: a batch that does not follow on is refused, and so is one that
//! calls a stored fix new. Whatever the core must never do is noted and found by [`Store::audit`].

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use waypost_actors::model::{
    Event, EventId, EventKind, Fence, Fix, GeofenceId, OrganizationId, Vehicle, VehicleId,
};
use waypost_actors::ports::{
    Batch, Counts, Reread, Seeds, StoreError, TrackStore, VehicleSeed, VehicleWrite,
};
use waypost_actors::tracking::{Standing, VehicleState};

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is stored and says so.
    None,
    /// It is not stored and says that it failed.
    Refuse,
    /// It is stored and says that it failed.
    Doubt,
    /// It is stored and says that it failed, and from then on the store is away.
    Vanish,
    /// It is stored and never answers.
    HangStored,
    /// It is not stored and never answers.
    Hang,
    /// It panics, and is not stored.
    Panic,
    /// Another server has taken over.
    TakenOver,
}

/// One commit as it came.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) writes: usize,
    pub(crate) rows: usize,
    /// Rows, events and one for each write: what the core's bound counts.
    pub(crate) weight: usize,
}

type Key = (VehicleId, i64, u64, u64);

#[derive(Default)]
struct Books {
    vehicles: Vec<Vehicle>,
    fences: Vec<Fence>,
    unsettled: Vec<(OrganizationId, GeofenceId)>,
    removed: BTreeSet<VehicleId>,
    states: BTreeMap<VehicleId, VehicleState>,
    fixes: BTreeSet<Key>,
    events: Vec<Event>,
    settled: Vec<(GeofenceId, i64)>,
    came: Vec<Came>,
    plan: VecDeque<Fault>,
    away: bool,
    taken_over: bool,
    takes: Duration,
    wrong: Vec<String>,
}

pub(crate) struct Store {
    books: Mutex<Books>,
    open: watch::Sender<bool>,
}

fn key(vehicle: VehicleId, fix: &Fix) -> Key {
    (vehicle, fix.recorded_at.as_micros(), fix.place.latitude.to_bits(), fix.place.longitude.to_bits())
}

fn away(why: &str) -> StoreError {
    StoreError::Away(why.to_owned())
}

impl Store {
    pub(crate) fn new(vehicles: Vec<Vehicle>, fences: Vec<Fence>) -> Self {
        let books = Books { vehicles, fences, ..Books::default() };
        Self { books: Mutex::new(books), open: watch::Sender::new(true) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits begin, but do not end until [`Self::release`].
    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    /// What becomes of the next commits, one each; those after them succeed.
    pub(crate) fn plan(&self, faults: &[Fault]) {
        self.books().plan.extend(faults);
    }

    /// From now on nothing is answered but errors, until `away` is `false` again.
    pub(crate) fn set_away(&self, away: bool) {
        self.books().away = away;
    }

    /// A commit takes so long: longer than others take to report again.
    pub(crate) fn set_slow(&self, takes: Duration) {
        self.books().takes = takes;
    }

    /// Another server writes from now on.
    pub(crate) fn take_over(&self) {
        self.books().taken_over = true;
    }

    /// A vehicle whose removal was committed, but whose stays were not ended before the server stopped.
    pub(crate) fn add_removed(&self, vehicle: VehicleId) {
        self.books().removed.insert(vehicle);
    }

    /// A new version that was committed, but not settled before the server stopped.
    pub(crate) fn add_unsettled(&self, fence: Fence) {
        let mut books = self.books();
        books.unsettled.push((fence.organization_id, fence.id));
        match books.fences.iter_mut().find(|known| known.id == fence.id) {
            Some(known) => known.versions.extend(fence.versions),
            None => books.fences.push(fence),
        }
    }

    pub(crate) fn came(&self) -> Vec<Came> {
        self.books().came.clone()
    }

    pub(crate) fn commits(&self) -> usize {
        self.books().came.len()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.books().events.clone()
    }

    pub(crate) fn events_of(&self, vehicle: VehicleId) -> Vec<Event> {
        self.books().events.iter().filter(|event| event.vehicle_id == vehicle).cloned().collect()
    }

    pub(crate) fn state(&self, vehicle: VehicleId) -> VehicleState {
        self.books().states.get(&vehicle).cloned().unwrap_or_default()
    }

    pub(crate) fn fix_count(&self) -> usize {
        self.books().fixes.len()
    }

    pub(crate) fn holds(&self, vehicle: VehicleId, fixes: &[Fix]) -> bool {
        let books = self.books();
        fixes.iter().all(|fix| books.fixes.contains(&key(vehicle, fix)))
    }

    pub(crate) fn is_settled(&self, fence: GeofenceId, version: i64) -> bool {
        self.books().settled.contains(&(fence, version))
    }

    /// Everything that must hold of the books, whatever happened.
    pub(crate) fn audit(&self) {
        let books = self.books();
        assert!(books.wrong.is_empty(), "{:#?}", books.wrong);
        let mut seen: HashSet<EventId> = HashSet::new();
        let mut inside: BTreeSet<(VehicleId, GeofenceId)> = BTreeSet::new();
        for (event, sequence) in books.events.iter().zip(1..) {
            assert_eq!(event.sequence, sequence, "the numbers have no gap");
            assert!(seen.insert(event.id), "no event is there twice: {event:?}");
            let stay = (event.vehicle_id, event.geofence_id);
            match event.kind {
                EventKind::Entry => assert!(inside.insert(stay), "entered twice: {event:?}"),
                EventKind::Exit => assert!(inside.remove(&stay), "left without being in: {event:?}"),
                EventKind::Dwell => {}
            }
        }
        let stays = |(vehicle, state): (&VehicleId, &VehicleState)| {
            state.open_stays().map(|stay| (*vehicle, stay.geofence_id)).collect::<Vec<_>>()
        };
        let held: BTreeSet<_> = books.states.iter().flat_map(stays).collect();
        assert_eq!(held, inside, "the states say the same as the events");
    }
}

impl Books {
    fn next_sequence(&self) -> i64 {
        self.events.len() as i64 + 1
    }

    fn seeds(&self) -> Seeds {
        let seed = |vehicle: &Vehicle| VehicleSeed {
            vehicle: vehicle.clone(),
            state: self.states.get(&vehicle.id).cloned().unwrap_or_default(),
            is_removed: self.removed.contains(&vehicle.id),
        };
        Seeds {
            vehicles: self.vehicles.iter().map(seed).collect(),
            fences: self.fences.clone(),
            unsettled: self.unsettled.clone(),
            next_sequence: self.next_sequence(),
        }
    }

    fn note(&mut self, batch: &Batch) {
        let rows = batch.writes.iter().map(|write| write.effects.rows.len()).sum();
        let weight = rows + batch.event_count as usize + batch.writes.len();
        self.came.push(Came { writes: batch.writes.len(), rows, weight });
    }

    fn write(&mut self, batch: &Batch) -> Result<Vec<Counts>, StoreError> {
        if batch.next_sequence - batch.event_count != self.next_sequence() {
            self.wrong.push("a batch that does not follow on".to_owned());
            return Err(away("the number of the next event is not the expected one"));
        }
        let counts = batch.writes.iter().map(|write| self.write_vehicle(write)).collect();
        if batch.next_sequence != self.next_sequence() {
            self.wrong.push("a batch with other events than it says".to_owned());
        }
        Ok(counts)
    }

    fn write_vehicle(&mut self, write: &VehicleWrite) -> Counts {
        let mut counts = Counts::default();
        for row in &write.effects.rows {
            if self.fixes.insert(key(write.vehicle_id, &row.fix)) {
                counts.stored += 1;
            } else {
                counts.duplicates += 1;
                if row.standing == Standing::Fresh {
                    self.wrong.push(format!("called new and is stored: {row:?}"));
                }
            }
        }
        self.events.extend(write.effects.events.iter().cloned());
        self.states.insert(write.vehicle_id, (*write.state).clone());
        counts
    }

    fn answers(&self) -> Result<(), StoreError> {
        match (self.taken_over, self.away) {
            (true, _) => Err(StoreError::TakenOver),
            (_, true) => Err(away("told so")),
            _ => Ok(()),
        }
    }
}

impl TrackStore for Store {
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>> {
        Box::pin(async move { Ok(self.books().seeds()) })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Counts>, StoreError>> {
        Box::pin(async move {
            self.books().note(batch);
            let takes = self.books().takes;
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            self.open.subscribe().wait_for(|open| *open).await.expect("the store keeps the sender");
            let fault = {
                let mut books = self.books();
                books.answers()?;
                books.plan.pop_front().unwrap_or(Fault::None)
            };
            match fault {
                Fault::None => self.books().write(batch),
                Fault::Refuse => Err(away("refused")),
                Fault::Doubt => self.books().write(batch).and(Err(away("stored, and the answer is lost"))),
                Fault::Vanish => {
                    let mut books = self.books();
                    books.away = true;
                    books.write(batch).and(Err(away("stored, and gone")))
                }
                Fault::HangStored => {
                    self.books().write(batch)?;
                    std::future::pending().await
                }
                Fault::Hang => std::future::pending().await,
                Fault::Panic => panic!("the store panics, as it was told"),
                Fault::TakenOver => {
                    self.books().taken_over = true;
                    Err(StoreError::TakenOver)
                }
            }
        })
    }

    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, Result<Reread, StoreError>> {
        Box::pin(async move {
            let books = self.books();
            books.answers()?;
            Ok(Reread {
                states: vehicles
                    .iter()
                    .map(|id| (*id, books.states.get(id).cloned().unwrap_or_default()))
                    .collect(),
                events: books.events.iter().filter(|event| event.sequence >= sequence).cloned().collect(),
                next_sequence: books.next_sequence(),
            })
        })
    }

    fn mark_settled(&self, fence: GeofenceId, version: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut books = self.books();
            books.answers()?;
            books.settled.push((fence, version));
            Ok(())
        })
    }
}
