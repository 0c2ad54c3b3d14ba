//! How far a sensor strays from place to place (docs/fuel.md §4): what that adds to the smallest refuel that counts.

use waypost_actors::fuel::{FuelEventKind, Reading, Tank};

use crate::cases::{kinds, told};
use crate::tank::detect;

const TANK: Tank = Tank { capacity_liters: 100.0, window_seconds: 300.0, version: 1 };
const DRIVING: f64 = 60.0;

/// Parked for 20 minutes at 50 l, away for half an hour without a word, and parked elsewhere with so much more.
fn refuelled_elsewhere(mut readings: Vec<Reading>, liters: f64) -> Vec<Reading> {
    told(&mut readings, 20, 0.0, |_| 50.0);
    let first = readings.len();
    told(&mut readings, 60, 0.0, |_| 50.0 + liters);
    for reading in &mut readings[first..] {
        reading.at = reading.at.plus_seconds(1_800.0);
    }
    readings[first].distance_meters = Some(20_000.0);
    readings
}

/// Drives, while the level of neighbouring cells differs by so much.
fn drive(readings: &mut Vec<Reading>, minutes: u32, strays_liters: f64) {
    let first = readings.len();
    told(readings, minutes, DRIVING, |_| 50.0);
    for reading in readings[first..].iter_mut().step_by(2) {
        reading.level_liters = Some(50.0 + strays_liters);
    }
}

/// The smallest change that would have counted, by how far one of 30 l is believed.
fn least_liters(driven: Vec<Reading>) -> f64 {
    let found = detect(&refuelled_elsewhere(driven, 30.0), &TANK);
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    60.0 * (1.0 - found[0].confidence / 0.8)
}

/// Four standard errors of two parked levels, each of which scatters half as far as driving ones do. The mean distance
/// of two normal numbers is 2/√π deviations.
fn expected(strays_liters: f64) -> f64 {
    let driving = strays_liters * std::f64::consts::PI.sqrt() / 2.0;
    4.0 * (2.0 * (driving / 2.0).powi(2)).sqrt()
}

#[test]
fn before_anything_is_learnt_a_sensor_strays_by_a_fiftieth_of_the_tank() {
    let least = 4.0 * 2.0_f64.sqrt();
    assert_eq!(kinds(&detect(&refuelled_elsewhere(vec![], least + 0.1), &TANK)), [FuelEventKind::Refuel]);
    assert_eq!(detect(&refuelled_elsewhere(vec![], least - 0.1), &TANK), []);
}

#[test]
fn it_strays_as_neighbouring_cells_did_while_driving() {
    let mut readings = Vec::new();
    drive(&mut readings, 120, 4.0);
    let least = least_liters(readings);
    assert!((least / expected(4.0) - 1.0).abs() < 0.03, "{least}");
}

#[test]
fn the_last_fifty_cells_are_remembered() {
    let mut readings = Vec::new();
    drive(&mut readings, 120, 6.0);
    told(&mut readings, 17, DRIVING, |_| 50.0);
    let (least, left) = (least_liters(readings), 0.98_f64.powi(51));
    assert!((least / expected(6.0 * left) - 1.0).abs() < 0.05, "{least}");
}

#[test]
fn a_step_of_more_than_four_times_the_mean_is_no_wave() {
    let mut readings = Vec::new();
    drive(&mut readings, 120, 4.0);
    let wild = readings.len() - 10;
    readings[wild].level_liters = Some(0.0);
    let least = least_liters(readings);
    // Up and down again: each counts as 16 l instead of 4, one of fifty.
    assert!((least / expected(4.0 + 2.0 * 12.0 / 50.0 * 0.95) - 1.0).abs() < 0.03, "{least}");
}
