//! The writer's half of the store: one transaction per batch of live data.
//!
//! Implements `waypost_actors::ports::TrackStore`. Every statement takes any number of rows; none is run per fix.

mod alerts;
mod cards;
mod commit;
mod connections;
mod driver_revisions;
mod fix_log;
mod group_commit;
mod memory;
mod numbering;
mod packed_fixes;
mod packed_numbers;
mod recovery;
mod reserved;
mod tails;
mod unsaved;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};
use uuid::Uuid;
use waypost_actors::geofence::FenceTimeline;
use waypost_actors::model::{Change, GeofenceId, Timestamp, VehicleId};
use waypost_actors::ports::{
    Batch, Committed, RecordLog, RefusedFix, Reread, Seeds, Slice, StoreError, TrackStore,
};
use waypost_actors::tracking::{NearSpan, Record, VehicleState};
use waypost_actors::watch::Audience;

pub(super) use self::fix_log::logged_fixes;
pub use self::group_commit::GroupCommit;
use self::memory::Memory;
use self::reserved::{take_over, touch};
use self::tails::Tails;
use super::fuel_day::FuelDays;
use super::packed_chunk::ChunkFix;
use super::packed_state::PackedState;
use super::record_row::{RecordRow, SELECT_RECORDS};
use super::refused_fix;
use super::shard::Shard;
use super::slice::read_slice;
use super::sql::{Db, Durability, Engine, On, Result, Tx, Writer, in_time, not_durable};
use super::time::Time;
use super::{calibration, change_log, near};
use crate::clock::Clock;

/// How long the pool may take for what the live core asks of it.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The store of live data, as the one writer of this epoch.
pub struct Track {
    db: Db,
    writer: Writer,
    epoch: i64,
    durability: Durability,
    memory: Arc<Mutex<Memory>>,
    tails: Arc<Tails>,
    clock: Clock,
    /// Through what it commits with the other shards of its node, and itself.
    group: Option<(GroupCommit, Weak<Self>)>,
}

/// Between two commits. To be ended by [`Held::commit`] or [`Held::rollback`], or the writer's connection is lost.
pub(super) struct Held<'a> {
    tx: Tx,
    memory: MutexGuard<'a, Memory>,
    /// The newest commit's.
    log_number: i64,
}

impl Held<'_> {
    pub(super) const fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    pub(super) async fn commit(self) -> Result<()> {
        self.tx.commit().await
    }

    pub(super) async fn rollback(self) -> Result<()> {
        self.tx.rollback().await
    }
}

/// The row of numbers.
#[derive(sqlx::FromRow)]
struct Numbers {
    next_sequence: i64,
    /// The newest commit's.
    log_number: i64,
}

impl Track {
    /// Takes over the live tables of all organizations: from now on no server of an earlier epoch can commit. Batches go
    /// through a connection of their own (`writer`).
    pub async fn take_over(db: Db, writer: impl Into<Writer>) -> Result<Self> {
        Self::take_over_shard(db, writer, Shard::WHOLE).await
    }

    /// As [`Track::take_over`], for the organizations of one shard.
    pub async fn take_over_shard(db: Db, writer: impl Into<Writer>, shard: Shard) -> Result<Self> {
        let mut tx = db.begin().await?;
        if db.engine() == Engine::Postgres {
            // Waits for changes that have seen the present epoch in force and are about to commit.
            let hold = tx.on().sql("select epoch from writer where name = $1").push(" for update");
            hold.bind(shard.writer()).run().await?;
        }
        let take = tx.on().sql(take_over(db.engine())).bind(shard.writer()).bind(i64::from(shard.number()));
        let epoch: i64 = take.scalar().await?;
        tx.commit().await?;
        let db = db.of_writer(shard, epoch);
        let tails = Arc::<Tails>::default();
        let memory = Arc::new(Mutex::new(Memory::new(Arc::clone(&tails))));
        let durability = Durability::default();
        let clock = Clock::system();
        Ok(Self { db, writer: writer.into(), epoch, durability, memory, tails, clock, group: None })
    }

