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
        let news = step.min(mean * MAX_STEP_TIMES_MEAN) - mean;
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
        self.learnt_liters.unwrap_or(GUESS_SHARE / STEP_TO_DEVIATION * tank.capacity_liters)
    }
}
