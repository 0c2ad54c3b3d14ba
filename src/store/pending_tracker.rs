//! Devices that reported for an organization and are no trackers of it yet, with their last fixes.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;
use waypost_actors::model::{Attributes, Fix, OrganizationId, Timestamp};

use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::clock;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::pending_tracker::{
    ESTABLISHED_AFTER_SECONDS, KeptFix, MOST_FIXES, MOST_PENDING, PendingTracker, SILENT_SECONDS,
};
use crate::report_log::Sighting;

/// Devices that are trackers by now and are dealt with at a time.
const AT_ONCE: i64 = 100;

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns =
    &[("uniqueId", "unique_id"), ("firstSeenAt", "first_seen_at"), ("lastSeenAt", "last_seen_at")];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    unique_id: String,
    input: String,
    first_seen_at: Time,
    last_seen_at: Time,
    fixes: i64,
    first_fix_at: Option<Time>,
}

impl From<Row> for PendingTracker {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.into(),
            unique_id: row.unique_id,
            input: row.input,
            first_seen_at: row.first_seen_at.into(),
            last_seen_at: row.last_seen_at.into(),
            fixes: row.fixes,
            first_fix_at: row.first_fix_at.map(Timestamp::from),
        }
    }
}

const LIST: List = List {
    select: "select id, organization_id, unique_id, input, first_seen_at, last_seen_at, \
        (select count(*) from pending_fix f where f.pending_id = pending_tracker.id) as fixes, \
        (select min(f.recorded_at) from pending_fix f where f.pending_id = pending_tracker.id) as first_fix_at \
        from pending_tracker ",
    count: "select count(*) from pending_tracker ",
    columns: SORT_KEYS,
};

/// A page of them.
pub async fn list(db: &Db, scope: &OrgScope, sort: &Sort, page: PageRequest) -> Result<Page<PendingTracker>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope), sort, page).await?;
    Ok(found.map(PendingTracker::from))
}

/// One of those that are listed.
pub async fn find(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<Option<PendingTracker>> {
    let found: Option<Row> =
        narrowed(on.sql(LIST.select), scope).push("and id = ").push_bind(id).optional().await?;
    Ok(found.map(PendingTracker::from))
}

/// Takes one off the list for good, with what is kept of it.
pub async fn dismiss(tx: &mut Tx, scope: &OrgScope, id: Uuid, now: Timestamp) -> Result<()> {
    let update = "update pending_tracker set dismissed_at = $3 where id = $1 and organization_id = $2";
    tx.on().sql(update).bind(id).bind(Uuid::from(scope.organization_id())).bind(Time(now)).run().await?;
    tx.on().sql("delete from pending_fix where pending_id = $1").bind(id).run().await?;
    Ok(())
}

/// Those that are a tracker by now, or were dismissed, are none any more.
fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
    stmt.push("where organization_id = ").push_bind(Uuid::from(scope.organization_id())).push(
        " and dismissed_at is null and not exists (select 1 from tracker t where t.organization_id = pending_tracker.organization_id \
          and t.unique_id = pending_tracker.unique_id and t.deleted_at is null) ",
    )
}

/// Saves what was heard, and drops what is too many. Saying it twice changes nothing.
pub async fn save(tx: &mut Tx, seen: &HashMap<(OrganizationId, String), Sighting>) -> Result<()> {
    let Some(now) = seen.values().map(|sighting| sighting.last_seen_at).max() else { return Ok(()) };
    let mut organizations = BTreeSet::new();
    for ((organization, unique_id), sighting) in seen {
        // What came just before a tracker was made of it is saved, to be taken at once.
        let disabled = "select exists (select 1 from tracker where unique_id = $1 and organization_id = $2 \
            and deleted_at is null and status <> 'active')";
        if tx.on().sql(disabled).bind(unique_id).bind(organization.0).scalar().await? {
            continue;
        }
        save_one(tx, *organization, unique_id, sighting).await?;
        organizations.insert(organization.0);
    }
    for organization in organizations {
        // Whoever knows a port can make up names: they displace each other, and not what was waiting before.
        let surplus = "delete from pending_tracker where organization_id = $1 and dismissed_at is null \
            and id not in (select id from pending_tracker where organization_id = $1 and dismissed_at is null \
            order by case when first_seen_at <= $3 and last_seen_at > first_seen_at and last_seen_at > $4 \
            then first_seen_at end nulls last, last_seen_at desc, id desc limit $2)";
        tx.on()
            .sql(surplus)
            .bind(organization)
            .bind(MOST_PENDING)
            .bind(Time(now.plus_seconds(-ESTABLISHED_AFTER_SECONDS)))
            .bind(Time(now.plus_seconds(-SILENT_SECONDS)))
            .run()
            .await?;
    }
    Ok(())
}

