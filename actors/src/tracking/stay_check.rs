//! Checks, in production too, that the fences a vehicle is in are those its records say.

use smallvec::SmallVec;

use super::record::Record;
use super::state::VehicleState;
use crate::model::{EventKind, VisitId};

/// The stays that a vehicle's records leave open, folded record by record.
#[derive(Clone, Debug)]
pub struct StayCheck {
    /// Takes no allocation for a few, which is usual.
    open: SmallVec<[VisitId; 4]>,
    folded: usize,
}

impl StayCheck {
    /// Starts from a state that is believed.
    #[must_use]
    pub fn of(state: &VehicleState) -> Self {
        Self { open: state.open_stays().map(|stay| stay.visit_id).collect(), folded: 0 }
    }

    /// Folds in the live records of a step that are new since the last call; returns whether the state holds the
    /// same stays.
    pub fn agrees(&mut self, records: &[Record], state: &VehicleState) -> bool {
        for event in records.iter().skip(self.folded).filter_map(Record::geofence) {
            match event.kind {
                EventKind::Entry => self.open.push(event.visit_id),
                EventKind::Exit => self.open.retain(|visit| *visit != event.visit_id),
                EventKind::Dwell => {}
            }
        }
        self.folded = records.len();
        let held = || state.open_stays().map(|stay| stay.visit_id);
        // In one order, unless a stay began or ended: comparing each with all would take long for who is in many fences.
        held().eq(self.open.iter().copied())
            || (held().count() == self.open.len() && held().all(|visit| self.open.contains(&visit)))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::{Cause, EventId, GeofenceId, Timestamp};
    use crate::tracking::{Phase, Stay, Tally};

    fn inside(visits: &[u128]) -> VehicleState {
        let stay = |visit: &u128| Stay {
            geofence_id: GeofenceId(Uuid::from_u128(*visit)),
            version: 1,
            visit_id: VisitId(Uuid::from_u128(*visit)),
            entry_event_id: EventId(Uuid::from_u128(*visit)),
            entered_at: Timestamp::FIRST,
            cause: Cause::Crossing,
            phase: Phase::Inside,
            dwelt: false,
            overstay: None,
            tally: Tally::default(),
            fuel: None,
        };
        VehicleState { stays: visits.iter().map(stay).collect(), ..VehicleState::default() }
    }

    #[test]
    fn a_stay_without_a_record_is_found() {
        assert!(StayCheck::of(&inside(&[1, 2])).agrees(&[], &inside(&[2, 1])));
        for other in [&[1][..], &[1, 3], &[1, 2, 3], &[]] {
            assert!(!StayCheck::of(&inside(&[1, 2])).agrees(&[], &inside(other)), "{other:?}");
        }
    }
}
