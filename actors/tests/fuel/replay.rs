//! Events are a function of the readings: stored and loaded, repeated, late and replayed.

use proptest::prelude::*;
use waypost_actors::fuel::{FuelEvent, FuelState, Reading, Tank, step};

use crate::tank::{Rig, Simulation, detect, vehicle};

fn day() -> Simulation {
    Simulation::day(Rig::quiet(400.0), false)
}

#[test]
fn a_day_is_found() {
    day().assert_found();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keeping_and_loading_the_state_changes_nothing(every in 1_usize..40) {
        let day = day();
        let tank = day.tank();
        let mut state = FuelState::default();
        let mut found: Vec<FuelEvent> = Vec::new();
        for (count, reading) in day.readings.iter().enumerate() {
            if count % every == 0 {
                let kept = serde_json::to_string(&state).unwrap();
                state = serde_json::from_str(&kept).unwrap();
            }
            found.extend(step(&mut state, reading, &tank, vehicle()));
        }
        prop_assert_eq!(found, detect(&day.readings, &tank));
    }

    #[test]
    fn repeated_and_older_readings_change_nothing(back in 1_usize..50) {
        let day = day();
        let tank = day.tank();
        let mut state = FuelState::default();
        let mut found: Vec<FuelEvent> = Vec::new();
        for (count, reading) in day.readings.iter().enumerate() {
            found.extend(step(&mut state, reading, &tank, vehicle()));
            let known = state.clone();
            let old = Reading { level_liters: Some(1.0), ..day.readings[count.saturating_sub(back)] };
            for again in [reading, &old] {
                prop_assert_eq!(step(&mut state, again, &tank, vehicle()), []);
            }
            prop_assert_eq!(&state, &known);
        }
        prop_assert_eq!(found, detect(&day.readings, &tank));
    }

    /// A replay takes in late readings from any state kept before them.
    #[test]
    fn a_replay_from_a_checkpoint_finds_what_order_finds(kept_at in 0_usize..600, missing in 1_usize..300) {
        let day = day();
        let tank = day.tank();
        let kept_at = kept_at.min(day.readings.len() - missing);
        let mut state = FuelState::default();
        let mut found: Vec<FuelEvent> = Vec::new();
        for reading in &day.readings[..kept_at] {
            found.extend(step(&mut state, reading, &tank, vehicle()));
        }
        let checkpoint = state.clone();
        for reading in &day.readings[kept_at + missing..] {
            step(&mut state, reading, &tank, vehicle());
        }
        let mut state = checkpoint;
        for reading in &day.readings[kept_at..] {
            found.extend(step(&mut state, reading, &tank, vehicle()));
        }
        prop_assert_eq!(found, detect(&day.readings, &tank));
    }
}

#[test]
fn ids_are_of_what_happened() {
    let day = day();
    let (once, again) = (day.found(), day.found());
    assert_eq!(once, again);
    let mut ids: Vec<_> = once.iter().map(|event| event.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    // Thinner data around the same events: what starts at the same reading is the same record.
    let drive_thinned: Vec<Reading> = day
        .readings
        .iter()
        .enumerate()
        .filter(|(count, _)| *count > 30 || count % 2 == 0)
        .map(|(_, r)| *r)
        .collect();
    let ids_thinned: Vec<_> = detect(&drive_thinned, &day.tank()).iter().map(|event| event.id).collect();
    assert_eq!(ids_thinned, once.iter().map(|event| event.id).collect::<Vec<_>>());
}

#[test]
fn a_new_calibration_is_no_refuel_and_ends_what_came_before() {
    let day = day();
    let old = day.tank();
    let new = Tank { version: 2, ..old };
    let change = day.readings.len() - 20;
    let mut state = FuelState::default();
    let mut found: Vec<FuelEvent> = Vec::new();
    for (count, reading) in day.readings.iter().enumerate() {
        let (tank, factor) = if count < change { (&old, 1.0) } else { (&new, 1.3) };
        let level_liters = reading.level_liters.map(|liters| liters * factor);
        found.extend(step(&mut state, &Reading { level_liters, ..*reading }, tank, vehicle()));
    }
    assert_eq!(found, day.found());
}

#[test]
fn the_state_stays_small() {
    let mut tank = Simulation::new(Rig { seconds_between: 1, ..Rig::quiet(400.0) }, 0.9);
    tank.drive(120.0);
    tank.park(60.0);
    let mut state = FuelState::default();
    let mut largest = 0;
    for reading in &tank.readings {
        step(&mut state, reading, &tank.tank(), vehicle());
        largest = largest.max(serde_json::to_string(&state).unwrap().len());
    }
    assert!(largest < 32 * 1024, "{largest} bytes");
    println!("{largest} bytes");
}

#[test]
fn the_live_level_is_smooth() {
    let mut tank = Simulation::new(Rig { waves: 0.06, ..Rig::quiet(400.0) }, 0.5);
    tank.drive(60.0);
    let mut state = FuelState::default();
    let mut worst: f64 = 0.0;
    for reading in &tank.readings {
        step(&mut state, reading, &tank.tank(), vehicle());
        let level = state.level_liters(&tank.tank()).unwrap();
        if reading.at.seconds_since(tank.readings[0].at) > 300.0 {
            worst = worst.max((level - 190.0).abs());
        }
    }
    // Raw readings stray by 6 % of the tank and more: over 60 litres at worst.
    assert!(worst < 36.0, "{worst}");
}