    /// By another clock than the machine's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// With what several writers of one database note together as broken.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Committing its batches with those of other shards.
    #[must_use]
    pub fn in_group(self, group: GroupCommit) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self { group: Some((group, Weak::clone(itself))), ..self })
    }

    /// The number of this server's time as the writer.
    #[must_use]
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The connections of this time as the writer: once another server has taken over, nothing is committed over them.
    #[must_use]
    pub const fn db(&self) -> &Db {
        &self.db
    }

    /// What is noted here as broken by the database keeps this from committing anything.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.durability.clone()
    }

    /// A vehicle's fixes that are in no chunk, oldest first. To be read before the store, because they go from here to there.
    pub(super) fn tail(&self, vehicle: VehicleId) -> Result<Vec<ChunkFix>> {
        self.tails.of(vehicle)
    }

    async fn came_near(
        &self,
        fence: &FenceTimeline,
        from: Timestamp,
        vehicles: &[VehicleId],
    ) -> Result<Vec<(VehicleId, NearSpan)>> {
        let tails = vehicles.iter().map(|vehicle| Ok((*vehicle, self.tail(*vehicle)?)));
        near::came_near(&self.db, fence, from, tails.collect::<Result<_>>()?).await
    }

    /// What is known of packed days of the fuel log, between two commits.
    pub(super) async fn fuel_days(&self) -> MappedMutexGuard<'_, FuelDays> {
        MutexGuard::map(self.memory.lock().await, |memory| &mut memory.fuel_days)
    }

    /// Begins a transaction that excludes concurrent commits; `None` if another server is the writer now.
    pub(super) async fn hold_commits(&self) -> Result<Option<Held<'_>>> {
        let mut memory = self.memory.lock().await;
        let mut tx = self.writer.begin(self.db.shard()).await?;
        let Some(Numbers { log_number, .. }) = self.is_writer(&mut tx).await? else {
            return tx.rollback().await.map(|()| None);
        };
        memory.resolve_in_doubt(log_number)?;
        Ok(Some(Held { tx, memory, log_number }))
    }

    /// The numbers as they stand, if this is still the writer. Touches the row, so that it waits
    /// for a transaction that may still be on its way.
    async fn is_writer(&self, tx: &mut Tx) -> Result<Option<Numbers>> {
        let touch = touch(self.db.engine());
        tx.on().sql(touch).bind(self.db.shard().writer()).bind(self.epoch).optional().await
    }

    /// Over the writer's own connection: those of the pool may have gone silent with the one that failed.
    async fn read_back(&self, vehicles: &[VehicleId], sequence: i64) -> Result<Option<Reread>> {
        let memory = &mut *self.memory.lock().await;
        let mut tx = self.writer.begin(self.db.shard()).await?;
        let Some(Numbers { next_sequence, log_number }) = self.is_writer(&mut tx).await? else {
            return Ok(None);
        };
        memory.resolve_in_doubt(log_number)?;
        let mut reread = Reread { next_sequence, ..Reread::default() };
        for some in vehicles.chunks(500) {
            let rows: Vec<(Uuid, PackedState, Option<Time>)> = tx
                .on()
                .sql("select vehicle_id, state, dirty_from from vehicle_state where vehicle_id in (")
                .push_each(some, |stmt, id| stmt.push_bind(id.0))
                .push(")")
                .all()
                .await?;
            let dirty = rows.iter().filter_map(|(id, _, from)| Some((VehicleId::from(*id), (*from)?.into())));
            reread.dirty.extend(dirty);
            let mut stored: HashMap<Uuid, VehicleState> =
                rows.into_iter().map(|(id, state, _)| (id, state.or_lost(self.clock.now()))).collect();
            reread.states.extend(some.iter().map(|id| {
                let stored = stored.remove(&id.0);
                let newer = memory.unsaved.state(*id).map(|state| VehicleState::clone(state));
                (*id, newer.or(stored).unwrap_or_default())
            }));
        }
        let limit = (next_sequence - sequence).max(0);
        reread.records = read_records(tx.on(), self.db.shard(), Audience::Everyone, sequence, limit).await?;
        reread.changes =
            change_log::read(tx.on(), self.db.shard(), Audience::Everyone, sequence, limit).await?;
        tx.commit().await?;
        Ok(Some(reread))
    }

    /// What the database would not keep is not acknowledged.
    fn require_durability(&self) -> std::result::Result<(), StoreError> {
        self.durability.broken().map_or(Ok(()), |setting| Err(StoreError::away(not_durable(setting))))
    }

    async fn settled(&self, fence: GeofenceId, version: i64) -> Result<()> {
        let settle = "update geofence_version set settled = true where geofence_id = $1 and version = $2 and not settled";
        self.db.write().sql(settle).bind(fence.0).bind(version).run().await?;
        Ok(())
    }
}

/// Records of an audience by number, `from` included; of everyone, those of the shard's range of numbers.
async fn read_records(
    on: On<'_>,
    shard: Shard,
    audience: Audience,
    from: i64,
    limit: i64,
) -> Result<Vec<Record>> {
    let stmt = on.sql(SELECT_RECORDS).push(" where e.shard = 0");
    let stmt = stmt.and_from_number((shard, audience), ("e.organization_id", "e.sequence"), from);
    let rows: Vec<RecordRow> = stmt.push(" order by e.sequence limit ").push_bind(limit).all().await?;
    rows.into_iter().map(Record::try_from).collect()
}

