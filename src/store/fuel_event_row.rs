//! A refuel or drain as the store keeps it.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::fuel::{FuelEvent, FuelEventKind, FuelMotion, FuelRecord};
use waypost_actors::model::{DriverId, EventId, EventStatus, GeofenceId, Origin, Place};

use super::event_row::unknown;
use super::rows::{Column, Insert};
use super::time::Time;

/// What every read of refuels and drains selects; joined with the vehicle's name of today.
pub const SELECT_FUEL_EVENTS: &str = "select f.id, f.sequence, f.kind, f.status, f.revision, f.organization_id, \
    f.vehicle_id, v.name as vehicle_name, f.driver_id, f.started_at, f.ended_at, f.level_before_liters, \
    f.level_after_liters, f.volume_liters, f.latitude, f.longitude, f.geofence_ids, f.motion, f.confidence, \
    f.calibration_version, f.detected_at, f.origin, f.confirmed_at \
    from fuel_event f join vehicle v on v.id = f.vehicle_id";

/// A row of [`SELECT_FUEL_EVENTS`].
#[derive(sqlx::FromRow)]
pub struct FuelEventRow {
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
    geofence_ids: Json<Vec<GeofenceId>>,
    motion: String,
    confidence: f64,
    calibration_version: i64,
    detected_at: Time,
    origin: String,
    confirmed_at: Time,
}

impl TryFrom<FuelEventRow> for FuelRecord {
    type Error = sqlx::Error;

    fn try_from(row: FuelEventRow) -> Result<Self, sqlx::Error> {
        let place = row.latitude.zip(row.longitude);
        let event = FuelEvent {
            id: EventId(row.id),
            kind: FuelEventKind::from_word(&row.kind).ok_or_else(|| unknown("kind", &row.kind))?,
            started_at: row.started_at.into(),
            ended_at: row.ended_at.into(),
            level_before_liters: row.level_before_liters,
            level_after_liters: row.level_after_liters,
            volume_liters: row.volume_liters,
            place: place.map(|(latitude, longitude)| Place::new(latitude, longitude)),
            motion: FuelMotion::from_word(&row.motion).ok_or_else(|| unknown("motion", &row.motion))?,
            confidence: row.confidence,
        };
        Ok(Self {
            sequence: row.sequence,
            event,
            status: EventStatus::from_word(&row.status).ok_or_else(|| unknown("status", &row.status))?,
            revision: row.revision,
            organization_id: row.organization_id.into(),
            vehicle_id: row.vehicle_id.into(),
            vehicle_name: row.vehicle_name,
            driver_id: row.driver_id.map(DriverId),
            geofence_ids: row.geofence_ids.0,
            calibration_version: row.calibration_version,
            detected_at: row.detected_at.into(),
            origin: Origin::from_word(&row.origin).ok_or_else(|| unknown("origin", &row.origin))?,
            confirmed_at: row.confirmed_at.into(),
        })
    }
}

/// The insert of many records, each id once, each in place of what is stored under it.
pub(super) fn put_fuel_events<'a>(records: &'a [&'a FuelRecord]) -> Insert<'a> {
    macro_rules! column {
        ($kind:ident, $record:ident => $value:expr) => {
            Column::$kind(records.iter().map(|$record| $value).collect())
        };
    }
    Insert {
        into: "insert into fuel_event (id, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, \
            started_at, ended_at, level_before_liters, level_after_liters, volume_liters, latitude, longitude, \
            geofence_ids, motion, confidence, calibration_version, detected_at, origin, confirmed_at)",
        columns: vec![
            column!(Uuid, r => r.event.id.0),
            column!(Int, r => r.sequence),
            column!(Text, r => r.event.kind.as_str()),
            column!(Text, r => r.status.as_str()),
            column!(Int, r => r.revision),
            column!(Uuid, r => r.organization_id.0),
            column!(Uuid, r => r.vehicle_id.0),
            column!(MaybeUuid, r => r.driver_id.map(|id| id.0)),
            column!(Time, r => Time(r.event.started_at)),
            column!(Time, r => Time(r.event.ended_at)),
            column!(Float, r => r.event.level_before_liters),
            column!(Float, r => r.event.level_after_liters),
            column!(Float, r => r.event.volume_liters),
            column!(MaybeFloat, r => r.event.place.map(|place| place.latitude)),
            column!(MaybeFloat, r => r.event.place.map(|place| place.longitude)),
            column!(Json, r => json(&r.geofence_ids)),
            column!(Text, r => r.event.motion.as_str()),
            column!(Float, r => r.event.confidence),
            column!(Int, r => r.calibration_version),
            column!(Time, r => Time(r.detected_at)),
            column!(Text, r => r.origin.as_str()),
            column!(Time, r => Time(r.confirmed_at)),
        ],
        after: "on conflict (id) do update set sequence = excluded.sequence, status = excluded.status, \
            revision = excluded.revision, driver_id = excluded.driver_id, started_at = excluded.started_at, \
            ended_at = excluded.ended_at, level_before_liters = excluded.level_before_liters, \
            level_after_liters = excluded.level_after_liters, volume_liters = excluded.volume_liters, \
            latitude = excluded.latitude, longitude = excluded.longitude, geofence_ids = excluded.geofence_ids, \
            motion = excluded.motion, confidence = excluded.confidence, \
            calibration_version = excluded.calibration_version, detected_at = excluded.detected_at, \
            origin = excluded.origin, confirmed_at = excluded.confirmed_at",
    }
}

fn json(ids: &[GeofenceId]) -> String {
    serde_json::to_string(ids).expect("a list of texts")
}
