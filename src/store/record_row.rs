//! A record in the store.
//!
//! Columns hold what statements select by or join, and what every crossing has; the rest of a kind is in `detail` (JSON, which no
//! statement looks into), so that a new kind needs no new column.

use serde::de::DeserializeOwned;
use uuid::Uuid;
use waypost_actors::fuel::FuelEventKind;
use waypost_actors::model::{Cause, Connection, EventFix, EventKind, EventStatus, Origin, Place};
use waypost_actors::tracking::{
    AlertDetail, AlertRule, ConnectionDetail, Detail, GeofenceDetail, OverspeedDetail, Record, RecordKind,
    TripDetail, TripKind,
};

use super::rows::{Column, Insert};
use super::time::Time;

macro_rules! select_records {
    ($with:literal, $from:literal) => {
        concat!(
            $with,
            "select e.id, e.sequence, e.kind, e.status, e.revision, e.organization_id, e.vehicle_id, \
             v.name as vehicle_name, e.driver_id, e.occurred_at, e.ended_at, e.confirmed_at, e.detected_at, \
             e.origin, e.latitude, e.longitude, e.visit_id, e.geofence_id, g.name as geofence_name, \
             e.geofence_version, e.time_uncertainty_seconds, e.cause, e.inferred, e.fix_recorded_at, \
             e.fix_latitude, e.fix_longitude, e.fix_speed_kmh, e.fix_heading_degrees, e.fix_accuracy_meters, \
             e.detail from ",
            $from,
            " join vehicle v on v.id = e.vehicle_id left join geofence g on g.id = e.geofence_id"
        )
    };
}

/// What every read of records selects, joined with current names.
pub const SELECT_RECORDS: &str = select_records!("", "records e");
/// The same of the records whose ids are in `page`, which the statement has begun with.
pub(super) const SELECT_PAGE: &str = select_records!(") ", "page join records e on e.id = page.id");

/// The clause that replaces a record under its id.
pub(super) const IN_ITS_PLACE: &str = "on conflict (id) do update set sequence = excluded.sequence, \
    status = excluded.status, revision = excluded.revision, driver_id = excluded.driver_id, \
    occurred_at = excluded.occurred_at, ended_at = excluded.ended_at, confirmed_at = excluded.confirmed_at, \
    detected_at = excluded.detected_at, origin = excluded.origin, latitude = excluded.latitude, \
    longitude = excluded.longitude, visit_id = excluded.visit_id, geofence_id = excluded.geofence_id, \
    geofence_version = excluded.geofence_version, \
    time_uncertainty_seconds = excluded.time_uncertainty_seconds, cause = excluded.cause, \
    inferred = excluded.inferred, fix_recorded_at = excluded.fix_recorded_at, \
    fix_latitude = excluded.fix_latitude, fix_longitude = excluded.fix_longitude, \
    fix_speed_kmh = excluded.fix_speed_kmh, fix_heading_degrees = excluded.fix_heading_degrees, \
    fix_accuracy_meters = excluded.fix_accuracy_meters, detail = excluded.detail";

/// A row of [`SELECT_RECORDS`].
#[derive(sqlx::FromRow)]
pub struct RecordRow {
    id: Uuid,
    sequence: i64,
    kind: String,
    status: String,
    revision: i64,
    organization_id: Uuid,
    vehicle_id: Uuid,
    vehicle_name: String,
    driver_id: Option<Uuid>,
    occurred_at: Time,
    ended_at: Option<Time>,
    confirmed_at: Time,
    detected_at: Time,
    origin: String,
    latitude: Option<f64>,
    longitude: Option<f64>,
    visit_id: Option<Uuid>,
    geofence_id: Option<Uuid>,
    geofence_name: Option<String>,
    geofence_version: Option<i64>,
    time_uncertainty_seconds: Option<f64>,
    cause: Option<String>,
    inferred: Option<bool>,
    fix_recorded_at: Option<Time>,
    fix_latitude: Option<f64>,
    fix_longitude: Option<f64>,
    fix_speed_kmh: Option<f64>,
    fix_heading_degrees: Option<f64>,
    fix_accuracy_meters: Option<f64>,
    detail: Option<String>,
}

/// The error for a word that this version does not know.
pub(super) fn unknown(column: &str, word: &str) -> sqlx::Error {
    wrong(column, format!("unknown word {word:?}"))
}

pub(super) fn wrong(column: &str, why: impl Into<sqlx::error::BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: why.into() }
}

