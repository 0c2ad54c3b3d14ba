//! What a correction changes of the stored records. Pure, so that the store can ask inside its
//! transaction; knows no SQL and no numbers.

use std::collections::{HashMap, HashSet};

use super::effects::Correction;
use crate::fuel::FuelRecord;
use crate::model::{Event, EventId, EventStatus, Timestamp, VisitId};

/// A record that corrections put right: of a geofence, or of fuel.
pub trait Record: Clone {
    /// Derived from what it records.
    fn id(&self) -> EventId;
    /// Whether it holds.
    fn status(&self) -> EventStatus;
    /// One more with each correction.
    fn revision(&self) -> i64;
    /// When it happened.
    fn happened_at(&self) -> Timestamp;
    /// Its number.
    fn sequence(&self) -> i64;
    /// The instant of the timeline that made it.
    fn confirmed_at(&self) -> Timestamp;
    /// The same, made at another instant.
    #[must_use]
    fn made_at(&self, confirmed_at: Timestamp) -> Self;
    /// The same as a correction found it.
    #[must_use]
    fn found_by(&self, correction: &Correction, revision: i64, status: EventStatus) -> Self;
    /// Whether this one, which is stored, holds and says what another one says. When and how a record was
    /// found, its number, its driver and names are no values.
    fn tells_the_same(&self, found: &Self) -> bool;
}

/// What is to be done to stored records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Records to write in place of what is stored under their id, to number anew and to tell:
    /// retractions first, then new ones and revisions in the order of the timeline. Their driver is
    /// still to be resolved.
    pub told: Vec<Event>,
    /// Stored records that hold as they are, but were made at another point of the timeline: only
    /// their `confirmed_at` is written, and nobody is told.
    pub moved: Vec<Event>,
    /// Visits with a record that began or ended them and does so no more. Once `told` is written, such a
    /// visit is what its active records say, entry and exit; it is deleted if its entry is not active.
    /// It may have had another exit before, which a live path that knew less wrote over.
    pub undone: Vec<VisitId>,
}

/// Compares a correction with what is stored. `stored`: the active records of its part, and every
/// record with an id among its events; each once.
#[must_use]
pub fn diff(stored: &[Event], correction: &Correction) -> Difference {
    let (told, moved) = compare(stored, &correction.events, correction);
    let visits: HashMap<EventId, VisitId> = stored.iter().map(|event| (event.id, event.visit_id)).collect();
    let undone = told.iter().filter_map(|event| {
        let was = visits.get(&event.id).copied()?;
        (event.status == EventStatus::Retracted || was != event.visit_id).then_some(was)
    });
    Difference { undone: undone.collect(), told, moved }
}

/// What to write in place of what is stored and to tell (retractions first, then what is new or says something else,
/// in its order), and what only was made at another point of the timeline. `stored` as in [`diff`].
///
/// The same id with the same values stays. Other values are one revision on, and so is a record that
/// was retracted and holds again. What is not found any more is retracted.
#[must_use]
pub fn compare<R: Record>(stored: &[R], found: &[R], correction: &Correction) -> (Vec<R>, Vec<R>) {
    let known: HashMap<EventId, &R> = stored.iter().map(|record| (record.id(), record)).collect();
    let holds: HashSet<EventId> = found.iter().map(Record::id).collect();
    let is_gone = |record: &&R| {
        let in_part = record.status() == EventStatus::Active && correction.covers(record.confirmed_at());
        in_part && !holds.contains(&record.id())
    };
    let mut gone: Vec<&R> = stored.iter().filter(is_gone).collect();
    gone.sort_by_key(|record| (record.happened_at(), record.sequence()));
    let retracted = |record: &R| record.found_by(correction, record.revision() + 1, EventStatus::Retracted);
    let mut told: Vec<R> = gone.into_iter().map(retracted).collect();
    let mut moved = Vec::new();
    for record in found {
        match known.get(&record.id()) {
            None => told.push(record.found_by(correction, 1, EventStatus::Active)),
            Some(stored) if !stored.tells_the_same(record) => {
                told.push(record.found_by(correction, stored.revision() + 1, EventStatus::Active));
            }
            Some(stored) if stored.confirmed_at() != record.confirmed_at() => {
                moved.push(stored.made_at(record.confirmed_at()));
            }
            Some(_) => {}
        }
    }
    (told, moved)
}

/// What both kinds have alike. `names`: what others are called today, which is joined when a record is read.
macro_rules! alike {
    ($($id:ident).+, names: $($name:ident),+) => {
        fn id(&self) -> EventId {
            self.$($id).+
        }
        fn status(&self) -> EventStatus {
            self.status
        }
        fn revision(&self) -> i64 {
            self.revision
        }
        fn sequence(&self) -> i64 {
            self.sequence
        }
        fn confirmed_at(&self) -> Timestamp {
            self.confirmed_at
        }
        fn made_at(&self, confirmed_at: Timestamp) -> Self {
            Self { confirmed_at, ..self.clone() }
        }
        fn found_by(&self, correction: &Correction, revision: i64, status: EventStatus) -> Self {
            let Correction { origin, detected_at, .. } = *correction;
            Self { revision, status, origin, detected_at, ..self.clone() }
        }
        fn tells_the_same(&self, found: &Self) -> bool {
            let as_stored = Self {
                sequence: self.sequence,
                revision: self.revision,
                detected_at: self.detected_at,
                origin: self.origin,
                driver_id: self.driver_id,
                confirmed_at: self.confirmed_at,
                $($name: self.$name.clone(),)+
                ..found.clone()
            };
            as_stored == *self
        }
    };
}

impl Record for Event {
    alike!(id, names: vehicle_name, geofence_name);

    fn happened_at(&self) -> Timestamp {
        self.occurred_at
    }
}

impl Record for FuelRecord {
    alike!(event.id, names: vehicle_name);

    fn happened_at(&self) -> Timestamp {
        self.event.started_at
    }
}
