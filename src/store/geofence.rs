//! Geofences and their versions.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Fence, GeofenceId, Rules, ShapeSpec, Timestamp};

use super::fence_row::{self, FenceRow, SELECT_VERSIONS};
use super::filters::{searched, updated_after};
use super::hold::{existing_own, hold_own};
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::geofence::{Geofence, GeofenceIn, PastCorrection};
use crate::domain::paging::{Page, PageRequest, Sort};

/// Filters a list of geofences.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in name, description or category.
    pub q: Option<String>,
    /// Of these categories.
    pub categories: Vec<String>,
    /// In force or not.
    pub enabled: Option<bool>,
    /// Only those whose box touches all of these: west, south, east, north in degrees; west > east across the
    /// antimeridian.
    pub boxes: Vec<[f64; 4]>,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("name", "name"),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
    ("areaSquareMeters", "area_square_meters"),
];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    name: String,
    description: Option<String>,
    category: Option<String>,
    color: Option<String>,
    enabled: bool,
    effective_from: Option<Time>,
    shape: Json<ShapeSpec>,
    rules: Json<Rules>,
    west: f64,
    south: f64,
    east: f64,
    north: f64,
    area_square_meters: f64,
    version: i64,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Geofence {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            organization_id: row.organization_id.into(),
            attributes: GeofenceIn {
                name: row.name,
                description: row.description,
                category: row.category,
                color: row.color,
                enabled: row.enabled,
                shape: row.shape.0,
                rules: row.rules.0,
            },
            effective_from: row.effective_from.map(Timestamp::from),
            bbox: [row.west, row.south, row.east, row.north],
            area_square_meters: row.area_square_meters,
            version: row.version,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

const SELECT: &str = "select id, organization_id, name, description, category, color, enabled, effective_from, \
     shape, rules, west, south, east, north, area_square_meters, version, created_at, updated_at from geofence ";

/// A geofence.
pub async fn find(on: On<'_>, scope: &OrgScope, id: GeofenceId) -> Result<Option<Geofence>> {
    let row: Option<Row> = on
        .sql(SELECT)
        .push("where deleted_at is null and organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await?;
    Ok(row.map(Geofence::from))
}

/// What awaits a correction since the versions of a geofence that are in force: whether it is still to be found out which
/// vehicles came near; of how many vehicles of its organization the past is being put right, and from when on.
pub async fn past_correction(on: On<'_>, scope: &OrgScope, id: GeofenceId) -> Result<Option<PastCorrection>> {
    let select = "with version as (select v.settled, v.effective_from from geofence_version v \
        where v.geofence_id = $1 order by v.version desc limit 1) \
        select (select not settled from version), count(s.vehicle_id), min(s.dirty_from) from vehicle_state s \
        where s.organization_id = $2 and s.dirty_from is not null and s.dirty_origin = 'recompute' \
        and s.dirty_until >= coalesce((select effective_from from version), s.dirty_until)";
    let stmt = on.sql(select).bind(id.0).bind(scope.organization_id().0);
    let (is_open, vehicles, from): (Option<bool>, i64, Option<Time>) = stmt.one().await?;
    let is_open = is_open.unwrap_or_default();
    Ok((is_open || vehicles > 0).then(|| PastCorrection {
        vehicle_count: (!is_open).then_some(vehicles),
        from: from.map(Into::into),
    }))
}

/// Which of the given geofences exist and are not deleted.
pub async fn existing(on: On<'_>, scope: &OrgScope, ids: &[GeofenceId]) -> Result<Vec<GeofenceId>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    Ok(existing_own(on, "geofence", scope, &ids).await?.into_iter().map(GeofenceId).collect())
}

/// Locks a geofence's row for this transaction.
pub async fn hold(on: On<'_>, scope: &OrgScope, id: GeofenceId) -> Result<()> {
    hold_own(on, "geofence", scope, id).await
}

const LIST: List = List { select: SELECT, count: "select count(*) from geofence ", columns: SORT_KEYS };

/// A page of geofences.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Geofence>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope, filter), sort, page).await?;
    Ok(found.map(Geofence::from))
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: &Filter) -> Stmt<'c> {
    let organization = Uuid::from(scope.organization_id());
    let mut stmt = stmt.push("where deleted_at is null and organization_id = ").push_bind(organization);
    stmt = updated_after(stmt, " and updated_at", filter.updated_after);
    if let Some(enabled) = filter.enabled {
        stmt = stmt.push(" and enabled = ").push_bind(enabled);
    }
    if !filter.categories.is_empty() {
        stmt = stmt.push(" and category in (");
        stmt = stmt.push_each(&filter.categories, |stmt, word| stmt.push_bind(word.clone())).push(")");
    }
    stmt = filter.boxes.iter().fold(stmt, touching);
    searched(stmt, filter.q.as_deref())
}