/// Unwraps a column that records of this kind must have.
fn required<T>(column: &str, value: Option<T>) -> Result<T, sqlx::Error> {
    value.ok_or_else(|| wrong(column, "is null"))
}

impl TryFrom<RecordRow> for Record {
    type Error = sqlx::Error;

    fn try_from(mut row: RecordRow) -> Result<Self, sqlx::Error> {
        let detail = row.detail()?;
        let place = row.latitude.zip(row.longitude);
        Ok(Self {
            id: row.id.into(),
            sequence: row.sequence,
            status: EventStatus::from_word(&row.status).ok_or_else(|| unknown("status", &row.status))?,
            revision: row.revision,
            organization_id: row.organization_id.into(),
            vehicle_id: row.vehicle_id.into(),
            vehicle_name: row.vehicle_name,
            driver_id: row.driver_id.map(Into::into),
            occurred_at: row.occurred_at.into(),
            ended_at: row.ended_at.map(Into::into),
            location: place.map(|(latitude, longitude)| Place::new(latitude, longitude)),
            detected_at: row.detected_at.into(),
            origin: Origin::from_word(&row.origin).ok_or_else(|| unknown("origin", &row.origin))?,
            confirmed_at: row.confirmed_at.into(),
            detail,
        })
    }
}

impl RecordRow {
    fn detail(&mut self) -> Result<Detail, sqlx::Error> {
        match RecordKind::from_word(&self.kind).ok_or_else(|| unknown("kind", &self.kind))? {
            RecordKind::Entry => self.geofence(EventKind::Entry),
            RecordKind::Exit => self.geofence(EventKind::Exit),
            RecordKind::Dwell => self.geofence(EventKind::Dwell),
            RecordKind::Refuel => Ok(Detail::Fuel(FuelEventKind::Refuel, required("detail", self.json()?)?)),
            RecordKind::Drain => Ok(Detail::Fuel(FuelEventKind::Drain, required("detail", self.json()?)?)),
            RecordKind::Overspeed => self.overspeed(),
            RecordKind::Online => self.connection(Connection::Online),
            RecordKind::Stale => self.connection(Connection::Stale),
            RecordKind::Offline => self.connection(Connection::Offline),
            RecordKind::Trip => self.trip(TripKind::Trip),
            RecordKind::Stop => self.trip(TripKind::Stop),
            RecordKind::Alert => self.alert(),
        }
    }

    fn geofence(&mut self, kind: EventKind) -> Result<Detail, sqlx::Error> {
        let cause = required("cause", self.cause.as_ref())?;
        Ok(Detail::Geofence(Box::new(GeofenceDetail {
            kind,
            visit_id: required("visit_id", self.visit_id)?.into(),
            geofence_id: required("geofence_id", self.geofence_id)?.into(),
            geofence_version: required("geofence_version", self.geofence_version)?,
            time_uncertainty_seconds: required("time_uncertainty_seconds", self.time_uncertainty_seconds)?,
            cause: Cause::from_word(cause).ok_or_else(|| unknown("cause", cause))?,
            inferred: required("inferred", self.inferred)?,
            fix: self.fix()?,
            analytics: self.json()?,
            geofence_name: required("geofence_name", self.geofence_name.take())?,
        })))
    }

    fn overspeed(&mut self) -> Result<Detail, sqlx::Error> {
        Ok(Detail::Overspeed(OverspeedDetail {
            geofence_id: self.geofence_id.map(Into::into),
            geofence_name: self.geofence_name.take(),
            ..required("detail", self.json()?)?
        }))
    }

    fn connection(&self, state: Connection) -> Result<Detail, sqlx::Error> {
        Ok(Detail::Connection(ConnectionDetail { state, ..required("detail", self.json()?)? }))
    }

    fn trip(&self, kind: TripKind) -> Result<Detail, sqlx::Error> {
        Ok(Detail::Trip(Box::new(TripDetail { kind, ..required("detail", self.json()?)? })))
    }

    fn alert(&mut self) -> Result<Detail, sqlx::Error> {
        let rule = required("cause", self.cause.as_ref())?;
        Ok(Detail::Alert(Box::new(AlertDetail {
            rule: AlertRule::from_word(rule).ok_or_else(|| unknown("cause", rule))?,
            geofence_id: self.geofence_id.map(Into::into),
            geofence_name: self.geofence_name.take(),
            ..required("detail", self.json()?)?
        })))
    }

