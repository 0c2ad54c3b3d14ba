//! Where the clients of a run write down what they receive, as it happens.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::ledger::{FeedRecord, FixKey, Transcript};

/// The transcript of a run, and the basis of its figures. Everything here lives on one thread.
#[derive(Default)]
pub(crate) struct Book {
    transcript: RefCell<Transcript>,
    counts: RefCell<Counts>,
    changed: Notify,
    fault: Cell<Option<Fault>>,
    vehicles: RefCell<HashSet<Uuid>>,
    counts_from: Cell<Option<Instant>>,
    /// Whether clients should stop: the run is over.
    pub(crate) is_over: Cell<bool>,
    /// Whether trackers should send what is left as fast as they can: no more faults are to come.
    pub(crate) has_seen_enough: Cell<bool>,
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Fixes acknowledged or refused, each once.
    pub(crate) answered: usize,
    /// Trackers' connections that stood.
    pub(crate) connections: usize,
    /// Connections that ended before their work was done, or were never made, by reason.
    pub(crate) ends: BTreeMap<String, usize>,
    /// Times the server asked to send again.
    pub(crate) retries: usize,
    /// Dispatchers' connections that stood.
    pub(crate) subscriptions: usize,
    /// From the sending of a frame to its ack.
    pub(crate) latencies: Vec<Duration>,
}

impl Counts {
    /// How often a socket that stood was lost, by reason. A tracker that comes, for the first time or again, while
    /// the database is away or a start is under way is answered 503 and has no socket to lose.
    pub(crate) fn lost(&self) -> BTreeMap<String, usize> {
        let mut lost = self.ends.clone();
        lost.remove("503");
        lost
    }
}

/// A fault, and when the first fix sent after it was acknowledged.
#[derive(Clone, Copy)]
struct Fault {
    at: Instant,
    over_at: Option<Instant>,
}

impl Book {
    /// A frame is sent.
    pub(crate) fn sent(&self, fixes: &[FixKey]) {
        self.transcript.borrow_mut().sent.extend(fixes);
    }

    /// These fixes of a frame, last sent at an instant, are acknowledged.
    pub(crate) fn acked(&self, acked: &[FixKey], refused: &[FixKey], sent_at: Instant) {
        let now = Instant::now();
        let mut transcript = self.transcript.borrow_mut();
        transcript.acked.extend(acked);
        transcript.refused.extend(refused);
        if self.counts_from.get().is_none_or(|from| sent_at >= from) {
            self.vehicles.borrow_mut().extend(acked.iter().map(|fix| fix.vehicle));
        }
        let mut counts = self.counts.borrow_mut();
        counts.answered += acked.len() + refused.len();
        counts.latencies.push(now - sent_at);
        if let Some(Fault { at, over_at: None }) = self.fault.get()
            && sent_at >= at
        {
            self.fault.set(Some(Fault { at, over_at: Some(now) }));
        }
        self.changed.notify_waiters();
    }

    /// A broker took a fix.
    pub(crate) fn entrusted(&self, fix: FixKey) {
        self.transcript.borrow_mut().entrusted.insert(fix);
        self.count(|counts| counts.answered += 1);
    }

    /// The feed sent a record.
    pub(crate) fn told(&self, told: FeedRecord) {
        self.transcript.borrow_mut().told.push(told);
        self.changed.notify_waiters();
    }

    /// The feed could not continue where it was.
    pub(crate) fn broken_off(&self, why: &str) {
        self.transcript.borrow_mut().broken_off.push(why.to_owned());
    }

    /// Updates the counts.
    pub(crate) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.borrow_mut());
        self.changed.notify_waiters();
    }

    /// What happened so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    /// Reads something from the counts.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Counts) -> T) -> T {
        read(&self.counts.borrow())
    }

    /// The transcript so far.
    pub(crate) fn transcript(&self) -> Transcript {
        self.transcript.borrow().clone()
    }

    /// The transcript so far, with what somebody else on the feed was told.
    pub(crate) fn as_told_to(&self, other: &Self) -> Transcript {
        let Transcript { told, broken_off, .. } = other.transcript();
        Transcript { told, broken_off, ..self.transcript() }
    }

    /// The number of vehicles that got something acknowledged that they sent since they were last forgotten.
    pub(crate) fn vehicles_answered(&self) -> usize {
        self.vehicles.borrow().len()
    }

    /// Starts counting vehicles again.
    pub(crate) fn forget_vehicles(&self) {
        self.vehicles.borrow_mut().clear();
        self.counts_from.set(Some(Instant::now()));
    }

    /// The number of the last record that the feed sent.
    pub(crate) fn last_told(&self) -> i64 {
        self.transcript.borrow().told.last().map_or(0, |told| told.sequence)
    }

    /// From here on, the first ack of something sent later ends the fault.
    pub(crate) fn fault_begins(&self) {
        self.fault.set(Some(Fault { at: Instant::now(), over_at: None }));
    }

    /// When the first ack came for something sent since the fault began.
    pub(crate) fn fault_ended_at(&self) -> Option<Instant> {
        self.fault.get().and_then(|fault| fault.over_at)
    }

    /// Waits until a condition holds; returns whether it did in time.
    pub(crate) async fn until(&self, limit: Duration, holds: impl Fn() -> bool) -> bool {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if holds() {
                    return;
                }
                changed.await;
            }
        };
        timeout(limit, wait).await.is_ok()
    }
}
