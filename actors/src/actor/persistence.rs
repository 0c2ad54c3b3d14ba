//! The one writer: gathers writes, numbers their events, commits them together, and only then says so.
//!
//! Owns the order of events and the promise of an acknowledgement. One commit is under way at a
//! time; what comes meanwhile makes the next one bigger. After a commit that failed, or may have,
//! nothing in memory is believed: the writer reads back what is stored before it goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::sync::{oneshot, watch};

use super::cache::{Cache, CacheNewest};
use super::occupancy::{Committed, CommittedVehicle, Occupancy, Replace};
use super::permits::{Permit, Permits};
use super::vehicle::InFlight;
use crate::live::{LiveConfig, LiveError};
use crate::model::{Event, OrganizationId, VehicleId};
use crate::ports::{Batch, Counts, Reread, StoreError, TrackStore, VehicleWrite};
use crate::tracking::{Effects, VehicleState};

/// Between two attempts to reach a store that is away.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// The writer.
pub(crate) struct Persistence {
    parts: PersistenceParts,
    next_sequence: i64,
    waiting: VecDeque<Write>,
    waiting_rows: usize,
    barriers: Vec<oneshot::Sender<()>>,
    committing: bool,
    timer: Option<SpawnHandle>,
}

/// What the writer works with.
pub(crate) struct PersistenceParts {
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) permits: Permits,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) cache: Option<Addr<Cache>>,
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
    pub(crate) done: oneshot::Sender<Result<Counts, LiveError>>,
}

/// Answered once everything written before is committed or refused.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Barrier;

/// What a commit owes its senders.
struct Owed {
    done: oneshot::Sender<Result<Counts, LiveError>>,
    known_duplicates: u64,
    in_flight: InFlight,
    permit: Permit,
}

impl Persistence {
    pub(crate) fn new(parts: PersistenceParts, next_sequence: i64) -> Self {
        Self {
            parts,
            next_sequence,
            waiting: VecDeque::new(),
            waiting_rows: 0,
            barriers: Vec::new(),
            committing: false,
            timer: None,
        }
    }

