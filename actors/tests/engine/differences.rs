//! What a correction changes of the records that are stored, and what it leaves (docs/tracking.md, "Late data").

use waypost_actors::fuel::{FuelEventKind, Gauge};
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{
    Calibration, DriverId, EventStatus, Fix, FuelReading, GeofenceId, Origin, Place, Rules, Timestamp,
};
use waypost_actors::tracking::{
    AlertDetail, AlertRule, Context, Correction, Detail, Difference, Effects, Mark, Meanwhile, Record, Slice,
    StoredFix, correct, diff,
};

use crate::late::Life;
use crate::records::{alert, entry, fuel, of, overspeed, silence, trip};
use crate::script::{Script, at};
use crate::timelines::{Step, THE_END};

fn correction(records: Vec<Record>) -> Correction {
    Correction {
        after: Some(at(-100.0)),
        until: Some(at(5_000.0)),
        origin: Origin::Backfill,
        detected_at: at(9_000.0),
        records,
        adjustment: None,
        visits: vec![],
        fuel_rows: vec![],
        undecided: None,
        quarantines: vec![],
        checkpoints: vec![],
        dirty: None,
    }
}

/// The same, found at another time by another way, with another number and driver, and of a vehicle named otherwise.
fn stored(record: &Record) -> Record {
    Record {
        sequence: 77,
        revision: 3,
        vehicle_name: "before".into(),
        driver_id: Some(DriverId(uuid::Uuid::from_u128(5))),
        detected_at: at(400.0),
        origin: Origin::Recompute,
        ..record.clone()
    }
}

fn renamed(record: &Record) -> Record {
    let mut record = stored(record);
    match &mut record.detail {
        Detail::Geofence(detail) => detail.geofence_name = "before".into(),
        Detail::Overspeed(detail) => detail.geofence_name = Some("before".into()),
        Detail::Alert(detail) => detail.geofence_name = Some("before".into()),
        _ => {}
    }
    record
}

fn dwell_alert() -> Record {
    let fence = Some(GeofenceId(uuid::Uuid::from_u128(3)));
    let detail = AlertDetail {
        geofence_id: fence,
        geofence_name: Some("F".into()),
        ..AlertDetail::new(AlertRule::Dwell, uuid::Uuid::nil())
    };
    of(Detail::Alert(Box::new(detail)))
}

#[test]
fn numbers_names_drivers_and_how_it_was_found_are_no_values() {
    let fence = Some(GeofenceId(uuid::Uuid::from_u128(3)));
    for found in [entry(), overspeed(fence), dwell_alert(), fuel(FuelEventKind::Refuel), trip()] {
        assert_eq!(
            diff(&[renamed(&found)], &correction(vec![found.clone()])),
            Difference::default(),
            "{found:?}"
        );
    }
}

#[test]
fn what_was_confirmed_elsewhere_is_moved_and_told_to_nobody() {
    let found = entry();
    let known = Record { confirmed_at: at(90.0), ..stored(&found) };
    let moved = Record { confirmed_at: found.confirmed_at, ..known.clone() };
    let expected = Difference { moved: vec![moved], ..Difference::default() };
    assert_eq!(diff(&[known], &correction(vec![found])), expected);
}

#[test]
fn another_value_is_the_next_revision_as_the_correction_found_it() {
    let found = entry();
    let elsewhere = Some(Place::new(1.0, 1.0));
    let known = Record { location: elsewhere, ..stored(&found) };
    let changed = diff(&[known], &correction(vec![found.clone()])).changed;
    let expected =
        Record { revision: 4, origin: Origin::Backfill, detected_at: at(9_000.0), ..found.clone() };
    assert_eq!(changed, [expected]);
    let new = diff(&[], &correction(vec![found.clone()])).changed;
    assert_eq!(new, [Record { origin: Origin::Backfill, detected_at: at(9_000.0), ..found }]);
}

#[test]
fn what_is_not_found_again_is_taken_back_if_it_is_of_the_part_and_of_the_timeline() {
    let at_second = |seconds: f64| Record { confirmed_at: at(seconds), ..stored(&entry()) };
    let taken = |record: Record| diff(&[record], &correction(vec![])).changed;
    let gone = taken(at_second(5_000.0));
    let [record] = &gone[..] else { panic!("{gone:?}") };
    assert_eq!(
        (record.status, record.revision, record.origin),
        (EventStatus::Retracted, 4, Origin::Backfill)
    );
    assert_eq!(taken(at_second(5_001.0)), []);
    assert_eq!(taken(at_second(-100.0)), [], "it belongs to the part before");
    assert_eq!(taken(Record { status: EventStatus::Retracted, ..at_second(0.0) }), []);
    for by_the_clock in [silence(), alert(AlertRule::SilentWhileMoving)] {
        assert_eq!(taken(Record { confirmed_at: at(0.0), ..by_the_clock }), []);
    }
}

