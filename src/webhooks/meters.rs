//! What the deliveries count for operators: sums over all webhooks, since nobody knows how many there will be. Knows no
//! names of metrics; telemetry does.

use std::time::Duration;

use waypost_actors::meters::{Count, Histogram, SECONDS, UpDownCounter};
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
    /// For how long the oldest event has been in the log that a webhook still has to take. Milliseconds.
    pub lag_millis: UpDownCounter,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            outcomes: Default::default(),
            attempt_seconds: Histogram::new(SECONDS),
            served: UpDownCounter::default(),
            failing: UpDownCounter::default(),
            lag_millis: UpDownCounter::default(),
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

    /// Notes how webhooks stand now. `oldest`: when the oldest event came into the log that is still to be taken.
    pub(super) fn stand(&self, served: usize, failing: usize, oldest: Option<Timestamp>, now: Timestamp) {
        let level = |many: usize| i64::try_from(many).unwrap_or(i64::MAX);
        self.served.set(level(served));
        self.failing.set(level(failing));
        self.lag_millis
            .set(oldest.map_or(0, |oldest| now.as_millis().saturating_sub(oldest.as_millis()).max(0)));
    }
}