    /// Starts a commit if one is due: enough rows, or somebody waits, or the window is over.
    fn flush_if_due(&mut self, window_over: bool, ctx: &mut Context<Self>) {
        if self.committing {
            return;
        }
        if self.waiting.is_empty() {
            self.release_barriers();
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

    fn release_barriers(&mut self) {
        for barrier in self.barriers.drain(..) {
            barrier.send(()).ok();
        }
    }

    fn flush(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let (batch, owed) = self.next_batch();
        self.committing = true;
        let (store, occupancy) = (Arc::clone(&self.parts.store), self.parts.occupancy.clone());
        let cache = self.parts.cache.clone();
        let limit = self.parts.config.commit_timeout;
        let commit = async move {
            let result = match tokio::time::timeout(limit, store.commit(&batch)).await {
                Ok(result) => result,
                Err(_) => Err(StoreError::Away("a commit took too long".to_owned())),
            };
            match result {
                Ok(counts) => {
                    let next_sequence = batch.next_sequence;
                    let newest = tell(&occupancy, batch).await;
                    if let Some(cache) = cache {
                        // A full mailbox is fine: the cache takes the next state.
                        cache.try_send(CacheNewest(newest)).ok();
                    }
                    Ok((counts, next_sequence))
                }
                Err(error) => Err((error, batch)),
            }
        };
        ctx.spawn(commit.into_actor(self).map(move |result, actor, ctx| match result {
            Ok((counts, next_sequence)) => {
                actor.next_sequence = next_sequence;
                actor.committed(&counts, owed, ctx);
            }
            Err((error, batch)) => actor.failed(&error, batch, owed, ctx),
        }));
    }

    /// Takes waiting writes up to the size of a batch and numbers their events.
    fn next_batch(&mut self) -> (Batch, Vec<Owed>) {
        let mut batch = Batch { next_sequence: self.next_sequence, ..Batch::default() };
        let mut owed = Vec::new();
        let mut rows = 0;
        while let Some(write) = self.waiting.front() {
            let more = weight(&write.effects);
            if rows > 0 && rows + more > self.parts.config.max_batch_rows {
                break;
            }
            let Some(mut write) = self.waiting.pop_front() else { break };
            rows += more;
            for event in &mut write.effects.events {
                event.sequence = batch.next_sequence;
                batch.next_sequence += 1;
                batch.event_count += 1;
            }
            owed.push(Owed {
                done: write.done,
                known_duplicates: write.effects.duplicates,
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

    fn committed(&mut self, counts: &[Counts], owed: Vec<Owed>, ctx: &mut Context<Self>) {
        self.committing = false;
        debug_assert_eq!(counts.len(), owed.len());
        for (owed, counts) in owed.into_iter().zip(counts) {
            let Owed { done, known_duplicates, in_flight, permit } = owed;
            drop((in_flight, permit));
            let duplicates = counts.duplicates + known_duplicates;
            done.send(Ok(Counts { stored: counts.stored, duplicates })).ok();
        }
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
        if matches!(error, StoreError::TakenOver) {
            self.parts.taken_over.send_replace(true);
            return;
        }
        let mut vehicles: Vec<VehicleId> = batch.writes.iter().map(|write| write.vehicle_id).collect();
        vehicles.sort_unstable();
        vehicles.dedup();
        let store = Arc::clone(&self.parts.store);
        let reread = reread(store, vehicles, self.next_sequence, self.parts.config.commit_timeout);
        ctx.spawn(reread.into_actor(self).map(|reread, actor, ctx| match reread {
            Ok(reread) => actor.resume(reread, ctx),
            Err(_) => {
                actor.parts.taken_over.send_replace(true);
            }
        }));
    }

    fn refuse_waiting(&mut self) {
        self.waiting_rows = 0;
        for write in self.waiting.drain(..) {
            write.done.send(Err(LiveError::Unavailable)).ok();
        }
    }

    /// The store answers again: what it holds is the truth, in every reader's memory too.
    fn resume(&mut self, reread: Reread, ctx: &mut Context<Self>) {
        self.next_sequence = reread.next_sequence;
        let told = self.parts.occupancy.send(Replace(reread));
        ctx.spawn(told.into_actor(self).map(|_, actor, ctx| {
            tracing::info!("the store answers again");
            actor.refuse_waiting();
            actor.committing = false;
            actor.parts.permits.restore();
            actor.flush_if_due(false, ctx);
        }));
    }
}

/// What a write weighs in a batch: its rows and its records.
fn weight(effects: &Effects) -> usize {
    effects.rows.len() + effects.events.len() + 1
}

/// Tells what is committed, so that an answer after the acknowledgement shows it.
async fn tell(
    occupancy: &Addr<Occupancy>,
    batch: Batch,
) -> Vec<(OrganizationId, VehicleId, Arc<VehicleState>)> {
    let mut events: Vec<Event> = Vec::new();
    let mut vehicles: Vec<CommittedVehicle> = Vec::with_capacity(batch.writes.len());
    for write in batch.writes {
        events.extend(write.effects.events);
        vehicles.push(CommittedVehicle {
            vehicle_id: write.vehicle_id,
            organization_id: write.organization_id,
            state: write.state,
        });
    }
    let newest = vehicles.iter().map(|v| (v.organization_id, v.vehicle_id, Arc::clone(&v.state))).collect();
    occupancy.send(Committed { vehicles, events, next_sequence: batch.next_sequence }).await.ok();
    newest
}

async fn reread(
    store: Arc<dyn TrackStore>,
    vehicles: Vec<VehicleId>,
    sequence: i64,
    limit: Duration,
) -> Result<Reread, StoreError> {
    loop {
        tokio::time::sleep(PROBE_EVERY).await;
        match tokio::time::timeout(limit, store.reread(&vehicles, sequence)).await {
            Ok(Ok(reread)) => return Ok(reread),
            Ok(Err(StoreError::TakenOver)) => return Err(StoreError::TakenOver),
            Ok(Err(StoreError::Away(why))) => tracing::warn!(why, "the store is still away"),
            Err(_) => tracing::warn!("the store is still away: no answer in time"),
        }
    }
}

impl Actor for Persistence {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        // Every write holds a permit, so this is never reached.
        ctx.set_mailbox_capacity(self.parts.config.max_waiting_fixes as usize + 64);
    }
}

impl Handler<Write> for Persistence {
    type Result = ();

    fn handle(&mut self, write: Write, ctx: &mut Context<Self>) {
        if write.permit.term != self.parts.permits.term() {
            write.done.send(Err(LiveError::Unavailable)).ok();
            return;
        }
        self.waiting_rows += weight(&write.effects);
        self.waiting.push_back(write);
        self.flush_if_due(false, ctx);
    }
}

impl Handler<Barrier> for Persistence {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Barrier, ctx: &mut Context<Self>) -> Self::Result {
        let (released, wait) = oneshot::channel();
        self.barriers.push(released);
        self.flush_if_due(false, ctx);
        Box::pin(async move {
            wait.await.ok();
        })
    }
}