fn away(error: sqlx::Error) -> StoreError {
    StoreError::away(error)
}

/// What is asked over the pool's connections, of which one may go silent with the question. PostgreSQL itself ends what
/// takes longer.
async fn asked<T>(answer: impl Future<Output = Result<T>>) -> std::result::Result<T, StoreError> {
    in_time(ANSWER_WITHIN, answer).await.map_err(away)
}

impl TrackStore for Track {
    fn seeds(&self) -> BoxFuture<'_, std::result::Result<Seeds, StoreError>> {
        Box::pin(async move { self.read_seeds().await.map_err(away) })
    }

    fn commit<'a>(
        &'a self,
        batch: &'a Batch,
    ) -> BoxFuture<'a, std::result::Result<Vec<Committed>, StoreError>> {
        Box::pin(async move {
            self.require_durability()?;
            if let Some((group, itself)) = &self.group
                && let Some(track) = itself.upgrade()
                && let Some(answer) = group.commit(track, batch).await
            {
                return answer;
            }
            let committed = self.commit_whole(batch).await.map_err(refused_fix::told)?;
            committed.ok_or(StoreError::TakenOver)
        })
    }

    fn number_changes(&self) -> BoxFuture<'_, std::result::Result<Vec<Change>, StoreError>> {
        Box::pin(async move {
            self.require_durability()?;
            self.number_waiting().await.map_err(away)?.ok_or(StoreError::TakenOver)
        })
    }

    fn revise_drivers(&self) -> BoxFuture<'_, std::result::Result<(Vec<Record>, bool), StoreError>> {
        Box::pin(async move {
            self.require_durability()?;
            self.revise_drivers().await.map_err(refused_fix::told)?.ok_or(StoreError::TakenOver)
        })
    }

    fn log_connections<'a>(
        &'a self,
        records: &'a [Record],
    ) -> BoxFuture<'a, std::result::Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            self.require_durability()?;
            let logged = self.log_known(records).await.map_err(refused_fix::told)?;
            logged.ok_or(StoreError::TakenOver)
        })
    }

    fn slice(&self, vehicle: VehicleId) -> BoxFuture<'_, std::result::Result<Option<Slice>, StoreError>> {
        Box::pin(asked(async move { read_slice(&self.db, vehicle, &self.tail(vehicle)?).await }))
    }

    fn came_near<'a>(
        &'a self,
        fence: &'a FenceTimeline,
        from: Timestamp,
        vehicles: &'a [VehicleId],
    ) -> BoxFuture<'a, std::result::Result<Vec<(VehicleId, NearSpan)>, StoreError>> {
        Box::pin(async move {
            let mut spans = Vec::new();
            for some in vehicles.chunks(near::TOGETHER) {
                spans.extend(asked(self.came_near(fence, from, some)).await?);
            }
            Ok(spans)
        })
    }

    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, std::result::Result<Reread, StoreError>> {
        Box::pin(async move {
            self.require_durability()?;
            self.read_back(vehicles, sequence).await.map_err(away)?.ok_or(StoreError::TakenOver)
        })
    }

    fn keep_refused_fix<'a>(
        &'a self,
        refused: &'a RefusedFix,
    ) -> BoxFuture<'a, std::result::Result<(), StoreError>> {
        Box::pin(async move {
            let kept = in_time(ANSWER_WITHIN, refused_fix::insert(&self.db, refused));
            kept.await.map_err(refused_fix::told)
        })
    }

    fn mark_settled(
        &self,
        fence: GeofenceId,
        version: i64,
    ) -> BoxFuture<'_, std::result::Result<(), StoreError>> {
        Box::pin(asked(self.settled(fence, version)))
    }

    fn mark_calibrated(
        &self,
        vehicle: VehicleId,
        version: i64,
    ) -> BoxFuture<'_, std::result::Result<(), StoreError>> {
        Box::pin(asked(calibration::settle(&self.db, vehicle, version)))
    }
}

impl RecordLog for Track {
    fn records_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, std::result::Result<Vec<Record>, StoreError>> {
        Box::pin(asked(read_records(self.db.read(), self.db.shard(), audience, sequence, limit)))
    }

    fn changes_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, std::result::Result<Vec<Change>, StoreError>> {
        Box::pin(asked(change_log::read(self.db.read(), self.db.shard(), audience, sequence, limit)))
    }

    fn goes_on_from(&self, audience: Audience, sequence: i64, next: i64) -> bool {
        let until = |number| self.db.shard().numbers_until(number);
        // A number not assigned yet cannot be from this log: the store was set back. For everyone, only the range of the number is read.
        sequence <= next && (audience != Audience::Everyone || until(sequence) == until(next))
    }
}
