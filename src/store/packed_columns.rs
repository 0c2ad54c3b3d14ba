//! Columns of packed rows (docs/store.md): instants, and numbers.
//!
//! What does not come back bit by bit from a scaled whole number is stored whole.

use serde::{Deserialize, Serialize};

/// Units of the columns of time, largest first. Microseconds.
const TIME_UNITS: [i64; 3] = [1_000_000, 1_000, 1];
/// Parts of one in which numbers are stored, coarsest first.
const SCALES: [u32; 5] = [1, 10, 100, 1_000, 10_000_000];

/// Differences of differences, in the largest unit that divides all.
#[derive(Serialize, Deserialize)]
pub(super) struct TimeColumn {
    unit: i64,
    steps: Vec<i64>,
}

/// Numbers, each there or not.
#[derive(Serialize, Deserialize)]
pub(super) enum NumberColumn {
    Absent,
    /// All are there, in parts of one: the differences from one to the next.
    Scaled(u32, Vec<i64>),
    Each(Vec<Option<f64>>),
}

impl TimeColumn {
    /// How many instants it has.
    pub(super) const fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn pack(micros: &[i64]) -> Self {
        let divides = |unit: &i64| micros.iter().all(|at| at % unit == 0);
        let unit = TIME_UNITS.into_iter().find(divides).unwrap_or(1);
        let (mut last, mut pace) = (0_i64, 0_i64);
        let step = |at: &i64| {
            let at = at / unit;
            let new_pace = at.wrapping_sub(last);
            let step = new_pace.wrapping_sub(pace);
            (last, pace) = (at, new_pace);
            step
        };
        Self { unit, steps: micros.iter().map(step).collect() }
    }

    pub(super) fn unpack(&self) -> impl Iterator<Item = i64> {
        let (mut last, mut pace) = (0_i64, 0_i64);
        self.steps.iter().map(move |step| {
            pace = pace.wrapping_add(*step);
            last = last.wrapping_add(pace);
            last.wrapping_mul(self.unit)
        })
    }
}

impl NumberColumn {
    pub(super) fn pack(values: &[Option<f64>]) -> Self {
        if values.iter().all(Option::is_none) {
            return Self::Absent;
        }
        let scaled = |per_unit: u32| {
            let parts: Option<Vec<i64>> = values.iter().map(|value| parts((*value)?, per_unit)).collect();
            parts.map(|parts| (per_unit, parts))
        };
        let Some((per_unit, parts)) = SCALES.into_iter().find_map(scaled) else {
            return Self::Each(values.to_vec());
        };
        let mut last = 0;
        let step = |part: i64| {
            let step = part - last;
            last = part;
            step
        };
        Self::Scaled(per_unit, parts.into_iter().map(step).collect())
    }

    pub(super) fn unpack(&self, count: usize) -> Vec<Option<f64>> {
        match self {
            Self::Absent => vec![None; count],
            Self::Each(values) => values.clone(),
            Self::Scaled(per_unit, steps) => {
                let mut last = 0_i64;
                let value = |step: &i64| {
                    last = last.wrapping_add(*step);
                    Some(last as f64 / f64::from(*per_unit))
                };
                steps.iter().map(value).collect()
            }
        }
    }
}

/// The number in parts of one, if that gives the same bits back. Doubles hold every whole number up to 2^53, so
/// differences of two do not overflow.
fn parts(value: f64, per_unit: u32) -> Option<i64> {
    let parts = (value * f64::from(per_unit)).round();
    let whole = parts as i64;
    let is_same = (whole as f64 / f64::from(per_unit)).to_bits() == value.to_bits();
    (is_same && parts.abs() < 9e15).then_some(whole)
}
