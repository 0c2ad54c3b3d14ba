//! One commit, and its announcement: the store first, then memory, then the senders that wait for it. Before it, the
//! changes of master data that wait are given their numbers.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;

use super::batches::{PendingReply, Transaction, broken_invariant, dirty_vehicles, misnumbered};
use super::corrections::{Corrections, Dirty};
use super::inbox::{ConnectionRecords, NotLogged};
use super::numbering::StepEnd;
use super::parts::PersistenceParts;
use super::retry::in_time;
use crate::actor::watch::occupancy::{self, CommittedVehicle, Logged, Occupancy};
use crate::meters::{Invariant, Meters, NumberingStep};
use crate::ports::{
    Batch, Cause, Committed, MAX_NUMBERED, Newest, Reread, StoreError, TrackStore, VehicleWrite,
};

/// How a commit ended.
pub(super) enum Ended {
    Committed {
        newest: Vec<Newest>,
        committed: Vec<Committed>,
        owed: Vec<PendingReply>,
        weight: usize,
    },
    /// The store never takes it.
    Refused(Cause, Transaction),
    Failed(StoreError, Transaction),
    /// It is stored, but the store's answer cannot be true.
    Broken(Invariant, String, Transaction),
}

/// What else waits for its numbers.
pub(super) struct PendingLogEntries {
    /// What is to be looked for in the store.
    pub(super) steps: Vec<NumberingStep>,
    /// Records of connections.
    pub(super) connection_records: Option<ConnectionRecords>,
}

impl PendingLogEntries {
    pub(super) const fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.connection_records.is_none()
    }
}

/// What came of it, however the commit behind it ended.
pub(super) struct Numbered {
    /// Of the next record.
    pub(super) next_sequence: i64,
    pub(super) steps: Vec<(NumberingStep, StepEnd)>,
}

/// Why something of the log is not numbered.
enum Unnumbered {
    Failed(StoreError),
    Broken(String),
}

/// A step that numbers has this part of a commit's time, and so has reading back what one without an answer did.
const STEP_SHARE: u32 = 2;

/// A commit, and what is numbered beside it.
struct Log {
    store: Arc<dyn TrackStore>,
    occupancy: Addr<Occupancy>,
    corrections: Addr<Corrections>,
    meters: Meters,
    limit: Duration,
    is_cached: bool,
    numbered: Numbered,
}

impl Log {
    /// Numbers changes of master data, and tells them; returns whether there are more.
    async fn number_changes(&mut self) -> Result<bool, Unnumbered> {
        let changes = in_time(self.limit / STEP_SHARE, self.store.number_changes()).await;
        let changes = changes.map_err(Unnumbered::Failed)?;
        let next = self.behind(changes.iter().map(|change| change.sequence))?;
        let is_more = changes.len() >= MAX_NUMBERED;
        self.tell(Logged { changes, ..Logged::default() }, next).await;
        Ok(is_more)
    }

    /// Revises recorded drivers and announces the revisions; returns whether more are queued.
    async fn revise_drivers(&mut self) -> Result<bool, Unnumbered> {
        let revised = in_time(self.limit / STEP_SHARE, self.store.revise_drivers()).await;
        let (records, is_more) = revised.map_err(Unnumbered::Failed)?;
        let next = self.behind(records.iter().map(|record| record.sequence))?;
        self.tell(Logged { records, ..Logged::default() }, next).await;
        Ok(is_more)
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
        let next = self.behind(records.iter().map(|record| record.sequence))?;
        self.tell(Logged { records, ..Logged::default() }, next).await;
        done.send(Ok(())).ok();
        Ok(())
    }

    /// The number behind some that must follow those so far.
    fn behind(&self, numbers: impl ExactSizeIterator<Item = i64>) -> Result<i64, Unnumbered> {
        let next = self.numbered.next_sequence;
        let behind = next + numbers.len() as i64;
        misnumbered(numbers, next).map_or(Ok(behind), |what| Err(Unnumbered::Broken(what)))
    }

    /// Announces what was numbered. `next_sequence`: the number behind it.
    async fn tell(&mut self, log: Logged, next_sequence: i64) {
        let before = std::mem::replace(&mut self.numbered.next_sequence, next_sequence);
        if next_sequence > before {
            let log = Logged { next_sequence, ..log };
            self.occupancy.send(occupancy::Committed { vehicles: Vec::new(), log }).await.ok();
        }
    }

