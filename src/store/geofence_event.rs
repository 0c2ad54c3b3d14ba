//! The log of geofence events, read. The track writer writes it.

use uuid::Uuid;
use waypost_actors::model::{
    Cause, Event, EventFix, EventId, EventKind, EventStatus, Origin, Place, Timestamp,
};

use super::sql::{Db, Engine, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::event::{EventFilter, EventOrder};

/// Where a list goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// After this happening, in the order of `occurredAt`.
    Happened(Timestamp, Uuid),
    /// After this number.
    Sequence(i64),
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    sequence: i64,
    kind: String,
    status: String,
    revision: i64,
    visit_id: Uuid,
    organization_id: Uuid,
    vehicle_id: Uuid,
    vehicle_name: String,
    geofence_id: Uuid,
    geofence_name: String,
    geofence_version: i64,
    driver_id: Option<Uuid>,
    occurred_at: Time,
    time_uncertainty_seconds: f64,
    detected_at: Time,
    origin: String,
    cause: String,
    inferred: bool,
    latitude: f64,
    longitude: f64,
    fix_recorded_at: Time,
    fix_latitude: f64,
    fix_longitude: f64,
    fix_speed_kmh: Option<f64>,
    fix_heading_degrees: Option<f64>,
    fix_accuracy_meters: Option<f64>,
}

/// The word of a column, which the table's checks keep to the known ones.
fn word<T>(found: Option<T>, column: &str) -> Result<T> {
    found.ok_or_else(|| sqlx::Error::Decode(format!("geofence_event.{column} holds an unknown word").into()))
}

fn event(row: Row) -> Result<Event> {
    Ok(Event {
        id: row.id.into(),
        sequence: row.sequence,
        kind: word(EventKind::from_word(&row.kind), "kind")?,
        status: word(EventStatus::from_word(&row.status), "status")?,
        revision: row.revision,
        visit_id: row.visit_id.into(),
        organization_id: row.organization_id.into(),
        vehicle_id: row.vehicle_id.into(),
        vehicle_name: row.vehicle_name,
        geofence_id: row.geofence_id.into(),
        geofence_name: row.geofence_name,
        geofence_version: row.geofence_version,
        driver_id: row.driver_id.map(Into::into),
        occurred_at: row.occurred_at.into(),
        time_uncertainty_seconds: row.time_uncertainty_seconds,
        detected_at: row.detected_at.into(),
        origin: word(Origin::from_word(&row.origin), "origin")?,
        cause: word(Cause::from_word(&row.cause), "cause")?,
        inferred: row.inferred,
        location: Place::new(row.latitude, row.longitude),
        fix: EventFix {
            recorded_at: row.fix_recorded_at.into(),
            latitude: row.fix_latitude,
            longitude: row.fix_longitude,
            speed_kmh: row.fix_speed_kmh,
            heading_degrees: row.fix_heading_degrees,
            accuracy_meters: row.fix_accuracy_meters,
        },
    })
}

const SELECT: &str = "select e.id, e.sequence, e.kind, e.status, e.revision, e.visit_id, e.organization_id, \
     e.vehicle_id, v.name as vehicle_name, e.geofence_id, g.name as geofence_name, e.geofence_version, \
     e.driver_id, e.occurred_at, e.time_uncertainty_seconds, e.detected_at, e.origin, e.cause, e.inferred, \
     e.latitude, e.longitude, e.fix_recorded_at, e.fix_latitude, e.fix_longitude, e.fix_speed_kmh, \
     e.fix_heading_degrees, e.fix_accuracy_meters from geofence_event e \
     join vehicle v on v.id = e.vehicle_id join geofence g on g.id = e.geofence_id ";

/// An event.
pub async fn find(db: &Db, scope: &OrgScope, id: EventId) -> Result<Option<Event>> {
    let row: Option<Row> = db
        .read()
        .sql(SELECT)
        .push("where e.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and e.id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await?;
    row.map(event).transpose()
}

/// At most `limit` events after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Event>> {
    let stmt = db.read().sql(SELECT).push("where e.organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    let stmt = going_on(narrowed(stmt, filter, db.engine()), order, after);
    let stmt = match order {
        EventOrder::NewestFirst => stmt.push(" order by e.occurred_at desc, e.id desc"),
        EventOrder::OldestFirst => stmt.push(" order by e.occurred_at, e.id"),
        EventOrder::Sequence => stmt.push(" order by e.sequence"),
    };
    let rows: Vec<Row> = stmt.push(" limit ").push_bind(limit).all().await?;
    rows.into_iter().map(event).collect()
}

fn going_on(stmt: Stmt<'_>, order: EventOrder, after: Option<After>) -> Stmt<'_> {
    match (after, order) {
        (None, _) => stmt,
        (Some(After::Sequence(sequence)), _) => stmt.push(" and e.sequence > ").push_bind(sequence),
        (Some(After::Happened(at, id)), order) => {
            let stmt = match order {
                EventOrder::NewestFirst => stmt.push(" and (e.occurred_at, e.id) < ("),
                _ => stmt.push(" and (e.occurred_at, e.id) > ("),
            };
            stmt.push_bind(Time(at)).push(", ").push_bind(id).push(")")
        }
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &EventFilter, engine: Engine) -> Stmt<'c> {
    let stmt = one_of(stmt, " and e.vehicle_id in (", &filter.vehicle_ids);
    let stmt = one_of(stmt, " and e.driver_id in (", &filter.driver_ids);
    let stmt = one_of(stmt, " and e.geofence_id in (", &filter.geofence_ids);
    let words = |words: &[&'static str]| words.to_vec();
    let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
    let causes: Vec<_> = filter.causes.iter().map(|cause| cause.as_str()).collect();
    let origins: Vec<_> = filter.origins.iter().map(|origin| origin.as_str()).collect();
    let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let stmt = one_of(stmt, " and e.kind in (", &words(&kinds));
    let stmt = one_of(stmt, " and e.cause in (", &words(&causes));
    let stmt = one_of(stmt, " and e.origin in (", &words(&origins));
    let mut stmt = one_of(stmt, " and e.status in (", &words(&statuses));
    if let Some(inferred) = filter.inferred {
        stmt = stmt.push(" and e.inferred = ").push_bind(inferred);
    }
    if let Some(from) = filter.from {
        stmt = stmt.push(" and e.occurred_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and e.occurred_at < ").push_bind(Time(to));
    }
    match filter.min_duration_seconds {
        Some(seconds) => stayed_as_long(stmt, seconds, engine),
        None => stmt,
    }
}

fn one_of<'c, T: Copy + for<'q> super::sql::Param<'q>>(
    stmt: Stmt<'c>,
    condition: &'static str,
    values: &[T],
) -> Stmt<'c> {
    if values.is_empty() {
        return stmt;
    }
    stmt.push(condition).push_each(values, |stmt, value| stmt.push_bind(*value)).push(")")
}

/// The engines tell the time between two instants differently.
fn stayed_as_long(stmt: Stmt<'_>, seconds: f64, engine: Engine) -> Stmt<'_> {
    let stmt = stmt.push(" and e.visit_id in (select id from visit where exited_at is not null and ");
    let stmt = match engine {
        Engine::Postgres => {
            stmt.push("cast(extract(epoch from exited_at - entered_at) as double precision) >= ")
        }
        Engine::Sqlite => stmt.push("(exited_at - entered_at) / 1000000.0 >= "),
    };
    stmt.push_bind(seconds).push(")")
}
