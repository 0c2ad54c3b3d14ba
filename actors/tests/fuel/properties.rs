//! What holds for tanks of any size, with sensors and roads of any usual roughness.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use waypost_actors::fuel::FuelEventKind;

use crate::tank::{Rig, Simulation};

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
        // A sensor that tells 30 litres to within one and a half has a noise of that order at most.
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
}
