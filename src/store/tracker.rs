//! Trackers and their installations.

use uuid::Uuid;
use waypost_actors::model::{Timestamp, TrackerId, VehicleId};

use super::filters::{one_of, one_of_words, searched, updated_after};
use super::hold::hold_own;
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::clock;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::tracker::{Installation, SpeedUnit, Tracker, TrackerIn, TrackerStatus};
use crate::domain::vehicle::Tracking;

/// A tracker found by its token, with one row for each of its installations.
#[derive(sqlx::FromRow)]
pub struct CredentialRow {
    /// The tracker.
    pub id: Uuid,
    /// The device's own id.
    pub unique_id: String,
    /// The tracker's organization.
    pub organization_id: Uuid,
    /// Whether it may send.
    #[sqlx(try_from = "String")]
    pub status: TrackerStatus,
    /// The unit of its speeds, where its app leaves that open.
    pub speed_unit: Option<String>,
    /// Its organization's status.
    pub organization_status: String,
    /// Its organization's settings.
    pub organization_settings: sqlx::types::Json<crate::domain::organization_settings::Settings>,
    /// A vehicle it was installed in.
    pub vehicle_id: Option<Uuid>,
    /// Since when; `None` = since ever.
    pub installed_from: Option<Time>,
    /// Until when; `None` = still installed.
    pub installed_to: Option<Time>,
    /// The tracking settings of that vehicle.
    pub tracking: Option<sqlx::types::Json<Tracking>>,
}

const COLUMNS: &str = "select t.id, t.unique_id, t.organization_id, t.status, t.speed_unit, \
     o.status as organization_status, o.settings as organization_settings, \
     i.vehicle_id, i.installed_from, i.installed_to, \
     (select v.tracking from vehicle v where v.id = i.vehicle_id) as tracking ";
/// A plain join, because SQLite would read all installations first if they came from a subquery.
const CREDENTIAL: &str = " join organization o on o.id = t.organization_id \
     left join installation i on i.tracker_id = t.id \
     and exists (select 1 from vehicle v where v.id = i.vehicle_id and v.deleted_at is null) \
     where t.deleted_at is null ";

/// The tracker with this token hash. Takes no scope, because the token is the credential.
pub async fn find_credential(db: &Db, token_hash: &[u8]) -> Result<Vec<CredentialRow>> {
    db.read()
        .sql(COLUMNS)
        .push("from tracker t")
        .push(CREDENTIAL)
        .push("and t.token_hash = ")
        .push_bind(token_hash)
        .push(" order by i.installed_from nulls first")
        .all()
        .await
}

/// The trackers of an organization with one of the names, each an id or a unique id; grouped by tracker.
pub async fn find_named(db: &Db, scope: &OrgScope, names: &[&str]) -> Result<Vec<CredentialRow>> {
    let ids: Vec<Uuid> = names.iter().filter_map(|name| Uuid::try_parse(name).ok()).collect();
    let mut stmt = db
        .read()
        .sql(COLUMNS)
        .push("from (select id from tracker where deleted_at is null and unique_id in (")
        .push_each(names, |stmt, name| stmt.push_bind(*name))
        .push(")");
    if !ids.is_empty() {
        stmt = stmt
            .push(" union select id from tracker where id in (")
            .push_each(&ids, |stmt, id| stmt.push_bind(*id))
            .push(")");
    }
    // A cross join makes SQLite search by name instead of by organization, which may have very many trackers.
    stmt.push(") named cross join tracker t")
        .push(CREDENTIAL)
        .push("and t.id = named.id and t.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" order by t.id, i.installed_from nulls first")
        .all()
        .await
}

/// The trackers installed in a vehicle now.
pub async fn installed_in(on: On<'_>, scope: &OrgScope, vehicle: VehicleId) -> Result<Vec<TrackerId>> {
    let select = "select i.tracker_id from installation i join tracker t on t.id = i.tracker_id \
         where i.vehicle_id = $1 and i.installed_to is null and t.organization_id = $2 and t.deleted_at is null";
    let organization = Uuid::from(scope.organization_id());
    let rows: Vec<(Uuid,)> = on.sql(select).bind(Uuid::from(vehicle)).bind(organization).all().await?;
    Ok(rows.into_iter().map(|(id,)| TrackerId(id)).collect())
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    unique_id: String,
    model: Option<String>,
    #[sqlx(try_from = "String")]
    status: TrackerStatus,
    speed_unit: Option<String>,
    created_at: Time,
    updated_at: Time,
}

#[derive(sqlx::FromRow)]
struct StayRow {
    tracker_id: Uuid,
    vehicle_id: Uuid,
    installed_from: Option<Time>,
    installed_to: Option<Time>,
}

/// Filters a list of trackers.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in the unique id or the model, as written.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<TrackerStatus>,
    /// Installed in one of these vehicles now.
    pub vehicle_ids: Vec<Uuid>,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("uniqueId", "unique_id"),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
    ("status", "status"),
];

