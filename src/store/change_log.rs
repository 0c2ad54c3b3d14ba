//! The log of changes of master data. An edit adds rows without a number in its own transaction; the writer numbers
//! them in the order of records (`track/numbering.rs`), so that a reader by number skips none.

use uuid::Uuid;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, OrganizationId, Timestamp, VehicleId};
use waypost_actors::ports::MAX_NUMBERED;
use waypost_actors::watch::Audience;

use super::rows::{Column, Insert};
use super::shard::Shard;
use super::sql::{Db, On, Result, Tx};
use super::time::Time;
use crate::clock;

/// A cursor older than this has expired. Seconds: 30 days.
pub const CURSOR_SECONDS: f64 = 30.0 * 86_400.0;
/// Changes are kept a day longer, for clock differences and slow transactions.
const KEEP_SECONDS: f64 = CURSOR_SECONDS + 86_400.0;

const COLUMNS: &str = "sequence, organization_id, resource, resource_id, kind, changed_at";

#[derive(sqlx::FromRow)]
struct Row {
    sequence: i64,
    organization_id: Option<Uuid>,
    #[sqlx(try_from = "String")]
    resource: ChangedResource,
    resource_id: Uuid,
    #[sqlx(try_from = "String")]
    kind: ChangeKind,
    changed_at: Time,
}

impl From<Row> for Change {
    fn from(row: Row) -> Self {
        Self {
            sequence: row.sequence,
            organization_id: row.organization_id.map(OrganizationId),
            resource: row.resource,
            resource_id: row.resource_id,
            kind: row.kind,
            changed_at: row.changed_at.into(),
        }
    }
}

/// Adds changes, in their order; their numbers are not used. After the commit, have the live core number them.
pub async fn insert(tx: &mut Tx, changes: &[Change]) -> Result<()> {
    let rows = Insert {
        into: "insert into change (id, organization_id, resource, resource_id, kind, changed_at)",
        columns: vec![
            // Ascending, so that they are numbered in this order.
            Column::Uuid(changes.iter().map(|_| clock::new_id()).collect()),
            Column::MaybeUuid(changes.iter().map(|change| change.organization_id.map(Uuid::from)).collect()),
            Column::Text(changes.iter().map(|change| change.resource.as_str()).collect()),
            Column::Uuid(changes.iter().map(|change| change.resource_id).collect()),
            Column::Text(changes.iter().map(|change| change.kind.as_str()).collect()),
            Column::Time(changes.iter().map(|change| Time(change.changed_at)).collect()),
        ],
        after: "",
    };
    rows.run(tx).await?;
    Ok(())
}

/// A time in which another driver may have driven a vehicle than its records say, because of an assignment that changed.
#[derive(Clone, Copy, Debug)]
pub struct DriverRevision {
    /// The assignment.
    pub assignment_id: Uuid,
    /// Its vehicle.
    pub vehicle_id: VehicleId,
    /// Since when.
    pub from: Timestamp,
    /// Until when; not included.
    pub to: Timestamp,
}

/// Leaves the records of some times to the writer, with the changes of their assignments, which were inserted before in this
/// transaction.
pub async fn queue_driver_revision(tx: &mut Tx, driven: &[DriverRevision]) -> Result<()> {
    for DriverRevision { assignment_id, vehicle_id, from, to } in driven {
        let update = "update change set vehicle_id = $2, driven_from = $3, driven_to = $4 where id = (select c.id from change c \
            where c.resource = 'assignment' and c.resource_id = $1 and c.sequence is null order by c.id desc limit 1)";
        let stmt = tx.on().sql(update).bind(*assignment_id).bind(vehicle_id.0);
        stmt.bind(Time(*from)).bind(Time(*to)).run().await?;
    }
    Ok(())
}

/// Logs that another driver may have driven a vehicle in a time than its records say, and leaves them to the writer.
pub(super) async fn insert_driven(
    tx: &mut Tx,
    (organization, vehicle): (OrganizationId, VehicleId),
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<()> {
    let insert = "insert into change (id, organization_id, resource, resource_id, kind, changed_at, vehicle_id, driven_from, \
        driven_to) values ($1, $2, 'vehicle', $3, 'updated', $4, $3, $5, $6)";
    let stmt = tx.on().sql(insert).bind(clock::new_id()).bind(organization.0).bind(vehicle.0).bind(Time(now));
    stmt.bind(Time(from)).bind(Time(to)).run().await?;
    Ok(())
}

/// The first changes that wait for their number, in the order in which they were made.
pub(super) async fn waiting(tx: &mut Tx) -> Result<Vec<Uuid>> {
    let shard = tx.shard();
    let stmt = tx.on().sql("select id from change where sequence is null");
    let stmt = stmt.and_of_shard_or_none(shard, "organization_id").push(" order by id limit ");
    let rows: Vec<(Uuid,)> = stmt.push_bind(MAX_NUMBERED as i64).all().await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Numbers changes from `first` on, in the order of their ids.
pub(super) async fn number(on: On<'_>, ids: &[Uuid], first: i64) -> Result<Vec<Change>> {
    let stmt = on.sql("update change set sequence = place - 1 + ").push_bind(first);
    let stmt = stmt.push(
        " from (select id as numbered_id, row_number() over (order by id) as place from change where id in (",
    );
    let stmt = stmt.push_each(ids, |stmt, id| stmt.push_bind(*id));
    let stmt = stmt.push(")) as numbered where id = numbered_id returning ").push(COLUMNS);
    let mut rows: Vec<Row> = stmt.all().await?;
    rows.sort_by_key(|row| row.sequence);
    Ok(rows.into_iter().map(Change::from).collect())
}

/// An audience's numbered changes, from a number on, at most `limit`; of each organization, or with those of the
/// platform's own accounts, for everyone: then of the shard's range of numbers alone.
pub async fn read(
    on: On<'_>,
    shard: Shard,
    audience: Audience,
    from: i64,
    limit: i64,
) -> Result<Vec<Change>> {
    let stmt = on.sql("select ").push(COLUMNS).push(" from change where shard = 0");
    let stmt = stmt.and_from_number((shard, audience), ("organization_id", "sequence"), from);
    let rows: Vec<Row> = stmt.push(" order by sequence limit ").push_bind(limit).all().await?;
    Ok(rows.into_iter().map(Change::from).collect())
}

/// The next number of the log.
pub async fn next_number(on: On<'_>, shard: Shard) -> Result<i64> {
    on.sql("select next_sequence from writer where name = $1").bind(shard.writer()).scalar().await
}

/// Deletes the oldest changes of the writer's organizations, at most `rows`, if they are too old to be kept; returns how many.
pub async fn delete_old(db: &Db, now: Timestamp, rows: i64) -> Result<u64> {
    let before = Time(now.plus_seconds(-KEEP_SECONDS));
    let stmt = db.write().sql("delete from change where changed_at < $1").bind(before).push(
        " and id in (select c.id from change c where c.shard = 0 and c.sequence is not null and c.driven_from is null",
    );
    let stmt = stmt.and_of_shard_or_none(db.shard(), "c.organization_id");
    stmt.push(" order by c.sequence limit ").push_bind(rows).push(")").run().await
}
