//! One commit, and its announcement: the store first, then memory, then the senders that wait for it. Before it, the
//! changes of master data that wait are given their numbers.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use super::batches::{PendingReply, Transaction, broken_invariant, dirty_vehicles, misnumbered};
use super::corrections::Dirty;
use super::inbox::{ConnectionRecords, NotLogged};
use super::parts::PersistenceParts;
use super::retry::in_time;
use crate::actor::watch::occupancy::{self, CommittedVehicle, Logged, Occupancy};
use crate::meters::Invariant;
use crate::ports::{Batch, Cause, Committed, MAX_NUMBERED, Newest, StoreError, TrackStore, VehicleWrite};

/// How a commit ended.
pub(super) enum Ended {
    Committed {
        /// More changes of master data wait for their numbers.
        more_changes: bool,
        next_sequence: i64,
        newest: Vec<Newest>,
        committed: Vec<Committed>,
        owed: Vec<PendingReply>,
        weight: usize,
    },
    /// The store never takes it. What was numbered before it has its numbers.
    Refused {
        why: Cause,
        more_changes: bool,
        next_sequence: i64,
        transaction: Transaction,
    },
    Failed(StoreError, Transaction),
    /// It is stored, but the store's answer cannot be true.
    Broken(Invariant, String, Transaction),
}

/// What else waits for its numbers.
#[derive(Default)]
pub(super) struct PendingLogEntries {
    /// Changes of master data.
    pub(super) changes_wait: bool,
    /// Records of connections.
    pub(super) connection_records: Option<ConnectionRecords>,
}

impl PendingLogEntries {
    pub(super) const fn is_empty(&self) -> bool {
        !self.changes_wait && self.connection_records.is_none()
    }
}

/// Why something of the log is not numbered.
enum Unnumbered {
    Failed(StoreError),
    Broken(String),
}

/// What is numbered by the writer beside its commits.
struct Log {
    store: Arc<dyn TrackStore>,
    occupancy: Addr<Occupancy>,
    limit: Duration,
    next_sequence: i64,
    /// More changes of master data wait for their numbers.
    more_changes: bool,
}

impl Log {
    /// Numbers changes of master data, and tells them; returns whether there are more.
    async fn number_changes(&mut self) -> Result<bool, Unnumbered> {
        let changes = in_time(self.limit, self.store.number_changes()).await.map_err(Unnumbered::Failed)?;
        let many = changes.len();
        self.counts(changes.iter().map(|change| change.sequence))?;
        self.tell(Logged { changes, ..Logged::default() }, many).await;
        Ok(many >= MAX_NUMBERED)
    }

    /// Revises recorded drivers and announces the revisions; returns whether more are queued.
    async fn revise_drivers(&mut self) -> Result<bool, Unnumbered> {
        let (records, more) = match in_time(self.limit, self.store.revise_drivers()).await {
            Ok(revised) => revised,
            // What vehicles report does not wait for that.
            Err(StoreError::Refused(why)) => {
                tracing::error!(%why, "the store refuses to put right who drove; it is tried again with the next change");
                return Ok(false);
            }
            Err(error) => return Err(Unnumbered::Failed(error)),
        };
        let many = records.len();
        self.counts(records.iter().map(|record| record.sequence))?;
        self.tell(Logged { records, ..Logged::default() }, many).await;
        Ok(more)
    }

    /// Stores records of connections, and tells them.
    async fn log_connections(
        &mut self,
        ConnectionRecords { records, done }: ConnectionRecords,
    ) -> Result<(), Unnumbered> {
        let records = match in_time(self.limit, self.store.log_connections(&records)).await {
            Ok(records) => records,
            Err(StoreError::Refused(why)) => {
                tracing::error!(%why, records = records.len(), "the store refuses records of connections for good");
                done.send(Err(NotLogged::Refused)).ok();
                return Ok(());
            }
            Err(error) => return Err(Unnumbered::Failed(error)),
        };
        let many = records.len();
        self.counts(records.iter().map(|record| record.sequence))?;
        self.tell(Logged { records, ..Logged::default() }, many).await;
        done.send(Ok(())).ok();
        Ok(())
    }

    fn counts(&self, numbers: impl Iterator<Item = i64>) -> Result<(), Unnumbered> {
        misnumbered(numbers, self.next_sequence).map_or(Ok(()), |what| Err(Unnumbered::Broken(what)))
    }

    async fn tell(&mut self, log: Logged, many: usize) {
        self.next_sequence += many as i64;
        if many > 0 {
            let log = Logged { next_sequence: self.next_sequence, ..log };
            self.occupancy.send(occupancy::Committed { vehicles: Vec::new(), log }).await.ok();
        }
    }

