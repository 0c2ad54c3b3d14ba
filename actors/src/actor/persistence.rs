//! The one writer: gathers writes, commits them together, and only then says so.
//!
//! Owns the order of events and the promise of an acknowledgement. One commit is under way at a
//! time; what comes meanwhile makes the next one bigger. After a commit that failed, or may have,
//! nothing in memory is believed: the writer reads back what is stored before it goes on.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix::dev::channel::channel;
use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use futures_util::FutureExt as _;
use tokio::sync::{oneshot, watch};

use super::cache::{Cache, CacheNewest};
use super::corrections::{Corrections, Dirty};
use super::occupancy::{self, CommittedVehicle, Occupancy, Replace};
use super::permits::{Permit, Permits};
use super::vehicle::{Done, InFlight, Outcome};
use crate::live::{LiveConfig, LiveError};
use crate::model::{OrganizationId, VehicleId};
use crate::ports::{Batch, Committed, Counts, Reread, StoreError, TrackStore, VehicleWrite};
use crate::tracking::{Effects, VehicleState};

/// Room in the mailbox beside what holds a permit.
const ROOM_FOR_BARRIERS: usize = 1_024;

/// The writer.
pub(crate) struct Persistence {
    parts: PersistenceParts,
    next_sequence: i64,
    waiting: VecDeque<Write>,
    waiting_rows: usize,
    /// How many writes came, and how many of them are committed or refused.
    taken: u64,
    finished: u64,
    /// Each with the number of writes that came before it.
    barriers: VecDeque<(u64, oneshot::Sender<Result<(), LiveError>>)>,
    doing: Doing,
    timer: Option<SpawnHandle>,
}

/// What the writer is at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Gathering writes.
    Gathering,
    /// Committing some, gathering more.
    Committing,
    /// Waiting for the store to tell what the failed commit left. Nothing is taken.
    Rereading,
    /// Nothing any more: another server writes.
    Ended,
}

/// What the writer works with.
pub(crate) struct PersistenceParts {
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) permits: Permits,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) cache: Option<Addr<Cache>>,
    pub(crate) corrections: Addr<Corrections>,
    pub(crate) config: LiveConfig,
    /// Told when another server has taken over and this one must stop.
    pub(crate) taken_over: watch::Sender<bool>,
}

/// One vehicle's effects, to be committed. From a vehicle; never more on the way than there are permits.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Write {
    pub(crate) vehicle_id: VehicleId,
    pub(crate) organization_id: OrganizationId,
    pub(crate) effects: Effects,
    pub(crate) state: Arc<VehicleState>,
    pub(crate) permit: Permit,
    pub(crate) in_flight: InFlight,
    pub(crate) done: Done,
}

/// Answered once everything written before is committed and known to readers; with an error when
/// it was refused instead, or while the store is away.
#[derive(Message)]
#[rtype(result = "Result<(), LiveError>")]
pub(crate) struct Barrier;

/// What a commit owes its senders.
struct Owed {
    done: Done,
    known_duplicates: u64,
    /// Whether the write marked its vehicle, or corrected it: only then it is answered for.
    is_about_late_data: bool,
    in_flight: InFlight,
    permit: Permit,
}

impl Persistence {
    /// Starts the writer on its thread. Its mailbox has room for whatever holds a permit from the
    /// first message on: a vehicle can write before the thread has even begun.
    pub(crate) fn begin(thread: &ArbiterHandle, parts: PersistenceParts, next_sequence: i64) -> Addr<Self> {
        let room = parts.config.max_waiting_fixes as usize + ROOM_FOR_BARRIERS;
        let (sender, receiver) = channel(room);
        thread.spawn_fn(move || {
            Context::with_receiver(receiver).run(Self::new(parts, next_sequence));
        });
        Addr::new(sender)
    }

    fn new(parts: PersistenceParts, next_sequence: i64) -> Self {
        Self {
            parts,
            next_sequence,
            waiting: VecDeque::new(),
            waiting_rows: 0,
            taken: 0,
            finished: 0,
            barriers: VecDeque::new(),
            doing: Doing::Gathering,
            timer: None,
        }
    }

    /// Starts a commit if one is due: enough rows, or somebody waits, or the window is over.
    fn flush_if_due(&mut self, window_over: bool, ctx: &mut Context<Self>) {
        if self.doing != Doing::Gathering || self.waiting.is_empty() {
            return;
        }
        let due =
            window_over || self.waiting_rows >= self.parts.config.max_batch_rows || !self.barriers.is_empty();
        if due {
            self.flush(ctx);
        } else if self.timer.is_none() {
            self.timer = Some(ctx.run_later(self.parts.config.batch_window, |actor, ctx| {
                actor.timer = None;
                actor.flush_if_due(true, ctx);
            }));
        }
    }

