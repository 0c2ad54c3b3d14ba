//! A store in memory that keeps books, holds commits back and fails on demand.
//!
//! Whatever the core must never do is noted and found by [`Store::audit`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use waypost_actors::model::{
    Connection, Event, Fence, Fix, GeofenceId, OrganizationId, Silence, Timestamp, Vehicle, VehicleId,
};
use waypost_actors::ports::{Batch, Committed, RefusedFix, Seeds, Slice, StoreError, VehicleSeed};
use waypost_actors::prepare::fences_by_organization;
use waypost_actors::tracking::{Effects, Record, VehicleState};

use crate::audit::audit;
pub(crate) use crate::fault::{Came, Fault};
use crate::ledger::geofence_events;
use crate::ledger::{Ledger, key};

#[derive(Default)]
pub(crate) struct Books {
    vehicles: Vec<Vehicle>,
    fences: Vec<Fence>,
    unsettled: Vec<(OrganizationId, GeofenceId, i64)>,
    removed: BTreeSet<VehicleId>,
    pub(crate) ledgers: BTreeMap<VehicleId, Ledger>,
    /// Every record as it was announced, superseded ones included.
    pub(crate) log: Vec<Record>,
    pub(crate) settled: Vec<(GeofenceId, i64)>,
    silences: Vec<(OrganizationId, Silence)>,
    /// Records of connections, as they are stored.
    pub(crate) connections: Vec<Record>,
    /// What happens to the next records of connections.
    pub(crate) connection_faults: VecDeque<Fault>,
    /// What happens when changes are numbered next.
    pub(crate) numbering_faults: VecDeque<Fault>,
    /// How often changes were looked for.
    pub(crate) numberings: usize,
    /// Whether the next revision of drivers is refused for good.
    pub(crate) refuses_drivers: bool,
    /// How many changes of master data wait for their numbers.
    pub(crate) waiting_changes: usize,
    /// The numbers of the others.
    pub(crate) changes: Vec<i64>,
    came: Vec<Came>,
    pub(crate) slices: usize,
    /// How many vehicles were asked about, and how many of them had come near, by question.
    pub(crate) near: Vec<(usize, usize)>,
    pub(crate) slice_fixes: usize,
    pub(crate) plan: VecDeque<Fault>,
    pub(crate) away: bool,
    pub(crate) taken_over: bool,
    pub(crate) takes: Duration,
    wrong: Vec<String>,
    /// The fixes that are refused for good; `None`: all of them.
    poison: Option<Vec<Fix>>,
    pub(crate) quarantined: Vec<RefusedFix>,
}

pub(crate) struct Store {
    books: Mutex<Books>,
    pub(crate) open: watch::Sender<bool>,
    pub(crate) slices_open: watch::Sender<bool>,
}

pub(crate) fn away(why: &str) -> StoreError {
    StoreError::away(why)
}

