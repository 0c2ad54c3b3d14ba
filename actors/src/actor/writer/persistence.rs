//! The one writer: gathers writes, commits them together, and only then acknowledges them.
//!
//! Owns the order of events and the promise of an acknowledgement. One commit is under way at a time; writes that
//! come meanwhile make the next one larger. After a commit that failed, or may have, memory is not trusted: the
//! writer reads back what is stored before it goes on.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::channel::channel;
use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batches::{PendingReply, Transaction, Waiting, refuse};
use super::cache::CacheNewest;
use super::commit::{Ended, Numbered, PendingLogEntries, commit};
use super::corrections::Dirty;
use super::inbox::{Barrier, ConnectionRecords, Inbox, Wake, WakeAt, Writer};
use super::numbering::Numbering;
use super::parts::PersistenceParts;
use super::refusals::Refusals;
use super::retry::reread;
use crate::actor::runtime::threads::CoreThreads;
use crate::actor::vehicle::report_batch::Outcome;
use crate::actor::watch::occupancy::{Replace, Withdraw};
use crate::error::LiveError;
use crate::health::Health;
use crate::meters::Invariant;
use crate::model::VehicleId;
use crate::ports::{Cause, Committed, Counts, Reread, StoreError};

/// The least time the writer gathers: a frame's vehicles hand over their writes one after another.
const LEAST_WINDOW: Duration = Duration::from_millis(1);
/// Messages that may wait in the mailbox before their senders have to wait.
const MAILBOX: usize = 1_024;

/// The writer.
pub(crate) struct Persistence {
    parts: PersistenceParts,
    next_sequence: i64,
    inbox: Inbox,
    waiting: Waiting,
    numbering: Numbering,
    /// Records of connections wait for theirs.
    connection_records: Option<ConnectionRecords>,
    refusals: Refusals,
    doing: Doing,
    timer: Option<SpawnHandle>,
    /// When the last commit ended that wrote anything.
    committed_at: Option<Instant>,
}

/// What the writer is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Gathering writes.
    Gathering,
    /// Committing some, gathering more.
    Committing,
    /// Waiting for the store to answer what the failed commit left. Nothing is accepted.
    Rereading,
    /// Nothing any more: another server writes, or record numbers are wrong.
    Ended,
}

impl Persistence {
    /// Starts the writer on its thread. Vehicles can hand over writes before the thread has even begun.
    pub(crate) fn begin(threads: &CoreThreads, parts: PersistenceParts, next_sequence: i64) -> Writer {
        let (sender, receiver) = channel(MAILBOX);
        let address = Addr::new(sender);
        let (wake, barrier) = (address.clone().recipient(), address.recipient());
        let writer = Writer { inbox: Inbox::default(), wake, barrier };
        let inbox = writer.inbox.clone();
        threads.start_behind(threads.shared().writer(), receiver, Self::new(parts, next_sequence, inbox));
        writer
    }

    fn new(parts: PersistenceParts, next_sequence: i64, inbox: Inbox) -> Self {
        Self {
            parts,
            next_sequence,
            inbox,
            waiting: Waiting::default(),
            // The server may have stopped before it numbered them.
            numbering: Numbering::wanted(),
            connection_records: None,
            refusals: Refusals::default(),
            doing: Doing::Gathering,
            timer: None,
            committed_at: None,
        }
    }

    /// Takes in what was handed over, commits if that is due, and sets when it wants to be woken.
    fn look(&mut self, window_over: bool, ctx: &mut Context<Self>) {
        loop {
            self.take_in();
            self.flush_if_due(window_over, ctx);
            let wake_at = match self.doing {
                Doing::Committing => WakeAt::Never,
                Doing::Gathering if self.timer.is_some() => {
                    WakeAt::Weight(self.parts.config.max_batch_rows.saturating_sub(self.waiting.rows()))
                }
                Doing::Gathering | Doing::Rereading | Doing::Ended => WakeAt::Weight(0),
            };
            let is_due = self.inbox.set(wake_at);
            if !is_due {
                return;
            }
        }
    }

    fn take_in(&mut self) {
        if self.inbox.take_changes() {
            self.numbering.want();
        }
        self.connection_records = self.inbox.take_connection_records().or(self.connection_records.take());
        let meters = &self.parts.meters;
        let writes = self.inbox.take();
        meters.writes.offer(writes.len() as u64);
        let room = self.parts.config.max_waiting_fixes as usize;
        // Only the writer ends a generation.
        let generation = self.parts.permits.generation();
        if self.waiting.len() + writes.len() > room {
            meters.violated(Invariant::QueueBound, "more writes wait than there are permits");
        }
        for (write, came) in writes {
            let may_be_written = self.doing != Doing::Ended && write.part.ticket().generation == generation;
            if may_be_written && self.waiting.len() < room {
                self.waiting.push(write, came);
            } else {
                meters.writes.refuse(1);
                write.part.resolve(Err(LiveError::Unavailable));
            }
        }
    }