    /// Answers those who waited for what is committed now. Writes that came after them do not
    /// keep them waiting, however many come.
    fn release_barriers(&mut self) {
        while self.barriers.front().is_some_and(|(before, _)| *before <= self.finished) {
            if let Some((_, barrier)) = self.barriers.pop_front() {
                barrier.send(Ok(())).ok();
            }
        }
    }

    fn refuse_barriers(&mut self, why: &LiveError) {
        for (_, barrier) in self.barriers.drain(..) {
            barrier.send(Err(why.clone())).ok();
        }
    }

    fn flush(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let (batch, owed) = self.next_batch();
        self.doing = Doing::Committing;
        let store = Arc::clone(&self.parts.store);
        let (occupancy, corrections) = (self.parts.occupancy.clone(), self.parts.corrections.clone());
        let next_sequence = self.next_sequence;
        let limit = self.parts.config.commit_timeout;
        let commit = async move {
            match in_time(limit, store.commit(&batch)).await {
                Ok(mut committed) => {
                    let dirty = dirty_vehicles(&batch, &committed);
                    let told = tell(&occupancy, batch, &mut committed, next_sequence).await;
                    if !dirty.is_empty() {
                        corrections.send(Dirty(dirty)).await.ok();
                    }
                    Ok((committed, told))
                }
                Err(error) => Err((error, batch)),
            }
        };
        ctx.spawn(commit.into_actor(self).map(move |result, actor, ctx| match result {
            Ok((committed, (next_sequence, newest))) => {
                actor.next_sequence = next_sequence;
                if let Some(cache) = &actor.parts.cache {
                    // A full mailbox is fine: the cache takes the next state.
                    cache.try_send(CacheNewest(newest)).ok();
                }
                actor.committed(&committed, owed, ctx);
            }
            Err((error, batch)) => actor.failed(&error, batch, owed, ctx),
        }));
    }

    /// Takes waiting writes up to the size of a batch.
    fn next_batch(&mut self) -> (Batch, Vec<Owed>) {
        let mut batch = Batch::default();
        let mut owed = Vec::new();
        let mut rows = 0;
        while let Some(write) = self.waiting.front() {
            let more = write.effects.weight();
            if rows > 0 && rows + more > self.parts.config.max_batch_rows {
                break;
            }
            let Some(write) = self.waiting.pop_front() else { break };
            rows += more;
            owed.push(Owed {
                done: write.done,
                known_duplicates: write.effects.duplicates,
                is_about_late_data: write.effects.late.is_some() || write.effects.correction.is_some(),
                in_flight: write.in_flight,
                permit: write.permit,
            });
            batch.writes.push(VehicleWrite {
                vehicle_id: write.vehicle_id,
                organization_id: write.organization_id,
                effects: write.effects,
                state: write.state,
            });
        }
        self.waiting_rows -= rows;
        (batch, owed)
    }

    fn committed(&mut self, committed: &[Committed], owed: Vec<Owed>, ctx: &mut Context<Self>) {
        self.doing = Doing::Gathering;
        debug_assert_eq!(committed.len(), owed.len());
        self.finished += owed.len() as u64;
        for (owed, Committed { counts, is_dirty, .. }) in owed.into_iter().zip(committed) {
            let Owed { done, known_duplicates, is_about_late_data, in_flight, permit } = owed;
            drop((in_flight, permit));
            let duplicates = counts.duplicates + known_duplicates;
            let counts = Counts { stored: counts.stored, duplicates };
            done.send(Ok(Outcome { counts, is_dirty: *is_dirty && is_about_late_data })).ok();
        }
        self.release_barriers();
        self.flush_if_due(false, ctx);
    }