async fn save_one(tx: &mut Tx, organization: OrganizationId, unique_id: &str, seen: &Sighting) -> Result<()> {
    // A port of devices may be set for an organization that is gone: what is heard there is nobody's.
    let upsert = "insert into pending_tracker (id, organization_id, unique_id, input, first_seen_at, last_seen_at) \
        select $1, o.id, $3, $4, $5, $6 from organization o where o.id = $2 and o.status <> 'deleted' on conflict (organization_id, unique_id) \
        do update set last_seen_at = excluded.last_seen_at, input = excluded.input returning id, dismissed_at";
    let saved: Option<(Uuid, Option<Time>)> = tx
        .on()
        .sql(upsert)
        .bind(clock::new_id())
        .bind(organization.0)
        .bind(unique_id)
        .bind(seen.input)
        .bind(Time(seen.first_seen_at))
        .bind(Time(seen.last_seen_at))
        .optional()
        .await?;
    let Some((id, None)) = saved else { return Ok(()) };
    for fix in &seen.fixes {
        // A device that is not answered sends the same fix again.
        let insert = "insert into pending_fix (pending_id, id, recorded_at, fix) select $1, $2, $3, $4 \
            where not exists (select 1 from pending_fix f where f.pending_id = $1 and f.recorded_at = $3) \
            on conflict (pending_id, id) do nothing";
        let stmt = tx.on().sql(insert).bind(id).bind(fix.id).bind(Time(fix.recorded_at));
        stmt.bind(fix.json.as_slice()).run().await?;
    }
    let older = "delete from pending_fix where pending_id = $1 and id <= (select id from pending_fix \
        where pending_id = $1 order by id desc limit 1 offset $2)";
    tx.on().sql(older).bind(id).bind(MOST_FIXES as i64).run().await?;
    Ok(())
}

/// A device that is a tracker by now.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Accepted {
    /// The row it still has here.
    pub id: Uuid,
    /// Its organization.
    pub organization_id: Uuid,
    /// Its name.
    pub unique_id: String,
    /// When the tracker last changed.
    pub updated_at: Time,
}

/// Some of the shard's devices that may report as trackers by now.
pub async fn accepted(db: &Db) -> Result<Vec<Accepted>> {
    let select = "select p.id, p.organization_id, p.unique_id, t.updated_at from pending_tracker p join tracker t \
        on t.unique_id = p.unique_id and t.organization_id = p.organization_id \
        join organization o on o.id = p.organization_id \
        where t.deleted_at is null and t.status = 'active' and o.status = 'active' \
        and exists (select 1 from installation i where i.tracker_id = t.id)";
    let stmt = db.read().sql(select).and_of_shard(db.shard(), "p.organization_id");
    stmt.push(" limit ").push_bind(AT_ONCE).all().await
}

/// The kept fixes of a device, as they came. One that this version cannot read is left out.
pub async fn fixes(on: On<'_>, pending: &Accepted) -> Result<Vec<(Fix, Option<Attributes>)>> {
    let select = "select fix from pending_fix where pending_id = $1 order by id";
    let rows: Vec<(Vec<u8>,)> = on.sql(select).bind(pending.id).all().await?;
    Ok(rows.iter().filter_map(|(json,)| KeptFix::read(json)).collect())
}

/// Forgets a device, whose fixes are stored.
pub async fn forget(db: &Db, pending: &Accepted) -> Result<()> {
    db.write().sql("delete from pending_tracker where id = $1").bind(pending.id).run().await?;
    Ok(())
}

/// Deletes an organization's kept fixes up to an instant: they tell where somebody was, as positions do.
pub async fn forget_fixes(db: &Db, organization: OrganizationId, until: Timestamp) -> Result<()> {
    let delete = "delete from pending_fix where recorded_at <= $2 \
        and pending_id in (select id from pending_tracker where organization_id = $1)";
    db.write().sql(delete).bind(organization.0).bind(Time(until)).run().await?;
    Ok(())
}

/// Forgets all of an organization that is deleted.
pub async fn forget_all(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let delete = "delete from pending_tracker where organization_id = $1";
    on.sql(delete).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(())
}
