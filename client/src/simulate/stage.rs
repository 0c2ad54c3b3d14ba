//! What all trackers of a run share: the counters, the common start, and the pauses.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use waypost_actors::model::Timestamp;

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Fixes sent for the first time.
    pub sent: u64,
    /// Fixes in frames that were sent again.
    pub frames_resent: u64,
    /// Fixes committed or refused.
    pub acknowledged: u64,
    /// Fixes the server says it stored.
    pub stored: u64,
    /// Fixes the server says it already had.
    pub duplicates: u64,
    /// Fixes refused, by code.
    pub refused: BTreeMap<String, u64>,
    /// Connections lost and made again.
    pub reconnects: u64,
    /// Times a server asked to send again.
    pub retries: u64,
    /// From the intended sending of a frame to its ack, microseconds.
    pub latencies_micros: Vec<u32>,
    /// From the intended sending of a frame to the sending, microseconds.
    pub lateness_micros: Vec<u32>,
    /// Frames sent and not acknowledged.
    pub in_flight: usize,
    /// Trackers that have connected for the first time, or gave up on it.
    pub arrived: usize,
    /// The newest instant each vehicle has sent.
    pub newest_sent: Vec<Option<Timestamp>>,
    /// When the last ack came.
    pub last_ack: Option<Instant>,
}

/// What all trackers of a run share. Everything here lives on one thread.
pub(super) struct Stage {
    counts: RefCell<Counts>,
    /// When frame time is 0; `None` until every tracker is ready.
    start: watch::Sender<Option<Instant>>,
    paused: watch::Sender<bool>,
    /// Counts of fixes sent at which to pause.
    pauses: RefCell<VecDeque<u64>>,
    /// Notified when something changed that a task may be waiting for.
    changed: Notify,
    paused_for: Cell<Duration>,
    idle_for: Cell<Duration>,
}

impl Stage {
    /// A stage for `vehicles` vehicles that pauses at these counts of fixes sent.
    #[must_use]
    pub(super) fn new(vehicles: usize, pauses: VecDeque<u64>) -> Self {
        Self {
            counts: RefCell::new(Counts { newest_sent: vec![None; vehicles], ..Counts::default() }),
            start: watch::Sender::new(None),
            paused: watch::Sender::new(false),
            pauses: RefCell::new(pauses),
            changed: Notify::new(),
            paused_for: Cell::new(Duration::ZERO),
            idle_for: Cell::new(Duration::ZERO),
        }
    }

    /// The counters. Do not hold on to them across an await.
    pub(super) fn counts(&self) -> RefMut<'_, Counts> {
        self.counts.borrow_mut()
    }

    /// Wakes the tasks that wait for the counters to change.
    pub(super) fn notify(&self) {
        self.changed.notify_one();
    }

    /// Waits until the counters satisfy a condition.
    pub(super) async fn until(&self, condition: impl Fn(&Counts) -> bool) {
        while !condition(&self.counts()) {
            self.changed.notified().await;
        }
    }

    /// Lets frame time begin now.
    pub(super) fn begin(&self) {
        self.start.send_replace(Some(Instant::now()));
    }

    /// When frame time began, once it has.
    pub(super) async fn begun(&self) -> Instant {
        let mut start = self.start.subscribe();
        let begun = start.wait_for(Option::is_some).await;
        begun.ok().and_then(|start| *start).unwrap_or_else(Instant::now)
    }

    /// The instant that is `seconds` into frame time, pauses left out.
    #[must_use]
    pub(super) fn due(&self, start: Instant, seconds: f64) -> Instant {
        start + self.paused_for.get() + Duration::from_secs_f64(seconds)
    }

    /// A receiver of whether there is a pause now; it wakes when one begins or ends.
    #[must_use]
    pub(super) fn pauses(&self) -> watch::Receiver<bool> {
        self.paused.subscribe()
    }

    /// Counts a frame as sent; begins a pause if one is due.
    pub(super) fn sent(&self, vehicle: usize, items: u64, newest: Option<Timestamp>, lateness: Duration) {
        let mut counts = self.counts();
        counts.sent += items;
        counts.in_flight += 1;
        counts.lateness_micros.push(micros(lateness));
        counts.newest_sent[vehicle] = counts.newest_sent[vehicle].max(newest);
        let mut pauses = self.pauses.borrow_mut();
        if pauses.front().is_some_and(|at| counts.sent >= *at) {
            pauses.retain(|at| counts.sent < *at);
            self.paused.send_replace(true);
        }
    }

    /// Ends a pause that began at `since`, with nothing in flight from `idle_since` on.
    pub(super) fn resume(&self, since: Instant, idle_since: Instant) {
        self.paused_for.set(self.paused_for.get() + since.elapsed());
        self.idle_for.set(self.idle_for.get() + idle_since.elapsed());
        self.paused.send_replace(false);
    }

    /// How long pauses have kept everything idle.
    #[must_use]
    pub(super) fn idle_for(&self) -> Duration {
        self.idle_for.get()
    }
}

/// A duration in microseconds; longer than about an hour counts as that.
#[must_use]
pub(super) fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}
