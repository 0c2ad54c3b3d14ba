//! What a tracker says of fuel, at the bounds of what a sensor may say, and the rows that become of it (docs/fuel.md §1).

use waypost_actors::fuel::{
    CalibrationPoint, FuelEvent, FuelEventKind, FuelState, Gauge, Gauged, Quality, Reading, Sensor,
    SensorKind, Tank, fill, interpret, robust, step,
};
use waypost_actors::model::{Calibration, Fix, FuelReading, Place};

use crate::tank::{START, vehicle};

const PLACE: Place = Place::new(48.0, 11.0);

fn fix(seconds: f64, fuel: Option<FuelReading>) -> Fix {
    let at = START.plus_seconds(seconds);
    Fix { fuel, ..Fix::new(at, at, PLACE) }
}

fn tank(liters: f64) -> Vec<Calibration> {
    vec![Calibration::new(1, None, Some(liters), None)]
}

fn row(gauged: &Gauged) -> waypost_actors::fuel::FuelRow {
    gauged.row.expect("it reports fuel")
}

#[test]
fn a_value_at_a_limit_is_valid() {
    let limited =
        Sensor { min_valid: Some(5.0), max_valid: Some(90.0), ..Sensor::new(SensorKind::Percent, 60.0) };
    let counter = Sensor::new(SensorKind::Cumulative, 60.0);
    let table = |points: &[(f64, f64)]| Sensor {
        calibration: points.iter().map(|&(raw, liters)| CalibrationPoint { raw, liters }).collect(),
        ..Sensor::new(SensorKind::Raw, 60.0)
    };
    let long = table(&[(100.0, 0.0), (300.0, 5.0), (500.0, 20.0), (700.0, 30.0), (1_100.0, 60.0)]);
    let percent = Sensor::new(SensorKind::Percent, 60.0);
    for (sensor, reading, liters) in [
        (&limited, FuelReading::Percent(5.0), Some(3.0)),
        (&limited, FuelReading::Percent(4.9), None),
        (&limited, FuelReading::Percent(90.0), Some(54.0)),
        (&limited, FuelReading::Percent(90.1), None),
        (&percent, FuelReading::Percent(0.0), Some(0.0)),
        // A filler's neck holds a fiftieth more.
        (&percent, FuelReading::Liters(61.2), Some(61.2)),
        (&percent, FuelReading::Liters(61.3), None),
        (&percent, FuelReading::Liters(0.0), Some(0.0)),
        // A float at its stop wobbles by a fiftieth of the table's span.
        (&long, FuelReading::Raw(80.0), Some(0.0)),
        (&long, FuelReading::Raw(79.0), None),
        (&long, FuelReading::Raw(1_120.0), Some(60.0)),
        (&long, FuelReading::Raw(1_121.0), None),
        (&long, FuelReading::Raw(200.0), Some(2.5)),
        (&long, FuelReading::Raw(400.0), Some(12.5)),
        (&long, FuelReading::Raw(600.0), Some(25.0)),
        (&long, FuelReading::Raw(900.0), Some(45.0)),
    ] {
        assert_eq!(interpret(Some(sensor), reading).level_liters, liters, "{reading:?}");
    }
    assert_eq!(interpret(Some(&counter), FuelReading::Raw(0.0)).counter_liters, Some(0.0));
    assert_eq!((limited.problems(), table(&[(0.0, 0.0), (1.0, 61.2)]).problems()), (vec![], vec![]));
    assert_eq!(table(&[(0.0, 0.0), (1.0, 61.3)]).problems().len(), 1);
}

#[test]
fn the_middle_is_that_of_what_is_no_outlier() {
    // Of all, it would be 104.5.
    let found = robust([101.0, 102.0, 103.0, 104.0, 105.0, 200.0, 201.0, 202.0]).unwrap();
    assert_eq!(found.level, 103.0);
}

#[test]
fn a_row_says_litres_and_percent_as_far_as_they_are_known() {
    let known = tank(60.0);
    for (versions, reading, liters, percent, quality) in [
        (&known[..], FuelReading::Liters(15.0), Some(15.0), Some(25.0), Quality::Ok),
        (&known, FuelReading::Percent(40.0), Some(24.0), Some(40.0), Quality::Ok),
        (&[], FuelReading::Percent(40.0), None, Some(40.0), Quality::Uncalibrated),
        (&[], FuelReading::Percent(101.0), None, None, Quality::Uncalibrated),
        (&[], FuelReading::Liters(15.0), Some(15.0), None, Quality::Ok),
    ] {
        let (_, gauged) = Gauge::begin(&fix(0.0, Some(reading)), versions, vehicle()).unwrap();
        let row = row(&gauged);
        assert_eq!((row.level_liters, row.level_percent, row.quality), (liters, percent, quality));
    }
}

