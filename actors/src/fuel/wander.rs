//! How far a sensor's level strays while its vehicle drives: waves, bends and hills.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::edges::SILENCE_SECONDS;
use super::tank::Tank;

/// The number of steps whose mean is remembered: at least a quarter of an hour's driving.
const MEMORY_STEPS: f64 = 50.0;
/// The estimate before anything is learnt: a share of the tank, with the weight of this many steps.
const GUESS_SHARE: f64 = 0.02;
const GUESS_STEPS: f64 = 10.0;
/// A step of more than this many times the mean is no wave: it counts as this much.
const MAX_STEP_TIMES_MEAN: f64 = 4.0;
/// A mean below this share of the first guess limits no step: after hours at a level that stands still, as that of a tank
/// fuller than its sensor can tell, waves would count for next to nothing for hours.
const LEAST_SHARE_OF_GUESS: f64 = 0.1;
/// The mean distance of two draws of a normal distribution is 2/√π of its standard deviation.
const STEP_TO_DEVIATION: f64 = 1.0 / std::f64::consts::FRAC_2_SQRT_PI;
/// Where vehicles park, the ground leans about half as much as bends, brakes and hills tilt a
/// tank for twenty seconds (2 % against 3 to 4 %).
const PARKED_SHARE: f64 = 0.5;

/// What was learnt from the steps between neighbouring cells of a moving vehicle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wander {
    steps: f64,
    learnt_liters: Option<f64>,
}

impl Wander {
    /// Learns from the step between a cell and the next.
    pub(super) fn learn(&mut self, before: &Cell, cell: &Cell, tank: &Tank) {
        if !(before.travel.may_have_moved() && cell.travel.may_have_moved())
            || cell.from.seconds_since(before.to) > SILENCE_SECONDS
        {
            return;
        }
        let step = (cell.liters - before.liters).abs();
        let mean = self.mean_step_liters(tank);
        self.steps = (self.steps + 1.0).min(MEMORY_STEPS - GUESS_STEPS);
        let limit = mean.max(guess_liters(tank) * LEAST_SHARE_OF_GUESS) * MAX_STEP_TIMES_MEAN;
        let news = step.min(limit) - mean;
        self.learnt_liters = Some(mean + news / (self.steps + GUESS_STEPS));
    }

    /// The standard deviation of a cell while driving, in litres.
    pub(super) fn driving_liters(self, tank: &Tank) -> f64 {
        self.mean_step_liters(tank) * STEP_TO_DEVIATION
    }

    /// The standard deviation of the level from one parking place to another, in litres.
    pub(super) fn parked_liters(self, tank: &Tank) -> f64 {
        self.driving_liters(tank) * PARKED_SHARE
    }

    fn mean_step_liters(self, tank: &Tank) -> f64 {
        self.learnt_liters.unwrap_or_else(|| guess_liters(tank))
    }
}

/// The mean step before anything is learnt.
fn guess_liters(tank: &Tank) -> f64 {
    GUESS_SHARE / STEP_TO_DEVIATION * tank.capacity_liters
}

#[cfg(test)]
mod tests {
    use super::super::cell::Travel;
    use super::*;
    use crate::model::Timestamp;

    const TANK: Tank = Tank { capacity_liters: 100.0, window_seconds: 300.0, version: 1 };

    fn cell(number: u32, liters: f64) -> Cell {
        let from = Timestamp::FIRST.plus_seconds(f64::from(number) * 20.0);
        let travel = Travel { moved: true, known: true, ..Travel::default() };
        Cell { from, to: from.plus_seconds(19.0), liters, travel, place: None }
    }

    #[test]
    fn waves_after_a_level_that_stood_still_are_learnt_within_the_memory() {
        let mut wander = Wander::default();
        let mut drive = |levels: [f64; 2], steps: u32| {
            for number in 0..steps {
                wander.learn(&cell(number, levels[0]), &cell(number + 1, levels[1]), &TANK);
            }
            wander.driving_liters(&TANK)
        };
        assert!(drive([95.0, 95.0], 2_000) < 1e-6);
        let learnt = drive([50.0, 52.0], 2 * MEMORY_STEPS as u32);
        assert!(learnt > 1.0, "{learnt} of the 1.8 l that steps of 2 l are");
    }

    #[test]
    fn a_step_counts_as_four_times_the_mean_at_most_in_a_tank_of_any_size() {
        for capacity_liters in [100.0, 1_000.0] {
            let (mut wander, tank) = (Wander::default(), Tank { capacity_liters, ..TANK });
            wander.learn(&cell(0, 0.0), &cell(1, capacity_liters), &tank);
            let want = GUESS_SHARE * capacity_liters * (1.0 + 3.0 / (GUESS_STEPS + 1.0));
            assert!((wander.driving_liters(&tank) / want - 1.0).abs() < 1e-9, "{capacity_liters}");
        }
    }
}
