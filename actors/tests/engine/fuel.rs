//! Fuel on the timeline: in whatever order a day's fixes arrive, and however its calibration changes, the log, the
//! refuels and the drains are those of the day in order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use waypost_actors::fuel::{FuelEventKind, FuelRecord, Quality};
use waypost_actors::model::{
    Calibration, CalibrationPoint, EventStatus, Fix, FuelReading, Origin, Place, Rules, Sensor, SensorKind,
    ShapeSpec,
};
use waypost_actors::tracking::{Record, RecordView};

use crate::late::Life;
use crate::ledger::geofence_events;
use crate::script::at;
use crate::tank::{Rig, Simulation};
use crate::timelines::{Dated, Step, THE_END};

const TANK_LITERS: f64 = 400.0;

/// A lorry's day, a reading each minute.
fn day() -> Simulation {
    Simulation::day(Rig { seconds_between: 60, ..Rig::quiet(TANK_LITERS) }, false)
}

/// The day as a tracker reports it, in percent.
fn fixes(day: &Simulation) -> Vec<Fix> {
    let mut meters = 0.0;
    let fix = |reading: &waypost_actors::fuel::Reading| {
        meters += reading.distance_meters.unwrap_or(0.0);
        let mut fix = Fix::new(reading.at, at(THE_END), reading.place.expect("the tank is somewhere"));
        fix.fuel = reading.level_liters.map(|liters| FuelReading::Percent(liters / TANK_LITERS * 100.0));
        (fix.speed_kmh, fix.ignition) = (reading.speed_kmh, reading.ignition);
        fix.odometer_km = Some(meters / 1000.0);
        fix
    };
    day.readings.iter().map(fix).collect()
}

/// A vehicle with that tank, and a fence that holds its first stop and not its second.
fn life(keeps: usize) -> Life {
    life_with(crate::script::square(10.5, 47.5, 1.0), Rules::EXACT, keeps)
}

/// The same with another fence.
fn life_with(shape: ShapeSpec, rules: Rules, keeps: usize) -> Life {
    let fence = waypost_actors::model::Fence {
        id: waypost_actors::model::GeofenceId(uuid::Uuid::from_u128(3)),
        organization_id: waypost_actors::model::OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![waypost_actors::model::FenceVersion { shape, ..crate::script::version(1, rules) }],
    };
    let mut life = Life::new(&[fence], None, keeps);
    life.vehicle.calibrations = vec![Calibration::new(1, None, Some(TANK_LITERS), None)];
    life.slice = 200;
    life
}

fn reported(fixes: &[Fix], together: usize) -> Vec<(f64, Step)> {
    fixes.chunks(together).map(|some| (THE_END, Step::Report(some.to_vec()))).collect()
}

fn told(life: &Life) -> Vec<FuelRecord> {
    let active = life.ledger.active();
    let mut told: Vec<FuelRecord> =
        active.values().filter_map(|record| RecordView::from(record).fuel()).collect();
    told.sort_by_key(|record| record.event.started_at);
    let alert = |record: &Record| {
        let alert = record.as_alert()?;
        Some((alert.cause_id, alert.volume_liters.map(f64::to_bits), record.ended_at))
    };
    let drain = |record: &&FuelRecord| record.event.kind == FuelEventKind::Drain;
    let drains = told.iter().filter(drain).map(|drain| &drain.event);
    let drains: BTreeSet<_> =
        drains.map(|drain| (drain.id.0, Some(drain.volume_liters.to_bits()), None)).collect();
    let alerts: BTreeSet<_> = active.values().filter_map(alert).collect();
    assert_eq!(alerts, drains, "each drain is an alert that has no end, and nothing else of fuel is");
    told
}

/// What was burnt in the one visit that ended.
fn used(life: &Life) -> f64 {
    let exits =
        geofence_events(life.ledger.active().values()).into_iter().filter_map(|event| event.analytics);
    let used: Vec<Option<f64>> = exits.map(|analytics| analytics.fuel_used_liters).collect();
    let [Some(used)] = used[..] else { panic!("one visit that tells: {used:?}") };
    used
}

#[test]
fn a_visit_burns_what_a_counter_counts() {
    let mut all = fixes(&day());
    let first = all[0].recorded_at;
    for fix in &mut all {
        fix.fuel_cumulative = Some(7_000.0 + fix.recorded_at.seconds_since(first) * 0.001);
    }
    let mut life = life(50);
    life.through(&reported(&all, 10));
    life.keeps_the_law();
    let exit = geofence_events(life.ledger.active().values()).into_iter().find_map(|event| event.analytics);
    let exit = exit.expect("an exit");
    let burnt = exit.duration_seconds * 0.001;
    assert!(
        (used(&life) - burnt).abs() <= 0.061,
        "{} is {burnt} but for a minute on the way out",
        used(&life)
    );
}

