//! A histogram of atomics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A histogram.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One per bound, and one for values above all of them.
    counts: Box<[AtomicU64]>,
    /// The bits of an `f64`.
    sum: AtomicU64,
}

/// A histogram as it stood at one moment, approximately.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSnapshot {
    /// Each upper bound, the last one infinite, with the number of values up to it and above the bound before.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
}

impl HistogramSnapshot {
    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

impl Histogram {
    /// A histogram with these upper bounds, in rising order.
    #[must_use]
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0.0_f64.to_bits()) }
    }

    /// Notes one value.
    pub fn note(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let more = |bits| Some((f64::from_bits(bits) + value).to_bits());
        self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok();
    }

    /// Notes a time.
    pub fn note_time(&self, time: Duration) {
        self.note(time.as_secs_f64());
    }

    /// The values so far.
    #[must_use]
    pub fn read(&self) -> HistogramSnapshot {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        HistogramSnapshot {
            buckets: bounds.zip(counts).collect(),
            sum: f64::from_bits(self.sum.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_up_to_its_bound() {
        let histogram = Histogram::new(&[1.0, 10.0]);
        for value in [0.5, 1.0, 1.5, 10.0, 11.0] {
            histogram.note(value);
        }
        let read = histogram.read();
        assert_eq!(read.buckets, [(1.0, 2), (10.0, 2), (f64::INFINITY, 1)]);
        assert_eq!((read.sum, read.count()), (24.0, 5));
    }
}
