//! Links that show where some vehicles are, without an account.
//!
//! A vehicle has arrived when it entered the link's geofence after the link was made. That is read from the records, and
//! noted every hour, so that it outlasts them.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{GeofenceId, Timestamp, VehicleId};

use super::filters::one_of;
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::organization::OrganizationStatus;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::share::{KEPT_SECONDS, Share, ShareFilter, SharedVehicle};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    name: Option<String>,
    ends_at: Time,
    geofence_id: Option<Uuid>,
    created_by: Uuid,
    created_at: Time,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[("endsAt", "ends_at"), ("createdAt", "created_at")];

const SELECT: &str =
    "select id, organization_id, name, ends_at, geofence_id, created_by, created_at from share where 1 = 1 ";

const LIST: List =
    List { select: SELECT, count: "select count(*) from share where 1 = 1 ", columns: SORT_KEYS };

/// Since when a vehicle `v` of a link `s` has arrived; null if it has not.
const ARRIVED_AT: &str = "coalesce(v.arrived_at, (select min(e.occurred_at) from records e \
    where e.geofence_id = s.geofence_id and e.vehicle_id = v.vehicle_id and e.kind = 'entry' \
    and e.status = 'active' and e.occurred_at > s.created_at))";

fn within<'c>(stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
    stmt.push(" and organization_id = ").push_bind(Uuid::from(scope.organization_id()))
}

/// Inserts a link with its vehicles.
pub async fn insert(tx: &mut Tx, share: &Share, token_hash: &[u8]) -> Result<()> {
    let insert = "insert into share (id, organization_id, name, token_hash, ends_at, geofence_id, created_by, created_at) \
        values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let stmt = tx.on().sql(insert).bind(share.id).bind(share.organization_id.0).bind(&share.name);
    let stmt = stmt.bind(token_hash).bind(Time(share.ends_at)).bind(share.geofence_id.map(|id| id.0));
    stmt.bind(share.created_by).bind(Time(share.created_at)).run().await?;
    for SharedVehicle { vehicle_id, .. } in &share.vehicles {
        let insert = "insert into share_vehicle (share_id, vehicle_id) values ($1, $2)";
        tx.on().sql(insert).bind(share.id).bind(vehicle_id.0).run().await?;
    }
    Ok(())
}

/// How many links of an organization have time left.
pub async fn count(on: On<'_>, scope: &OrgScope, now: Timestamp) -> Result<i64> {
    let stmt = on.sql("select count(*) from share where ends_at > ").push_bind(Time(now));
    within(stmt, scope).scalar().await
}

/// A page of an organization's links.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &ShareFilter,
    sort: &Sort,
    page: PageRequest,
    now: Timestamp,
) -> Result<Page<Share>> {
    let Page { items, total }: Page<Row> =
        LIST.page(db, |stmt| narrowed(within(stmt, scope), filter), sort, page).await?;
    let ids: Vec<Uuid> = items.iter().map(|row| row.id).collect();
    let mut vehicles = vehicles_of(db.read(), &ids).await?;
    let shown = |row: Row| shown(vehicles.remove(&row.id).unwrap_or_default(), row, now);
    Ok(Page { items: items.into_iter().map(shown).collect(), total })
}

/// A link of an organization.
pub async fn find(tx: &mut Tx, scope: &OrgScope, id: Uuid, now: Timestamp) -> Result<Option<Share>> {
    let stmt = within(tx.on().sql(SELECT), scope).push(" and id = ").push_bind(id);
    let Some(row) = stmt.optional::<Row>().await? else { return Ok(None) };
    let vehicles = vehicles_of(tx.on(), &[id]).await?.remove(&id).unwrap_or_default();
    Ok(Some(shown(vehicles, row, now)))
}

fn shown(vehicles: Vec<SharedVehicle>, row: Row, now: Timestamp) -> Share {
    let ends_at = Timestamp::from(row.ends_at);
    Share {
        open: ends_at > now && vehicles.iter().any(|vehicle| vehicle.arrived_at.is_none()),
        vehicles,
        id: row.id,
        organization_id: row.organization_id.into(),
        name: row.name,
        ends_at,
        geofence_id: row.geofence_id.map(GeofenceId),
        created_by: row.created_by,
        created_at: row.created_at.into(),
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &ShareFilter) -> Stmt<'c> {
    let vehicles: Vec<Uuid> = filter.vehicle_ids.iter().map(|id| id.0).collect();
    let mut stmt = stmt;
    if !vehicles.is_empty() {
        let of_vehicles = " and id in (select share_id from share_vehicle where vehicle_id in (";
        stmt = one_of(stmt, of_vehicles, &vehicles).push(")");
    }
    let Some((is_open, now)) = filter.open else { return stmt };
    let stmt = stmt.push(if is_open { " and (" } else { " and not (" });
    let stmt = stmt.push("ends_at > ").push_bind(Time(now));
    let stmt = stmt.push(" and exists (select 1 from share s ").push(STILL_SHOWN);
    stmt.push("s.id = share.id and ").push(ARRIVED_AT).push(" is null))")
}

