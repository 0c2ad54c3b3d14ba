//! Several reports of one fix are made one, whichever came first; only what changes is written.

use waypost::domain::position::HistoryRequest;
use waypost::store::position_history::list;
use waypost_actors::fuel::Gauge;
use waypost_actors::model::{Attributes, Fix, FuelReading, NewAttributes};
use waypost_actors::ports::{Counts, TrackStore};
use waypost_actors::tracking::{Freshness, PositionRow, Quarantine, VehicleState};
use waypost_test_support::{Engine, TestStore, for_each_engine};

use crate::fleet::{VEHICLE, at, batch, correcting, correction, fix, mark, marked, row, stand, write};

for_each_engine!(
    the_outcome_does_not_depend_on_the_order,
    what_reports_carry_is_merged_in_any_order_and_marks_nothing,
    only_what_changes_is_written,
    what_changes_the_judgement_marks_the_vehicle,
    what_changes_the_fuel_log_marks_the_vehicle,
    a_fix_ahead_of_the_clock_never_counts,
    a_fix_that_was_inaccurate_is_no_better_for_not_saying_so_again,
);

const RECHECK: Freshness = Freshness::Recheck { late: false };

/// Reports of one fix that differ in everything that may differ.
fn reports() -> [Fix; 4] {
    let plain = fix(0);
    [
        Fix { speed_kmh: Some(30.0), ignition: Some(true), received_at: at(5), ..plain },
        Fix {
            speed_kmh: Some(20.5),
            heading_degrees: Some(90.0),
            fuel: Some(FuelReading::Raw(512.0)),
            ..plain
        },
        Fix {
            accuracy_meters: Some(8.0),
            ignition: Some(false),
            fuel: Some(FuelReading::Liters(41.0)),
            ..plain
        },
        Fix {
            heading_degrees: Some(91.0),
            altitude_meters: Some(-3.0),
            odometer_km: Some(10.25),
            fuel: Some(FuelReading::Percent(60.0)),
            ..plain
        },
    ]
}

const ORDERS: [[usize; 4]; 5] = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1], [0, 3, 2, 1]];

async fn the_outcome_does_not_depend_on_the_order(store: TestStore) {
    let track = stand(&store).await;
    let mut expected = reports()[0];
    for report in reports() {
        expected.merge(&report);
    }
    // Another vehicle's fix each time; in one batch, and one after another.
    for (number, order) in ORDERS.iter().enumerate() {
        let reports = order.map(|index| reports()[index]);
        let (together, apart) = (fix(100 + number as i64), fix(200 + number as i64));
        let moved = |report: Fix, to: Fix| PositionRow {
            fix: Fix { recorded_at: to.recorded_at, ..report },
            ..row(report, RECHECK)
        };
        let rows = reports.map(|report| moved(report, together)).to_vec();
        let committed = track.commit(&batch(vec![write(rows)])).await.expect("committed");
        assert_eq!(committed[0].counts, Counts { stored: 1, duplicates: 3 });
        for report in reports {
            track.commit(&batch(vec![write(vec![moved(report, apart)])])).await.expect("committed");
        }
    }
    let slice = track.slice(VEHICLE).await.expect("read").expect("judged members changed");
    assert_eq!(slice.fixes.len(), 2 * ORDERS.len());
    for stored in slice.fixes {
        assert_eq!(stored.fix, Fix { recorded_at: stored.fix.recorded_at, ..expected });
    }
}

/// What reports of one fix carry.
fn carried() -> [Option<Attributes>; 4] {
    let of = |members: &[(&str, f64)]| {
        let mut new = NewAttributes::default();
        members.iter().for_each(|(name, value)| new.note(name, Some(*value)));
        new.seal().expect("they fit")
    };
    [of(&[("a", 2.0), ("b", 1.0)]), of(&[("a", -2.0)]), None, of(&[("c", 7.5), ("b", 3.0)])]
}