    fn fix(&self) -> Result<EventFix, sqlx::Error> {
        Ok(EventFix {
            recorded_at: required("fix_recorded_at", self.fix_recorded_at)?.into(),
            latitude: required("fix_latitude", self.fix_latitude)?,
            longitude: required("fix_longitude", self.fix_longitude)?,
            speed_kmh: self.fix_speed_kmh,
            heading_degrees: self.fix_heading_degrees,
            accuracy_meters: self.fix_accuracy_meters,
        })
    }

    fn json<T: DeserializeOwned>(&self) -> Result<Option<T>, sqlx::Error> {
        let read = |text: &str| serde_json::from_str(text).map_err(|error| wrong("detail", error));
        self.detail.as_deref().map(read).transpose()
    }
}

fn detail(record: &Record) -> Option<String> {
    let text = match &record.detail {
        Detail::Geofence(detail) => serde_json::to_string(detail.analytics.as_ref()?),
        Detail::Fuel(_, detail) => serde_json::to_string(detail),
        Detail::Overspeed(detail) => serde_json::to_string(detail),
        Detail::Connection(detail) => serde_json::to_string(detail),
        Detail::Trip(detail) => serde_json::to_string(detail),
        Detail::Alert(detail) => serde_json::to_string(detail),
    };
    Some(text.expect("numbers by names that are texts"))
}

/// Why it exists; of an alert, its rule.
fn cause(record: &Record) -> Option<&'static str> {
    let rule = record.as_alert().map(|alert| alert.rule.as_str());
    rule.or_else(|| record.geofence().map(|detail| detail.cause.as_str()))
}

/// The insert of many records, each id once. `conflict`: the clause for those whose id exists.
pub(super) fn insert_records<'a>(records: &'a [&'a Record], conflict: &'static str) -> Insert<'a> {
    macro_rules! column {
        ($kind:ident, $record:ident => $value:expr) => {
            Column::$kind(records.iter().map(|$record| $value).collect())
        };
        ($kind:ident, of $detail:ident => $value:expr) => {
            Column::$kind(records.iter().map(|record| record.geofence().map(|$detail| $value)).collect())
        };
        ($kind:ident, perhaps of $detail:ident => $value:expr) => {
            Column::$kind(records.iter().map(|record| record.geofence().and_then(|$detail| $value)).collect())
        };
    }
    Insert {
        into: "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, \
            occurred_at, ended_at, confirmed_at, detected_at, origin, latitude, longitude, visit_id, geofence_id, \
            geofence_version, time_uncertainty_seconds, cause, inferred, fix_recorded_at, fix_latitude, \
            fix_longitude, fix_speed_kmh, fix_heading_degrees, fix_accuracy_meters, detail)",
        columns: vec![
            column!(Uuid, r => r.id.0),
            column!(Int, r => r.sequence),
            column!(Text, r => r.kind().as_str()),
            column!(Text, r => r.status.as_str()),
            column!(Int, r => r.revision),
            column!(Uuid, r => r.organization_id.0),
            column!(Uuid, r => r.vehicle_id.0),
            column!(MaybeUuid, r => r.driver_id.map(|id| id.0)),
            column!(Time, r => Time(r.occurred_at)),
            column!(MaybeTime, r => r.ended_at.map(Time)),
            column!(Time, r => Time(r.confirmed_at)),
            column!(Time, r => Time(r.detected_at)),
            column!(Text, r => r.origin.as_str()),
            column!(MaybeFloat, r => r.location.map(|place| place.latitude)),
            column!(MaybeFloat, r => r.location.map(|place| place.longitude)),
            column!(MaybeUuid, of d => d.visit_id.0),
            column!(MaybeUuid, r => r.geofence_id().map(|id| id.0)),
            column!(MaybeInt, of d => d.geofence_version),
            column!(MaybeFloat, of d => d.time_uncertainty_seconds),
            column!(MaybeText, r => cause(r)),
            column!(MaybeBool, of d => d.inferred),
            column!(MaybeTime, of d => Time(d.fix.recorded_at)),
            column!(MaybeFloat, of d => d.fix.latitude),
            column!(MaybeFloat, of d => d.fix.longitude),
            column!(MaybeFloat, perhaps of d => d.fix.speed_kmh),
            column!(MaybeFloat, perhaps of d => d.fix.heading_degrees),
            column!(MaybeFloat, perhaps of d => d.fix.accuracy_meters),
            column!(MaybeOwned, r => detail(r)),
        ],
        after: conflict,
    }
}
