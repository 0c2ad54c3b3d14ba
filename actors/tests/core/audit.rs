//! What must hold of a vehicle's books, whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use waypost_actors::model::{GeofenceId, Timestamp, VehicleId, VisitId};
use waypost_actors::tracking::{Record, RecordKind};

use crate::ledger::Ledger;

fn of(record: &Record) -> (Option<VisitId>, RecordKind) {
    (record.geofence().map(|detail| detail.visit_id), record.kind())
}

/// Checks that the active records of a vehicle pair up, and agree with its visits and its state.
pub(crate) fn audit(vehicle: VehicleId, ledger: &Ledger) {
    let mut active = ledger.active();
    let mut spans: BTreeMap<GeofenceId, Vec<(Timestamp, Option<Timestamp>)>> = BTreeMap::new();
    for visit in ledger.visits.values() {
        let entry = active.remove(&visit.entry_event_id).expect("a visit has its entry");
        assert_eq!(of(&entry), (Some(visit.id), RecordKind::Entry), "{vehicle}");
        if let Some((exit, at)) = visit.exit {
            let exit = active.remove(&exit).expect("a visit that ended has its exit");
            assert_eq!((of(&exit), exit.occurred_at), ((Some(visit.id), RecordKind::Exit), at));
        }
        spans.entry(visit.geofence_id).or_default().push((visit.entered_at, visit.exit.map(|(_, at)| at)));
    }
    let kinds = [RecordKind::Dwell, RecordKind::Overspeed, RecordKind::Trip, RecordKind::Stop];
    let of_no_visit = |record: &Record| kinds.contains(&record.kind());
    assert!(active.values().all(of_no_visit), "of no visit: {active:#?}");
    for spans in spans.values_mut() {
        spans.sort_by_key(|(from, to)| (*from, to.unwrap_or(Timestamp::MAX)));
        for pair in spans.windows(2) {
            assert!(pair[0].1.is_some_and(|left| left <= pair[1].0), "in twice: {pair:?}");
        }
    }
    let open = ledger.visits.values().filter(|visit| visit.exit.is_none());
    let open: BTreeSet<_> = open.map(|visit| (visit.geofence_id, visit.id)).collect();
    let held = ledger.state.open_stays().map(|stay| (stay.geofence_id, stay.visit_id));
    assert_eq!(held.collect::<BTreeSet<_>>(), open, "the state says the same as the records");
}
