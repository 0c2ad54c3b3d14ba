//! What vehicles hand to the writer. Kept beside its mailbox, so that the writer's thread is woken once per batch
//! instead of once per write. Owns when the writer is woken; commits nothing.

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::actor::vehicle::report_batch::VehicleReport;
use crate::actor::vehicle::write_chain::ChainLink;
use crate::error::LiveError;
use crate::ports::VehicleWrite;
use crate::tracking::Record;

/// The writer, as other actors see it.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) inbox: Inbox,
    pub(crate) wake: Recipient<Wake>,
    pub(crate) barrier: Recipient<Barrier>,
}

impl Writer {
    /// Hands over a write; returns it if the writer is gone. Writes of one sender keep their order.
    pub(crate) fn take(&self, write: Write) -> Result<(), Box<Write>> {
        let should_wake = self.inbox.push(write)?;
        if should_wake {
            // A full mailbox is fine: the writer checks the inbox after each message.
            self.wake.try_send(Wake).ok();
        }
        Ok(())
    }

    /// Has the writer number the changes of master data that wait for it, soon.
    pub(crate) fn number_changes(&self) {
        if self.inbox.note_changes() {
            self.wake.try_send(Wake).ok();
        }
    }

    /// Has records of connections numbered, stored and told, soon; waits for it. One at a time.
    pub(crate) async fn log_connections(&self, records: Vec<Record>) -> Result<(), NotLogged> {
        let (done, told) = oneshot::channel();
        if self.inbox.note_connections(ConnectionRecords { records, done }) {
            self.wake.try_send(Wake).ok();
        }
        told.await.unwrap_or(Err(NotLogged::Lost))
    }

    /// Waits until everything handed over before is committed.
    pub(crate) async fn barrier(&self) -> Result<(), LiveError> {
        self.barrier.send(Barrier).await.map_err(|_| LiveError::Stopped)?
    }
}

/// One vehicle's effects, to be committed. From a vehicle; there are never more under way than permits.
pub(crate) struct Write {
    pub(crate) to_store: VehicleWrite,
    /// The report that the commit answers.
    pub(crate) part: VehicleReport,
    pub(crate) link: ChainLink,
    /// How long ago its oldest fix had arrived when it was handed over. Seconds.
    pub(crate) age_seconds: f64,
}

/// Records of connections on their way to the log.
pub(crate) struct ConnectionRecords {
    pub(crate) records: Vec<Record>,
    pub(crate) done: oneshot::Sender<Result<(), NotLogged>>,
}

/// Why records of connections were not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotLogged {
    /// The store is away, or was: whether they are stored is known once it answers.
    Lost,
    /// The store will never take them.
    Refused,
}

/// There is something to take. From the vehicle whose write reached the weight at which the writer wants to be
/// woken, or from an edit of master data.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// Answered once everything handed over before is committed and visible to readers; with an error if it was refused
/// instead, or while the store is away.
#[derive(Message)]
#[rtype(result = "Result<(), LiveError>")]
pub(crate) struct Barrier;

/// Writes that the writer has not taken yet; never more than there are permits. And whether changes of master data
/// wait for their numbers.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    writes: Vec<(Write, Instant)>,
    weight: usize,
    changes_wait: bool,
    connection_records: Option<ConnectionRecords>,
    wake_at: WakeAt,
}

/// When the writer wants to be woken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum WakeAt {
    /// As soon as the writes held here weigh this much: rows and records.
    Weight(usize),
    /// Not at all: it checks by itself, or has been woken.
    #[default]
    Never,
    /// Never again: it is gone.
    Closed,
}

impl Inbox {
    /// Keeps a write; returns whether to wake the writer.
    fn push(&self, write: Write) -> Result<bool, Box<Write>> {
        let mut held = self.lock();
        if matches!(held.wake_at, WakeAt::Closed) {
            return Err(Box::new(write));
        }
        held.weight += write.to_store.effects.weight();
        held.writes.push((write, Instant::now()));
        let should_wake = matches!(held.wake_at, WakeAt::Weight(weight) if held.weight >= weight);
        if should_wake {
            held.wake_at = WakeAt::Never;
        }
        Ok(should_wake)
    }

    /// Notes that changes wait for their numbers; returns whether to wake the writer.
    fn note_changes(&self) -> bool {
        self.note(|held| held.changes_wait = true)
    }

    /// Keeps records of connections; returns whether to wake the writer.
    fn note_connections(&self, connection_records: ConnectionRecords) -> bool {
        self.note(|held| held.connection_records = Some(connection_records))
    }

    fn note(&self, put: impl FnOnce(&mut Held)) -> bool {
        let mut held = self.lock();
        put(&mut held);
        let should_wake = matches!(held.wake_at, WakeAt::Weight(_));
        if should_wake {
            held.wake_at = WakeAt::Never;
        }
        should_wake
    }

    /// Whether changes came that wait for their numbers, since this was last asked.
    pub(crate) fn take_changes(&self) -> bool {
        std::mem::take(&mut self.lock().changes_wait)
    }

    /// Takes the records of connections that wait.
    pub(crate) fn take_connection_records(&self) -> Option<ConnectionRecords> {
        self.lock().connection_records.take()
    }

    /// Takes all writes, in their order.
    pub(crate) fn take(&self) -> Vec<(Write, Instant)> {
        let mut held = self.lock();
        held.weight = 0;
        // The next batch will have about as many.
        let many = held.writes.len();
        std::mem::replace(&mut held.writes, Vec::with_capacity(many))
    }

    /// Sets when to wake the writer from now on; returns whether that is already due.
    pub(crate) fn set(&self, wake_at: WakeAt) -> bool {
        let mut held = self.lock();
        held.wake_at = wake_at;
        let WakeAt::Weight(weight) = wake_at else { return false };
        held.changes_wait
            || held.connection_records.is_some()
            || (!held.writes.is_empty() && held.weight >= weight)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock()
    }
}
