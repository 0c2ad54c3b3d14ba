//! What the live core counts for operators. Atomics only: nothing on its way to a commit waits for a reader of the
//! figures. Knows no names of metrics and no format; the server's telemetry does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Upper bounds of the histograms of waiting and commit times. Seconds.
pub const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Upper bounds of the histogram of rows per commit.
pub const ROWS: &[f64] = &[1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_000.0, 5_000.0];

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to the count.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The count so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct UpDownCounter(AtomicI64);

impl UpDownCounter {
    /// Adds to the level; may go below zero.
    pub fn add(&self, more: i64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Sets the level.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The current level.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

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

/// How a queue's items fared. Accepted and refused add up to offered, except for what is still waiting.
#[derive(Debug)]
pub struct QueueMeter {
    /// Items that came.
    pub offered: Count,
    /// Items that got through.
    pub accepted: Count,
    /// Items that were turned away by the queue's policy.
    pub refused: Count,
    /// How long the items that got through had waited. Seconds.
    pub waited: Histogram,
}

impl Default for QueueMeter {
    fn default() -> Self {
        Self {
            offered: Count::default(),
            accepted: Count::default(),
            refused: Count::default(),
            waited: Histogram::new(SECONDS),
        }
    }
}

impl QueueMeter {
    /// Counts items that came.
    pub fn offer(&self, many: u64) {
        self.offered.add(many);
    }

    /// Counts items that got through after a wait.
    pub fn accept(&self, many: u64, waited: Duration) {
        self.accepted.add(many);
        self.waited.note_time(waited);
    }

    /// Counts items that were turned away.
    pub fn refuse(&self, many: u64) {
        self.refused.add(many);
    }

    /// Sends an item into a queue without waiting for room; returns whether it is in. If the receiver is gone,
    /// nothing is counted.
    pub(crate) fn try_send<T>(&self, queue: &mpsc::Sender<T>, what: T) -> bool {
        match queue.try_send(what) {
            Ok(()) => {
                self.offered.add(1);
                self.accepted.add(1);
                true
            }
            Err(TrySendError::Full(_)) => {
                self.offered.add(1);
                self.refused.add(1);
                false
            }
            Err(TrySendError::Closed(_)) => false,
        }
    }
}

/// What must never happen, whatever comes from outside. Each violation is counted, and makes memory be reloaded
/// from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Events are numbered one after another, without a gap. Broken: the writer stops.
    EventNumbers,
    /// A commit accounts for each fix it was given. Broken: what is stored is read back.
    Accounts,
    /// The fences a vehicle is in are what its records say. Broken: the vehicle starts again from what is
    /// stored, and a fix that brings it about three times is quarantined.
    Stays,
    /// No more is on its way to the writer than there are permits. Broken: it is refused.
    QueueBound,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::EventNumbers, Self::Accounts, Self::Stays, Self::QueueBound];

    /// Its name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EventNumbers => "eventNumbers",
            Self::Accounts => "accounts",
            Self::Stays => "stays",
            Self::QueueBound => "queueBound",
        }
    }
}

/// Everything the live core counts; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Meters(Arc<Figures>);

impl std::ops::Deref for Meters {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.0
    }
}

/// The figures.
#[derive(Debug)]
pub struct Figures {
    /// Fixes on their way to a commit: from the request for room until it is granted.
    pub fixes: QueueMeter,
    /// Writes of vehicles: from the writer's inbox to the commit.
    pub writes: QueueMeter,
    /// Vehicles that await a correction of late data: from the dirty mark to the last step.
    pub corrections: QueueMeter,
    /// Commits for watchers; a watcher that lags too far behind is dropped.
    pub watchers: QueueMeter,
    /// Newest states for the cache; refused are those that a newer one replaced or a full queue dropped.
    pub cache: QueueMeter,
    /// The duration of commits. Seconds.
    pub commit_seconds: Histogram,
    /// Rows and records of commits.
    pub commit_rows: Histogram,
    /// Commits that failed, or may have.
    pub failed_commits: Count,
    /// From the arrival of a commit's oldest fix to its acknowledgement. Seconds.
    pub lag_seconds: Histogram,
    /// When the newest committed fix arrived, by the server's clock. Milliseconds since 1970; 0 = none yet.
    pub newest_fix_millis: UpDownCounter,
    /// Vehicles that await a correction now.
    pub corrections_waiting: UpDownCounter,
    /// Looks for vehicles that became silent.
    pub connection_looks: Count,
    /// Vehicle actors that are alive.
    pub vehicles_alive: UpDownCounter,
    /// Vehicle actors that panicked and were started again.
    pub restarts: Count,
    /// Vehicles over their budget of restarts that were refused an actor.
    pub rests: Count,
    /// Fixes that were quarantined because the store refuses them.
    pub refused_by_store: Count,
    /// Fixes that were quarantined because the engine panics on them.
    pub panicked_on: Count,
    /// How often a snapshot of fences was published.
    pub fence_snapshot: Count,
    /// Threads of actors that do not answer.
    pub stalled_threads: UpDownCounter,
    violations: [Count; Invariant::ALL.len()],
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            fixes: QueueMeter::default(),
            writes: QueueMeter::default(),
            corrections: QueueMeter::default(),
            watchers: QueueMeter::default(),
            cache: QueueMeter::default(),
            commit_seconds: Histogram::new(SECONDS),
            commit_rows: Histogram::new(ROWS),
            failed_commits: Count::default(),
            lag_seconds: Histogram::new(SECONDS),
            newest_fix_millis: UpDownCounter::default(),
            connection_looks: Count::default(),
            corrections_waiting: UpDownCounter::default(),
            vehicles_alive: UpDownCounter::default(),
            restarts: Count::default(),
            rests: Count::default(),
            refused_by_store: Count::default(),
            panicked_on: Count::default(),
            fence_snapshot: Count::default(),
            stalled_threads: UpDownCounter::default(),
            violations: Default::default(),
        }
    }
}

impl Figures {
    /// Counts a violation and logs it as an error.
    pub(crate) fn violated(&self, which: Invariant, what: &str) {
        self.violations[which as usize].add(1);
        tracing::error!(
            invariant = which.as_str(),
            what,
            "an invariant is broken: this is a defect of Waypost"
        );
    }

    /// How often an invariant was found broken.
    #[must_use]
    pub fn violations(&self, of: Invariant) -> u64 {
        self.violations[of as usize].get()
    }
}

/// Counts a live actor until dropped.
pub(crate) struct LiveActorGuard(Meters);

impl LiveActorGuard {
    pub(crate) fn vehicle(meters: &Meters) -> Self {
        meters.vehicles_alive.add(1);
        Self(meters.clone())
    }
}

impl Drop for LiveActorGuard {
    fn drop(&mut self) {
        self.0.vehicles_alive.add(-1);
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

    #[test]
    fn each_invariant_has_a_count_of_its_own() {
        let figures = Figures::default();
        for (index, which) in Invariant::ALL.into_iter().enumerate() {
            assert_eq!(which as usize, index);
            figures.violated(which, "a test");
            assert_eq!(figures.violations(which), 1);
        }
    }
}
