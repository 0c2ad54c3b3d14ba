//! The writer's half of the store: one transaction per batch of live data.
//!
//! Implements `waypost_actors::ports::TrackStore`. Every statement takes any number of rows; none
//! is run per fix.

use std::collections::{HashMap, HashSet};

use futures_util::future::BoxFuture;
use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{
    Event, Fence, Fix, GeofenceId, OrganizationId, Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::ports::{
    Batch, Counts, EventLog, Reread, Seeds, StoreError, TrackStore, VehicleSeed, VehicleWrite,
};
use waypost_actors::tracking::{PositionRow, Standing, VehicleState};
use waypost_actors::watch::Audience;

use super::event_row::{EventRow, SELECT_EVENTS, insert_events};
use super::fence_row::{self, FenceRow};
use super::position_row::{
    Key, fill_positions, insert_new_positions, insert_positions, key, lift_quarantine,
};
use super::rows::{Column, Insert};
use super::sql::{Db, Result, Tx};
use super::time::Time;

/// The store of live data, as the one writer of this epoch.
pub struct Track {
    db: Db,
    writer: Db,
    epoch: i64,
}

impl Track {
    /// Takes over the live tables: from now on no server of an earlier epoch can commit. Batches go
    /// through connections of their own (`writer`).
    pub async fn take_over(db: Db, writer: Db) -> Result<Self> {
        let take = "update writer set epoch = epoch + 1 where name = 'main' returning epoch";
        let epoch = db.write().sql(take).scalar().await?;
        Ok(Self { db, writer, epoch })
    }

    async fn commit_batch(&self, batch: &Batch) -> Result<Option<Vec<Counts>>> {
        let mut tx = self.writer.begin().await?;
        if !self.number(&mut tx, batch).await? {
            return Ok(None);
        }
        let (counts, dirty) = store_positions(&mut tx, &batch.writes).await?;
        lift_quarantine(&mut tx, &batch.writes).await?;
        store_states(&mut tx, &batch.writes, &dirty).await?;
        store_visits(&mut tx, &batch.writes).await?;
        let events: Vec<&Event> = batch.writes.iter().flat_map(|write| &write.effects.events).collect();
        let written = insert_events(&events).run(&mut tx).await?;
        if written < events.len() as u64 {
            // Ids follow from what happened, so nothing is lost; but the engine should have known.
            tracing::error!(repeated = events.len() as u64 - written, "events were recorded before");
        }
        tx.commit().await?;
        Ok(Some(counts))
    }

    /// Moves the number of the next event on; `false` when this writer is not the one any more.
    async fn number(&self, tx: &mut Tx, batch: &Batch) -> Result<bool> {
        let moved = tx
            .on()
            .sql("update writer set next_sequence = $1 where name = 'main' and epoch = $2 and next_sequence = $3")
            .bind(batch.next_sequence)
            .bind(self.epoch)
            .bind(batch.next_sequence - batch.event_count)
            .run()
            .await?;
        Ok(moved == 1)
    }

    /// The number of the next event, if this is still the writer. Touches the row, so that it waits
    /// for a transaction that may still be on its way.
    async fn is_writer(&self) -> Result<Option<i64>> {
        let touch =
            "update writer set epoch = epoch where name = 'main' and epoch = $1 returning next_sequence";
        let next: Option<(i64,)> = self.writer.write().sql(touch).bind(self.epoch).optional().await?;
        Ok(next.map(|(next,)| next))
    }

    async fn read_seeds(&self) -> Result<Seeds> {
        Ok(Seeds {
            vehicles: self.read_vehicles().await?,
            fences: self.read_fences().await?,
            unsettled: self.read_unsettled().await?,
            next_sequence: self.is_writer().await?.ok_or(sqlx::Error::RowNotFound)?,
        })
    }

    async fn read_vehicles(&self) -> Result<Vec<VehicleSeed>> {
        type Row = (Uuid, Uuid, String, Json<VehicleLimits>, Option<Json<VehicleState>>, Option<Time>);
        let select = "select v.id, v.organization_id, v.name, v.tracking, s.state, v.deleted_at from vehicle v \
            left join vehicle_state s on s.vehicle_id = v.id where v.deleted_at is null \
            or exists (select 1 from visit where visit.vehicle_id = v.id and visit.exited_at is null)";
        let rows: Vec<Row> = self.db.read().sql(select).all().await?;
        let seed = |(id, organization, name, Json(limits), state, deleted_at): Row| VehicleSeed {
            vehicle: Vehicle { id: id.into(), organization_id: organization.into(), name, limits },
            state: state.map(|Json(state)| state).unwrap_or_default(),
            is_removed: deleted_at.is_some(),
        };
        Ok(rows.into_iter().map(seed).collect())
    }

    async fn read_fences(&self) -> Result<Vec<Fence>> {
        let select = "select g.id, g.organization_id, g.name, v.version, v.effective_from, v.changed_at, \
            v.active, v.deleted, v.shape, v.rules from geofence g \
            join geofence_version v on v.geofence_id = g.id order by g.id, v.version";
        let rows: Vec<FenceRow> = self.db.read().sql(select).all().await?;
        Ok(fence_row::fences(rows))
    }

    async fn read_unsettled(&self) -> Result<Vec<(OrganizationId, GeofenceId)>> {
        let select = "select distinct g.organization_id, g.id from geofence g \
            join geofence_version v on v.geofence_id = g.id where not v.settled";
        let rows: Vec<(Uuid, Uuid)> = self.db.read().sql(select).all().await?;
        Ok(rows.into_iter().map(|(organization, fence)| (organization.into(), fence.into())).collect())
    }

    async fn read_back(&self, vehicles: &[VehicleId], sequence: i64) -> Result<Option<Reread>> {
        let Some(next_sequence) = self.is_writer().await? else { return Ok(None) };
        let mut states = Vec::new();
        for some in vehicles.chunks(500) {
            let rows: Vec<(Uuid, Json<VehicleState>)> = self
                .db
                .read()
                .sql("select vehicle_id, state from vehicle_state where vehicle_id in (")
                .push_each(some, |stmt, id| stmt.push_bind(id.0))
                .push(")")
                .all()
                .await?;
            let stored: HashMap<Uuid, VehicleState> = rows.into_iter().map(|(id, Json(s))| (id, s)).collect();
            states.extend(some.iter().map(|id| (*id, stored.get(&id.0).cloned().unwrap_or_default())));
        }
        let limit = (next_sequence - sequence).max(0);
        let events = read_events(&self.db, Audience::Everyone, sequence, limit).await?;
        Ok(Some(Reread { states, events, next_sequence }))
    }
}

/// Stores the batch's fixes. Answers what became of each write's, and from when on a vehicle's
/// events await a correction because a late fix was new.
async fn store_positions(
    tx: &mut Tx,
    writes: &[VehicleWrite],
) -> Result<(Vec<Counts>, HashMap<VehicleId, Timestamp>)> {
    let rows = |fresh: bool| {
        writes.iter().enumerate().flat_map(move |(index, write)| {
            let wanted = move |row: &&PositionRow| (row.standing == Standing::Fresh) == fresh;
            write.effects.rows.iter().filter(wanted).map(move |row| (index, write.vehicle_id, row))
        })
    };
    let mut counts = vec![Counts::default(); writes.len()];
    let fresh: Vec<_> = rows(true).collect();
    insert_positions(fresh.iter().map(|(_, vehicle, row)| (*vehicle, *row))).run(tx).await?;
    for (index, ..) in fresh {
        counts[index].stored += 1;
    }

    let recheck: Vec<_> = rows(false).collect();
    let mut dirty = HashMap::new();
    if recheck.is_empty() {
        return Ok((counts, dirty));
    }
    let inserted = insert_new_positions(tx, recheck.iter().map(|(_, vehicle, row)| (*vehicle, *row))).await?;
    let mut inserted: HashSet<_> = inserted.into_iter().map(Key::bits).collect();
    let mut known: HashMap<_, (VehicleId, Fix)> = HashMap::new();
    for (index, vehicle, row) in recheck {
        let key = key(vehicle, &row.fix);
        if inserted.remove(&key) {
            counts[index].stored += 1;
            if row.standing == (Standing::Recheck { late: true }) {
                let from = dirty.entry(vehicle).or_insert(row.fix.recorded_at);
                *from = row.fix.recorded_at.min(*from);
            }
        } else {
            counts[index].duplicates += 1;
            known.entry(key).or_insert((vehicle, row.fix)).1.fill_from(&row.fix);
        }
    }
    fill_positions(tx, known.into_values().collect()).await?;
    Ok((counts, dirty))
}

/// The newest state of each vehicle in the batch.
async fn store_states(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    dirty: &HashMap<VehicleId, Timestamp>,
) -> Result<()> {
    let newest: HashMap<VehicleId, &VehicleWrite> = writes.iter().map(|w| (w.vehicle_id, w)).collect();
    let newest: Vec<&VehicleWrite> = newest.into_values().collect();
    let last = |write: &&VehicleWrite| write.state.last;
    let json = |write: &&VehicleWrite| {
        serde_json::to_string(&*write.state).map_err(|error| sqlx::Error::Encode(error.into()))
    };
    Insert {
        into: "insert into vehicle_state \
            (vehicle_id, organization_id, recorded_at, latitude, longitude, state, dirty_from)",
        columns: vec![
            Column::Uuid(newest.iter().map(|w| w.vehicle_id.0).collect()),
            Column::Uuid(newest.iter().map(|w| w.organization_id.0).collect()),
            Column::MaybeTime(newest.iter().map(|w| last(w).map(|fix| Time(fix.recorded_at))).collect()),
            Column::MaybeFloat(newest.iter().map(|w| last(w).map(|fix| fix.place.latitude)).collect()),
            Column::MaybeFloat(newest.iter().map(|w| last(w).map(|fix| fix.place.longitude)).collect()),
            Column::Json(newest.iter().map(json).collect::<Result<_>>()?),
            Column::MaybeTime(newest.iter().map(|w| dirty.get(&w.vehicle_id).map(|t| Time(*t))).collect()),
        ],
        after: "on conflict (vehicle_id) do update set recorded_at = excluded.recorded_at, \
            latitude = excluded.latitude, longitude = excluded.longitude, state = excluded.state, \
            dirty_from = case when excluded.dirty_from is null then vehicle_state.dirty_from \
                when vehicle_state.dirty_from < excluded.dirty_from then vehicle_state.dirty_from \
                else excluded.dirty_from end",
    }
    .run(tx)
    .await?;
    Ok(())
}

/// Stays begun or ended, each as it stands at the end of the batch.
async fn store_visits(tx: &mut Tx, writes: &[VehicleWrite]) -> Result<()> {
    let mut newest = HashMap::new();
    for write in writes {
        for visit in &write.effects.visits {
            newest.insert(visit.id, (write, visit));
        }
    }
    let rows: Vec<_> = newest.into_values().collect();
    Insert {
        into: "insert into visit \
            (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at, exit_event_id, exited_at)",
        columns: vec![
            Column::Uuid(rows.iter().map(|(_, v)| v.id.0).collect()),
            Column::Uuid(rows.iter().map(|(w, _)| w.organization_id.0).collect()),
            Column::Uuid(rows.iter().map(|(w, _)| w.vehicle_id.0).collect()),
            Column::Uuid(rows.iter().map(|(_, v)| v.geofence_id.0).collect()),
            Column::Uuid(rows.iter().map(|(_, v)| v.entry_event_id.0).collect()),
            Column::Time(rows.iter().map(|(_, v)| Time(v.entered_at)).collect()),
            Column::MaybeUuid(rows.iter().map(|(_, v)| v.exit.map(|(event, _)| event.0)).collect()),
            Column::MaybeTime(rows.iter().map(|(_, v)| v.exit.map(|(_, at)| Time(at))).collect()),
        ],
        after: "on conflict (id) do update set exit_event_id = excluded.exit_event_id, exited_at = excluded.exited_at",
    }
    .run(tx)
    .await?;
    Ok(())
}

/// Events of an audience by number, `from` included.
async fn read_events(db: &Db, audience: Audience, from: i64, limit: i64) -> Result<Vec<Event>> {
    let mut stmt = db.read().sql(SELECT_EVENTS).push(" where e.sequence >= ").push_bind(from);
    if let Audience::Organization(organization) = audience {
        stmt = stmt.push(" and e.organization_id = ").push_bind(organization.0);
    }
    let rows: Vec<EventRow> = stmt.push(" order by e.sequence limit ").push_bind(limit).all().await?;
    rows.into_iter().map(Event::try_from).collect()
}

fn away(error: sqlx::Error) -> StoreError {
    StoreError::Away(error.to_string())
}

impl TrackStore for Track {
    fn seeds(&self) -> BoxFuture<'_, std::result::Result<Seeds, StoreError>> {
        Box::pin(async move { self.read_seeds().await.map_err(away) })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, std::result::Result<Vec<Counts>, StoreError>> {
        Box::pin(async move {
            match self.commit_batch(batch).await.map_err(away)? {
                Some(counts) => Ok(counts),
                None if self.is_writer().await.map_err(away)?.is_none() => Err(StoreError::TakenOver),
                None => Err(StoreError::Away("the number of the next event is not the expected one".into())),
            }
        })
    }

    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, std::result::Result<Reread, StoreError>> {
        Box::pin(async move {
            self.read_back(vehicles, sequence).await.map_err(away)?.ok_or(StoreError::TakenOver)
        })
    }

    fn mark_settled(
        &self,
        fence: GeofenceId,
        version: i64,
    ) -> BoxFuture<'_, std::result::Result<(), StoreError>> {
        Box::pin(async move {
            self.db
                .write()
                .sql("update geofence_version set settled = true where geofence_id = $1 and version <= $2 and not settled")
                .bind(fence.0)
                .bind(version)
                .run()
                .await
                .map_err(away)?;
            Ok(())
        })
    }
}

impl EventLog for Track {
    fn events_from(
        &self,
        audience: Audience,
        sequence: i64,
        limit: i64,
    ) -> BoxFuture<'_, std::result::Result<Vec<Event>, StoreError>> {
        Box::pin(async move { read_events(&self.db, audience, sequence, limit).await.map_err(away) })
    }
}