const SELECT: &str =
    "select id, organization_id, unique_id, model, status, speed_unit, created_at, updated_at from tracker ";

/// A tracker, inside a transaction.
pub async fn find(tx: &mut Tx, scope: &OrgScope, id: TrackerId) -> Result<Option<Tracker>> {
    let Some(row) = own_row(tx.on(), scope, id).await? else { return Ok(None) };
    let stays = stays(tx.on(), &[row.id]).await?;
    Ok(Some(assembled(row, &stays)))
}

/// A tracker, outside of a transaction.
pub async fn find_now(db: &Db, scope: &OrgScope, id: TrackerId) -> Result<Option<Tracker>> {
    let Some(row) = own_row(db.read(), scope, id).await? else { return Ok(None) };
    let stays = stays(db.read(), &[row.id]).await?;
    Ok(Some(assembled(row, &stays)))
}

async fn own_row(on: On<'_>, scope: &OrgScope, id: TrackerId) -> Result<Option<Row>> {
    on.sql(SELECT)
        .push("where deleted_at is null and organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await
}

const LIST: List = List { select: SELECT, count: "select count(*) from tracker ", columns: SORT_KEYS };

/// A page of trackers.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Tracker>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope, filter), sort, page).await?;
    let ids: Vec<Uuid> = found.items.iter().map(|row| row.id).collect();
    let stays = stays(db.read(), &ids).await?;
    Ok(found.map(|row| assembled(row, &stays)))
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: &Filter) -> Stmt<'c> {
    let organization = Uuid::from(scope.organization_id());
    let mut stmt = stmt.push("where deleted_at is null and organization_id = ").push_bind(organization);
    stmt = updated_after(stmt, " and updated_at", filter.updated_after);
    stmt = one_of_words(stmt, " and status in (", &filter.statuses, TrackerStatus::as_str);
    if !filter.vehicle_ids.is_empty() {
        let installed =
            " and id in (select tracker_id from installation where installed_to is null and vehicle_id in (";
        stmt = one_of(stmt, installed, &filter.vehicle_ids).push(")");
    }
    searched(stmt, filter.q.as_deref())
}

async fn stays(on: On<'_>, trackers: &[Uuid]) -> Result<Vec<StayRow>> {
    if trackers.is_empty() {
        return Ok(Vec::new());
    }
    on.sql(
        "select tracker_id, vehicle_id, installed_from, installed_to from installation where tracker_id in (",
    )
    .push_each(trackers, |stmt, id| stmt.push_bind(*id))
    .push(") order by installed_from nulls first, installed_to nulls last")
    .all()
    .await
}

/// A word that this version does not know is none.
pub(crate) fn speed_unit(word: Option<String>) -> Option<SpeedUnit> {
    word.and_then(|word| SpeedUnit::try_from(word).ok())
}

fn assembled(row: Row, stays: &[StayRow]) -> Tracker {
    let own = stays.iter().filter(|stay| stay.tracker_id == row.id);
    let attributes = TrackerIn {
        unique_id: row.unique_id,
        model: row.model,
        status: row.status,
        speed_unit: speed_unit(row.speed_unit),
        installations: own
            .map(|stay| Installation {
                vehicle_id: stay.vehicle_id.into(),
                from: stay.installed_from.map(Timestamp::from),
                to: stay.installed_to.map(Timestamp::from),
            })
            .collect(),
    };
    Tracker {
        id: row.id.into(),
        organization_id: row.organization_id.into(),
        vehicle_id: attributes.vehicle_id(),
        attributes,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    }
}

/// Locks a tracker's row for this transaction.
pub async fn hold(on: On<'_>, scope: &OrgScope, id: TrackerId) -> Result<()> {
    hold_own(on, "tracker", scope, id).await
}

/// [`hold`] for the trackers that are in a vehicle, or are to be.
pub async fn hold_of_vehicle(tx: &mut Tx, scope: &OrgScope, vehicle: VehicleId, now: Time) -> Result<()> {
    let select = "select distinct tracker_id from installation where vehicle_id = $1 \
        and (installed_to is null or installed_to > $2) order by tracker_id";
    let trackers: Vec<(Uuid,)> = tx.on().sql(select).bind(vehicle.0).bind(now).all().await?;
    for (tracker,) in trackers {
        hold_own(tx.on(), "tracker", scope, tracker).await?;
    }
    Ok(())
}

/// Inserts a tracker with its installations; a taken unique id is a conflict.
pub async fn insert(tx: &mut Tx, scope: &OrgScope, tracker: &Tracker, token_hash: &[u8]) -> Result<()> {
    tx.on()
        .sql(
            "insert into tracker (organization_id, id, unique_id, search_key, model, status, updated_at, \
             token_hash, speed_unit, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $7)",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(tracker.id))
        .bind(&tracker.attributes.unique_id)
        .bind(tracker.attributes.search_key())
        .bind(tracker.attributes.model.clone())
        .bind(tracker.attributes.status.as_str())
        .bind(Time(tracker.updated_at))
        .bind(token_hash)
        .bind(tracker.attributes.speed_unit.map(SpeedUnit::as_str))
        .run()
        .await?;
    install(tx, tracker).await
}

