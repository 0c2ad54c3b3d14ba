//! What a correction changes of the stored records. Pure, so that the store can ask inside its
//! transaction; knows no SQL and no numbers.

use std::collections::{HashMap, HashSet};

use super::effects::Correction;
use super::record::Record;
use crate::model::{EventId, EventStatus, VisitId};

/// What has to be done to stored records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Records to write over those stored under their ids, to number anew and to announce: retractions first, then
    /// new records and revisions in the order of the timeline. Their driver is not resolved yet.
    pub changed: Vec<Record>,
    /// Stored records that are still true, but were made at another point of the timeline: only their
    /// `confirmed_at` is written, and nothing is announced.
    pub moved: Vec<Record>,
    /// Visits with a record that used to begin or end them and no longer does. Once `changed` is written, such a visit
    /// gets the entry and exit of its active records; it is deleted if its entry is not active. It may have had
    /// another exit before, which a live path that knew less overwrote.
    pub undone: Vec<VisitId>,
}

/// Compares a correction with what is stored. `stored`: the active records of its part, and every
/// record with an id among its records; each once.
///
/// A record with the id and values of a stored one stays. One with other values gets the next revision, and so does
/// a retracted record that holds again. A stored record that was not found again is retracted.
#[must_use]
pub fn diff(stored: &[Record], correction: &Correction) -> Difference {
    let mut difference = Difference { changed: retractions(stored, correction), ..Difference::default() };
    let known: HashMap<EventId, &Record> = stored.iter().map(|record| (record.id, record)).collect();
    for record in &correction.records {
        match known.get(&record.id) {
            None => difference.changed.push(found_by(correction, record, 1, EventStatus::Active)),
            // What follows the part stands, or is judged next: so does a stored end that lies there.
            Some(stored) if record.is_open() && has_ended_behind(stored, correction) => {}
            Some(stored) if !stored.tells_the_same(record) => {
                let revision = stored.revision + 1;
                difference.changed.push(found_by(correction, record, revision, EventStatus::Active));
            }
            Some(stored) if stored.confirmed_at != record.confirmed_at => {
                let moved = Record { confirmed_at: record.confirmed_at, ..(*stored).clone() };
                difference.moved.push(moved);
            }
            Some(_) => {}
        }
    }
    difference.changed.extend(adjusted(stored, correction));
    let undone = difference.changed.iter().filter_map(|record| {
        let was = known.get(&record.id)?.geofence()?.visit_id;
        let is = record.geofence().map(|detail| detail.visit_id);
        (record.status == EventStatus::Retracted || is != Some(was)).then_some(was)
    });
    difference.undone = undone.collect();
    difference
}

/// The trip or stop that went on at the end of the part and has ended since, with its sums put right.
fn adjusted(stored: &[Record], correction: &Correction) -> Option<Record> {
    let adjustment = correction.adjustment.as_ref()?;
    let is_it = |record: &&Record| {
        record.id == adjustment.record_id(record.vehicle_id) && has_ended_behind(record, correction)
    };
    let record = stored.iter().find(is_it).and_then(|record| adjustment.adjusted(record))?;
    Some(found_by(correction, &record, record.revision + 1, EventStatus::Active))
}

/// The stored active records that were not found again, in the order of the timeline.
fn retractions(stored: &[Record], correction: &Correction) -> Vec<Record> {
    let holds: HashSet<EventId> = correction.records.iter().map(|record| record.id).collect();
    let is_gone = |record: &&Record| {
        // What the server's clock made is none of a correction's business.
        let is_judged = record.status == EventStatus::Active && !record.is_by_the_clock();
        let in_part = is_judged && correction.covers(record.confirmed_at);
        in_part && !holds.contains(&record.id)
    };
    let mut gone: Vec<&Record> = stored.iter().filter(is_gone).collect();
    gone.sort_by_key(|record| (record.occurred_at, record.sequence));
    let retracted =
        |record: &Record| found_by(correction, record, record.revision + 1, EventStatus::Retracted);
    gone.into_iter().map(retracted).collect()
}

/// Whether the stored record is active and ended after the part.
fn has_ended_behind(stored: &Record, correction: &Correction) -> bool {
    let is_behind = correction.until.is_some_and(|until| stored.confirmed_at > until);
    stored.status == EventStatus::Active && stored.ended_at.is_some() && is_behind
}

/// A record as a correction found it.
fn found_by(correction: &Correction, record: &Record, revision: i64, status: EventStatus) -> Record {
    let Correction { origin, detected_at, .. } = *correction;
    Record { revision, status, origin, detected_at, ..record.clone() }
}
