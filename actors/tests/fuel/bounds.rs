//! At the very bound of each rule for refuels and drains (docs/fuel.md §4): what just counts, and what just does not.
//!
//! The levels are without noise, so the numbers are those of the rules.

use waypost_actors::fuel::{FuelEventKind, FuelMotion, Reading, Tank};
use waypost_actors::model::Place;

use crate::cases::{TANK, kinds, told};
use crate::tank::{START, detect};

const STANDING: f64 = 0.0;
const DRIVING: f64 = 60.0;

/// Parked, then a step from 200 l that takes `seconds`, over which it goes `meters`, and parked again.
fn stepped(liters: f64, seconds: f64, meters: f64) -> Vec<Reading> {
    let mut readings = Vec::new();
    told(&mut readings, 20, STANDING, |_| 200.0);
    let (last, between) = (readings.len() - 1, seconds - 20.0);
    told(&mut readings, 60, STANDING, |_| 200.0 + liters);
    for reading in &mut readings[last + 1..] {
        reading.at = reading.at.plus_seconds(between);
    }
    readings[last + 1].distance_meters = Some(meters);
    readings
}

#[test]
fn the_smallest_change_is_half_believed_and_a_larger_one_more() {
    let of = |capacity_liters| Tank { capacity_liters, ..TANK };
    // 5 l, or 3 % of the tank; of a drain, beyond the 3 l/h that may have been burnt in its 20 seconds.
    for (capacity, liters, believed) in [
        (400.0, 12.0, Some(0.5)),
        (400.0, 11.9, None),
        (100.0, 5.0, Some(0.5)),
        (100.0, 4.9, None),
        (400.0, 60.0, Some(0.9)),
        (400.0, -12.02, Some(0.5)),
        (400.0, -12.0, None),
        (400.0, -60.0, Some(0.9)),
    ] {
        let found = detect(&stepped(liters, 20.0, 0.0), &of(capacity));
        let confidence = found.first().map(|event| (event.confidence * 1000.0).round() / 1000.0);
        assert_eq!((confidence, found.len()), (believed, usize::from(believed.is_some())), "{liters}");
        assert!(found.iter().all(|event| event.motion == FuelMotion::Stopped));
    }
}

#[test]
fn a_change_of_a_vehicle_of_which_no_motion_is_known_is_believed_less() {
    // Of what leaves, a little may have been burnt.
    for (liters, kind) in [(60.0, FuelEventKind::Refuel), (-60.02, FuelEventKind::Drain)] {
        let mut readings = Vec::new();
        told(&mut readings, 90, STANDING, |_| 200.0);
        told(&mut readings, 60, STANDING, |_| 200.0 + liters);
        for reading in &mut readings {
            *reading = Reading::new(reading.at, reading.level_liters.unwrap());
        }
        let found = detect(&readings, &TANK);
        assert_eq!(kinds(&found), [kind]);
        assert_eq!(found[0].motion, FuelMotion::Unknown);
        assert!((found[0].confidence - 0.8 * 0.9).abs() < 1e-4, "{found:?}");
        // Each other reading says that it stands: then it is known.
        for reading in readings.iter_mut().step_by(2) {
            reading.speed_kmh = Some(STANDING);
        }
        assert_eq!(detect(&readings, &TANK)[0].motion, FuelMotion::Stopped);
    }
}

#[test]
fn what_came_during_a_silence_came_where_the_vehicle_stayed_or_nobody_knows() {
    for (meters, motion, confidence) in
        [(99.9, FuelMotion::Stopped, 0.95), (100.0, FuelMotion::Unknown, 0.76)]
    {
        let found = detect(&stepped(120.0, 1_800.0, meters), &TANK);
        assert_eq!(kinds(&found), [FuelEventKind::Refuel], "{meters}");
        assert_eq!(found[0].motion, motion, "{meters}");
        // From place to place a tank leans differently, so there the least change is a little larger.
        assert!((found[0].confidence - confidence).abs() < 0.04, "{meters}: {found:?}");
    }
    // What left in four hours, slower than a pump, is a drain only where it stayed, and half believed.
    let stayed = detect(&stepped(-120.0, 14_400.0, 99.9), &TANK);
    assert_eq!((kinds(&stayed), stayed[0].confidence), (vec![FuelEventKind::Drain], 0.5));
    assert_eq!(detect(&stepped(-120.0, 14_400.0, 100.0), &TANK), []);
}