    async fn number(&mut self, pending_log_entries: PendingLogEntries) -> Result<(), Unnumbered> {
        for step in pending_log_entries.steps {
            let begun = Instant::now();
            let end = match self.take(step).await {
                Ok(true) => StepEnd::More,
                Ok(false) => StepEnd::Done,
                Err(Unnumbered::Failed(error)) => {
                    let left_out = self.leave_out(step, error).await;
                    // If all of the store is away, that is not for the step to wait for.
                    let waited = if left_out.is_ok() { begun.elapsed() } else { Duration::ZERO };
                    self.numbered.steps.push((step, StepEnd::Failed { waited }));
                    left_out?;
                    // The steps behind it are for the next commit: this one waits no longer.
                    break;
                }
                Err(broken) => return Err(broken),
            };
            self.numbered.steps.push((step, end));
        }
        if let Some(connection_records) = pending_log_entries.connection_records {
            self.log_connections(connection_records).await?;
        }
        Ok(())
    }

    /// Takes a step; returns whether there is more of it.
    async fn take(&mut self, step: NumberingStep) -> Result<bool, Unnumbered> {
        match step {
            NumberingStep::Changes => self.number_changes().await,
            NumberingStep::Drivers => self.revise_drivers().await,
        }
    }

    /// Goes on without a step that failed, if the store answers what it may have stored all the same.
    async fn leave_out(&mut self, step: NumberingStep, error: StoreError) -> Result<(), Unnumbered> {
        if !matches!(error, StoreError::Refused(_)) {
            let reread = self.store.reread(&[], self.numbered.next_sequence);
            let Ok(reread) = in_time(self.limit / STEP_SHARE, reread).await else {
                return Err(Unnumbered::Failed(error));
            };
            let Reread { records, changes, next_sequence, .. } = reread;
            self.tell(Logged { records, changes, next_sequence }, next_sequence).await;
        }
        self.meters.numbering_failed(step);
        tracing::error!(step = step.as_str(), %error, "a step beside the commits failed; it is tried again after a pause");
        Ok(())
    }

    async fn commit(&mut self, transaction: Transaction, pending_log_entries: PendingLogEntries) -> Ended {
        match self.number(pending_log_entries).await {
            Ok(()) => {}
            Err(Unnumbered::Failed(error)) => return failed(error, transaction),
            Err(Unnumbered::Broken(what)) => {
                return Ended::Broken(Invariant::EventNumbers, what, transaction);
            }
        }
        if transaction.owed.is_empty() {
            let (newest, committed, owed) = (Vec::new(), Vec::new(), Vec::new());
            return Ended::Committed { newest, committed, owed, weight: 0 };
        }
        let mut committed = match in_time(self.limit, self.store.commit(&transaction.batch)).await {
            Ok(committed) => committed,
            Err(error) => return failed(error, transaction),
        };
        let next_sequence = self.numbered.next_sequence;
        if let Some((which, what)) = broken_invariant(&transaction.owed, &committed, next_sequence) {
            return Ended::Broken(which, what, transaction);
        }
        if let Some(newest) = transaction.newest_arrival() {
            self.meters.newest_fix_millis.raise(newest.as_micros() / 1_000);
        }
        let weight = transaction.weight();
        let Transaction { batch, owed } = transaction;
        let dirty = dirty_vehicles(&batch, &committed);
        let newest;
        (self.numbered.next_sequence, newest) =
            tell(&self.occupancy, batch, &mut committed, next_sequence, self.is_cached).await;
        if !dirty.is_empty() {
            self.corrections.send(Dirty(dirty)).await.ok();
        }
        Ended::Committed { newest, committed, owed, weight }
    }
}

fn failed(error: StoreError, transaction: Transaction) -> Ended {
    match error {
        StoreError::Refused(why) => Ended::Refused(why, transaction),
        error => Ended::Failed(error, transaction),
    }
}

/// Numbers what else waits, commits a transaction, which may be empty, and announces both to readers.
pub(super) fn commit(
    parts: &PersistenceParts,
    transaction: Transaction,
    next_sequence: i64,
    pending_log_entries: PendingLogEntries,
) -> impl Future<Output = (Numbered, Ended)> + use<> {
    let mut log = Log {
        store: Arc::clone(&parts.store),
        occupancy: parts.occupancy.clone(),
        corrections: parts.corrections.clone(),
        meters: parts.meters.clone(),
        limit: parts.config.commit_timeout,
        is_cached: parts.cache.is_some(),
        numbered: Numbered { next_sequence, steps: Vec::new() },
    };
    async move {
        let ended = log.commit(transaction, pending_log_entries).await;
        (log.numbered, ended)
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
