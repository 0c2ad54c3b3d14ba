//! What the deliveries count for operators: sums over all webhooks, since nobody knows how many there will be. Knows no
//! names of metrics; telemetry does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use waypost_actors::meters::{Count, Histogram, SECONDS, Share, UpDownCounter};
use waypost_actors::model::Timestamp;

use crate::domain::webhook::AttemptOutcome;

/// The figures.
#[derive(Debug)]
pub struct Meters {
    outcomes: [Count; AttemptOutcome::WORDS.len()],
    /// From the beginning of an attempt to its answer or its failure. Seconds.
    pub attempt_seconds: Histogram,
    /// Webhooks that are served.
    pub served: UpDownCounter,
    /// Those of them whose last attempt failed.
    pub failing: UpDownCounter,
    /// The oldest event's time in the log, of each supervisor. Milliseconds.
    lags: Mutex<Vec<Weak<AtomicU64>>>,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            outcomes: Default::default(),
            attempt_seconds: Histogram::new(SECONDS),
            served: UpDownCounter::default(),
            failing: UpDownCounter::default(),
            lags: Mutex::default(),
        }
    }
}

impl Meters {
    /// Counts an attempt.
    pub(super) fn attempted(&self, outcome: AttemptOutcome, took: Duration) {
        for ((_, of), count) in AttemptOutcome::WORDS.iter().zip(&self.outcomes) {
            count.add(u64::from(*of == outcome));
        }
        self.attempt_seconds.note_time(took);
    }

    /// Attempts so far, by their outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        AttemptOutcome::WORDS.iter().zip(&self.outcomes).map(|((name, _), count)| (*name, count.get()))
    }

    /// For how long the oldest event has been in the log that a webhook still has to take.
    pub fn lag(&self) -> Duration {
        let lags = self.lags.lock();
        let millis = lags.iter().filter_map(Weak::upgrade).map(|lag| lag.load(Ordering::Relaxed)).max();
        Duration::from_millis(millis.unwrap_or_default())
    }
}

/// How the webhooks of one supervisor stand.
pub(super) struct Standing {
    served: Share<Meters>,
    failing: Share<Meters>,
    lag_millis: Arc<AtomicU64>,
}

impl Standing {
    /// Of no webhook yet.
    pub(super) fn new(meters: &Arc<Meters>) -> Self {
        let lag_millis = Arc::<AtomicU64>::default();
        let mut lags = meters.lags.lock();
        lags.retain(|lag| lag.strong_count() > 0);
        lags.push(Arc::downgrade(&lag_millis));
        drop(lags);
        Self {
            served: Share::new(Arc::clone(meters), |of| &of.served),
            failing: Share::new(Arc::clone(meters), |of| &of.failing),
            lag_millis,
        }
    }

    /// Notes how they stand now. `oldest`: when the oldest event came into the log that is still to be taken.
    pub(super) fn note(&mut self, served: usize, failing: usize, oldest: Option<Timestamp>, now: Timestamp) {
        self.served.set(served);
        self.failing.set(failing);
        let lag = oldest.map_or(0, |oldest| now.as_millis().saturating_sub(oldest.as_millis()).max(0));
        self.lag_millis.store(lag.unsigned_abs(), Ordering::Relaxed);
    }
}