#[test]
fn what_becomes_certain_on_the_way_out_counts_where_it_happened() {
    let mut day = Simulation::new(Rig { seconds_between: 60, ..Rig::quiet(TANK_LITERS) }, 0.4);
    day.drive(45.0);
    day.park(10.0);
    day.refuel(150.0, 50.0, false);
    day.park(60.0);
    day.drive(30.0);
    let all = fixes(&day);
    // The fence ends a little east of the stop, and an exit has to last for ten minutes.
    let stop = all[60].place;
    let rules = Rules { min_outside_seconds: 600.0, ..Rules::EXACT };
    let shape = crate::script::square(stop.longitude - 1.0 + 0.002, stop.latitude - 0.5, 1.0);
    let through = |all: &[Fix]| {
        let mut life = life_with(shape.clone(), rules, 50);
        life.through(&reported(all, 10));
        life.keeps_the_law();
        let active = life.ledger.active();
        let refuel = active.values().find(|record| RecordView::from(*record).fuel().is_some());
        (used(&life), refuel.expect("a refuel").confirmed_at)
    };
    let (before, certain_at) = through(&all);
    let mut jittered = all.clone();
    let aside = jittered.iter_mut().find(|fix| fix.recorded_at == certain_at).expect("a fix");
    assert_eq!(aside.place, stop, "it is there still");
    aside.place.longitude += 0.003;
    let (after, certain_again_at) = through(&jittered);
    assert_eq!(certain_again_at, certain_at);
    assert!((after - before).abs() < 1.0, "{after} is {before}");
}

