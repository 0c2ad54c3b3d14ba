//! One commit, and its announcement: the store first, then memory, then the senders that wait for it. Before it, the
//! changes of master data that wait are given their numbers.

use std::sync::Arc;

use actix::prelude::*;

use super::batches::{Owed, Piece, broken_invariant, dirty_vehicles, misnumbered};
use super::corrections::Dirty;
use super::parts::PersistenceParts;
use super::retry::in_time;
use crate::actor::watch::occupancy::{self, CommittedVehicle, Logged, Occupancy};
use crate::meters::Invariant;
use crate::ports::{Batch, Committed, MAX_NUMBERED, Newest, StoreError, VehicleWrite};

/// How a commit ended.
pub(super) enum Ended {
    Committed {
        /// More changes of master data wait for their numbers.
        more_changes: bool,
        next_sequence: i64,
        newest: Vec<Newest>,
        committed: Vec<Committed>,
        owed: Vec<Owed>,
        weight: usize,
    },
    Failed(StoreError, Piece),
    /// It is stored, but the store's answer cannot be true.
    Broken(Invariant, String, Piece),
}

/// Numbers changes if they wait, commits a piece, which may be empty, and announces both to readers.
pub(super) fn commit(
    parts: &PersistenceParts,
    piece: Piece,
    mut next_sequence: i64,
    changes_wait: bool,
) -> impl Future<Output = Ended> + use<> {
    let store = Arc::clone(&parts.store);
    let (occupancy, corrections) = (parts.occupancy.clone(), parts.corrections.clone());
    let (limit, meters) = (parts.config.commit_timeout, parts.meters.clone());
    let is_cached = parts.cache.is_some();
    async move {
        let mut more_changes = false;
        if changes_wait {
            let changes = match in_time(limit, store.number_changes()).await {
                Ok(changes) => changes,
                Err(error) => return Ended::Failed(error, piece),
            };
            if let Some(what) = misnumbered(changes.iter().map(|change| change.sequence), next_sequence) {
                return Ended::Broken(Invariant::EventNumbers, what, piece);
            }
            more_changes = changes.len() >= MAX_NUMBERED;
            next_sequence += changes.len() as i64;
            if !changes.is_empty() {
                let log = Logged { changes, next_sequence, ..Logged::default() };
                occupancy.send(occupancy::Committed { vehicles: Vec::new(), log }).await.ok();
            }
        }
        if piece.owed.is_empty() {
            let (newest, committed, owed) = (Vec::new(), Vec::new(), Vec::new());
            return Ended::Committed { more_changes, next_sequence, newest, committed, owed, weight: 0 };
        }
        let mut committed = match in_time(limit, store.commit(&piece.batch)).await {
            Ok(committed) => committed,
            Err(error) => return Ended::Failed(error, piece),
        };
        if let Some((which, what)) = broken_invariant(&piece.owed, &committed, next_sequence) {
            return Ended::Broken(which, what, piece);
        }
        if let Some(newest) = piece.newest_arrival() {
            meters.newest_fix_millis.set(newest.as_micros() / 1_000);
        }
        let weight = piece.weight();
        let Piece { batch, owed } = piece;
        let dirty = dirty_vehicles(&batch, &committed);
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
    let mut records = Vec::new();
    for committed in &mut *committed {
        records.append(&mut committed.records);
    }
    let newest = records.iter().map(|record| record.sequence).max();
    let next_sequence = newest.map_or(next_sequence, |newest| newest + 1);
    let vehicle = |(write, committed): (VehicleWrite, &Committed)| CommittedVehicle {
        vehicle_id: write.vehicle_id,
        organization_id: write.organization_id,
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
