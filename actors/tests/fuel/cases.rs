//! One story each: what must be found, and what must not.

use waypost_actors::fuel::{
    FuelEvent, FuelEventKind, FuelMotion, Quality, Reading, Sensor, SensorKind, Tank, interpret,
};
use waypost_actors::model::FuelReading;

use crate::tank::{Rig, START, Simulation, detect};

pub(crate) const TANK: Tank = Tank { capacity_liters: 400.0, window_seconds: 300.0, version: 1 };

/// A level each 20 seconds over some minutes, at a speed.
pub(crate) fn told(readings: &mut Vec<Reading>, minutes: u32, speed_kmh: f64, level: impl Fn(f64) -> f64) {
    let from = readings.last().map_or(0.0, |last| last.at.seconds_since(START));
    for count in 1..=minutes * 3 {
        let seconds = f64::from(count) * 20.0;
        readings.push(Reading {
            speed_kmh: Some(speed_kmh),
            distance_meters: Some(speed_kmh / 3.6 * 20.0),
            ..Reading::new(START.plus_seconds(from + seconds), level(seconds / 60.0))
        });
    }
}

pub(crate) fn kinds(found: &[FuelEvent]) -> Vec<FuelEventKind> {
    found.iter().map(|event| event.kind).collect()
}

#[test]
fn a_slosh_that_returns_is_nothing() {
    for speed in [0.0, 60.0] {
        for (liters, minutes) in [(-30.0, 2), (-30.0, 6), (-30.0, 12), (30.0, 6), (30.0, 12)] {
            let mut readings = Vec::new();
            told(&mut readings, 20, speed, |_| 200.0);
            told(&mut readings, minutes, speed, |_| 200.0 + liters);
            told(&mut readings, 40, speed, |_| 200.0);
            assert_eq!(detect(&readings, &TANK), [], "{speed} {liters} {minutes}");
        }
    }
}

#[test]
fn one_wild_reading_is_nothing_at_any_rate() {
    for seconds in [1.0, 20.0, 60.0, 600.0, 3600.0] {
        let reading = |count: u32, level| Reading {
            speed_kmh: Some(0.0),
            distance_meters: Some(0.0),
            ..Reading::new(START.plus_seconds(f64::from(count) * seconds), level)
        };
        let readings: Vec<Reading> =
            (0..2_000).map(|count| reading(count, if count % 100 == 50 { 0.0 } else { 200.0 })).collect();
        assert_eq!(detect(&readings, &TANK), [], "{seconds}");
    }
}

#[test]
fn what_a_sensor_reads_while_it_warms_up_decides_nothing() {
    for level in [400.0, 120.0] {
        for wild in [1, 2] {
            let mut readings = Vec::new();
            told(&mut readings, 60, 0.0, |_| 180.0);
            for reading in &mut readings[..wild] {
                reading.level_liters = Some(level);
            }
            assert_eq!(detect(&readings, &TANK), [], "{wild} of {level}");
        }
    }
    // Three are a level.
    let mut readings = Vec::new();
    told(&mut readings, 1, 0.0, |_| 120.0);
    told(&mut readings, 60, 0.0, |_| 180.0);
    assert_eq!(kinds(&detect(&readings, &TANK)), [FuelEventKind::Refuel]);
}

#[test]
fn two_pours_within_ten_minutes_are_one_refuel() {
    let mut readings = Vec::new();
    told(&mut readings, 20, 0.0, |_| 100.0);
    told(&mut readings, 2, 0.0, |minutes| 100.0 + 40.0 * minutes);
    told(&mut readings, 8, 0.0, |_| 180.0);
    told(&mut readings, 1, 0.0, |minutes| 180.0 + 40.0 * minutes);
    told(&mut readings, 40, 0.0, |_| 220.0);
    let found = detect(&readings, &TANK);
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    assert!((found[0].volume_liters - 120.0).abs() < 1.0, "{found:?}");
}

#[test]
fn a_refuel_while_idling_and_a_theft_at_night() {
    let mut tank = Simulation::new(Rig::quiet(400.0), 0.4);
    tank.drive(45.0);
    tank.idle(10.0);
    tank.refuel(180.0, 60.0, true);
    tank.idle(8.0);
    tank.drive(60.0);
    tank.park(240.0);
    tank.drain(30.0, 6.0);
    tank.park(120.0);
    tank.drive(40.0);
    tank.assert_found();
    let found = tank.found();
    assert!(found.iter().all(|event| event.motion == FuelMotion::Stopped && event.place.is_some()));
    assert!(found.iter().all(|event| event.confidence > 0.7), "{found:?}");
}