    async fn number(&mut self, pending_log_entries: PendingLogEntries) -> Result<(), Unnumbered> {
        if pending_log_entries.changes_wait {
            self.more_changes |= self.number_changes().await?;
            self.more_changes |= self.revise_drivers().await?;
        }
        if let Some(connection_records) = pending_log_entries.connection_records {
            self.log_connections(connection_records).await?;
        }
        Ok(())
    }

    fn failed(self, error: StoreError, transaction: Transaction) -> Ended {
        let Self { next_sequence, more_changes, .. } = self;
        match error {
            StoreError::Refused(why) => Ended::Refused { why, more_changes, next_sequence, transaction },
            error => Ended::Failed(error, transaction),
        }
    }
}

/// Numbers what else waits, commits a transaction, which may be empty, and announces both to readers.
pub(super) fn commit(
    parts: &PersistenceParts,
    transaction: Transaction,
    next_sequence: i64,
    pending_log_entries: PendingLogEntries,
) -> impl Future<Output = Ended> + use<> {
    let store = Arc::clone(&parts.store);
    let (occupancy, corrections) = (parts.occupancy.clone(), parts.corrections.clone());
    let (limit, meters) = (parts.config.commit_timeout, parts.meters.clone());
    let is_cached = parts.cache.is_some();
    async move {
        let (log_store, log_occupancy) = (Arc::clone(&store), occupancy.clone());
        let mut log =
            Log { store: log_store, occupancy: log_occupancy, limit, next_sequence, more_changes: false };
        match log.number(pending_log_entries).await {
            Ok(()) => {}
            Err(Unnumbered::Failed(error)) => return log.failed(error, transaction),
            Err(Unnumbered::Broken(what)) => {
                return Ended::Broken(Invariant::EventNumbers, what, transaction);
            }
        }
        let (next_sequence, mut more_changes) = (log.next_sequence, log.more_changes);
        if transaction.owed.is_empty() {
            let (newest, committed, owed) = (Vec::new(), Vec::new(), Vec::new());
            return Ended::Committed { more_changes, next_sequence, newest, committed, owed, weight: 0 };
        }
        let mut committed = match in_time(limit, store.commit(&transaction.batch)).await {
            Ok(committed) => committed,
            Err(error) => return log.failed(error, transaction),
        };
        if let Some((which, what)) = broken_invariant(&transaction.owed, &committed, next_sequence) {
            return Ended::Broken(which, what, transaction);
        }
        if let Some(newest) = transaction.newest_arrival() {
            meters.newest_fix_millis.raise(newest.as_micros() / 1_000);
        }
        let weight = transaction.weight();
        let Transaction { batch, owed } = transaction;
        let dirty = dirty_vehicles(&batch, &committed);
        more_changes |= committed.iter().any(|committed| committed.leaves_changes);
        let (next_sequence, newest) = tell(&occupancy, batch, &mut committed, next_sequence, is_cached).await;
        if !dirty.is_empty() {
            corrections.send(Dirty(dirty)).await.ok();
        }
        Ended::Committed { more_changes, next_sequence, newest, committed, owed, weight }
    }
}

/// Announces what is committed, so that a query after the acknowledgement shows it. Returns the number of the next
/// record, and the states for the cache.
async fn tell(
    occupancy: &Addr<Occupancy>,
    batch: Batch,
    committed: &mut [Committed],
    next_sequence: i64,
    is_cached: bool,
) -> (i64, Vec<Newest>) {
    let mut records = Vec::with_capacity(committed.iter().map(|committed| committed.records.len()).sum());
    for committed in &mut *committed {
        records.append(&mut committed.records);
    }
    let newest = records.iter().map(|record| record.sequence).max();
    let next_sequence = newest.map_or(next_sequence, |newest| newest + 1);
    let vehicle = |(write, committed): (VehicleWrite, &Committed)| CommittedVehicle {
        vehicle_id: write.vehicle_id,
        organization_id: write.organization_id,
        may_have_crossed: write.effects.may_have_crossed(),
        state: write.state,
        dirty_from: committed.dirty_from,
    };
    let vehicles: Vec<_> = batch.writes.into_iter().zip(&*committed).map(vehicle).collect();
    let newest = |v: &CommittedVehicle| (v.organization_id, v.vehicle_id, Arc::clone(&v.state));
    let newest = if is_cached { vehicles.iter().map(newest).collect() } else { Vec::new() };
    let log = Logged { records, changes: Vec::new(), next_sequence };
    occupancy.send(occupancy::Committed { vehicles, log }).await.ok();
    (next_sequence, newest)
}
