//! Quantiles of times, taken from the values themselves.

use std::fmt;

use serde::Serialize;

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Half are faster.
    pub p50: f64,
    /// Nine of ten are faster.
    pub p90: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
}

impl Quantiles {
    /// Quantiles of microseconds; none of an empty list.
    #[must_use]
    pub fn of_micros(values: &mut [u32]) -> Option<Self> {
        values.sort_unstable();
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| f64::from(values[(last as f64 * share).round() as usize]) / 1000.0;
        Some(Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) })
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p90, p99, max } = self;
        write!(f, "p50 {p50:.1} ms · p90 {p90:.1} ms · p99 {p99:.1} ms · max {max:.1} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_taken_from_the_values_themselves() {
        let mut values: Vec<u32> = (0..=100).rev().map(|n| n * 1000).collect();
        let want = Quantiles { p50: 50.0, p90: 90.0, p99: 99.0, max: 100.0 };
        assert_eq!(Quantiles::of_micros(&mut values), Some(want));
        assert_eq!(Quantiles::of_micros(&mut []), None);
    }
}