impl Store {
    pub(crate) fn new(vehicles: Vec<Vehicle>, fences: Vec<Fence>) -> Self {
        let poison = Some(Vec::new());
        let books = Books { vehicles, fences, slice_fixes: Slice::MAX_FIXES, poison, ..Books::default() };
        Self {
            books: Mutex::new(books),
            open: watch::Sender::new(true),
            slices_open: watch::Sender::new(true),
        }
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits begin, but do not end until [`Self::release`].
    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    /// Slices are asked for, but not answered until [`Self::release_slices`].
    pub(crate) fn hold_slices(&self) {
        self.slices_open.send_replace(false);
    }

    pub(crate) fn release_slices(&self) {
        self.slices_open.send_replace(true);
    }

    /// How many slices were asked for.
    pub(crate) fn slices(&self) -> usize {
        self.books().slices
    }

    /// How many vehicles the core asked about whether they came near a fence, and how many had, by question.
    pub(crate) fn asked_near(&self) -> Vec<(usize, usize)> {
        self.books().near.clone()
    }

    /// The most fixes of a slice.
    pub(crate) fn cut_slices(&self, fixes: usize) {
        self.books().slice_fixes = fixes;
    }

    pub(crate) fn is_dirty(&self, vehicle: VehicleId) -> bool {
        self.books().ledgers.get(&vehicle).is_some_and(|ledger| ledger.mark.is_some())
    }

    pub(crate) fn ledger(&self, vehicle: VehicleId) -> Ledger {
        self.books().ledgers.get(&vehicle).cloned().unwrap_or_default()
    }

    /// What happens to the next commits, one each; those after them succeed.
    pub(crate) fn plan(&self, faults: &[Fault]) {
        self.books().plan.extend(faults);
    }

    /// What happens to the next records of connections: they are stored, refused, or stored without an answer.
    pub(crate) fn plan_connections(&self, faults: &[Fault]) {
        self.books().connection_faults.extend(faults);
    }

    /// What happens to the next numberings of changes: they are done, fail, hang, or are done without an answer.
    pub(crate) fn plan_numberings(&self, faults: &[Fault]) {
        self.books().numbering_faults.extend(faults);
    }

    /// How much silence counts in an organization.
    pub(crate) fn set_silence(&self, organization: OrganizationId, silence: Silence) {
        self.books().silences.push((organization, silence));
    }

    /// Every record of a connection, in order.
    pub(crate) fn connections(&self) -> Vec<Record> {
        self.books().connections.clone()
    }

    /// A batch that holds one of these fixes is refused for good; with `None`, one that holds any fix.
    pub(crate) fn poison(&self, fixes: Option<Vec<Fix>>) {
        self.books().poison = fixes;
    }

    pub(crate) fn quarantined(&self) -> Vec<(VehicleId, Fix)> {
        self.books().quarantined.iter().map(|refused| (refused.vehicle_id, refused.fix)).collect()
    }

    /// From now on only errors are answered, until `away` is `false` again.
    pub(crate) fn set_away(&self, away: bool) {
        self.books().away = away;
    }

    /// Makes commits take this long: longer than others take to report again.
    pub(crate) fn set_slow(&self, takes: Duration) {
        self.books().takes = takes;
    }

    /// Another server writes from now on.
    pub(crate) fn take_over(&self) {
        self.books().taken_over = true;
    }

    /// A vehicle whose removal was committed, but whose stays were not ended before the server stopped.
    pub(crate) fn add_removed(&self, vehicle: VehicleId, at: Timestamp) {
        let mut books = self.books();
        books.removed.insert(vehicle);
        books.vehicles.iter_mut().filter(|known| known.id == vehicle).for_each(|known| known.retire(at));
    }

    /// Adds a version as the next server finds it.
    pub(crate) fn add_version(&self, fence: Fence) {
        let mut books = self.books();
        match books.fences.iter_mut().find(|known| known.id == fence.id) {
            Some(known) => known.versions.extend(fence.versions),
            None => books.fences.push(fence),
        }
    }

    /// A new version that was committed, but not settled before the server stopped.
    pub(crate) fn add_unsettled(&self, fence: Fence) {
        let versions =
            fence.versions.iter().map(|version| (fence.organization_id, fence.id, version.version));
        self.books().unsettled.extend(versions);
        self.add_version(fence);
    }

    pub(crate) fn came(&self) -> Vec<Came> {
        self.books().came.clone()
    }

    pub(crate) fn commits(&self) -> usize {
        self.books().came.len()
    }

    /// Changes of master data that wait for their numbers from now on.
    pub(crate) fn change(&self, many: usize) {
        self.books().waiting_changes += many;
    }

    /// Refuses the next revision of drivers for good.
    pub(crate) fn refuse_drivers(&self) {
        self.books().refuses_drivers = true;
    }

    /// How many times the writer looked for changes of master data.
    pub(crate) fn numberings(&self) -> usize {
        self.books().numberings
    }

    /// Every geofence event that was announced, in order.
    pub(crate) fn events(&self) -> Vec<Event> {
        geofence_events(&self.books().log)
    }

    pub(crate) fn events_of(&self, vehicle: VehicleId) -> Vec<Event> {
        geofence_events(self.books().log.iter().filter(|record| record.vehicle_id == vehicle))
    }

    pub(crate) fn next_sequence(&self) -> i64 {
        self.books().next_sequence()
    }

    pub(crate) fn state(&self, vehicle: VehicleId) -> VehicleState {
        self.ledger(vehicle).state
    }

    pub(crate) fn fix_count(&self) -> usize {
        self.books().ledgers.values().map(|ledger| ledger.fixes.len()).sum()
    }

    pub(crate) fn holds(&self, vehicle: VehicleId, fixes: &[Fix]) -> bool {
        let ledger = self.ledger(vehicle);
        fixes.iter().all(|fix| ledger.fixes.contains_key(&key(fix)))
    }

    pub(crate) fn is_settled(&self, fence: GeofenceId, version: i64) -> bool {
        self.books().settled.contains(&(fence, version))
    }

    /// Checks everything that must hold of the books, whatever happened.
    pub(crate) fn audit(&self) {
        let books = self.books();
        assert!(books.wrong.is_empty(), "{:#?}", books.wrong);
        let mut numbers = books.changes.clone();
        numbers.extend(books.log.iter().map(|record| record.sequence));
        numbers.sort_unstable();
        for (number, expected) in numbers.into_iter().zip(1..) {
            assert_eq!(number, expected, "the numbers have no gap");
        }
        for (vehicle, ledger) in &books.ledgers {
            assert!(ledger.wrong.is_empty(), "{:#?}", ledger.wrong);
            if ledger.mark.is_none() {
                audit(*vehicle, ledger);
            }
        }
    }
}

impl Books {
    pub(crate) fn next_sequence(&self) -> i64 {
        (self.log.len() + self.changes.len()) as i64 + 1
    }