#[test]
fn a_drain_is_faster_than_any_engine_burns() {
    // 123 l/h with what may have been burnt, over nine minutes.
    assert_eq!(kinds(&detect(&stepped(-18.5, 540.0, 0.0), &TANK)), [FuelEventKind::Drain]);
    assert_eq!(detect(&stepped(-18.4, 540.0, 0.0), &TANK), []);
}

#[test]
fn a_refuel_is_no_faster_than_two_nozzles() {
    assert_eq!(kinds(&detect(&stepped(66.6, 20.0, 0.0), &TANK)), [FuelEventKind::Refuel]);
    assert_eq!(detect(&stepped(66.7, 20.0, 0.0), &TANK), []);
}

/// A halt with so many standing readings, at one of which the level steps by some litres.
fn halt(standing: u32, steps_at: u32, liters: f64) -> Vec<Reading> {
    let mut readings = Vec::new();
    told(&mut readings, 60, DRIVING, |_| 200.0);
    let first = readings.len();
    told(&mut readings, 60, DRIVING, |_| 200.0 + liters);
    for reading in &mut readings[first..first + standing as usize] {
        (reading.speed_kmh, reading.distance_meters) = (Some(0.0), Some(0.0));
    }
    for reading in &mut readings[first..first + steps_at as usize] {
        reading.level_liters = Some(200.0);
    }
    readings
}

#[test]
fn a_refuel_needs_a_stop_of_a_minute_around_it() {
    for steps_at in 1..=3 {
        assert_eq!(kinds(&detect(&halt(4, steps_at, 40.0), &TANK)), [FuelEventKind::Refuel], "{steps_at}");
    }
    for steps_at in 1..=2 {
        assert_eq!(detect(&halt(3, steps_at, 40.0), &TANK), [], "{steps_at}");
    }
    // It may have begun before the first standing reading.
    assert_eq!(kinds(&detect(&halt(30, 0, 40.0), &TANK)), [FuelEventKind::Refuel]);
}

/// A tank that drives leans otherwise than one that stands.
#[test]
fn levels_are_those_of_the_standing_cells_where_there_are_three() {
    let mut readings = halt(10, 5, 40.0);
    for reading in readings.iter_mut().filter(|reading| reading.speed_kmh == Some(DRIVING)) {
        reading.level_liters = reading.level_liters.map(|liters| liters + 1.5);
    }
    let found = detect(&readings, &TANK);
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    assert_eq!((found[0].level_before_liters, found[0].level_after_liters), (200.0, 240.0));
}

#[test]
fn two_moving_readings_two_minutes_apart_may_hide_a_stop() {
    for (seconds, count) in [(120.0, 1), (119.0, 0)] {
        let reading = |number: u32| Reading {
            speed_kmh: Some(DRIVING),
            ..Reading::new(
                START.plus_seconds(f64::from(number) * seconds),
                if number < 60 { 200.0 } else { 240.0 },
            )
        };
        assert_eq!(detect(&(0..100).map(reading).collect::<Vec<_>>(), &TANK).len(), count, "{seconds}");
    }
}

#[test]
fn without_a_speed_the_way_tells_whether_it_stands() {
    // 5 km/h over 20 seconds.
    for (meters, count) in [(27.7, 1), (27.8, 0)] {
        let mut readings = halt(0, 0, 40.0);
        for reading in &mut readings {
            (reading.speed_kmh, reading.distance_meters) = (None, Some(meters));
        }
        assert_eq!(detect(&readings, &TANK).len(), count, "{meters}");
    }
}

#[test]
fn a_drain_needs_a_vehicle_that_stood_before_it() {
    assert_eq!(kinds(&detect(&halt(30, 2, -40.0), &TANK)), [FuelEventKind::Drain]);
    assert_eq!(detect(&halt(30, 1, -40.0), &TANK), []);
}

/// Parked at 100 l; then each level for as many readings.
fn plateaus(levels: &[(f64, u32)]) -> Vec<Reading> {
    let mut readings = Vec::new();
    told(&mut readings, 20, STANDING, |_| 100.0);
    for (level, count) in levels {
        let first = readings.len();
        told(&mut readings, count.div_ceil(3), STANDING, |_| *level);
        readings.truncate(first + *count as usize);
    }
    readings
}

