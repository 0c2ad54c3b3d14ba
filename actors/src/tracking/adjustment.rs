//! How a correction puts right the sums of a trip or stop that goes on behind its part.
//!
//! A late fix changes those sums up to the end of the trip, and everything else only for a while. So a correction compares
//! everything else, and where that agrees again, the difference of the sums is added to whatever is stored behind.

use super::identity::trip_id;
use super::journey::{Journey, Stretch};
use super::record::{Detail, Record, TripKind};
use super::state::VehicleState;
use super::totals::Totals;
use crate::model::{EventId, Timestamp, VehicleId};

/// What a correction makes of the sums of the trip or stop that goes on behind its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjustment {
    kind: TripKind,
    since: Timestamp,
    more: Totals,
}

impl Adjustment {
    /// From the stored state to the one found, if they agree in everything but these sums; `None` inside if the sums agree too.
    pub(super) fn between(found: &VehicleState, stored: &VehicleState) -> Option<Option<Self>> {
        if found.agrees_with(stored) {
            return Some(None);
        }
        let (is, was) = (found.journey.as_ref()?, stored.journey.as_ref()?);
        let certain = Stretch { totals: was.certain.totals, ..is.certain };
        let as_stored = Journey { certain, ..is.clone() };
        if as_stored != *was {
            return None;
        }
        let more = is.certain.totals.beyond(&was.certain.totals)?;
        let as_stored = VehicleState { journey: stored.journey.clone(), ..found.clone() };
        let adjustment = Self { kind: is.kind, since: is.certain.since, more };
        as_stored.agrees_with(stored).then_some(Some(adjustment))
    }

    /// Puts right a state in which the same trip or stop goes on. Returns whether it does.
    pub fn apply(&self, state: &mut VehicleState) -> bool {
        let same = |journey: &&mut Journey| journey.kind == self.kind && journey.certain.since == self.since;
        let Some(journey) = state.journey.as_mut().filter(same) else { return false };
        journey.certain.totals.add(&self.more);
        true
    }

    /// The record of the trip or stop.
    #[must_use]
    pub fn record_id(&self, vehicle: VehicleId) -> EventId {
        trip_id(vehicle, self.kind, self.since)
    }

    /// Its stored record as it should be, if it has ended.
    pub(super) fn adjusted(&self, stored: &Record) -> Option<Record> {
        let mut record = stored.clone();
        stored.ended_at?;
        let Detail::Trip(detail) = &mut record.detail else { return None };
        detail.totals.add(&self.more);
        Some(record)
    }
}