/// The vehicles `c` of links `s` that are not deleted, on a condition that follows.
const STILL_SHOWN: &str = "join share_vehicle v on v.share_id = s.id join vehicle c on c.id = v.vehicle_id \
    where c.deleted_at is null and ";

/// The vehicles of some links, without those that were deleted.
async fn vehicles_of(on: On<'_>, shares: &[Uuid]) -> Result<HashMap<Uuid, Vec<SharedVehicle>>> {
    let mut found: HashMap<Uuid, Vec<SharedVehicle>> = HashMap::new();
    if shares.is_empty() {
        return Ok(found);
    }
    let stmt =
        on.sql("select s.id, v.vehicle_id, ").push(ARRIVED_AT).push(" from share s ").push(STILL_SHOWN);
    let stmt = one_of(stmt, "s.id in (", shares).push(" order by v.vehicle_id");
    let rows: Vec<(Uuid, Uuid, Option<Time>)> = stmt.all().await?;
    for (share, vehicle, arrived_at) in rows {
        let vehicle_id = VehicleId(vehicle);
        let arrived_at = arrived_at.map(Timestamp::from);
        found.entry(share).or_default().push(SharedVehicle { vehicle_id, arrived_at });
    }
    Ok(found)
}

/// What anyone who has a link may see: until when, and which vehicles with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Until when.
    pub ends_at: Timestamp,
    /// Whether its organization is active.
    pub is_active: bool,
    /// Those that have not arrived.
    pub vehicles: Vec<(VehicleId, String)>,
}

/// What the link with a token shows. The token is the right to it.
pub async fn open(db: &Db, token_hash: &[u8]) -> Result<Option<Opened>> {
    let select = "select s.id, s.ends_at, o.status from share s join organization o on o.id = s.organization_id \
        where s.token_hash = $1";
    let found: Option<(Uuid, Time, String)> = db.read().sql(select).bind(token_hash).optional().await?;
    let Some((id, ends_at, status)) = found else { return Ok(None) };
    let stmt = db.read().sql("select c.id, c.name from share s ").push(STILL_SHOWN).push("s.id = ");
    let stmt = stmt.push_bind(id).push(" and ").push(ARRIVED_AT).push(" is null");
    let vehicles: Vec<(Uuid, String)> = stmt.all().await?;
    Ok(Some(Opened {
        ends_at: ends_at.into(),
        is_active: status == OrganizationStatus::Active.as_str(),
        vehicles: vehicles.into_iter().map(|(id, name)| (VehicleId(id), name)).collect(),
    }))
}

/// Deletes a link of an organization; `false` if it does not exist.
pub async fn delete(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<bool> {
    let deleted = within(on.sql("delete from share where id = ").push_bind(id), scope).run().await?;
    Ok(deleted > 0)
}

/// Deletes the links of an organization.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope) -> Result<()> {
    within(on.sql("delete from share where 1 = 1 "), scope).run().await?;
    Ok(())
}

/// Notes which vehicles have arrived, so that it is known when the entries are gone.
pub async fn note_arrivals(db: &Db) -> Result<()> {
    let stmt = db.read().sql("select s.id, v.vehicle_id, ").push(ARRIVED_AT);
    let stmt =
        stmt.push(" from share s join share_vehicle v on v.share_id = s.id where s.geofence_id is not null ");
    let stmt = stmt.push("and v.arrived_at is null and ").push(ARRIVED_AT).push(" is not null");
    let arrived: Vec<(Uuid, Uuid, Time)> = stmt.all().await?;
    for (share, vehicle, at) in arrived {
        let update = "update share_vehicle set arrived_at = $3 where share_id = $1 and vehicle_id = $2";
        db.write().sql(update).bind(share).bind(vehicle).bind(at).run().await?;
    }
    Ok(())
}

/// Deletes links that ended a while ago, at most `rows`; returns how many.
pub async fn delete_old(db: &Db, now: Timestamp, rows: i64) -> Result<u64> {
    let delete = "delete from share where id in (select s.id from share s where s.ends_at < $1 \
        order by s.ends_at limit $2)";
    db.write().sql(delete).bind(Time(now.plus_seconds(-KEPT_SECONDS))).bind(rows).run().await
}