#[test]
fn two_pours_ten_minutes_apart_are_one_and_later_ones_are_two() {
    let pours = |readings| detect(&plateaus(&[(140.0, readings), (180.0, 180)]), &TANK).len();
    assert_eq!((pours(31), pours(32)), (1, 2));
}

#[test]
fn a_pour_and_its_rest_are_told_as_one() {
    let mut readings = plateaus(&[(140.0, 15), (220.0, 180)]);
    let second = 60 + 15;
    // The rest comes in a silence of which nobody knows where the vehicle was, and only then a place is known.
    for reading in &mut readings[second..] {
        reading.at = reading.at.plus_seconds(1_200.0);
        reading.place = Some(Place::new(48.0, 11.0));
    }
    readings[second].distance_meters = Some(150.0);
    let found = detect(&readings, &TANK);
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    assert_eq!((found[0].started_at, found[0].ended_at), (readings[59].at, readings[second].at));
    assert_eq!((found[0].level_before_liters, found[0].level_after_liters), (100.0, 220.0));
    assert_eq!((found[0].motion, found[0].place), (FuelMotion::Unknown, readings[second].place));
    // The first pour of 40 l is believed by 0.85, the rest, from place to place, less.
    assert!((found[0].confidence - 0.85).abs() < 1e-6, "{found:?}");
    let larger = detect(&plateaus(&[(120.0, 28), (180.0, 180)]), &TANK);
    assert!((larger[0].confidence - 0.9).abs() < 1e-6, "as the larger of the two: {larger:?}");
}

#[test]
fn a_slow_pour_and_a_slow_theft_are_placed_at_their_ends() {
    for liters_per_minute in [10.0, -10.0] {
        let mut readings = Vec::new();
        told(&mut readings, 20, STANDING, |_| 200.0);
        told(&mut readings, 12, STANDING, |minutes| 200.0 + liters_per_minute * minutes);
        let (begins, ends) = (readings[59].at, readings[59 + 36].at);
        told(&mut readings, 60, STANDING, |_| 200.0 + 12.0 * liters_per_minute);
        let found = detect(&readings, &TANK);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].volume_liters - 120.0).abs() < 1.0, "{found:?}");
        for (placed, real) in [(found[0].started_at, begins), (found[0].ended_at, ends)] {
            assert!(placed.seconds_since(real).abs() <= 40.0, "{found:?}");
        }
    }
}

#[test]
fn an_event_becomes_certain_at_any_rate() {
    for seconds in [7.0, 35.0, 47.0, 299.0, 700.0] {
        let reading = |number: u32| Reading {
            speed_kmh: Some(STANDING),
            distance_meters: Some(0.0),
            ..Reading::new(
                START.plus_seconds(f64::from(number) * seconds),
                if number < 300 { 100.0 } else { 120.0 },
            )
        };
        assert_eq!(detect(&(0..800).map(reading).collect::<Vec<_>>(), &TANK).len(), 1, "{seconds}");
    }
}

/// A reading each five seconds: four make a cell.
#[test]
fn a_cell_knows_of_all_its_readings() {
    let reading = |number: u32, level| Reading {
        speed_kmh: Some(STANDING),
        distance_meters: Some(0.0),
        ..Reading::new(START.plus_seconds(f64::from(number) * 5.0), level)
    };
    // 60 l within 20 seconds, as fast as two nozzles can, and a sensor of which each fourth reading is stuck.
    let pour = |number: u32| (f64::from(number.clamp(240, 244)) - 240.0) * 15.0;
    let level = |number: u32| 100.0 + if number.is_multiple_of(4) { 0.0 } else { pour(number) };
    let mut readings: Vec<Reading> = (0..1_200).map(|number| reading(number, level(number))).collect();
    let found = detect(&readings, &TANK);
    assert_eq!((kinds(&found), found[0].motion), (vec![FuelEventKind::Refuel], FuelMotion::Stopped));
    assert!((found[0].volume_liters - 60.0).abs() < 0.1, "{found:?}");
    // After a silence it strayed by 60 m twice.
    for (number, reading) in readings.iter_mut().enumerate().skip(240) {
        reading.at = reading.at.plus_seconds(1_800.0);
        reading.distance_meters = Some(if number < 242 { 60.0 } else { 0.0 });
    }
    assert_eq!(detect(&readings, &TANK)[0].motion, FuelMotion::Unknown);
}