fn touching<'c>(stmt: Stmt<'c>, [west, south, east, north]: &[f64; 4]) -> Stmt<'c> {
    let stmt = stmt.push(" and south <= ").push_bind(*north).push(" and north >= ").push_bind(*south);
    if west <= east {
        // A fence across the antimeridian has west > east, so it extends from both sides.
        stmt.push(" and case when west <= east then west <= ")
            .push_bind(*east)
            .push(" and east >= ")
            .push_bind(*west)
            .push(" else west <= ")
            .push_bind(*east)
            .push(" or east >= ")
            .push_bind(*west)
            .push(" end")
    } else {
        stmt.push(" and case when west <= east then west <= ")
            .push_bind(*east)
            .push(" or east >= ")
            .push_bind(*west)
            .push(" else 1 = 1 end")
    }
}

/// Inserts a geofence with its first version.
pub async fn insert(tx: &mut Tx, scope: &OrgScope, geofence: &Geofence) -> Result<()> {
    let stmt = tx.on().sql(
        "insert into geofence (organization_id, id, name, search_key, description, category, color, enabled, \
         effective_from, shape, rules, west, south, east, north, area_square_meters, version, updated_at, \
         created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18)",
    );
    with_members(stmt, scope, geofence).run().await?;
    insert_version(tx, &geofence.fence(geofence.updated_at, false)).await
}

/// Writes a geofence, and its new version if it has one.
pub async fn update(tx: &mut Tx, scope: &OrgScope, geofence: &Geofence, new_version: bool) -> Result<()> {
    let stmt = tx.on().sql(
        "update geofence set name = $3, search_key = $4, description = $5, category = $6, color = $7, \
         enabled = $8, effective_from = $9, shape = $10, rules = $11, west = $12, south = $13, east = $14, \
         north = $15, area_square_meters = $16, version = $17, updated_at = $18 \
         where organization_id = $1 and id = $2",
    );
    with_members(stmt, scope, geofence).run().await?;
    if new_version { insert_version(tx, &geofence.fence(geofence.updated_at, false)).await } else { Ok(()) }
}

/// A geofence, even if deleted, with all versions whose records are not settled yet, if there are any.
pub async fn unsettled(on: On<'_>, scope: &OrgScope, id: GeofenceId) -> Result<Option<Fence>> {
    versions_of(on, scope, id, " and not v.settled").await
}

/// A geofence, even if deleted, with its current version.
pub async fn current(on: On<'_>, scope: &OrgScope, id: GeofenceId) -> Result<Option<Fence>> {
    versions_of(on, scope, id, " and v.version = g.version").await
}

async fn versions_of(
    on: On<'_>,
    scope: &OrgScope,
    id: GeofenceId,
    which: &'static str,
) -> Result<Option<Fence>> {
    let stmt = on.sql(SELECT_VERSIONS).push(" where g.organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id())).push(" and g.id = ");
    let stmt = stmt.push_bind(Uuid::from(id)).push(which).push(" order by v.version");
    Ok(fence_row::fences(stmt.all::<FenceRow>().await?).pop())
}

/// Deletes a geofence, softly, with the version that ends it.
pub async fn delete(tx: &mut Tx, scope: &OrgScope, ended: &Geofence) -> Result<()> {
    tx.on()
        .sql(
            "update geofence set deleted_at = $3, updated_at = $3, version = $4 \
             where organization_id = $1 and id = $2",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(ended.id))
        .bind(Time(ended.updated_at))
        .bind(ended.version)
        .run()
        .await?;
    insert_version(tx, &ended.fence(ended.updated_at, true)).await
}

fn with_members<'c>(stmt: Stmt<'c>, scope: &OrgScope, geofence: &Geofence) -> Stmt<'c> {
    let attributes = &geofence.attributes;
    let stmt = stmt
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(geofence.id))
        .bind(&attributes.name)
        .bind(attributes.search_key())
        .bind(attributes.description.clone())
        .bind(attributes.category.clone())
        .bind(attributes.color.clone())
        .bind(attributes.enabled)
        .bind(geofence.effective_from.map(Time))
        .bind(Json(&attributes.shape))
        .bind(Json(&attributes.rules));
    let stmt = geofence.bbox.iter().fold(stmt, |stmt, edge| stmt.bind(*edge));
    stmt.bind(geofence.area_square_meters).bind(geofence.version).bind(Time(geofence.updated_at))
}

async fn insert_version(tx: &mut Tx, fence: &Fence) -> Result<()> {
    for version in &fence.versions {
        tx.on()
            .sql(
                "insert into geofence_version (geofence_id, version, effective_from, changed_at, active, deleted, \
                 shape, rules, settled) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            )
            .bind(Uuid::from(fence.id))
            .bind(version.version)
            .bind(version.effective_from.map(Time))
            .bind(Time(version.changed_at))
            .bind(version.active)
            .bind(version.deleted)
            .bind(Json(&version.shape))
            .bind(Json(&version.rules))
            .bind(false)
            .run()
            .await?;
    }
    Ok(())
}
