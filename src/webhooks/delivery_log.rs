//! What happened since it was last saved: attempts, and how far webhooks got. Written together and a little at a time,
//! because the writer of positions waits meanwhile; what a kill loses of it is delivered once more.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::meters::{Meters, Standing};
use crate::domain::webhook::WebhookAttempt;
use crate::store::sql::{Db, SqlError, is_unavailable};
use crate::store::webhook_attempt;
use crate::store::webhook_delivery::{self, Progress};
use crate::throttle::Throttle;

/// Attempts and webhooks per transaction.
const TOGETHER: usize = 200;
/// Attempts that may wait while the store is away; the oldest are lost then.
const MOST_WAITING: usize = 20_000;
/// Attempts logged between two trims of what exceeds a webhook's limit.
const TRIM_AFTER: usize = 20_000;
/// Attempts deleted per transaction.
const TRIM_ROWS: i64 = 500;
/// Pause between two warnings that the store refuses what is to be saved.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// What is to be saved.
pub(super) struct DeliveryLog {
    attempts: Vec<(Uuid, WebhookAttempt)>,
    latest: HashMap<Uuid, Progress>,
    saved: HashMap<Uuid, Progress>,
    /// Webhooks whose progress is to be saved soon.
    urgent: HashSet<Uuid>,
    /// When the first event of each queue came into the log.
    oldest: HashMap<Uuid, Timestamp>,
    since_trim: usize,
    meters: Arc<Meters>,
    standing: Standing,
    /// How often it is told that the store refuses what is to be saved.
    telling: Throttle,
}

/// A part of it.
pub(super) struct Part {
    attempts: Vec<(Uuid, WebhookAttempt)>,
    progress: Vec<(Uuid, Progress)>,
}

impl DeliveryLog {
    /// An empty log that reports to these meters.
    pub(super) fn new(meters: Arc<Meters>) -> Self {
        let standing = Standing::new(&meters);
        Self {
            attempts: Vec::new(),
            latest: HashMap::new(),
            saved: HashMap::new(),
            urgent: HashSet::new(),
            oldest: HashMap::new(),
            since_trim: 0,
            meters,
            standing,
            telling: Throttle::new(TELL_EVERY),
        }
    }

    /// How far a webhook got, if it was served before.
    pub(super) fn progress(&self, webhook: Uuid) -> Option<Progress> {
        self.latest.get(&webhook).copied()
    }

    /// Notes an attempt.
    pub(super) fn add(&mut self, webhook: Uuid, attempt: WebhookAttempt) {
        let took = Duration::from_millis(u64::try_from(attempt.duration_ms).unwrap_or_default());
        self.meters.attempted(attempt.outcome, took);
        if self.attempts.len() >= MOST_WAITING {
            self.attempts.drain(..TOGETHER);
        }
        self.attempts.push((webhook, attempt));
    }

    /// Notes how far a webhook got; `is_urgent` if it delivered something.
    pub(super) fn reached(&mut self, webhook: Uuid, progress: Progress, is_urgent: bool) {
        self.latest.insert(webhook, progress);
        if is_urgent {
            self.urgent.insert(webhook);
        }
    }

    /// Notes when the first event came into the log that a webhook still has to take, if there is one.
    pub(super) fn waits(&mut self, webhook: Uuid, since: Option<Timestamp>) {
        match since {
            Some(since) => self.oldest.insert(webhook, since),
            None => self.oldest.remove(&webhook),
        };
    }

    /// Tells operators how webhooks stand.
    pub(super) fn tell(&mut self, now: Timestamp) {
        let failing = self.latest.values().filter(|progress| progress.failing_since.is_some()).count();
        let oldest = self.oldest.values().min().copied();
        self.standing.note(self.latest.len(), failing, oldest, now);
    }

    /// Forgets webhooks that are served no more.
    pub(super) fn keep(&mut self, is_served: impl Fn(&Uuid) -> bool) {
        self.latest.retain(|webhook, _| is_served(webhook));
        self.saved.retain(|webhook, _| is_served(webhook));
        self.oldest.retain(|webhook, _| is_served(webhook));
        self.urgent.retain(&is_served);
    }

    /// Makes everything urgent that is not saved.
    pub(super) fn hurry(&mut self) {
        let unsaved =
            self.latest.iter().filter(|(webhook, progress)| self.saved.get(webhook) != Some(progress));
        self.urgent.extend(unsaved.map(|(webhook, _)| *webhook));
    }

    fn take(&mut self) -> Option<Part> {
        let attempts: Vec<_> = self.attempts.drain(..self.attempts.len().min(TOGETHER)).collect();
        let webhooks: Vec<Uuid> = self.urgent.iter().take(TOGETHER).copied().collect();
        let progress = webhooks.into_iter().filter_map(|webhook| {
            self.urgent.remove(&webhook);
            Some((webhook, *self.latest.get(&webhook)?))
        });
        let progress: Vec<_> = progress.collect();
        (!attempts.is_empty() || !progress.is_empty()).then_some(Part { attempts, progress })
    }

    fn done(&mut self, part: Part, is_saved: bool) {
        if is_saved {
            self.since_trim += part.attempts.len();
            self.saved.extend(part.progress);
        } else {
            self.urgent.extend(part.progress.into_iter().map(|(webhook, _)| webhook));
            self.attempts.splice(0..0, part.attempts);
        }
    }

    fn tell_refused(&self, error: &SqlError) {
        if self.telling.is_due() {
            tracing::warn!(%error, "the store refuses what webhooks were sent; a restart would deliver it again");
        }
    }
}

/// Saves everything that is due; what cannot be saved now is saved later.
pub(super) async fn save(delivery_log: &RefCell<DeliveryLog>, db: &Db) {
    match save_due(delivery_log, db).await {
        Ok(()) => {}
        Err(error) if is_unavailable(&error) => {
            tracing::debug!(%error, "what webhooks were sent is saved later");
        }
        Err(error) => delivery_log.borrow().tell_refused(&error),
    }
}

async fn save_due(delivery_log: &RefCell<DeliveryLog>, db: &Db) -> Result<(), SqlError> {
    loop {
        let part = delivery_log.borrow_mut().take();
        let Some(part) = part else { break };
        let saved = webhook_delivery::save(db, &part.attempts, &part.progress).await;
        delivery_log.borrow_mut().done(part, saved.is_ok());
        saved?;
    }
    if delivery_log.borrow().since_trim >= TRIM_AFTER {
        delivery_log.borrow_mut().since_trim = 0;
        while webhook_attempt::delete_too_many(db, TRIM_ROWS).await? > 0 {}
    }
    Ok(())
}