    pub(crate) fn seeds(&self) -> Seeds {
        let seed = |vehicle: &Vehicle| {
            let ledger = self.ledgers.get(&vehicle.id);
            VehicleSeed {
                vehicle: vehicle.clone(),
                state: ledger.map(|ledger| ledger.state.clone()).unwrap_or_default(),
                is_lost: ledger.is_some_and(|ledger| ledger.state.corrected_to == Timestamp::LAST),
                is_removed: self.removed.contains(&vehicle.id),
                dirty_from: ledger.and_then(|ledger| ledger.mark).map(|mark| mark.from),
                connection: self.connection_of(vehicle.id),
            }
        };
        let unsettled = self.unsettled.iter();
        let unsettled = unsettled.filter(|(_, fence, version)| !self.settled.contains(&(*fence, *version)));
        Seeds {
            vehicles: self.vehicles.iter().map(seed).collect(),
            fences: fences_by_organization(&self.fences),
            unsettled: unsettled.copied().collect(),
            silences: self.silences.clone(),
            next_sequence: self.next_sequence(),
            ..Seeds::default()
        }
    }

    fn connection_of(&self, vehicle: VehicleId) -> Option<(Connection, Timestamp)> {
        let told = self.connections.iter().rfind(|record| record.vehicle_id == vehicle)?.connection()?;
        Some((told.state, told.heard_at))
    }

    pub(crate) fn log_connections(&mut self, records: &[Record]) -> Vec<Record> {
        let mut logged = Vec::new();
        for record in records {
            let known = self.vehicles.iter().find(|known| known.id == record.vehicle_id);
            let is_new = self.connections.iter().all(|known| known.id != record.id);
            if let Some(known) = known.filter(|known| is_new && !self.removed.contains(&known.id)) {
                let (vehicle_name, sequence) = (known.name.clone(), self.next_sequence());
                let record = Record { vehicle_name, sequence, ..record.clone() };
                self.log.push(record.clone());
                logged.push(record);
            }
        }
        self.connections.extend(logged.iter().cloned());
        logged
    }

    pub(crate) fn note(&mut self, batch: &Batch) {
        let count = |of: fn(&Effects) -> usize| batch.writes.iter().map(|write| of(&write.effects)).sum();
        let rows: usize = count(|effects| effects.rows.len());
        let weight = count(Effects::weight);
        let numberings = self.numberings;
        self.came.push(Came { writes: batch.writes.len(), rows, weight, numberings });
    }

    pub(crate) fn write(&mut self, batch: &Batch) -> Vec<Committed> {
        let mut next_sequence = self.next_sequence();
        let mut answers = Vec::new();
        for write in &batch.writes {
            let ledger = self.ledgers.entry(write.vehicle_id).or_default();
            let committed = ledger.write(&write.effects, &write.state, &mut next_sequence);
            self.log.extend(committed.records.iter().cloned());
            answers.push(committed);
        }
        for (write, committed) in batch.writes.iter().zip(&mut answers) {
            committed.dirty_from = self.ledgers[&write.vehicle_id].mark.map(|mark| mark.from);
        }
        answers
    }

    pub(crate) fn takes(&self, batch: &Batch) -> Result<(), StoreError> {
        let is_poison = |fix: &Fix| self.poison.as_ref().is_none_or(|poison| poison.contains(fix));
        let mut rows = batch.writes.iter().flat_map(|write| &write.effects.rows);
        match rows.find(|row| is_poison(&row.fix)) {
            Some(_) => Err(StoreError::refused("numeric field overflow")),
            None => Ok(()),
        }
    }

    pub(crate) fn answers(&self) -> Result<(), StoreError> {
        match (self.taken_over, self.away) {
            (true, _) => Err(StoreError::TakenOver),
            (_, true) => Err(away("told so")),
            _ => Ok(()),
        }
    }
}
