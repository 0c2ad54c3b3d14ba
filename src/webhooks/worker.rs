//! The task of one webhook: follows the log, sends what the webhook is to be sent, and notes how that went.

use std::future::pending;
use std::iter;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use waypost_actors::model::Timestamp;
use waypost_actors::watch::Audience;

use super::client::{Client, Headers, IDLE, Sent};
use super::delivery_queue::{DeliveryQueue, Ended, MOST_WAITING};
use super::message::{Message, Selection, Writer};
use super::parts::Shared;
use super::recent::Known;
use super::schedule::DISABLED_AFTER_SECONDS;
use super::signature;
use crate::clock;
use crate::domain::webhook::{AttemptOutcome, DisabledReason, WebhookAttempt};
use crate::feed::Entry;
use crate::store::webhook_delivery::{Progress, Target};
use crate::throttle::Throttle;

/// How often a stopped queue is looked at: the clock of the server may be set.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The store has this long to disable a webhook.
const DISABLED_WITHIN: Duration = Duration::from_secs(10);
/// Pages of the log that are read before what they brought is sent: what a webhook is not sent may fill thousands of them.
const PAGES_AT_ONCE: usize = 10;
/// Pause between two warnings about an entry of the log that a webhook waits for.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Sends the messages of one webhook, over connections of its own.
#[derive(Clone)]
pub(super) struct Sender {
    shared: Rc<Shared>,
    target: Arc<Target>,
    client: Client,
}

/// The task of one webhook.
pub(super) struct Worker {
    shared: Rc<Shared>,
    target: Arc<Target>,
    sender: Sender,
    writer: Writer,
    queue: DeliveryQueue,
    wake: Rc<Notify>,
    /// When the last attempt ended, while its connection may be open.
    sent_at: Option<Instant>,
    /// When the entry came into the log that is to be read next and cannot be told.
    untold: Option<Timestamp>,
    /// How often that is said.
    warning: Throttle,
}

/// An attempt that has ended.
pub(super) struct Attempted {
    pub(super) at: Timestamp,
    pub(super) sent: Sent,
}

impl Sender {
    pub(super) fn new(shared: Rc<Shared>, target: Arc<Target>) -> Self {
        let client = shared.dialer.client();
        Self { shared, target, client }
    }

    /// Closes the connections over which nothing is under way.
    fn hang_up(&mut self) {
        self.client = self.shared.dialer.client();
    }

    /// Sends a message once.
    pub(super) async fn send(&self, message: &Message) -> Attempted {
        let (at, target) = (self.shared.clock.now(), &self.target);
        let former = target.former_secret.as_ref().filter(|(_, until)| at < *until).map(|(secret, _)| secret);
        let unsealed = |sealed: &Vec<u8>| self.shared.master.unsealed(sealed);
        // A former one that cannot be read any more does not stand in the way of the new one.
        let Some(secret) = unsealed(&target.secret) else {
            let detail =
                "its secret is wrapped with another masterKey than this server has; give it a new one";
            let (status, retry_after, answer, took) = (None, None, None, Duration::ZERO);
            return Attempted {
                at,
                sent: Sent { status, retry_after, detail: Some(detail.into()), answer, took },
            };
        };
        let secrets: Vec<Vec<u8>> = iter::once(secret).chain(former.and_then(unsealed)).collect();
        let signature = signature::header(&secrets, &message.id, at, &message.body);
        let headers = Headers { id: &message.id, timestamp: signature::seconds(at), signature: &signature };
        Attempted { at, sent: self.client.post(&target.url, headers, message.body.clone()).await }
    }
}

impl Attempted {
    pub(super) fn is_delivered(&self) -> bool {
        self.sent.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// How it is logged.
    pub(super) fn logged(
        self,
        message: &Message,
        sequence: Option<i64>,
        attempt: i64,
        outcome: AttemptOutcome,
    ) -> WebhookAttempt {
        WebhookAttempt {
            id: clock::new_id(),
            message_id: message.id.clone(),
            event_type: message.event_type.clone(),
            sequence,
            attempt,
            attempted_at: self.at,
            duration_ms: i64::try_from(self.sent.took.as_millis()).unwrap_or(i64::MAX),
            status: self.sent.status.map(i64::from),
            outcome,
            detail: self.sent.detail,
            answer: self.sent.answer,
        }
    }
}

impl Worker {
    pub(super) fn new(shared: Rc<Shared>, target: Target, progress: Progress, wake: Rc<Notify>) -> Self {
        let target = Arc::new(target);
        let sender = Sender::new(Rc::clone(&shared), Arc::clone(&target));
        let writer = Writer::new(Selection::from(&*target));
        let queue = DeliveryQueue::new(progress);
        let warning = Throttle::new(TELL_EVERY);
        Self { shared, target, sender, writer, queue, wake, sent_at: None, untold: None, warning }
    }