async fn what_reports_carry_is_merged_in_any_order_and_marks_nothing(store: TestStore) {
    let track = stand(&store).await;
    let fresh: Vec<PositionRow> = (0..10).map(|second| row(fix(second), Freshness::Fresh)).collect();
    track.commit(&batch(vec![write(fresh)])).await.expect("committed");
    for (number, order) in ORDERS.iter().enumerate() {
        // Fixes that came in order, and such as come only now: in one batch, and one after another.
        for (place, is_one_batch) in [(0, true), (100, false)] {
            let at = fix(place + number as i64);
            let rows =
                order.map(|index| PositionRow { attributes: carried()[index].clone(), ..row(at, RECHECK) });
            if is_one_batch {
                track.commit(&batch(vec![write(rows.to_vec())])).await.expect("committed");
            } else {
                for row in rows {
                    track.commit(&batch(vec![write(vec![row])])).await.expect("committed");
                }
            }
        }
    }
    assert_eq!(marked(&store).await, None);
    let request = HistoryRequest { from: None, to: None, with_quarantined: false, is_newest_first: false };
    let (stored, _) = list(&store.db, &track, VEHICLE, &request, None, 100).await.expect("read");
    let carrying: Vec<_> = stored.iter().filter_map(|stored| stored.attributes.as_ref()).collect();
    assert_eq!((stored.len(), carrying.len()), (15, 10));
    assert!(carrying.iter().all(|carried| carried.as_json() == r#"{"a":-2,"b":1,"c":7.5}"#), "{carrying:?}");
}

/// From now on, every update of a position fails.
async fn refuse_updates(store: &TestStore) {
    let statements: &[&str] = match store.engine() {
        Engine::Sqlite => {
            &["create trigger refuse before update on position begin select raise(abort, 'written'); end"]
        }
        Engine::Postgres => &[
            "create function refuse() returns trigger language plpgsql as \
             $$ begin raise exception 'written'; end $$",
            "create trigger refuse before update on position for each row execute function refuse()",
        ],
    };
    for statement in statements {
        store.db.write().sql(*statement).run().await.expect("made");
    }
}

async fn only_what_changes_is_written(store: TestStore) {
    let track = stand(&store).await;
    let whole = reports()[1];
    track.commit(&batch(vec![write(vec![row(whole, Freshness::Fresh)])])).await.expect("committed");
    refuse_updates(&store).await;
    let less = Fix { fuel: None, ..whole };
    let later = Fix { received_at: at(99), ..whole };
    let larger = Fix { speed_kmh: Some(21.0), ..whole };
    let rows = [whole, less, later, larger, fix(0)].map(|fix| row(fix, RECHECK)).to_vec();
    let committed = track.commit(&batch(vec![write(rows)])).await.expect("nothing is written");
    assert_eq!((committed[0].counts.duplicates, committed[0].is_dirty()), (5, false));
    for changed in [
        Fix { speed_kmh: Some(20.0), ..whole },
        Fix { altitude_meters: Some(1.0), ..whole },
        Fix { received_at: at(0), ..whole },
    ] {
        let write = write(vec![row(changed, RECHECK)]);
        assert!(track.commit(&batch(vec![write])).await.is_err(), "it is written: {changed:?}");
    }
}

async fn what_changes_the_judgement_marks_the_vehicle(store: TestStore) {
    let track = stand(&store).await;
    let fresh = [0, 10, 20].map(|second| row(fix(second), Freshness::Fresh)).to_vec();
    track.commit(&batch(vec![write(fresh)])).await.expect("committed");
    let unjudged = Fix { odometer_km: Some(3.0), ..fix(0) };
    let committed = track.commit(&batch(vec![write(vec![row(unjudged, RECHECK)])])).await.expect("committed");
    assert_eq!((committed[0].is_dirty(), marked(&store).await), (false, None));
    // Its ignition is judged with the fix behind it.
    let repeated = Fix { ignition: Some(true), ..fix(20) };
    let repeated = write(vec![row(repeated, Freshness::Repeat)]);
    assert!(!track.commit(&batch(vec![repeated])).await.expect("committed")[0].is_dirty());
    let fueled = Fix { fuel: Some(FuelReading::Percent(5.0)), ..fix(0) };
    // The engine says that it has judged what this adds.
    let judged = write(vec![row(fueled, Freshness::Repeat)]);
    let committed = track.commit(&batch(vec![judged])).await.expect("committed");
    assert_eq!((committed[0].is_dirty(), committed[0].counts.duplicates), (false, 1));
    let filled = |second| row(Fix { accuracy_meters: Some(12.0), ..fix(second) }, RECHECK);
    let writes = vec![write(vec![filled(20)]), write(vec![filled(10), filled(10)])];
    let committed = track.commit(&batch(writes)).await.expect("committed");
    assert!(committed.iter().all(|write| write.is_dirty()));
    assert_eq!(marked(&store).await, Some(mark(10, 20)));
}

async fn what_changes_the_fuel_log_marks_the_vehicle(store: TestStore) {
    let track = stand(&store).await;
    let fresh = [0, 10, 20].map(|second| row(fix(second), Freshness::Fresh)).to_vec();
    track.commit(&batch(vec![write(fresh)])).await.expect("committed");
    let fueled = Fix { fuel_cumulative: Some(5.0), ..fix(10) };
    let committed = track.commit(&batch(vec![write(vec![row(fueled, RECHECK)])])).await.expect("committed");
    assert_eq!((committed[0].is_dirty(), marked(&store).await), (true, Some(mark(10, 10))));
    // Of a vehicle that reports fuel, what is read with it counts too.
    let (gauge, _) = Gauge::begin(&fueled, &[], VEHICLE).expect("it says something");
    let mut ignited = write(vec![row(Fix { ignition: Some(true), ..fix(20) }, RECHECK)]);
    ignited.state = VehicleState { fuel: Some(Box::new(gauge)), ..(*ignited.state).clone() }.into();
    track.commit(&batch(vec![ignited])).await.expect("committed");
    assert_eq!(marked(&store).await, Some(mark(10, 20)));
    let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
    let fixes: Vec<_> = slice.fixes.iter().map(|stored| stored.fix.fuel_cumulative).collect();
    assert_eq!(fixes, [None, Some(5.0), None]);
}

async fn a_fix_ahead_of_the_clock_never_counts(store: TestStore) {
    let track = stand(&store).await;
    let ahead = PositionRow { quarantine: Some(Quarantine::Future), ..row(fix(500), Freshness::Fresh) };
    let rows = vec![row(fix(0), Freshness::Fresh), ahead.clone()];
    track.commit(&batch(vec![write(rows)])).await.expect("committed");
    let again = PositionRow { freshness: RECHECK, ..ahead.clone() };
    let committed = track.commit(&batch(vec![write(vec![again])])).await.expect("committed");
    assert!(!committed[0].is_dirty());
    // Now that its time has come it is judged, and a correction must undo that.
    let judged = row(Fix { received_at: at(600), ..fix(500) }, RECHECK);
    let committed = track.commit(&batch(vec![write(vec![judged])])).await.expect("committed");
    assert_eq!((committed[0].is_dirty(), marked(&store).await), (true, Some(mark(500, 500))));
    let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
    assert_eq!(slice.fixes.iter().map(|stored| stored.fix).collect::<Vec<_>>(), [fix(0)]);
}

async fn a_fix_that_was_inaccurate_is_no_better_for_not_saying_so_again(store: TestStore) {
    let track = stand(&store).await;
    let poor = Fix { accuracy_meters: Some(400.0), ..fix(500) };
    let poor = PositionRow { quarantine: Some(Quarantine::Accuracy), ..row(poor, Freshness::Fresh) };
    track.commit(&batch(vec![write(vec![poor.clone()])])).await.expect("committed");
    let again = PositionRow { freshness: RECHECK, ..poor.clone() };
    let committed = track.commit(&batch(vec![write(vec![again])])).await.expect("committed");
    assert!(!committed[0].is_dirty());
    // Without its accuracy it is judged, or waits to be, but what is stored still has it.
    for quarantine in [None, Some(Quarantine::Speed)] {
        let judged = PositionRow { quarantine, ..row(fix(500), RECHECK) };
        let again = PositionRow { freshness: RECHECK, ..poor.clone() };
        let committed = track.commit(&batch(vec![write(vec![judged, again])])).await.expect("committed");
        assert_eq!((committed[0].is_dirty(), marked(&store).await), (true, Some(mark(500, 500))));
        let clean = correcting(correction(None, None, Vec::new()));
        assert!(!track.commit(&batch(vec![clean])).await.expect("committed")[0].is_dirty());
    }
    track.commit(&batch(vec![write(vec![row(fix(500), RECHECK)])])).await.expect("committed");
    let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
    assert_eq!(slice.fixes.iter().map(|stored| stored.fix).collect::<Vec<_>>(), [poor.fix]);
}