#[test]
fn a_day_in_order_is_found_as_it_was() {
    let day = day();
    let mut life = life(50);
    life.through(&reported(&fixes(&day), 10));
    life.keeps_the_law();
    let told = told(&life);
    assert_eq!(told.len(), day.truth.len());
    for (record, truth) in told.iter().zip(&day.truth) {
        assert_eq!(record.event.kind, truth.kind);
        assert!((record.event.volume_liters - truth.liters).abs() / truth.liters < 0.05, "{record:?}");
        assert!(record.event.started_at.seconds_since(truth.from).abs() <= 120.0, "{record:?}");
        assert!(record.event.ended_at.seconds_since(truth.to).abs() <= 120.0, "{record:?}");
        assert!(record.event.place.is_some(), "{record:?}");
        assert_eq!((record.revision, record.origin), (1, Origin::Live));
    }
    let fences: Vec<usize> = told.iter().map(|record| record.geofence_ids.len()).collect();
    assert_eq!(fences, [1, 0, 0], "the fence holds the first stop alone");
    // From the beginning to the fence's eastern side, an hour's drive at 25 litres and a refuel on the way; a twentieth
    // of the tank is what waves and hills make of two levels.
    let used = used(&life);
    assert!((used - 25.0).abs() < TANK_LITERS / 20.0, "{used}");
    assert_eq!(life.ledger.fuel_rows.len(), day.readings.len());
    let levels = life.ledger.fuel_rows.values().map(|row| row.level_liters.is_some());
    assert!(levels.min().expect("rows"), "every good reading has a smoothed level");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_makes_the_same_log_and_the_same_events(
        seed in any::<u64>(), together in 1_usize..40, keeps in 1_usize..80, again in 0_usize..60,
    ) {
        let mut all = fixes(&day());
        all.extend_from_within(..again);
        let mut state = seed | 1;
        for i in (1..all.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut life = life(keeps);
        life.through(&reported(&all, together));
        life.keeps_the_law();
        prop_assert_eq!(told(&life).len(), 3);
    }

    /// What a device reports in a second message counts as if it had been in the first.
    #[test]
    fn a_level_that_comes_in_a_second_message_is_taken_as_if_in_the_first(keeps in 1_usize..80) {
        let whole = fixes(&day());
        let twice: Vec<Fix> =
            whole.iter().flat_map(|fix| [Fix { fuel: None, ..*fix }, *fix]).collect();
        let (mut first, mut second) = (life(keeps), life(keeps));
        first.through(&reported(&whole, 1));
        second.through(&reported(&twice, 1));
        second.keeps_the_law();
        prop_assert_eq!(&first.ledger.fuel_rows, &second.ledger.fuel_rows);
        prop_assert_eq!(told(&first).len(), told(&second).len());
    }
}

#[test]
fn newest_first_is_the_same_day() {
    let mut all = fixes(&day());
    all.reverse();
    let mut life = life(20);
    life.through(&reported(&all, 7));
    life.keeps_the_law();
    assert_eq!(told(&life).len(), 3);
}

/// The tank was a tenth larger all along: the records are recomputed, under the same ids.
#[test]
fn a_calibration_dated_back_recomputes_what_was_recorded() {
    let all = fixes(&day());
    let mut steps = reported(&all, 25);
    let mut life = life(50);
    life.through(&steps);
    let before = told(&life);
    steps = vec![(THE_END, Step::Calibrate { liters: 440, dated: Dated::Always })];
    life.through(&steps);
    life.keeps_the_law();
    let after = told(&life);
    assert_eq!(after.len(), before.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((after.event.id, after.revision), (before.event.id, 2));
        assert_eq!((after.origin, after.calibration_version), (Origin::Recompute, 2));
        let grown = after.event.volume_liters / before.event.volume_liters;
        assert!((grown - 1.1).abs() < 0.02, "{grown}");
    }
    assert!(life.ledger.fuel_rows.values().all(|row| row.calibration_version == Some(2)));
}

/// A version that begins in the middle of the day makes no event by itself, and ends none.
#[test]
fn a_calibration_from_now_on_leaves_the_past_alone() {
    let all = fixes(&day());
    let middle = all[all.len() / 2].recorded_at;
    let mut life = life(50);
    let sensor = Sensor {
        calibration: [(0.0, 480.0), (100.0, 0.0)]
            .map(|(raw, liters)| CalibrationPoint { raw, liters })
            .into(),
        ..Sensor::new(SensorKind::Percent, 480.0)
    };
    life.vehicle.calibrations.push(Calibration::new(2, Some(middle), Some(480.0), Some(sensor)));
    life.through(&reported(&all, 25));
    life.keeps_the_law();
    let versions: Vec<i64> = told(&life).iter().map(|record| record.calibration_version).collect();
    assert_eq!(versions, [1, 2, 2], "the unseen refuel lies behind the change");
    let kinds: Vec<FuelEventKind> = told(&life).iter().map(|record| record.event.kind).collect();
    let (refuel, drain) = (FuelEventKind::Refuel, FuelEventKind::Drain);
    assert_eq!(kinds, [refuel, drain, refuel], "the other sensor reads upside down");
}

/// A fix that never counts has no row, and the row of one that no longer counts is deleted.
#[test]
fn a_reading_counts_where_its_fix_does() {
    let mut life = life(1);
    life.vehicle.limits.max_speed_kmh = Some(120.0);
    let fix = |seconds: f64, east: f64, percent: f64| Fix {
        fuel: Some(FuelReading::Percent(percent)),
        ..Fix::new(at(seconds), at(THE_END), Place::new(48.0, 11.0 + east))
    };
    // The jump is confirmed by the fix after it, until a late one says that the vehicle was here all the time.
    life.through(&reported(&[fix(0.0, 0.0, 50.0), fix(60.0, 1.0, 49.0), fix(120.0, 1.0, 48.0)], 3));
    assert_eq!(life.ledger.fuel_rows.len(), 3);
    life.through(&reported(&[fix(90.0, 0.0, 47.0)], 1));
    life.keeps_the_law();
    let rows: Vec<f64> = life.ledger.fuel_rows.values().map(|row| row.raw_value).collect();
    assert_eq!(rows, [50.0, 47.0]);
    let bad = Fix { fuel: Some(FuelReading::Percent(102.0)), ..fix(150.0, 0.0, 0.0) };
    life.through(&reported(&[bad], 1));
    let row = life.ledger.fuel_rows.values().next_back().copied().expect("logged all the same");
    assert_eq!((row.quality, row.level_raw_liters, row.level_liters), (Quality::OutOfRange, None, None));
    let mut of_fuel = life.ledger.records.values().filter(|record| record.kind().is_fuel());
    assert!(of_fuel.all(|record| record.status == EventStatus::Active));
}

/// A vehicle that never reports fuel remembers nothing of it.
#[test]
fn without_readings_there_is_no_gauge() {
    let all: Vec<Fix> = fixes(&day()).iter().map(|fix| Fix { fuel: None, ..*fix }).collect();
    let mut life = life(50);
    life.through(&reported(&all, 25));
    assert!(life.ledger.state.fuel.is_none() && life.ledger.fuel_rows.is_empty());
}
