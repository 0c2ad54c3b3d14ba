//! Records as clients see them, in the form of their kind.

use serde::Serialize;

use super::alert_view::AlertEvent;
use super::record::{ConnectionDetail, Detail, FuelDetail, GeofenceDetail, OverspeedDetail, Record};
use super::trip_view::TripEvent;
use crate::fuel::{FuelEvent, FuelEventKind, FuelRecord};
use crate::model::{
    Connection, DriverId, Event, EventId, EventStatus, GeofenceId, OrganizationId, Origin, Place, Timestamp,
    VehicleId,
};

/// A record of any kind. Its `type` tells the forms apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum RecordView {
    /// An entry, exit or dwell.
    Geofence(Event),
    /// A refuel or a drain.
    Fuel(FuelRecord),
    /// A time over a limit of speed.
    Overspeed(OverspeedEvent),
    /// A vehicle that is heard of again, or not any more.
    Connection(ConnectionEvent),
    /// A trip or a stop.
    Trip(TripEvent),
    /// An alert.
    Alert(AlertEvent),
}

words!(
    /// The one type of what goes over a limit.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    OverspeedKind {
        /// The vehicle went faster than it may.
        Overspeed = "overspeed",
    }
);

/// A vehicle that went faster than it may for 10 s or longer. While it goes on it has no end, and is as it was when it
/// began to count; its end is a revision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OverspeedEvent {
    /// A hash of vehicle and `startedAt`, shaped as a UUIDv8.
    pub id: EventId,
    /// The place in the log, one order with geofence and fuel events; anew with each revision.
    pub sequence: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: OverspeedKind,
    /// Whether the record still holds.
    pub status: EventStatus,
    /// 1 at first; one more with its end and with each correction.
    pub revision: i64,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// The fence whose `speedLimitKmh` it is; absent where it is the vehicle's `overspeedKmh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofence_id: Option<GeofenceId>,
    /// The fence's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofence_name: Option<String>,
    /// Who drove at `startedAt`, where an assignment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// The first fix over the limit. Also what the id hangs on.
    pub started_at: Timestamp,
    /// The first fix that was no faster than 3 km/h below the limit, or another limit's, or the last one before a silence of more than
    /// ten minutes; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The lowest limit there was, km/h.
    pub limit_kmh: f64,
    /// The highest speed, km/h.
    pub max_speed_kmh: f64,
    /// The way from start to end, metres.
    pub distance_meters: f64,
    /// From start to end; of one that goes on, up to where it began to count.
    pub duration_seconds: f64,
    /// Where it began.
    pub location: Place,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
}

/// A vehicle that is heard of again, or not any more. By the server's clock: late data changes nothing of it. The first time that a
/// vehicle is heard there is none, and none for silence while the server or its store was away.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConnectionEvent {
    /// A hash of vehicle, `type` and when the silence began, shaped as a UUIDv8.
    pub id: EventId,
    /// The place in the log, one order with all other events.
    pub sequence: i64,
    /// What the vehicle is from now on.
    #[serde(rename = "type")]
    pub kind: Connection,
    /// Whether the record still holds: always `active`.
    pub status: EventStatus,
    /// Always 1.
    pub revision: i64,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// When it came to be so: when it was heard, or when it had been silent for as long as the organization's settings say.
    pub occurred_at: Timestamp,
    /// When it was heard last.
    pub heard_at: Timestamp,
    /// Where it was last, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Place>,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about: always `live`.
    pub origin: Origin,
}

impl RecordView {
    /// The entry, exit or dwell that it is.
    #[must_use]
    pub fn geofence(self) -> Option<Event> {
        match self {
            Self::Geofence(event) => Some(event),
            _ => None,
        }
    }

    /// The refuel or drain that it is.
    #[must_use]
    pub fn fuel(self) -> Option<FuelRecord> {
        match self {
            Self::Fuel(record) => Some(record),
            _ => None,
        }
    }
}

