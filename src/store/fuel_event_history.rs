//! Refuels and drains, read. The track writer writes them.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::fuel::{FuelEventKind, FuelMotion};
use waypost_actors::model::{DriverId, EventId, EventStatus, GeofenceId, Origin, Place};

use super::event_row::unknown;
use super::filters::one_of;
use super::geofence_event::After;
use super::sql::{Db, Result, SqlError, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::fuel::{TankEvent, TankEventFilter, TankEventOrder};

const SELECT: &str = "select e.id, e.sequence, e.kind, e.status, e.revision, e.organization_id, e.vehicle_id, \
    v.name as vehicle_name, e.driver_id, e.started_at, e.ended_at, e.level_before_liters, \
    e.level_after_liters, e.volume_liters, e.latitude, e.longitude, e.geofence_ids, e.motion, e.confidence, \
    e.calibration_version, e.detected_at, e.origin, e.confirmed_at from fuel_event e \
    join vehicle v on v.id = e.vehicle_id where e.organization_id = ";

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    sequence: i64,
    kind: String,
    status: String,
    revision: i64,
    organization_id: Uuid,
    vehicle_id: Uuid,
    vehicle_name: String,
    driver_id: Option<Uuid>,
    started_at: Time,
    ended_at: Time,
    level_before_liters: f64,
    level_after_liters: f64,
    volume_liters: f64,
    latitude: Option<f64>,
    longitude: Option<f64>,
    geofence_ids: Json<Vec<Uuid>>,
    motion: String,
    confidence: f64,
    calibration_version: i64,
    detected_at: Time,
    origin: String,
    confirmed_at: Time,
}

impl TryFrom<Row> for TankEvent {
    type Error = SqlError;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: EventId(row.id),
            sequence: row.sequence,
            kind: FuelEventKind::from_word(&row.kind).ok_or_else(|| unknown("kind", &row.kind))?,
            status: EventStatus::from_word(&row.status).ok_or_else(|| unknown("status", &row.status))?,
            revision: row.revision,
            organization_id: row.organization_id.into(),
            vehicle_id: row.vehicle_id.into(),
            vehicle_name: row.vehicle_name,
            driver_id: row.driver_id.map(DriverId),
            started_at: row.started_at.into(),
            ended_at: row.ended_at.into(),
            level_before_liters: row.level_before_liters,
            level_after_liters: row.level_after_liters,
            volume_liters: row.volume_liters,
            location: row.latitude.zip(row.longitude).map(|(north, east)| Place::new(north, east)),
            geofence_ids: row.geofence_ids.0.into_iter().map(GeofenceId).collect(),
            motion: FuelMotion::from_word(&row.motion).ok_or_else(|| unknown("motion", &row.motion))?,
            confidence: row.confidence,
            calibration_version: row.calibration_version,
            detected_at: row.detected_at.into(),
            origin: Origin::from_word(&row.origin).ok_or_else(|| unknown("origin", &row.origin))?,
            confirmed_at: row.confirmed_at.into(),
        })
    }
}

/// At most `limit` of them after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &TankEventFilter,
    order: TankEventOrder,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<TankEvent>> {
    let stmt = db.read().sql(SELECT).push_bind(Uuid::from(scope.organization_id()));
    let stmt = going_on(narrowed(stmt, filter), order, after);
    let stmt = match order {
        TankEventOrder::NewestFirst => stmt.push(" order by e.started_at desc, e.id desc"),
        TankEventOrder::OldestFirst => stmt.push(" order by e.started_at, e.id"),
        TankEventOrder::Sequence => stmt.push(" order by e.sequence"),
    };
    let rows: Vec<Row> = stmt.push(" limit ").push_bind(limit).all().await?;
    rows.into_iter().map(TankEvent::try_from).collect()
}

fn going_on(stmt: Stmt<'_>, order: TankEventOrder, after: Option<After>) -> Stmt<'_> {
    match (after, order) {
        (None, _) => stmt,
        (Some(After::Sequence(sequence)), _) => stmt.push(" and e.sequence > ").push_bind(sequence),
        (Some(After::Happened(at, id)), order) => {
            let stmt = match order {
                TankEventOrder::NewestFirst => stmt.push(" and (e.started_at, e.id) < ("),
                _ => stmt.push(" and (e.started_at, e.id) > ("),
            };
            stmt.push_bind(Time(at)).push(", ").push_bind(id).push(")")
        }
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &TankEventFilter) -> Stmt<'c> {
    let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
    let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let stmt = one_of(stmt, " and e.vehicle_id in (", &filter.vehicle_ids);
    let stmt = one_of(stmt, " and e.driver_id in (", &filter.driver_ids);
    let stmt = one_of(stmt, " and e.kind in (", &kinds);
    let mut stmt = one_of(stmt, " and e.status in (", &statuses);
    if let Some(from) = filter.from {
        stmt = stmt.push(" and e.ended_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and e.started_at < ").push_bind(Time(to));
    }
    stmt
}