    /// Delivers until it is aborted or the webhook is disabled.
    pub(super) async fn run(mut self) {
        let mut under_way = FuturesUnordered::new();
        loop {
            let filled = self.fill().await;
            if let Err(error) = &filled {
                tracing::debug!(%error, "a webhook reads the log later");
            }
            while let Some((sequence, attempt, message)) = self.queue.next(self.shared.clock.now()) {
                let sender = self.sender.clone();
                under_way.push(async move { (sequence, attempt, sender.send(&message).await, message) });
            }
            let (reads_on, looks_again) = (filled == Ok(true), filled.is_err() || self.queue.is_stopped());
            let idle_since = self.sent_at.filter(|_| under_way.is_empty());
            tokio::select! {
                Some((sequence, attempt, attempted, message)) = under_way.next() => {
                    self.sent_at = Some(Instant::now());
                    let reason = self.ended(sequence, attempt, attempted, &message);
                    if let Some(reason) = reason && self.disable(reason).await {
                        return;
                    }
                }
                () = self.wake.notified() => {}
                () = yield_now(), if reads_on => {}
                () = sleep(LOOK_EVERY), if looks_again => {}
                () = until_idle_since(idle_since) => {
                    self.sent_at = None;
                    self.sender.hang_up();
                }
            }
        }
    }

    /// Reads what follows in the log, as far as there is room and a few pages at most, and notes how far that is; returns
    /// whether there may be more to read at once.
    async fn fill(&mut self) -> Result<bool, String> {
        self.untold = None;
        let mut filled = Ok(true);
        for _ in 0..PAGES_AT_ONCE {
            filled = self.read_page().await;
            if filled != Ok(true) {
                break;
            }
        }
        self.note(false);
        filled
    }

    /// Reads a page of the log; returns whether there may be more to read at once.
    async fn read_page(&mut self) -> Result<bool, String> {
        let (from, room) = (self.queue.read_to(), self.queue.room());
        if room == 0 {
            return Ok(false);
        }
        let known = self.shared.recent.borrow().after(self.target.organization_id, from, room);
        let (entries, next) = match known {
            Known::Entries(entries, next) => (entries, next),
            // Not for a few: while it is behind, each delivery would ask the store.
            Known::InLog(_) if room < MOST_WAITING / 2 => return Ok(false),
            Known::InLog(until) => self.shared.read(self.audience(), from, until, room).await?,
        };
        for entry in entries {
            if self.queue.room() == 0 {
                return Ok(false);
            }
            let sequence = entry.sequence();
            match self.writer.write(&entry, &self.shared.ports.show_change).await {
                Ok(Some(message)) => self.queue.push(sequence, message),
                Ok(None) => self.queue.passed(sequence + 1),
                Err(error) => {
                    self.cannot_tell(&entry, &error);
                    return Err(error);
                }
            }
        }
        self.queue.passed(next);
        Ok(self.queue.read_to() > from)
    }

    /// Notes that an entry of the log cannot be told now, for which all that follows waits.
    fn cannot_tell(&mut self, entry: &Entry, error: &str) {
        self.untold = Some(match entry {
            Entry::Record(told) => told.record.detected_at,
            Entry::Change(change) => change.changed_at,
        });
        if self.warning.is_due() {
            let (webhook, sequence) = (self.target.id, entry.sequence());
            tracing::warn!(%webhook, sequence, error, "a webhook waits: an entry of the log cannot be told");
        }
    }

    /// Notes how far the webhook got; `is_urgent` if it delivered something.
    fn note(&self, is_urgent: bool) {
        let mut delivery_log = self.shared.delivery_log.borrow_mut();
        delivery_log.reached(self.target.id, self.queue.progress(), is_urgent);
        delivery_log.waits(self.target.id, self.queue.oldest().or(self.untold));
    }

    fn audience(&self) -> Audience {
        Audience::Organization(self.target.organization_id)
    }

    /// Notes how an attempt ended; returns why the webhook is to be disabled, if it is.
    fn ended(
        &mut self,
        sequence: i64,
        attempt: i64,
        attempted: Attempted,
        message: &Message,
    ) -> Option<DisabledReason> {
        let now = self.shared.clock.now();
        let is_gone = attempted.sent.status == Some(410);
        let ended = if attempted.is_delivered() {
            Ended::Delivered
        } else {
            Ended::Failed(attempted.sent.retry_after)
        };
        let outcome = self.queue.done(sequence, ended, now, clock::random_part());
        let attempt = attempted.logged(message, Some(sequence), attempt, outcome);
        self.shared.delivery_log.borrow_mut().add(self.target.id, attempt);
        self.note(true);
        let is_failing = |since| now.seconds_since(since) >= DISABLED_AFTER_SECONDS;
        if is_gone {
            return Some(DisabledReason::Gone);
        }
        self.queue.failing_since().is_some_and(is_failing).then_some(DisabledReason::Failing)
    }

    async fn disable(&self, reason: DisabledReason) -> bool {
        let (organization, id) = (self.target.organization_id, self.target.id);
        match timeout(DISABLED_WITHIN, (self.shared.ports.disable)(organization, id, reason)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(webhook = %id, error, "a webhook could not be disabled; it will be after its next failure");
                false
            }
            Err(_) => false,
        }
    }
}

/// Waits until nothing was sent for so long that connections are to be closed; for ever if none is open.
async fn until_idle_since(since: Option<Instant>) {
    match since {
        Some(since) => sleep_until(since + IDLE).await,
        None => pending().await,
    }
}
