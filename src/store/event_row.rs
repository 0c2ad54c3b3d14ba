//! An event as the store keeps it.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Analytics, Cause, Event, EventFix, EventKind, EventStatus, Origin, Place};

use super::rows::{Column, Insert};
use super::time::Time;

/// What every read of events selects; joined with the names of today.
pub const SELECT_EVENTS: &str = "select e.id, e.sequence, e.kind, e.status, e.revision, e.visit_id, \
    e.organization_id, e.vehicle_id, v.name as vehicle_name, e.geofence_id, g.name as geofence_name, \
    e.geofence_version, e.driver_id, e.occurred_at, e.time_uncertainty_seconds, e.detected_at, e.origin, \
    e.cause, e.inferred, e.latitude, e.longitude, e.fix_recorded_at, e.fix_latitude, e.fix_longitude, \
    e.fix_speed_kmh, e.fix_heading_degrees, e.fix_accuracy_meters, e.analytics, e.confirmed_at \
    from geofence_event e join vehicle v on v.id = e.vehicle_id join geofence g on g.id = e.geofence_id";

/// A row of [`SELECT_EVENTS`].
#[derive(sqlx::FromRow)]
pub struct EventRow {
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
    analytics: Option<Json<Analytics>>,
    confirmed_at: Time,
}

/// A word in a column that this version does not know.
pub(super) fn unknown(column: &str, word: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: format!("unknown word {word:?}").into() }
}

impl TryFrom<EventRow> for Event {
    type Error = sqlx::Error;

    fn try_from(row: EventRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id.into(),
            sequence: row.sequence,
            kind: EventKind::from_word(&row.kind).ok_or_else(|| unknown("kind", &row.kind))?,
            status: EventStatus::from_word(&row.status).ok_or_else(|| unknown("status", &row.status))?,
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
            origin: Origin::from_word(&row.origin).ok_or_else(|| unknown("origin", &row.origin))?,
            cause: Cause::from_word(&row.cause).ok_or_else(|| unknown("cause", &row.cause))?,
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
            analytics: row.analytics.map(|Json(analytics)| analytics),
            confirmed_at: row.confirmed_at.into(),
        })
    }
}

fn json(analytics: &Analytics) -> String {
    serde_json::to_string(analytics).expect("numbers by names that are texts")
}

/// The insert of many events, each id once. `conflict`: what becomes of those whose id is there.
pub(super) fn insert_events<'a>(events: &'a [&'a Event], conflict: &'static str) -> Insert<'a> {
    macro_rules! column {
        ($kind:ident, $event:ident => $value:expr) => {
            Column::$kind(events.iter().map(|$event| $value).collect())
        };
    }
    Insert {
        into: "insert into geofence_event (id, sequence, kind, status, revision, visit_id, organization_id, \
            vehicle_id, geofence_id, geofence_version, driver_id, occurred_at, time_uncertainty_seconds, \
            detected_at, origin, cause, inferred, latitude, longitude, fix_recorded_at, fix_latitude, \
            fix_longitude, fix_speed_kmh, fix_heading_degrees, fix_accuracy_meters, analytics, confirmed_at)",
        columns: vec![
            column!(Uuid, e => e.id.0),
            column!(Int, e => e.sequence),
            column!(Text, e => e.kind.as_str()),
            column!(Text, e => e.status.as_str()),
            column!(Int, e => e.revision),
            column!(Uuid, e => e.visit_id.0),
            column!(Uuid, e => e.organization_id.0),
            column!(Uuid, e => e.vehicle_id.0),
            column!(Uuid, e => e.geofence_id.0),
            column!(Int, e => e.geofence_version),
            column!(MaybeUuid, e => e.driver_id.map(|id| id.0)),
            column!(Time, e => Time(e.occurred_at)),
            column!(Float, e => e.time_uncertainty_seconds),
            column!(Time, e => Time(e.detected_at)),
            column!(Text, e => e.origin.as_str()),
            column!(Text, e => e.cause.as_str()),
            column!(Bool, e => e.inferred),
            column!(Float, e => e.location.latitude),
            column!(Float, e => e.location.longitude),
            column!(Time, e => Time(e.fix.recorded_at)),
            column!(Float, e => e.fix.latitude),
            column!(Float, e => e.fix.longitude),
            column!(MaybeFloat, e => e.fix.speed_kmh),
            column!(MaybeFloat, e => e.fix.heading_degrees),
            column!(MaybeFloat, e => e.fix.accuracy_meters),
            column!(MaybeJson, e => e.analytics.as_ref().map(json)),
            column!(Time, e => Time(e.confirmed_at)),
        ],
        after: conflict,
    }
}
