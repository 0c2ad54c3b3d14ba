//! How a run reports its results: one line per figure, on the terminal even when the test passes and its output is
//! captured.

use std::io::Write;
use std::time::Duration;

/// Prints a figure with the bound it must keep.
pub(crate) fn figure(name: &str, value: &str, wanted: &str) {
    // A closed terminal is no reason to fail.
    let _ = writeln!(std::io::stderr(), "figure: {name}: {value} (wanted: {wanted})");
}

/// A quantile of some durations.
pub(crate) fn quantile(values: &[Duration], share: f64) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1).expect("at least one value");
    sorted[(last as f64 * share).round() as usize]
}

/// The middle and the worst of some durations.
pub(crate) fn spread(values: &[Duration]) -> String {
    let at = |share| quantile(values, share).as_secs_f64();
    format!("median {:.2} s, p99 {:.2} s, worst {:.2} s", at(0.5), at(0.99), at(1.0))
}

/// Bytes as megabytes.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