/// Writes a tracker and its installations; a taken unique id is a conflict.
pub async fn update(tx: &mut Tx, scope: &OrgScope, tracker: &Tracker) -> Result<()> {
    tx.on()
        .sql(
            "update tracker set unique_id = $3, search_key = $4, model = $5, status = $6, updated_at = $7, \
             speed_unit = $8 \
             where organization_id = $1 and id = $2",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(tracker.id))
        .bind(&tracker.attributes.unique_id)
        .bind(tracker.attributes.search_key())
        .bind(tracker.attributes.model.clone())
        .bind(tracker.attributes.status.as_str())
        .bind(Time(tracker.updated_at))
        .bind(tracker.attributes.speed_unit.map(SpeedUnit::as_str))
        .run()
        .await?;
    install(tx, tracker).await
}

async fn install(tx: &mut Tx, tracker: &Tracker) -> Result<()> {
    let id = Uuid::from(tracker.id);
    tx.on().sql("delete from installation where tracker_id = $1").bind(id).run().await?;
    if tracker.attributes.installations.is_empty() {
        return Ok(());
    }
    tx.on()
        .sql("insert into installation (id, tracker_id, vehicle_id, installed_from, installed_to) values ")
        .push_each(&tracker.attributes.installations, |stmt, stay| {
            stmt.push("(")
                .push_bind(clock::new_id())
                .push(", ")
                .push_bind(id)
                .push(", ")
                .push_bind(Uuid::from(stay.vehicle_id))
                .push(", ")
                .push_bind(stay.from.map(Time))
                .push(", ")
                .push_bind(stay.to.map(Time))
                .push(")")
        })
        .run()
        .await?;
    Ok(())
}

/// Gives a tracker a new token; the old one becomes invalid. `false` if it does not exist.
pub async fn set_token(
    on: On<'_>,
    scope: &OrgScope,
    id: TrackerId,
    token_hash: &[u8],
    now: Time,
) -> Result<bool> {
    let changed = on
        .sql(
            "update tracker set token_hash = $3, updated_at = $4 \
             where organization_id = $1 and id = $2 and deleted_at is null",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(id))
        .bind(token_hash)
        .bind(now)
        .run()
        .await?;
    Ok(changed > 0)
}

/// Deletes a tracker, softly, with its token and its open installation.
pub async fn delete(tx: &mut Tx, scope: &OrgScope, id: TrackerId, now: Time) -> Result<()> {
    let delete = "update tracker set deleted_at = $3, updated_at = $3, token_hash = null \
        where organization_id = $1 and id = $2 and deleted_at is null";
    let organization = Uuid::from(scope.organization_id());
    tx.on().sql(delete).bind(organization).bind(id.0).bind(now).run().await?;
    let leave = "update installation set installed_to = $2 where tracker_id = $1 and installed_to is null";
    tx.on().sql(leave).bind(id.0).bind(now).run().await?;
    Ok(())
}

/// Deletes an organization's trackers, softly, with their tokens, so that others may use their unique ids.
pub async fn delete_of_organization(tx: &mut Tx, scope: &OrgScope, now: Time) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    let leave = "update installation set installed_to = $2 where installed_to is null \
        and tracker_id in (select id from tracker where organization_id = $1 and deleted_at is null)";
    tx.on().sql(leave).bind(organization).bind(now).run().await?;
    let delete = "update tracker set deleted_at = $2, updated_at = $2, token_hash = null \
        where organization_id = $1 and deleted_at is null";
    tx.on().sql(delete).bind(organization).bind(now).run().await?;
    Ok(())
}

/// Ends the installations of all trackers in a vehicle, and those that were still to begin; returns the trackers that were in it, and
/// those that were not yet.
pub async fn leave_vehicle(
    tx: &mut Tx,
    _: &OrgScope,
    vehicle: VehicleId,
    now: Time,
) -> Result<(Vec<TrackerId>, Vec<TrackerId>)> {
    let touch = "update tracker set updated_at = $2 where id in (select tracker_id from installation \
        where vehicle_id = $1 and (installed_to is null or installed_to > $2))";
    tx.on().sql(touch).bind(vehicle.0).bind(now).run().await?;
    let planned =
        "delete from installation where vehicle_id = $1 and installed_from >= $2 returning tracker_id";
    let leave = "update installation set installed_to = $2 where vehicle_id = $1 \
        and (installed_to is null or installed_to > $2) returning tracker_id";
    let planned: Vec<(Uuid,)> = tx.on().sql(planned).bind(vehicle.0).bind(now).all().await?;
    let left: Vec<(Uuid,)> = tx.on().sql(leave).bind(vehicle.0).bind(now).all().await?;
    let trackers = |rows: Vec<(Uuid,)>| rows.into_iter().map(|(id,)| TrackerId(id)).collect();
    Ok((trackers(left), trackers(planned)))
}