#[test]
fn an_end_behind_the_part_stands_and_one_within_does_not() {
    let open = trip();
    let ended =
        |seconds: f64| Record { ended_at: Some(at(seconds)), confirmed_at: at(seconds), ..stored(&open) };
    let changed = |known: Record| diff(&[known], &correction(vec![open.clone()])).changed.len();
    assert_eq!((changed(ended(5_001.0)), changed(ended(5_000.0))), (0, 1));
    let taken_back = Record { status: EventStatus::Retracted, ..ended(5_001.0) };
    assert_eq!(changed(taken_back), 1, "it holds again");
}

#[test]
fn a_commit_weighs_what_it_writes() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.calibrations = vec![Calibration::new(1, None, Some(60.0), None)];
    let reading = Some(FuelReading::Liters(30.0));
    let fix = Fix { fuel: reading, ..Fix::new(at(0.0), script.now, Place::new(0.005, 0.005)) };
    script.fix(fix);
    let written = &script.effects;
    assert_eq!((written.rows.len(), written.fuel_rows.len(), written.records.len()), (1, 1, 1));
    assert_eq!(written.weight(), 4);
    let (_, gauged) = Gauge::begin(&fix, &script.vehicle.calibrations, script.vehicle.id).unwrap();
    let part = Correction {
        fuel_rows: vec![gauged.row.unwrap(); 2],
        quarantines: vec![(fix, None); 3],
        ..correction(vec![entry(); 4])
    };
    let effects = Effects { correction: Some(Box::new(part)), ..Effects::default() };
    assert_eq!(effects.weight(), 10);
    assert_eq!(Effects::default().weight(), 1);
}

/// What agrees again before the end of the part that was corrected last says nothing of what follows that part.
#[test]
fn a_late_fix_in_a_part_that_is_corrected_does_not_end_the_correction_behind_it() {
    let mut life = Life::new(&Script::new(Rules::EXACT).fences, Some(250.0), 100);
    let report = |fixes: &[(f64, f64)]| {
        let fix = |(seconds, east): &(f64, f64)| {
            Fix::new(at(*seconds), at(THE_END), Place::new(0.005, east / 1000.0))
        };
        (THE_END, Step::Report(fixes.iter().map(fix).collect()))
    };
    let inside = [(10.0, 4.0), (20.0, 4.5), (30.0, 5.0), (40.0, 5.5), (50.0, 6.0)];
    let correct = (THE_END, Step::Correct { fixes: 3, waits: 0 });
    // The stay began earlier, which its exit must tell; and then somewhere impossible in between, which changes nothing.
    life.through(&[
        report(&inside),
        report(&[(60.0, 15.0)]),
        report(&[(0.0, 3.5)]),
        correct,
        report(&[(15.0, 900.0)]),
    ]);
    assert_eq!(life.corrected.first(), Some(&Some(at(20.0))), "a part ended before everything was put right");
    life.keeps_the_law();
}

/// As each fix that completes a checkpoint may be the last of a part: its end is kept once.
#[test]
fn a_part_keeps_each_instant_once() {
    let script = Script::new(Rules::EXACT);
    let fix = |second: u32| Fix::new(at(f64::from(second)), script.now, Place::new(0.005, 0.005));
    let stored = |second| StoredFix { fix: fix(second), quarantine: None, attributes: None };
    let slice = Slice {
        mark: Mark::of_fix(at(0.0)),
        checkpoint: None,
        fixes: (0..1_000).map(stored).collect(),
        checkpoints: vec![],
        is_last: false,
    };
    let fences = FenceSet::new(vec![]);
    let context = Context { vehicle: &script.vehicle, fences: &fences, detected_at: script.now };
    let found = correct(&slice, &Meanwhile::default(), &context).correction;
    let kept: Vec<_> = found.checkpoints.iter().map(|kept| kept.at).collect();
    assert_eq!(kept, [at(499.0), at(999.0)]);
    let from = Timestamp::from_micros(at(999.0).as_micros() + 1);
    assert_eq!(found.dirty, Some(Mark { from, until: from, origin: Origin::Backfill }));
}