#[test]
fn a_leak_of_two_liters_an_hour_is_no_drain_watched_or_not() {
    for silent in [false, true] {
        let mut tank = Simulation::new(Rig::quiet(400.0), 0.8);
        tank.drive(30.0);
        tank.park(10.0);
        let level = tank.liters;
        if silent {
            tank.silence(30.0);
            tank.liters -= 20.0;
            tank.silence(570.0);
        } else {
            tank.leak(600.0, 2.0);
        }
        assert!((level - tank.liters - 20.0).abs() < 0.01);
        tank.park(30.0);
        tank.drive(30.0);
        assert_eq!(tank.found(), [], "{silent}");
    }
}

#[test]
fn what_leaves_a_parked_vehicle_unwatched_is_a_drain_half_believed() {
    let mut tank = Simulation::new(Rig::quiet(400.0), 0.8);
    tank.drive(30.0);
    tank.park(10.0);
    tank.unseen(FuelEventKind::Drain, 60.0, 480.0);
    tank.park(10.0);
    tank.drive(40.0);
    tank.assert_found();
    assert!(tank.found()[0].confidence <= 0.5);
    // The same fall is no drain if it is unknown whether the vehicle stayed.
    let somewhere: Vec<Reading> =
        tank.readings.iter().map(|reading| Reading { distance_meters: None, ..*reading }).collect();
    assert_eq!(detect(&somewhere, &tank.tank()), []);
}

#[test]
fn an_error_code_is_neither_refuel_nor_drain() {
    let sensor = Sensor { error_codes: vec![255.0], ..Sensor::new(SensorKind::Percent, 400.0) };
    let read = |percent| interpret(Some(&sensor), FuelReading::Percent(percent));
    assert_eq!(read(255.0).quality, Quality::SensorError);
    let mut readings = Vec::new();
    told(&mut readings, 20, 0.0, |_| 50.0);
    told(&mut readings, 8, 0.0, |_| 255.0);
    told(&mut readings, 8, 0.0, |_| 102.0);
    told(&mut readings, 40, 0.0, |_| 50.0);
    for reading in &mut readings {
        reading.level_liters = reading.level_liters.and_then(|percent| read(percent).level_liters);
    }
    assert_eq!(detect(&readings, &TANK), []);
    assert!(readings.iter().filter_map(|reading| reading.level_liters).all(|liters| liters == 200.0));
}

#[test]
fn percent_of_a_tank_makes_liters() {
    let sensor = Sensor::new(SensorKind::Percent, 60.0);
    let mut readings = Vec::new();
    told(&mut readings, 20, 0.0, |_| 20.0);
    told(&mut readings, 1, 0.0, |minutes| 20.0 + 50.0 * minutes);
    told(&mut readings, 40, 0.0, |_| 70.0);
    for reading in &mut readings {
        let percent = reading.level_liters.unwrap();
        reading.level_liters = interpret(Some(&sensor), FuelReading::Percent(percent)).level_liters;
    }
    let found = detect(&readings, &Tank::of(&sensor, 1));
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    assert!((found[0].volume_liters - 30.0).abs() < 0.01, "{found:?}");
}

#[test]
fn a_refuel_needs_a_stop() {
    // 40 litres up within a minute at 80 km/h, and they stay: a sensor's fault.
    let mut readings = Vec::new();
    told(&mut readings, 20, 80.0, |_| 100.0);
    told(&mut readings, 1, 80.0, |minutes| 100.0 + 40.0 * minutes);
    told(&mut readings, 40, 80.0, |_| 140.0);
    assert_eq!(detect(&readings, &TANK), []);
}

/// 8.88 l in 10 minutes over 6.37 km of a 370 l tank: Navixy says drain (docs/fuel.md §6).
#[test]
fn navixys_example_is_a_vehicle_that_drives() {
    let tank = Tank { capacity_liters: 370.0, ..TANK };
    let speed = 6.37 * 6.0;
    let mut readings = Vec::new();
    told(&mut readings, 30, speed, |_| 250.0);
    told(&mut readings, 10, speed, |minutes| 250.0 - 0.888 * minutes);
    told(&mut readings, 40, speed, |_| 241.12);
    assert_eq!(detect(&readings, &tank), []);
    // It is not the volume alone: four times as much, and still driving.
    let mut more = Vec::new();
    told(&mut more, 30, speed, |_| 250.0);
    told(&mut more, 10, speed, |minutes| 250.0 - 4.0 * 0.888 * minutes);
    told(&mut more, 40, speed, |_| 214.48);
    assert_eq!(detect(&more, &tank), []);
    // Standing, that is a drain.
    let standing: Vec<Reading> = more
        .iter()
        .map(|reading| Reading { speed_kmh: Some(0.0), distance_meters: Some(0.0), ..*reading })
        .collect();
    assert_eq!(kinds(&detect(&standing, &tank)), [FuelEventKind::Drain]);
}
