//! Records of connections: given their numbers by the writer between two commits, like changes of master data. They are no
//! part of any vehicle's timeline.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::model::{Connection, Timestamp, VehicleId};
use waypost_actors::tracking::{ConnectionDetail, Detail, Record};

use super::Track;
use super::alerts::follow_connections;
use super::numbering::take_numbers;
use crate::store::record_row::{RecordRow, SELECT_RECORDS, insert_records};
use crate::store::sql::{Db, Result, Tx};

/// Ids in one statement.
const TOGETHER: usize = 500;

impl Track {
    /// Stores the records of vehicles in use whose ids are new, and the alerts that they make, and answers all; `None` when this writer is not the one
    /// any more.
    pub(super) async fn log_known(&self, records: &[Record]) -> Result<Option<Vec<Record>>> {
        let Some(mut held) = self.hold_commits().await? else { return Ok(None) };
        let tx = held.tx();
        match write(tx, records).await {
            Ok(logged) => held.commit().await.map(|()| Some(logged)),
            Err(error) => {
                held.rollback().await?;
                Err(error)
            }
        }
    }
}

async fn write(tx: &mut Tx, records: &[Record]) -> Result<Vec<Record>> {
    let mut logged = Vec::with_capacity(records.len());
    for some in records.chunks(TOGETHER) {
        let names = names(tx, some).await?;
        let stored = stored(tx, some).await?;
        logged.extend(some.iter().filter(|record| !stored.contains(&record.id.0)).filter_map(|record| {
            let vehicle_name = names.get(&record.vehicle_id.0)?.clone();
            Some(Record { vehicle_name, ..record.clone() })
        }));
    }
    let first = take_numbers(tx, logged.len()).await?;
    for (record, sequence) in logged.iter_mut().zip(first..) {
        record.sequence = sequence;
    }
    let all: Vec<&Record> = logged.iter().collect();
    insert_records(&all, "on conflict (id) do nothing").run(tx).await?;
    let alerts = follow_connections(tx, &logged).await?;
    logged.extend(alerts);
    Ok(logged)
}

/// The names of the vehicles that are in use.
async fn names(tx: &mut Tx, records: &[Record]) -> Result<HashMap<Uuid, String>> {
    let stmt = tx.on().sql("select id, name from vehicle where deleted_at is null and id in (");
    let stmt = stmt.push_each(records, |stmt, record| stmt.push_bind(record.vehicle_id.0));
    let rows: Vec<(Uuid, String)> = stmt.push(")").all().await?;
    Ok(rows.into_iter().collect())
}

/// The ids that are stored already.
async fn stored(tx: &mut Tx, records: &[Record]) -> Result<HashSet<Uuid>> {
    let stmt = tx.on().sql("select id from records where id in (");
    let stmt = stmt.push_each(records, |stmt, record| stmt.push_bind(record.id.0));
    let rows: Vec<(Uuid,)> = stmt.push(")").all().await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// What the newest record of the connection of each of the shard's vehicles says, and when it had been heard then. Each vehicle is one look-up in
/// the index.
pub(super) async fn newest(db: &Db) -> Result<HashMap<VehicleId, (Connection, Timestamp)>> {
    let condition = " where e.id in (select (select r.id from records r where r.vehicle_id = o.id \
        and r.kind in ('online', 'stale', 'offline') order by r.sequence desc limit 1) from vehicle o \
        where o.deleted_at is null";
    let stmt = db.read().sql(SELECT_RECORDS).push(condition);
    let stmt = stmt.and_of_shard(db.shard(), "o.organization_id").push(")");
    let rows: Vec<RecordRow> = stmt.all_beside().await?;
    let mut newest = HashMap::with_capacity(rows.len());
    for row in rows {
        let record = Record::try_from(row)?;
        if let Detail::Connection(ConnectionDetail { state, heard_at, .. }) = record.detail {
            newest.insert(record.vehicle_id, (state, heard_at));
        }
    }
    Ok(newest)
}
