//! What the live core counts for operators. Atomics only: nothing on its way to a commit waits for a reader of the
//! figures. Knows no names of metrics and no format; the server's telemetry does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

pub use crate::histogram::{Histogram, HistogramSnapshot};

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

    /// Raises the level to at least this.
    pub fn raise(&self, value: i64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// The current level.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one part adds to a level that several have; taken away again when dropped.
#[derive(Debug)]
pub struct Share<M> {
    meters: Arc<M>,
    level: fn(&M) -> &UpDownCounter,
    value: i64,
}

impl<M> Share<M> {
    /// A share of nothing yet.
    #[must_use]
    pub const fn new(meters: Arc<M>, level: fn(&M) -> &UpDownCounter) -> Self {
        Self { meters, level, value: 0 }
    }

    /// Sets what this part adds.
    pub fn set(&mut self, value: usize) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        (self.level)(&self.meters).add(value - self.value);
        self.value = value;
    }

    /// This share with a value.
    #[must_use]
    pub fn of(mut self, value: usize) -> Self {
        self.set(value);
        self
    }
}

impl<M> Drop for Share<M> {
    fn drop(&mut self) {
        (self.level)(&self.meters).add(-self.value);
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
    /// The stored state of a vehicle can be read. Broken: a correction finds it again from what is stored.
    States,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::EventNumbers, Self::Accounts, Self::Stays, Self::QueueBound, Self::States];

    /// Its name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EventNumbers => "eventNumbers",
            Self::Accounts => "accounts",
            Self::Stays => "stays",
            Self::QueueBound => "queueBound",
            Self::States => "states",
        }
    }
}

/// A step that the writer takes beside its commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberingStep {
    /// Changes of master data are given their numbers.
    Changes,
    /// Records are put right whose driver is another one.
    Drivers,
}

impl NumberingStep {
    /// All of them, in their order.
    pub const ALL: [Self; 2] = [Self::Changes, Self::Drivers];

    /// Its name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Drivers => "drivers",
        }
    }
}

/// Everything that live cores count, one or several; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Meters(Arc<Figures>);

impl Meters {
    /// A part's share of a level.
    pub(crate) fn share(&self, level: fn(&Figures) -> &UpDownCounter) -> Share<Figures> {
        Share::new(Arc::clone(&self.0), level)
    }
}

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
    numbering_failures: [Count; NumberingStep::ALL.len()],
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
            numbering_failures: Default::default(),
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

    /// Counts a step that failed while the store answers all else.
    pub(crate) fn numbering_failed(&self, step: NumberingStep) {
        self.numbering_failures[step as usize].add(1);
    }

    /// How often a step failed.
    #[must_use]
    pub fn numbering_failures(&self, of: NumberingStep) -> u64 {
        self.numbering_failures[of as usize].get()
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
    fn shares_add_up_and_go_with_their_parts() {
        let meters = Meters::default();
        let mut one = meters.share(|of| &of.corrections_waiting).of(3);
        let two = meters.share(|of| &of.corrections_waiting).of(2);
        one.set(1);
        assert_eq!(meters.corrections_waiting.get(), 3);
        drop(one);
        assert_eq!(meters.corrections_waiting.get(), 2);
        drop(two);
        assert_eq!(meters.corrections_waiting.get(), 0);
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