    /// Starts a commit if one is due: there are enough rows, a barrier or a refused half waits, or the window is
    /// over.
    fn flush_if_due(&mut self, window_over: bool, ctx: &mut Context<Self>) {
        let is_numbered = self.connection_records.is_none() && !self.numbering.is_due(Instant::now());
        if self.doing != Doing::Gathering || is_numbered && self.waiting.is_empty() {
            return;
        }
        if window_over || self.waiting.is_due(self.parts.config.max_batch_rows) {
            self.flush(ctx);
        } else if self.timer.is_none() {
            self.timer = Some(ctx.run_later(self.window(), |actor, ctx| {
                actor.timer = None;
                actor.look(true, ctx);
            }));
        }
    }

    /// How long to gather from now on: hardly at all if nothing was committed for a whole window, so that a lone
    /// fix is acknowledged at once; under load, a whole window after each commit.
    fn window(&self) -> Duration {
        let over = self.committed_at.map_or(Duration::MAX, |at| at.elapsed());
        let window = self.parts.config.batch_window;
        window.saturating_sub(over).max(LEAST_WINDOW.min(window))
    }

    fn flush(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let max_rows = self.parts.config.max_batch_rows;
        let mut transaction = self.waiting.next(max_rows);
        while transaction.owed.is_empty() {
            // The chains of all its writes were invalid, or there were none.
            if self.waiting.is_empty() {
                self.waiting.release_barriers();
                break;
            }
            transaction = self.waiting.next(max_rows);
        }
        let log = PendingLogEntries {
            steps: self.numbering.take_due(Instant::now()),
            connection_records: self.connection_records.take(),
        };
        if transaction.owed.is_empty() && log.is_empty() {
            return;
        }
        self.doing = Doing::Committing;
        let begun = Instant::now();
        let commit = commit(&self.parts, transaction, self.next_sequence, log);
        ctx.spawn(commit.into_actor(self).map(move |(numbered, ended), actor, ctx| {
            let is_new = numbered.next_sequence != actor.next_sequence;
            actor.numbered(numbered, ctx);
            match ended {
                Ended::Committed { newest, committed, owed, weight } => {
                    if !owed.is_empty() || is_new {
                        actor.committed_at = Some(Instant::now());
                    }
                    if owed.is_empty() {
                        actor.doing = Doing::Gathering;
                        actor.waiting.release_barriers();
                        return actor.look(false, ctx);
                    }
                    actor.parts.meters.commit_seconds.note_time(begun.elapsed());
                    actor.parts.meters.commit_rows.note(weight as f64);
                    if let Some(cache) = &actor.parts.cache {
                        // A full mailbox is fine: a newer state of the vehicles follows.
                        let many = newest.len() as u64;
                        if cache.try_send(CacheNewest(newest)).is_err() {
                            actor.parts.meters.cache.refuse(many);
                        }
                    }
                    actor.committed(&committed, owed);
                }
                Ended::Refused(why, transaction) => actor.commit_refused(why, transaction, ctx),
                Ended::Failed(error, transaction) => actor.commit_failed(&error, transaction, ctx),
                Ended::Broken(which, what, transaction) => {
                    actor.invariant_broken(which, what, transaction, ctx)
                }
            }
            actor.look(false, ctx);
        }));
    }

    /// Notes what was numbered; what was not is tried again after a pause.
    fn numbered(&mut self, Numbered { next_sequence, steps }: Numbered, ctx: &mut Context<Self>) {
        self.next_sequence = next_sequence;
        for (step, end) in steps {
            if let Some(pause) = self.numbering.note(step, end, Instant::now()) {
                ctx.run_later(pause, |actor, ctx| actor.look(false, ctx));
            }
        }
    }

    fn committed(&mut self, committed: &[Committed], owed: Vec<PendingReply>) {
        self.doing = Doing::Gathering;
        if committed.iter().any(|committed| committed.leaves_changes) {
            self.numbering.want();
        }
        self.refusals = Refusals::default();
        self.waiting.finished(owed.len());
        let meters = &self.parts.meters;
        let now = Instant::now();
        let lag = owed.iter().map(|owed| owed.age_seconds + (now - owed.came).as_secs_f64());
        meters.lag_seconds.note(lag.fold(0.0, f64::max));
        for (owed, committed) in owed.into_iter().zip(committed) {
            let PendingReply { part, known_duplicates, is_about_late_data, link, came, .. } = owed;
            drop(link);
            meters.writes.accept(1, now - came);
            let Counts { stored, duplicates } = committed.counts;
            let counts = Counts { stored, duplicates: duplicates + known_duplicates };
            let is_dirty = committed.is_dirty() && is_about_late_data;
            part.resolve(Ok(Outcome { counts, is_dirty, refused: None }));
        }
        self.waiting.release_barriers();
    }

