//! What a correction changes of the stored records. Pure, so that the store can ask inside its
//! transaction; knows no SQL and no numbers.

use std::collections::{HashMap, HashSet};

use super::effects::Correction;
use crate::model::{Event, EventId, EventStatus, VisitId};

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
///
/// The same id with the same values stays. Other values are one revision on, and so is a record that
/// was retracted and holds again. What is not among the events any more is retracted. When and how a
/// record was found, its number, its driver and names are no values.
#[must_use]
pub fn diff(stored: &[Event], correction: &Correction) -> Difference {
    let known: HashMap<EventId, &Event> = stored.iter().map(|event| (event.id, event)).collect();
    let holds: HashSet<EventId> = correction.events.iter().map(|event| event.id).collect();
    let mut difference = Difference::default();
    for event in stored {
        let in_part = event.status == EventStatus::Active && correction.covers(event.confirmed_at);
        if in_part && !holds.contains(&event.id) {
            difference.undone.push(event.visit_id);
            difference.told.push(found_by(event, correction, event.revision + 1, EventStatus::Retracted));
        }
    }
    difference.told.sort_by_key(|event| (event.occurred_at, event.sequence));
    for event in &correction.events {
        match known.get(&event.id) {
            None => difference.told.push(found_by(event, correction, 1, EventStatus::Active)),
            Some(stored) if !tells_the_same(stored, event) => {
                if stored.visit_id != event.visit_id {
                    difference.undone.push(stored.visit_id);
                }
                difference.told.push(found_by(event, correction, stored.revision + 1, EventStatus::Active));
            }
            Some(stored) if stored.confirmed_at != event.confirmed_at => {
                difference.moved.push(Event { confirmed_at: event.confirmed_at, ..(*stored).clone() });
            }
            Some(_) => {}
        }
    }
    difference
}

fn found_by(event: &Event, correction: &Correction, revision: i64, status: EventStatus) -> Event {
    let Correction { origin, detected_at, .. } = *correction;
    Event { revision, status, origin, detected_at, ..event.clone() }
}

/// Whether a stored record holds, and says what the evaluation says.
fn tells_the_same(stored: &Event, event: &Event) -> bool {
    let as_stored = Event {
        sequence: stored.sequence,
        revision: stored.revision,
        detected_at: stored.detected_at,
        origin: stored.origin,
        driver_id: stored.driver_id,
        vehicle_name: stored.vehicle_name.clone(),
        geofence_name: stored.geofence_name.clone(),
        confirmed_at: stored.confirmed_at,
        ..event.clone()
    };
    as_stored == *stored
}