impl RecordView {
    /// The trip or stop that it is.
    #[must_use]
    pub fn trip(self) -> Option<TripEvent> {
        match self {
            Self::Trip(trip) => Some(trip),
            _ => None,
        }
    }
}

impl From<&Record> for RecordView {
    fn from(record: &Record) -> Self {
        match &record.detail {
            Detail::Geofence(detail) => Self::Geofence(event(record, detail)),
            Detail::Fuel(kind, detail) => Self::Fuel(fuel_record(record, *kind, detail)),
            Detail::Overspeed(detail) => Self::Overspeed(overspeed_event(record, detail)),
            Detail::Connection(detail) => Self::Connection(connection_event(record, *detail)),
            Detail::Trip(detail) => Self::Trip(TripEvent::of(record, detail)),
            Detail::Alert(detail) => Self::Alert(AlertEvent::of(record, detail)),
        }
    }
}

fn event(record: &Record, detail: &GeofenceDetail) -> Event {
    let fix = detail.fix;
    Event {
        id: record.id,
        sequence: record.sequence,
        kind: detail.kind,
        status: record.status,
        revision: record.revision,
        visit_id: detail.visit_id,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        geofence_id: detail.geofence_id,
        geofence_name: detail.geofence_name.clone(),
        geofence_version: detail.geofence_version,
        driver_id: record.driver_id,
        occurred_at: record.occurred_at,
        time_uncertainty_seconds: detail.time_uncertainty_seconds,
        detected_at: record.detected_at,
        origin: record.origin,
        cause: detail.cause,
        inferred: detail.inferred,
        location: record.location.unwrap_or(Place::new(fix.latitude, fix.longitude)),
        fix,
        analytics: detail.analytics,
    }
}

fn fuel_record(record: &Record, kind: FuelEventKind, detail: &FuelDetail) -> FuelRecord {
    let event = FuelEvent {
        id: record.id,
        kind,
        started_at: record.occurred_at,
        ended_at: record.ended_at.unwrap_or(record.occurred_at),
        level_before_liters: detail.level_before_liters,
        level_after_liters: detail.level_after_liters,
        volume_liters: detail.volume_liters,
        place: record.location,
        motion: detail.motion,
        confidence: detail.confidence,
    };
    FuelRecord {
        sequence: record.sequence,
        event,
        status: record.status,
        revision: record.revision,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        driver_id: record.driver_id,
        geofence_ids: detail.geofence_ids.clone(),
        calibration_version: detail.calibration_version,
        detected_at: record.detected_at,
        origin: record.origin,
    }
}

fn overspeed_event(record: &Record, detail: &OverspeedDetail) -> OverspeedEvent {
    OverspeedEvent {
        id: record.id,
        sequence: record.sequence,
        kind: OverspeedKind::Overspeed,
        status: record.status,
        revision: record.revision,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        geofence_id: detail.geofence_id,
        geofence_name: detail.geofence_name.clone(),
        driver_id: record.driver_id,
        started_at: record.occurred_at,
        ended_at: record.ended_at,
        limit_kmh: detail.limit_kmh,
        max_speed_kmh: detail.max_speed_kmh,
        distance_meters: detail.distance_meters,
        duration_seconds: detail.duration_seconds,
        location: record.location.unwrap_or_default(),
        detected_at: record.detected_at,
        origin: record.origin,
    }
}

fn connection_event(record: &Record, detail: ConnectionDetail) -> ConnectionEvent {
    ConnectionEvent {
        id: record.id,
        sequence: record.sequence,
        kind: detail.state,
        status: record.status,
        revision: record.revision,
        organization_id: record.organization_id,
        vehicle_id: record.vehicle_id,
        vehicle_name: record.vehicle_name.clone(),
        occurred_at: record.occurred_at,
        heard_at: detail.heard_at,
        location: record.location,
        detected_at: record.detected_at,
        origin: record.origin,
    }
}
