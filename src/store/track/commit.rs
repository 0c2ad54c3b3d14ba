//! One transaction per batch. What is written for which part of it is said in the files of the rows.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::ports::{Batch, Committed, VehicleWrite};

use super::fix_log::LogRow;
use super::group_commit::GroupMember;
use super::memory::{Doubt, Memory, Written};
use super::reserved::{Claim, ReservedNumbers, ShardEpoch, reserve};
use super::unsaved::log_fixes;
use super::{Track, cards, fix_log};
use crate::store::driver_at::Drivers;
use crate::store::fuel_log::store_fuel_log;
use crate::store::packed_chunk::ChunkFix;
use crate::store::position_chunk::insert_chunks;
use crate::store::position_row::{fresh_of, store_positions, store_quarantines};
use crate::store::records::store_timelines;
use crate::store::sql::{Result, Tx};
use crate::store::state_row::{NewState, dirty_among, left_of, store_states};

/// Fixes of a vehicle in no chunk at most, with few vehicles: who reads them unpacks all of them.
const TAIL_FIXES: usize = 1_024;

impl Track {
    /// `None` when this writer is not the one any more.
    pub(super) async fn commit_whole(&self, batch: &Batch) -> Result<Option<Vec<Committed>>> {
        let memory = &mut *self.memory.lock().await;
        if !memory.is_recovered {
            self.recover(memory).await?;
        }
        let writes = self.tails.checked(&batch.writes);
        self.commit_batch(memory, &writes).await
    }

    pub(super) async fn commit_batch(
        &self,
        memory: &mut Memory,
        writes: &[VehicleWrite],
    ) -> Result<Option<Vec<Committed>>> {
        let mut tx = self.writer.begin(self.db.shard()).await?;
        match self.write_alone(&mut tx, memory, writes).await {
            Ok(Some(Written { committed, number, .. })) => {
                tx.commit().await?;
                memory.resolve_in_doubt(number)?;
                Ok(Some(committed))
            }
            Ok(None) => tx.rollback().await.map(|()| None),
            Err(error) => Err(tx.fail(error).await),
        }
    }

    /// `None` when this writer is not the one any more: then nothing is written.
    async fn write_alone(
        &self,
        tx: &mut Tx,
        memory: &mut Memory,
        writes: &[VehicleWrite],
    ) -> Result<Option<Written>> {
        let Some(reserved) = reserve(tx, self.claim(writes)).await? else { return Ok(None) };
        let mut written = self.write(tx, memory, writes, reserved).await?;
        fix_log::append(tx, written.logged.take()).await?;
        Ok(Some(written))
    }

    /// Writes a batch but for its row of the log, in a transaction that may hold those of other shards too.
    async fn write(
        &self,
        tx: &mut Tx,
        memory: &mut Memory,
        writes: &[VehicleWrite],
        ReservedNumbers { first, number, anybody_drove, anybody_is_dirty }: ReservedNumbers,
    ) -> Result<Written> {
        memory.resolve_in_doubt(number - 1)?;
        let mut fresh: HashMap<VehicleId, Vec<ChunkFix>> = HashMap::with_capacity(writes.len());
        for write in writes {
            fresh.entry(write.vehicle_id).or_default().extend(fresh_of(&write.effects.rows));
        }
        let unchunked = |vehicle| {
            let mut fixes = self.tails.of(vehicle)?;
            fixes.extend(fresh.get(&vehicle).into_iter().flatten().cloned());
            Ok(fixes)
        };
        let stored = store_positions(tx, writes, &unchunked).await?;
        store_quarantines(tx, writes, &unchunked).await?;
        let logged = LogRow::of(self.db.shard(), number, writes)?;
        let fixes = log_fixes(writes.iter().flat_map(|write| &write.effects.rows));
        let mut left = left_of(writes, &stored.late);
        for (vehicle, left) in &mut left {
            let new = fresh.get(vehicle).map_or(0, Vec::len);
            left.is_logged &= self.tails.len(*vehicle) + new < TAIL_FIXES;
        }
        let mut plan = memory.unsaved.plan(left, fixes);
        let whole = |new: &NewState| Ok((new.vehicle, unchunked(new.vehicle)?));
        let chunks: Vec<_> = plan.saved.iter().map(whole).collect::<Result<_>>()?;
        insert_chunks(tx, &chunks).await?;
        plan.fresh = fresh;
        let mut dirty = store_states(tx, &plan.saved, number, anybody_is_dirty).await?;
        if anybody_is_dirty {
            dirty.extend(dirty_among(tx, &plan.logged()).await?);
        }
        let dirty: HashMap<VehicleId, Timestamp> = dirty.into_iter().collect();
        let log_from = self.trim(tx, memory, number).await?;
        let mut next = first;
        let leaves_changes = cards::note(tx, writes).await?;
        let anybody_drove = anybody_drove || leaves_changes;
        let drivers = if anybody_drove { Drivers::of_batch(tx, writes).await? } else { Drivers::default() };
        let told = store_timelines(tx, writes, &drivers, &mut next).await?;
        store_fuel_log(tx, writes, &drivers, &mut memory.fuel_days).await?;
        if next != first + self.claim(writes).records {
            self.put_next_number(tx, next).await?;
        }
        let dirty_from = writes.iter().map(|write| dirty.get(&write.vehicle_id).copied());
        let answers = dirty_from.zip(stored.counts).zip(told);
        let committed =
            |((dirty_from, counts), records)| Committed { counts, records, dirty_from, leaves_changes };
        memory.doubt = Some(Doubt { number, plan, log_from });
        Ok(Written { committed: answers.map(committed).collect(), number, logged })
    }

    /// Deletes what of the log is in the rows of all states; answers where it begins then.
    async fn trim(&self, tx: &mut Tx, memory: &mut Memory, number: i64) -> Result<i64> {
        let from = memory.unsaved.log_from().unwrap_or(number);
        if from - memory.log_from < fix_log::TRIM_ROWS {
            return Ok(memory.log_from);
        }
        fix_log::trim(tx, from).await?;
        Ok(from)
    }

    /// There were more new records than there should have been, by a correction, or fewer.
    async fn put_next_number(&self, tx: &mut Tx, next: i64) -> Result<()> {
        let put = "update writer set next_sequence = $1 where name = $2";
        tx.on().sql(put).bind(next).bind(self.db.shard().writer()).run().await?;
        Ok(())
    }
}

impl GroupMember for Track {
    fn claim(&self, writes: &[VehicleWrite]) -> Claim {
        let records: usize = writes.iter().map(|write| write.effects.records.len()).sum();
        let of = ShardEpoch { shard: self.db.shard(), epoch: self.epoch };
        let is_logged = writes.iter().any(|write| !write.effects.rows.is_empty());
        Claim { of, records: records as i64, is_logged }
    }

    fn memory(&self) -> Arc<Mutex<Memory>> {
        Arc::clone(&self.memory)
    }

    fn write<'a>(
        &'a self,
        tx: &'a mut Tx,
        memory: &'a mut Memory,
        writes: &'a [VehicleWrite],
        reserved: ReservedNumbers,
    ) -> BoxFuture<'a, Result<Written>> {
        Box::pin(async move { Self::write(self, tx, memory, &self.tails.checked(writes), reserved).await })
    }
}