    /// The commit failed, or may have: refuse everything on its way, and read back what is stored.
    fn failed(&mut self, error: &StoreError, batch: Batch, owed: Vec<Owed>, ctx: &mut Context<Self>) {
        tracing::error!(%error, writes = batch.writes.len(), "commit failed, nothing is acknowledged until the store answers");
        self.parts.permits.suspend();
        for owed in owed {
            owed.done.send(Err(LiveError::Unavailable)).ok();
        }
        self.refuse_waiting();
        self.refuse_barriers(&LiveError::Unavailable);
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

    fn refuse_waiting(&mut self) {
        self.waiting_rows = 0;
        self.finished = self.taken;
        for write in self.waiting.drain(..) {
            write.done.send(Err(LiveError::Unavailable)).ok();
        }
    }

    /// The store answers again: what it holds is the truth, in every reader's memory too.
    fn resume(&mut self, reread: Reread, ctx: &mut Context<Self>) {
        self.next_sequence = reread.next_sequence;
        let (occupancy, corrections) = (self.parts.occupancy.clone(), self.parts.corrections.clone());
        let told = async move {
            let dirty = Dirty(reread.dirty.clone());
            occupancy.send(Replace(reread)).await.ok();
            corrections.send(dirty).await.ok();
        };
        ctx.spawn(told.into_actor(self).map(|_, actor, _| {
            tracing::info!("the store answers again");
            // Nothing waits: no permit of the new term is out before the next line.
            actor.doing = Doing::Gathering;
            actor.parts.permits.restore();
        }));
    }
}

/// Whom to tell the coordinator of corrections about. What a step of its own left it hears as the answer.
fn dirty_vehicles(batch: &Batch, committed: &[Committed]) -> Vec<VehicleId> {
    let writes = batch.writes.iter().zip(committed);
    let dirty = writes.filter(|(write, committed)| committed.is_dirty && write.effects.correction.is_none());
    dirty.map(|(write, _)| write.vehicle_id).collect()
}

/// What the cache is offered.
type Newest = Vec<(OrganizationId, VehicleId, Arc<VehicleState>)>;

/// Tells what is committed, so that an answer after the acknowledgement shows it. Answers the number
/// of the next event.
async fn tell(
    occupancy: &Addr<Occupancy>,
    batch: Batch,
    committed: &mut [Committed],
    next_sequence: i64,
) -> (i64, Newest) {
    let (mut events, mut fuel_events) = (Vec::new(), Vec::new());
    for committed in committed {
        events.append(&mut committed.events);
        fuel_events.append(&mut committed.fuel_events);
    }
    let numbers =
        events.iter().map(|event| event.sequence).chain(fuel_events.iter().map(|event| event.sequence));
    let next_sequence = numbers.max().map_or(next_sequence, |newest| newest + 1);
    let committed = |write: VehicleWrite| CommittedVehicle {
        vehicle_id: write.vehicle_id,
        organization_id: write.organization_id,
        state: write.state,
    };
    let vehicles: Vec<CommittedVehicle> = batch.writes.into_iter().map(committed).collect();
    let newest = vehicles.iter().map(|v| (v.organization_id, v.vehicle_id, Arc::clone(&v.state))).collect();
    occupancy.send(occupancy::Committed { vehicles, events, fuel_events, next_sequence }).await.ok();
    (next_sequence, newest)
}

async fn reread(
    store: Arc<dyn TrackStore>,
    vehicles: Vec<VehicleId>,
    sequence: i64,
    config: LiveConfig,
) -> Result<Reread, StoreError> {
    loop {
        tokio::time::sleep(config.probe_every).await;
        match in_time(config.commit_timeout, store.reread(&vehicles, sequence)).await {
            Err(StoreError::Away(why)) => tracing::warn!(why, "the store is still away"),
            answer => return answer,
        }
    }
}

/// What the store answers, in time. A store that panics is away: the writer outlives it.
async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, AssertUnwindSafe(answer).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(StoreError::Away("it panicked".to_owned())),
        Err(_) => Err(StoreError::Away("no answer in time".to_owned())),
    }
}

impl Actor for Persistence {
    type Context = Context<Self>;
}

impl Handler<Write> for Persistence {
    type Result = ();

    fn handle(&mut self, write: Write, ctx: &mut Context<Self>) {
        if !write.permit.is_current() {
            write.done.send(Err(LiveError::Unavailable)).ok();
            return;
        }
        self.taken += 1;
        self.waiting_rows += write.effects.weight();
        self.waiting.push_back(write);
        self.flush_if_due(false, ctx);
    }
}

impl Handler<Barrier> for Persistence {
    type Result = ResponseFuture<Result<(), LiveError>>;

    fn handle(&mut self, _: Barrier, ctx: &mut Context<Self>) -> Self::Result {
        let (released, wait) = oneshot::channel();
        self.barriers.push_back((self.taken, released));
        match self.doing {
            Doing::Gathering | Doing::Committing => self.release_barriers(),
            Doing::Rereading => self.refuse_barriers(&LiveError::Unavailable),
            Doing::Ended => self.refuse_barriers(&LiveError::Stopped),
        }
        self.flush_if_due(false, ctx);
        Box::pin(async move { wait.await.unwrap_or(Err(LiveError::Stopped)) })
    }
}
