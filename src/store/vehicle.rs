//! Vehicles.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Timestamp, TrackerId, VehicleId};

use super::filters::{one_of, one_of_words, searched, updated_after};
use super::hold::{existing_own, hold_own};
use super::page::{Columns, List, ordered};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::vehicle::{
    Plate, Tracking, Vehicle, VehicleCategory, VehicleFuel, VehicleIn, VehicleStatus,
};

/// Filters a list of vehicles.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these.
    pub ids: Vec<Uuid>,
    /// Text to find in name, plate, VIN, make or model.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<VehicleStatus>,
    /// Of these categories.
    pub categories: Vec<VehicleCategory>,
    /// Driven by one of these drivers now.
    pub driver_ids: Vec<Uuid>,
    /// Only those without a current driver.
    pub unassigned: bool,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("name", "name"),
    ("plate", "coalesce(plate_number, '')"),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
    ("status", "status"),
];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    plate_number: Option<String>,
    plate_country: Option<String>,
    vin: Option<String>,
    make: Option<String>,
    model: Option<String>,
    year: Option<i64>,
    color: Option<String>,
    #[sqlx(try_from = "String")]
    category: VehicleCategory,
    #[sqlx(try_from = "String")]
    status: VehicleStatus,
    fuel: Json<VehicleFuel>,
    tracking: Json<Tracking>,
    tracker_id: Option<Uuid>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Vehicle {
    fn from(row: Row) -> Self {
        let country = row.plate_country;
        Self {
            id: row.id.into(),
            organization_id: row.organization_id.into(),
            attributes: VehicleIn {
                name: row.name,
                plate: row.plate_number.map(|number| Plate { number, country }),
                vin: row.vin,
                make: row.make,
                model: row.model,
                year: row.year,
                color: row.color,
                category: row.category,
                status: row.status,
                fuel: row.fuel.0,
                tracking: Tracking { tracker_id: row.tracker_id.map(TrackerId), ..row.tracking.0 },
            },
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

const SELECT: &str = "select id, organization_id, name, plate_number, plate_country, vin, make, model, year, \
     color, category, status, fuel, tracking, created_at, updated_at, \
     (select i.tracker_id from installation i join tracker t on t.id = i.tracker_id \
     where i.vehicle_id = vehicle.id and i.installed_to is null and t.deleted_at is null \
     order by i.installed_from desc nulls last, i.id desc limit 1) as tracker_id from vehicle ";

/// A vehicle.
pub async fn find(on: On<'_>, scope: &OrgScope, id: VehicleId) -> Result<Option<Vehicle>> {
    let row: Option<Row> = on
        .sql(SELECT)
        .push("where deleted_at is null and organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await?;
    Ok(row.map(Vehicle::from))
}

/// Whether a vehicle exists or existed: logs contain deleted ones.
pub async fn existed(on: On<'_>, scope: &OrgScope, id: VehicleId) -> Result<bool> {
    on.sql("select exists (select 1 from vehicle where organization_id = $1 and id = $2)")
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(id))
        .scalar()
        .await
}

/// Those of the given vehicles that exist, including deleted ones.
pub async fn find_each(on: On<'_>, scope: &OrgScope, ids: &[VehicleId]) -> Result<Vec<Vehicle>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Row> = on
        .sql(SELECT)
        .push("where organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and id in (")
        .push_each(ids, |stmt, id| stmt.push_bind(Uuid::from(*id)))
        .push(")")
        .all()
        .await?;
    Ok(rows.into_iter().map(Vehicle::from).collect())
}

/// Which of the given vehicles exist and are not deleted.
pub async fn existing(on: On<'_>, scope: &OrgScope, ids: &[VehicleId]) -> Result<Vec<VehicleId>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    Ok(existing_own(on, "vehicle", scope, &ids).await?.into_iter().map(VehicleId).collect())
}

/// Locks a vehicle's row for this transaction.
pub async fn hold(on: On<'_>, scope: &OrgScope, id: VehicleId) -> Result<()> {
    hold_own(on, "vehicle", scope, id).await
}

/// Notes that something a vehicle is shown with changed.
pub async fn touch(on: On<'_>, scope: &OrgScope, id: VehicleId, now: Time) -> Result<()> {
    let update =
        "update vehicle set updated_at = $3 where organization_id = $1 and id = $2 and deleted_at is null";
    on.sql(update).bind(Uuid::from(scope.organization_id())).bind(id.0).bind(now).run().await?;
    Ok(())
}

const LIST: List = List { select: SELECT, count: "select count(*) from vehicle ", columns: SORT_KEYS };

/// A page of vehicles.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Vehicle>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope, filter), sort, page).await?;
    Ok(found.map(Vehicle::from))
}

/// The ids of all pages, in their order: for filters that the store cannot answer.
pub async fn list_ids(db: &Db, scope: &OrgScope, filter: &Filter, sort: &Sort) -> Result<Vec<VehicleId>> {
    let stmt = narrowed(db.read().sql("select id from vehicle "), scope, filter);
    let rows: Vec<(Uuid,)> = ordered(stmt, SORT_KEYS, sort).all().await?;
    Ok(rows.into_iter().map(|(id,)| id.into()).collect())
}

/// The names of all, in no order.
pub async fn list_names(db: &Db, scope: &OrgScope) -> Result<Vec<(VehicleId, String)>> {
    let stmt = narrowed(db.read().sql("select id, name from vehicle "), scope, &Filter::default());
    let rows: Vec<(Uuid, String)> = stmt.all().await?;
    Ok(rows.into_iter().map(|(id, name)| (id.into(), name)).collect())
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: &Filter) -> Stmt<'c> {
    let organization = Uuid::from(scope.organization_id());
    let stmt = stmt.push("where deleted_at is null and organization_id = ").push_bind(organization);
    let mut stmt = one_of(stmt, " and id in (", &filter.ids);
    stmt = updated_after(stmt, " and updated_at", filter.updated_after);
    stmt = one_of_words(stmt, " and status in (", &filter.statuses, VehicleStatus::as_str);
    stmt = one_of_words(stmt, " and category in (", &filter.categories, VehicleCategory::as_str);
    if !filter.driver_ids.is_empty() {
        let driven =
            " and id in (select vehicle_id from assignment where ended_at is null and driver_id in (";
        stmt = one_of(stmt, driven, &filter.driver_ids).push(")");
    }
    if filter.unassigned {
        stmt = stmt.push(
            " and not exists (select 1 from assignment where vehicle_id = vehicle.id and ended_at is null)",
        );
    }
    searched(stmt, filter.q.as_deref())
}

/// Whether another vehicle has the plate, and whether another has the VIN. Checked before a write, because a failed
/// statement would not say which of the two it was.
pub async fn taken(
    on: On<'_>,
    scope: &OrgScope,
    id: VehicleId,
    attributes: &VehicleIn,
) -> Result<(bool, bool)> {
    on.sql(
        "select exists (select 1 from vehicle where organization_id = $1 and id <> $2 and deleted_at is null \
         and plate_key = $3), exists (select 1 from vehicle where organization_id = $1 and id <> $2 \
         and deleted_at is null and vin = $4)",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(id))
    .bind(attributes.plate_key())
    .bind(attributes.vin.clone())
    .one()
    .await
}

/// Inserts a vehicle.
pub async fn insert(on: On<'_>, scope: &OrgScope, vehicle: &Vehicle) -> Result<()> {
    let stmt = on.sql(
        "insert into vehicle (organization_id, id, name, search_key, plate_number, plate_country, plate_key, vin, \
         make, model, year, color, category, status, fuel, tracking, updated_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17)",
    );
    with_members(stmt, scope, vehicle).run().await?;
    Ok(())
}

/// Writes a vehicle.
pub async fn update(on: On<'_>, scope: &OrgScope, vehicle: &Vehicle) -> Result<()> {
    let stmt = on.sql(
        "update vehicle set name = $3, search_key = $4, plate_number = $5, plate_country = $6, plate_key = $7, \
         vin = $8, make = $9, model = $10, year = $11, color = $12, category = $13, status = $14, fuel = $15, \
         tracking = $16, updated_at = $17 where organization_id = $1 and id = $2",
    );
    with_members(stmt, scope, vehicle).run().await?;
    Ok(())
}

fn with_members<'c>(stmt: Stmt<'c>, scope: &OrgScope, vehicle: &Vehicle) -> Stmt<'c> {
    let attributes = &vehicle.attributes;
    let plate = attributes.plate.as_ref();
    let tracking = Tracking { tracker_id: None, ..attributes.tracking.clone() };
    stmt.bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(vehicle.id))
        .bind(&attributes.name)
        .bind(attributes.search_key())
        .bind(plate.map(|plate| plate.number.clone()))
        .bind(plate.and_then(|plate| plate.country.clone()))
        .bind(attributes.plate_key())
        .bind(attributes.vin.clone())
        .bind(attributes.make.clone())
        .bind(attributes.model.clone())
        .bind(attributes.year)
        .bind(attributes.color.clone())
        .bind(attributes.category.as_str())
        .bind(attributes.status.as_str())
        .bind(Json(&attributes.fuel))
        .bind(Json(tracking))
        .bind(Time(vehicle.updated_at))
}

/// Deletes a vehicle, softly.
pub async fn delete(on: On<'_>, scope: &OrgScope, id: VehicleId, now: Time) -> Result<()> {
    let delete = "update vehicle set deleted_at = $3, updated_at = $3 \
         where organization_id = $1 and id = $2 and deleted_at is null";
    on.sql(delete).bind(Uuid::from(scope.organization_id())).bind(id.0).bind(now).run().await?;
    Ok(())
}

/// Deletes every vehicle of an organization, softly; returns them.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope, now: Time) -> Result<Vec<VehicleId>> {
    let delete = "update vehicle set deleted_at = $2, updated_at = $2 \
         where organization_id = $1 and deleted_at is null returning id";
    let rows: Vec<(Uuid,)> = on.sql(delete).bind(Uuid::from(scope.organization_id())).bind(now).all().await?;
    Ok(rows.into_iter().map(|(id,)| VehicleId(id)).collect())
}
