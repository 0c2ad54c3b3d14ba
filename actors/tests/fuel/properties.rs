//! Properties that hold for tanks of any size, with sensors and roads of any usual roughness.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use waypost_actors::fuel::{
    CalibrationPoint, FuelEventKind, FuelState, Quality, Reading, Sensor, SensorKind, Tank, interpret, step,
};
use waypost_actors::model::FuelReading;

use crate::tank::{Rig, Simulation, vehicle};

/// The most an analogue input reads, and what it reads for a cut wire.
const FULL_SCALE: f64 = 4_095.0;
const ERROR: f64 = 65_535.0;

/// A float whose reading is highest when the tank is empty.
fn inverse(capacity_liters: f64) -> Sensor {
    let point =
        |share: f64| CalibrationPoint { raw: FULL_SCALE * (1.0 - share), liters: share * capacity_liters };
    Sensor { calibration: [1.0, 0.6, 0.0].map(point).into(), ..Sensor::new(SensorKind::Raw, capacity_liters) }
}

/// From a small car to a lorry with two tanks; a reading each second to one a minute.
fn rig() -> impl Strategy<Value = Rig> {
    let capacity = select(vec![45.0, 60.0, 90.0, 200.0, 400.0, 650.0]);
    let rate = select(vec![1, 5, 10, 20, 30, 60]);
    (capacity, rate, 0.0..0.004, 0.0..0.05, 0.0..0.02, select(vec![0.001, 0.004]), any::<u64>()).prop_map(
        |(capacity_liters, seconds_between, noise, waves, hills, resolution, seed)| Rig {
            capacity_liters,
            seconds_between,
            noise,
            waves,
            hills,
            resolution,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn a_refuel_is_found_and_nothing_else(
        rig in rig(), share in 0.3..0.6, rate in 25.0..90.0, idling: bool, before in 4.0..20.0,
    ) {
        let mut tank = Simulation::new(rig, 0.35);
        tank.drive(40.0);
        tank.idle(before);
        tank.refuel(share * rig.capacity_liters, rate, idling);
        tank.idle(5.0);
        tank.drive(60.0);
        tank.assert_found();
    }

    #[test]
    fn a_refuel_across_a_silence_is_found_and_nothing_else(
        rig in rig(), share in 0.3..0.6, minutes in 15.0..600.0,
    ) {
        let mut tank = Simulation::new(rig, 0.3);
        tank.drive(40.0);
        tank.park(6.0);
        tank.unseen(FuelEventKind::Refuel, share * rig.capacity_liters, minutes);
        tank.idle(6.0);
        tank.drive(60.0);
        tank.assert_found();
    }

    #[test]
    fn thirty_liters_in_six_minutes_are_found_and_nothing_else(rig in rig(), before in 5.0..60.0) {
        // A sensor that reads 30 litres to within one and a half has a noise of that order at most.
        let noise = rig.noise.min(0.5 / rig.capacity_liters);
        let resolution = rig.resolution.min(0.8 / rig.capacity_liters);
        let mut tank = Simulation::new(Rig { noise, resolution, ..rig }, 0.85);
        tank.drive(30.0);
        tank.park(before);
        tank.drain(30.0, 6.0);
        tank.park(40.0);
        tank.drive(30.0);
        tank.assert_found();
    }

    #[test]
    fn a_day_without_refuel_has_no_event(rig in rig(), leak in 0.0..2.0) {
        let mut tank = Simulation::new(rig, 0.95);
        for _ in 0..3 {
            tank.park(20.0);
            tank.drive(50.0);
            tank.idle(15.0);
            tank.drive(25.0);
            tank.silence(90.0);
        }
        tank.leak(180.0, leak);
        tank.silence(240.0);
        tank.drive(30.0);
        tank.assert_found();
    }

    /// In percent, or from a float that reads upside down, with errors between: the same refuel and theft.
    #[test]
    fn whatever_unit_a_sensor_speaks_the_same_is_found(
        rig in rig(), share in 0.3..0.5, is_inverse: bool, every in 6_usize..40,
    ) {
        let mut tank = Simulation::new(Rig { noise: rig.noise.min(0.5 / rig.capacity_liters), ..rig }, 0.35);
        tank.drive(40.0);
        tank.idle(8.0);
        tank.refuel(share * rig.capacity_liters, 60.0, true);
        tank.idle(5.0);
        tank.drive(60.0);
        let sensor = if is_inverse { inverse(rig.capacity_liters) } else { Sensor::new(SensorKind::Percent, rig.capacity_liters) };
        let sensor = Sensor { error_codes: vec![ERROR], ..sensor };
        for (count, reading) in tank.readings.iter_mut().enumerate() {
            let full = reading.level_liters.expect("every reading has a level") / rig.capacity_liters;
            let said = if is_inverse { FULL_SCALE * (1.0 - full) } else { full * 100.0 };
            // Error codes, and what buses say for "not available".
            let said = match count % every {
                0 => ERROR,
                3 if !is_inverse => 102.0,
                _ => said,
            };
            let told = if is_inverse { FuelReading::Raw(said) } else { FuelReading::Percent(said) };
            let read = interpret(Some(&sensor), told);
            prop_assert_eq!(read.level_liters.is_some(), read.quality == Quality::Ok);
            reading.level_liters = read.level_liters;
        }
        tank.assert_found();
    }

    /// From one reading to the next, the tank is read by another table: no fuel came or went.
    #[test]
    fn a_new_calibration_is_no_event(rig in rig(), factor in 0.6..1.6, at in 0.05..0.95) {
        let mut tank = Simulation::new(rig, 0.6);
        tank.drive(40.0);
        tank.park(30.0);
        tank.drive(40.0);
        let change = (at * tank.readings.len() as f64) as usize;
        let (old, mut state, mut found) = (tank.tank(), FuelState::default(), Vec::new());
        for (count, reading) in tank.readings.iter().enumerate() {
            let (read_by, by) = if count < change { (old, 1.0) } else { (Tank { version: 2, ..old }, factor) };
            let level_liters = reading.level_liters.map(|liters| liters * by);
            found.extend(step(&mut state, &Reading { level_liters, ..*reading }, &read_by, vehicle()));
        }
        prop_assert_eq!(found, []);
    }
}
