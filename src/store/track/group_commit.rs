//! Commits of several shards in one transaction: the database flushes its log once for all of them.
//!
//! The first batch's task commits for all that wait by then; the others wait for their answers meanwhile. Between two commits there is
//! a pause in which batches gather, or each would have its own while none takes long; one that comes later is committed at once. A
//! batch that cannot go with the others, or fails with them, is committed alone by its own task.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::time::{Instant, sleep_until};
use waypost_actors::ports::{Batch, Committed, StoreError, VehicleWrite};

use super::fix_log;
use super::memory::{Memory, Written};
use super::reserved::{Claim, ReservedNumbers, reserve_all};
use crate::store::refused_fix;
use crate::store::shard::Shard;
use crate::store::sql::{Result, Tx, Writer};

/// What the shards of a node commit through.
#[derive(Clone)]
pub struct GroupCommit {
    writer: Arc<Mutex<GroupWriter>>,
    /// One batch for each shard at most, beside those that nobody waits for any more.
    waiting: Arc<parking_lot::Mutex<Vec<Waiting>>>,
}

struct GroupWriter {
    writer: Writer,
    /// How long batches gather after a commit.
    window: Duration,
    next_at: Instant,
}

type Answer = std::result::Result<Vec<Committed>, StoreError>;

/// The track writer of a shard, as others commit for it.
pub(super) trait GroupMember: Send + Sync {
    /// What a batch wants to begin with.
    fn claim(&self, writes: &[VehicleWrite]) -> Claim;

    fn memory(&self) -> Arc<Mutex<Memory>>;

    /// Writes a batch but for its row of the log, in a transaction that may hold those of other shards too.
    fn write<'a>(
        &'a self,
        tx: &'a mut Tx,
        memory: &'a mut Memory,
        writes: &'a [VehicleWrite],
        reserved: ReservedNumbers,
    ) -> BoxFuture<'a, Result<Written>>;
}

/// A shard's batch.
struct Waiting {
    track: Arc<dyn GroupMember>,
    writes: Vec<VehicleWrite>,
    /// Told `None` if it is to be committed alone.
    done: oneshot::Sender<Option<Answer>>,
}

impl GroupCommit {
    /// `writer`: a connection for it alone; `window`: how long batches gather after a commit.
    #[must_use]
    pub fn new(writer: Writer, window: Duration) -> Self {
        let writer = GroupWriter { writer, window, next_at: Instant::now() };
        Self { writer: Arc::new(Mutex::new(writer)), waiting: Arc::default() }
    }

    /// Closes its connection, once nothing is committed over it.
    pub async fn close(&self) {
        self.writer.lock().await.writer.close().await;
    }

    /// Commits a shard's batch with those of others; `None` if it is to be committed alone.
    ///
    /// Dropped before it is through, it leaves the doubt of any commit: a task that asks the store then waits for the shard's memory,
    /// which is held while the batch is written, and nobody begins to write it any more.
    pub(super) async fn commit(&self, track: Arc<dyn GroupMember>, batch: &Batch) -> Option<Answer> {
        if batch.writes.iter().any(|write| write.effects.correction.is_some()) {
            // It reads and writes much, and the others would wait for it.
            return None;
        }
        let (done, mut told) = oneshot::channel();
        self.waiting.lock().push(Waiting { track, writes: batch.writes.clone(), done });
        let told = tokio::select! {
            biased;
            told = &mut told => told,
            mut group = self.writer.lock() => {
                // From here on to the end, whatever it is told meanwhile: it may commit for others alone.
                sleep_until(group.next_at).await;
                let waiting = std::mem::take(&mut *self.waiting.lock());
                commit_together(&group.writer, waiting).await;
                group.next_at = Instant::now() + group.window;
                told.await
            }
        };
        told.unwrap_or_else(|_| Some(Err(StoreError::away("the commit that it was part of was given up"))))
    }
}

/// A batch on its way, with the shard's memory until it is answered.
struct Member {
    batch: Waiting,
    memory: OwnedMutexGuard<Memory>,
    written: Option<Written>,
}

impl Member {
    /// `None` if nobody waits for it any more, or it is to be committed alone: so that the others wait neither for one who
    /// has the shard's memory, nor for its log to be read.
    fn of(batch: Waiting) -> Option<Self> {
        let memory = batch.track.memory().try_lock_owned();
        match memory {
            // Looked at while the memory is held: see [`GroupCommit::commit`].
            _ if batch.done.is_closed() => None,
            Ok(memory) if memory.is_recovered => Some(Self { batch, memory, written: None }),
            Ok(_) | Err(_) => {
                batch.done.send(None).ok();
                None
            }
        }
    }

    fn claim(&self) -> Claim {
        self.batch.track.claim(&self.batch.writes)
    }
}

/// Commits all that can go together, and answers all.
async fn commit_together(writer: &Writer, waiting: Vec<Waiting>) {
    let mut members: Vec<Member> = waiting.into_iter().filter_map(Member::of).collect();
    if members.is_empty() {
        return;
    }
    let committed = match write_together(writer, &mut members).await {
        Ok(tx) => Some(commit(tx, &mut members).await.map_err(refused_fix::told)),
        Err(error) => {
            tracing::debug!(%error, shards = members.len(), "each shard commits alone");
            None
        }
    };
    for Member { batch, memory, written } in members {
        drop(memory);
        let answer = committed.clone().map(|committed| {
            committed.and_then(|()| written.map(|written| written.committed).ok_or(StoreError::TakenOver))
        });
        batch.done.send(answer).ok();
    }
}

/// Writes the batches of all who are still the writers of their shards.
async fn write_together(writer: &Writer, members: &mut [Member]) -> Result<Tx> {
    let mut tx = writer.begin(Shard::WHOLE).await?;
    match write_all(&mut tx, members).await {
        Ok(()) => Ok(tx),
        Err(error) => Err(tx.fail(error).await),
    }
}

async fn write_all(tx: &mut Tx, members: &mut [Member]) -> Result<()> {
    let claims: Vec<Claim> = members.iter().map(Member::claim).collect();
    let mut reserved = reserve_all(tx, &claims).await?;
    let mut log = Vec::new();
    for (member, Claim { of, .. }) in members.iter_mut().zip(claims) {
        let Some(reserved) = reserved.remove(&of) else { continue };
        tx.go_on_with(of.shard);
        let Waiting { track, writes, .. } = &member.batch;
        let mut written = track.write(tx, &mut member.memory, writes, reserved).await?;
        log.extend(written.logged.take());
        member.written = Some(written);
    }
    fix_log::append(tx, log).await
}

/// After an error everybody's outcome is unknown.
async fn commit(tx: Tx, members: &mut [Member]) -> Result<()> {
    tx.commit().await?;
    for Member { memory, written, .. } in members {
        if let Some(Written { number, .. }) = written {
            memory.resolve_in_doubt(*number)?;
        }
    }
    Ok(())
}