    /// The store takes other writes, but not this transaction: half of it may be fine. Of a single refused write nothing
    /// is stored, nor of what its vehicle handed over after it.
    fn commit_refused(&mut self, why: Cause, mut transaction: Transaction, ctx: &mut Context<Self>) {
        self.doing = Doing::Gathering;
        if transaction.owed.len() > 1 {
            self.waiting.halve(transaction);
        } else if self.refusals.are_of_everything() {
            self.commit_failed(&StoreError::away(format!("it refuses everything: {why}")), transaction, ctx);
        } else {
            let vehicle = transaction.batch.writes[0].vehicle_id;
            self.refusals.note(vehicle);
            for owed in transaction.owed.drain(..) {
                tracing::error!(%why, vehicle.id = %vehicle, "the store refuses a write for good");
                owed.link.invalidate();
                let told = self.parts.occupancy.send(Withdraw(vehicle));
                ctx.spawn(told.into_actor(self).map(|_, _, _| ()));
                self.parts.meters.writes.refuse(1);
                self.waiting.finished(1);
                owed.part.resolve(Ok(Outcome { refused: Some(Arc::clone(&why)), ..Outcome::default() }));
            }
            self.waiting.release_barriers();
        }
    }

    /// The store's answer cannot be true. With wrong record numbers the writer must stop; otherwise what is stored
    /// is read back.
    fn invariant_broken(
        &mut self,
        which: Invariant,
        what: String,
        transaction: Transaction,
        ctx: &mut Context<Self>,
    ) {
        self.parts.meters.violated(which, &what);
        if which == Invariant::EventNumbers {
            refuse(transaction.owed);
            self.waiting.refuse_all();
            self.waiting.refuse_barriers(&LiveError::Stopped);
            self.doing = Doing::Ended;
            self.parts.permits.end();
            self.parts.health.send_replace(Health::Broken(what));
        } else {
            self.commit_failed(&StoreError::away(what), transaction, ctx);
        }
    }

    /// The commit failed, or may have: refuses everything under way, and reads back what is stored.
    fn commit_failed(&mut self, error: &StoreError, transaction: Transaction, ctx: &mut Context<Self>) {
        let Transaction { batch, owed } = transaction;
        tracing::error!(%error, writes = batch.writes.len(), "commit failed, nothing is acknowledged until the store answers");
        self.parts.permits.suspend();
        // Its sender is told that it is lost: silence counts anew.
        drop((self.connection_records.take(), self.inbox.take_connection_records()));
        let meters = &self.parts.meters;
        meters.failed_commits.add(1);
        let many = owed.len();
        refuse(owed);
        meters.writes.refuse((many + self.waiting.refuse_all()) as u64);
        self.waiting.refuse_barriers(&LiveError::Unavailable);
        if matches!(error, StoreError::TakenOver) {
            self.end();
            return;
        }
        self.doing = Doing::Rereading;
        let mut vehicles: Vec<VehicleId> = batch.writes.iter().map(|write| write.vehicle_id).collect();
        vehicles.sort_unstable();
        vehicles.dedup();
        let store = Arc::clone(&self.parts.store);
        let reread = reread(store, vehicles, self.next_sequence, self.parts.config.clone());
        ctx.spawn(reread.into_actor(self).map(|reread, actor, ctx| match reread {
            Ok(reread) => actor.resume(reread, ctx),
            Err(_) => actor.end(),
        }));
    }

    /// Another server writes: this one never does again.
    fn end(&mut self) {
        self.doing = Doing::Ended;
        self.parts.permits.end();
        self.parts.taken_over.send_replace(true);
    }

    /// The store answers again: what it holds replaces the state in every reader's memory.
    fn resume(&mut self, reread: Reread, ctx: &mut Context<Self>) {
        self.next_sequence = reread.next_sequence;
        let (occupancy, corrections) = (self.parts.occupancy.clone(), self.parts.corrections.clone());
        let told = async move {
            let dirty = Dirty(reread.dirty.iter().map(|(vehicle, _)| *vehicle).collect());
            occupancy.send(Replace(reread)).await.ok();
            corrections.send(dirty).await.ok();
        };
        ctx.spawn(told.into_actor(self).map(|_, actor, ctx| {
            tracing::info!("the store answers again");
            actor.refusals = Refusals::default();
            // Nothing waits: no permit of the new generation is given out before `restore` below.
            actor.doing = Doing::Gathering;
            actor.parts.permits.restore();
            actor.numbering.want();
            actor.look(false, ctx);
        }));
    }
}

impl Actor for Persistence {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.look(false, ctx);
    }
}

impl Drop for Persistence {
    fn drop(&mut self) {
        self.inbox.set(WakeAt::Closed);
        // Dropping the writes answers their senders with an error.
        drop(self.inbox.take());
    }
}

impl Handler<Wake> for Persistence {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Context<Self>) {
        self.look(false, ctx);
    }
}

impl Handler<Barrier> for Persistence {
    type Result = ResponseFuture<Result<(), LiveError>>;

    fn handle(&mut self, _: Barrier, ctx: &mut Context<Self>) -> Self::Result {
        let (released, wait) = oneshot::channel();
        self.take_in();
        self.waiting.add_barrier(released);
        match self.doing {
            Doing::Gathering | Doing::Committing => self.waiting.release_barriers(),
            Doing::Rereading => self.waiting.refuse_barriers(&LiveError::Unavailable),
            Doing::Ended => self.waiting.refuse_barriers(&LiveError::Stopped),
        }
        self.look(false, ctx);
        Box::pin(async move { wait.await.unwrap_or(Err(LiveError::Stopped)) })
    }
}