#[test]
fn what_returns_within_a_quarter_of_an_hour_to_within_three_tenths_is_nothing() {
    let back = |readings, to| kinds(&detect(&plateaus(&[(140.0, readings), (to, 180)]), &TANK));
    let both = [FuelEventKind::Refuel, FuelEventKind::Drain];
    assert_eq!(back(45, 100.0), []);
    assert_eq!(back(46, 100.0), both);
    assert_eq!(back(30, 112.0), []);
    assert_eq!(back(30, 112.1), both);
}

/// Refuelled with 40 l, of which so many are left when it drives on ten minutes later.
#[test]
fn a_change_that_is_no_event_does_not_make_the_one_before_it_certain() {
    let left = |liters: f64| {
        let mut readings = plateaus(&[(140.0, 30)]);
        told(&mut readings, 60, DRIVING, |_| 100.0 + liters);
        kinds(&detect(&readings, &TANK))
    };
    assert_eq!(left(19.0), []);
    assert_eq!(left(21.0), [FuelEventKind::Refuel]);
}

/// The same, in a fall of two steps that begins within the quarter of an hour and ends behind it.
#[test]
fn a_change_that_ends_later_does_not_spare_the_one_before_it_either() {
    let left = |liters: f64| {
        let mut readings = plateaus(&[(140.0, 32), (100.0 + liters, 14), (100.0, 180)]);
        for reading in &mut readings[60 + 32..] {
            (reading.speed_kmh, reading.distance_meters) = (Some(DRIVING), Some(DRIVING / 3.6 * 20.0));
        }
        kinds(&detect(&readings, &TANK))
    };
    assert_eq!(left(18.0), []);
    assert_eq!(left(21.0), [FuelEventKind::Refuel]);
}

/// Refuelled; for six minutes of driving uphill the tank reads lower; then it stands again.
#[test]
fn a_dip_between_a_refuel_and_the_next_stop_is_no_second_refuel() {
    let mut readings = Vec::new();
    told(&mut readings, 60, DRIVING, |_| 100.0);
    told(&mut readings, 20, STANDING, |_| 100.0);
    told(&mut readings, 10, STANDING, |_| 140.0);
    told(&mut readings, 6, DRIVING, |_| 122.0);
    told(&mut readings, 60, STANDING, |_| 140.0);
    let found = detect(&readings, &TANK);
    assert_eq!(kinds(&found), [FuelEventKind::Refuel]);
    assert_eq!((found[0].level_before_liters, found[0].level_after_liters), (100.0, 140.0));
}

#[test]
fn a_change_of_which_less_than_half_is_left_after_a_quarter_of_an_hour_is_nothing() {
    let leaking = |liters_per_second: f64| {
        let mut readings = Vec::new();
        told(&mut readings, 20, STANDING, |_| 100.0);
        told(&mut readings, 16, STANDING, |minutes| 140.0 - liters_per_second * 60.0 * minutes);
        let left = readings[readings.len() - 1].level_liters.unwrap();
        told(&mut readings, 60, STANDING, |_| left);
        detect(&readings, &TANK).len()
    };
    assert_eq!((leaking(0.025), leaking(0.034)), (1, 0));
}

#[test]
fn fewer_than_three_cells_a_quarter_of_an_hour_later_do_not_say_that_a_change_is_gone() {
    // Parked; 20 l more at once, of which 6 l are left after a quarter of an hour. Three readings tell, two do not.
    let found = |seconds: f64| {
        let reading = |number: u32| {
            let since = (f64::from(number) - 40.0) * seconds;
            let more = if number < 40 { 0.0 } else { 20.0 - 0.018 * since.min(960.0) };
            let at = START.plus_seconds(f64::from(number) * seconds);
            let standing = (Some(STANDING), Some(0.0));
            let (speed_kmh, distance_meters) = standing;
            Reading { speed_kmh, distance_meters, ..Reading::new(at, 100.0 + more) }
        };
        kinds(&detect(&(0..100).map(reading).collect::<Vec<_>>(), &TANK))
    };
    assert_eq!(found(150.0), []);
    assert_eq!(found(151.0), [FuelEventKind::Refuel]);
}