#[test]
fn a_rows_way_is_that_of_the_odometer_unless_it_was_exchanged_and_sums_up() {
    let versions = tank(60.0);
    let level = Some(FuelReading::Liters(30.0));
    let at = |seconds, km, fuel| Fix { odometer_km: km, ..fix(seconds, fuel) };
    // Within a minute; up to 70 m/s and a step of a kilometre can be.
    for (before, after, track, way) in [
        (Some(10.0), Some(10.5), Some(400.0), Some(500.0)),
        (Some(10.0), Some(15.1), Some(400.0), Some(5_100.0)),
        (Some(10.0), Some(15.3), Some(400.0), Some(400.0)),
        (Some(10.0), Some(9.9), Some(400.0), Some(400.0)),
        (Some(10.0), None, Some(400.0), Some(400.0)),
        (None, Some(10.0), None, None),
    ] {
        let (mut gauge, _) = Gauge::begin(&at(0.0, before, level), &versions, vehicle()).unwrap();
        let gauged = gauge.take(&at(60.0, after, level), track, &versions, vehicle());
        assert_eq!(row(&gauged).distance_meters, way, "{before:?} {after:?}");
    }
    let (mut gauge, first) = Gauge::begin(&fix(0.0, level), &versions, vehicle()).unwrap();
    assert_eq!(row(&first).distance_meters, None);
    assert_eq!(gauge.take(&fix(60.0, None), Some(100.0), &versions, vehicle()).row, None);
    let gauged = gauge.take(&fix(120.0, level), Some(150.0), &versions, vehicle());
    assert_eq!(row(&gauged).distance_meters, Some(250.0));
}

#[test]
fn a_second_message_fills_the_newest_fix_once() {
    let versions = tank(60.0);
    let level = |liters| Some(FuelReading::Liters(liters));
    let (mut gauge, _) = Gauge::begin(&fix(0.0, level(30.0)), &versions, vehicle()).unwrap();
    assert_eq!(gauge.fill(&fix(0.0, level(31.0)), &versions, vehicle()), None, "it had a level");
    gauge.take(&fix(60.0, None), Some(0.0), &versions, vehicle());
    assert_eq!(gauge.fill(&fix(30.0, level(31.0)), &versions, vehicle()), None, "it is another fix");
    assert_eq!(gauge.fill(&fix(90.0, level(31.0)), &versions, vehicle()), None, "it is another fix");
    let mut at_once = Gauge::begin(&fix(0.0, level(30.0)), &versions, vehicle()).unwrap().0;
    let told = at_once.take(&fix(60.0, level(31.0)), Some(0.0), &versions, vehicle());
    assert_eq!(gauge.fill(&fix(60.0, level(31.0)), &versions, vehicle()), Some(told));
    assert_eq!(gauge, at_once);
    assert_eq!(gauge.fill(&fix(60.0, level(32.0)), &versions, vehicle()), None, "it has one now");
}

/// A refuel of 35 l, a reading each minute, until it is certain: what was told of it as provisional, and then.
fn refuelled() -> (Vec<FuelEvent>, Vec<FuelEvent>) {
    let versions = tank(400.0);
    let level = |minute: u32| if minute < 20 { 100.0 / 3.0 } else { 205.0 / 3.0 };
    let read = |minute: u32| {
        let fix = fix(f64::from(minute) * 60.0, Some(FuelReading::Liters(level(minute))));
        Fix { speed_kmh: Some(0.0), ignition: Some(false), ..fix }
    };
    let (mut gauge, _) = Gauge::begin(&read(0), &versions, vehicle()).expect("it reports fuel");
    let (mut provisional, mut certain) = (Vec::new(), Vec::new());
    for minute in 1..60 {
        let gauged = gauge.take(&read(minute), Some(0.0), &versions, vehicle());
        certain.extend(gauged.events.into_iter().map(|(event, _)| event));
        provisional.extend(gauge.provisional(vehicle()));
    }
    (provisional, certain)
}

#[test]
fn a_refuel_is_provisional_until_it_is_certain_and_told_in_thousandths() {
    let (provisional, certain) = refuelled();
    assert_eq!(certain.len(), 1);
    let event = certain[0];
    // From a window behind it to a window behind the quarter of an hour.
    assert!((10..=20).contains(&provisional.len()), "{}", provisional.len());
    assert!(provisional.iter().all(|found| *found == event));
    assert_eq!((event.kind, event.volume_liters), (FuelEventKind::Refuel, 35.0));
    assert_eq!((event.level_before_liters, event.level_after_liters), (33.333, 68.333));
    assert_eq!(event.confidence, 0.829);
}

#[test]
fn an_event_before_a_new_calibration_is_of_the_old_one_and_time_goes_on() {
    let version = |number, from| Calibration::new(number, from, Some(400.0), None);
    let versions = vec![version(1, None), version(2, Some(START.plus_seconds(1_800.0)))];
    let read = |minute: u32, level| {
        let fix = fix(f64::from(minute) * 60.0, Some(FuelReading::Liters(level)));
        Fix { speed_kmh: Some(0.0), ..fix }
    };
    let (mut gauge, _) = Gauge::begin(&read(0, 100.0), &versions, vehicle()).unwrap();
    let mut told = Vec::new();
    for minute in 1..=30 {
        let level = if minute < 20 { 100.0 } else { 160.0 };
        told.extend(gauge.take(&read(minute, level), Some(0.0), &versions, vehicle()).events);
    }
    assert_eq!(told.iter().map(|(event, of)| (event.volume_liters, *of)).collect::<Vec<_>>(), [(60.0, 1)]);
    assert_eq!(gauge.newest().version, Some(2));

    let tank = |version| Tank { capacity_liters: 400.0, window_seconds: 300.0, version };
    let reading = |seconds: f64| Reading::new(START.plus_seconds(seconds), 100.0);
    let mut state = FuelState::default();
    step(&mut state, &reading(60.0), &tank(1), vehicle());
    step(&mut state, &reading(30.0), &tank(2), vehicle());
    assert_eq!(state.newest(), Some(reading(60.0).at), "what is older is late, by whatever calibration");
    let known = state.clone();
    fill(&mut state, &reading(61.0), &tank(2), vehicle());
    fill(&mut state, &reading(60.0), &tank(1), vehicle());
    assert_eq!(state, known, "a second message is about the newest reading, of its own version");
}
