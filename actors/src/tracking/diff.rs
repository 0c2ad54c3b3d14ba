//! What a correction changes of the stored records. Pure, so that the store can ask inside its
//! transaction; knows no SQL and no numbers.

use std::collections::{HashMap, HashSet};

use super::effects::Correction;
use super::record::Record;
use crate::model::{EventId, EventStatus, VisitId};

/// What is to be done to stored records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Records to write in place of what is stored under their id, to number anew and to tell:
    /// retractions first, then new ones and revisions in the order of the timeline. Their driver is
    /// still to be resolved.
    pub told: Vec<Record>,
    /// Stored records that hold as they are, but were made at another point of the timeline: only
    /// their `confirmed_at` is written, and nobody is told.
    pub moved: Vec<Record>,
    /// Visits with a record that began or ended them and does so no more. Once `told` is written, such a
    /// visit is what its active records say, entry and exit; it is deleted if its entry is not active.
    /// It may have had another exit before, which a live path that knew less wrote over.
    pub undone: Vec<VisitId>,
}

/// Compares a correction with what is stored. `stored`: the active records of its part, and every
/// record with an id among its records; each once.
///
/// The same id with the same values stays. Other values are one revision on, and so is a record that
/// was retracted and holds again. What is not found any more is retracted.
#[must_use]
pub fn diff(stored: &[Record], correction: &Correction) -> Difference {
    let mut difference = Difference { told: retractions(stored, correction), ..Difference::default() };
    let known: HashMap<EventId, &Record> = stored.iter().map(|record| (record.id, record)).collect();
    for record in &correction.records {
        match known.get(&record.id) {
            None => difference.told.push(found_by(correction, record, 1, EventStatus::Active)),
            // What follows the part stands, or is judged next: so does the end that is stored of it.
            Some(stored) if record.is_open() && has_ended_behind(stored, correction) => {}
            Some(stored) if !stored.tells_the_same(record) => {
                let revision = stored.revision + 1;
                difference.told.push(found_by(correction, record, revision, EventStatus::Active));
            }
            Some(stored) if stored.confirmed_at != record.confirmed_at => {
                let moved = Record { confirmed_at: record.confirmed_at, ..(*stored).clone() };
                difference.moved.push(moved);
            }
            Some(_) => {}
        }
    }
    let undone = difference.told.iter().filter_map(|record| {
        let was = known.get(&record.id)?.geofence()?.visit_id;
        let is = record.geofence().map(|detail| detail.visit_id);
        (record.status == EventStatus::Retracted || is != Some(was)).then_some(was)
    });
    difference.undone = undone.collect();
    difference
}

/// What holds by the store and was not found any more, in the order of the timeline.
fn retractions(stored: &[Record], correction: &Correction) -> Vec<Record> {
    let holds: HashSet<EventId> = correction.records.iter().map(|record| record.id).collect();
    let is_gone = |record: &&Record| {
        let in_part = record.status == EventStatus::Active && correction.covers(record.confirmed_at);
        in_part && !holds.contains(&record.id)
    };
    let mut gone: Vec<&Record> = stored.iter().filter(is_gone).collect();
    gone.sort_by_key(|record| (record.occurred_at, record.sequence));
    let retracted =
        |record: &Record| found_by(correction, record, record.revision + 1, EventStatus::Retracted);
    gone.into_iter().map(retracted).collect()
}

/// Whether what is stored holds, and ended after the part.
fn has_ended_behind(stored: &Record, correction: &Correction) -> bool {
    let is_behind = correction.until.is_some_and(|until| stored.confirmed_at > until);
    stored.status == EventStatus::Active && stored.ended_at.is_some() && is_behind
}

/// A record as a correction found it.
fn found_by(correction: &Correction, record: &Record, revision: i64, status: EventStatus) -> Record {
    let Correction { origin, detected_at, .. } = *correction;
    Record { revision, status, origin, detected_at, ..record.clone() }
}
