//! Trips and stops as clients see them.

use serde::Serialize;

use super::analytics::to_millionths;
use super::record::{Record, TripDetail, TripKind};
use crate::model::{
    DriverId, EventId, EventStatus, GeofenceId, OrganizationId, Origin, Place, Timestamp, VehicleId,
};

/// A trip or a stop of a vehicle. While it goes on it has no end and nothing that is known by its end; its end is a revision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TripEvent {
    /// A hash of vehicle, `type` and `startedAt`, shaped as a UUIDv8.
    pub id: EventId,
    /// The place in the log, one order with all other events; anew with each revision.
    pub sequence: i64,
    /// Whether it is on its way or stands.
    #[serde(rename = "type")]
    pub kind: TripKind,
    /// Whether the record still holds.
    pub status: EventStatus,
    /// 1 when it began; one more with its end, and with each correction.
    pub revision: i64,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// The driver at `startedAt`, if an assignment names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// Of a trip the last fix where it stood before, of a stop the first one. Also what the id hangs on.
    pub started_at: Timestamp,
    /// Of a trip the first fix of the stop that ends it, of a stop the last one; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether it goes on.
    pub open: bool,
    /// Where it began.
    pub location: Place,
    /// Where it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_location: Option<Place>,
    /// The geofences that held the place where it began, by id.
    pub start_geofence_ids: Vec<GeofenceId>,
    /// The geofences that held the place where it ended, by id.
    pub end_geofence_ids: Vec<GeofenceId>,
    /// What the vehicle did; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<TripSummary>,
    /// In lists of trips and stops: up to when the vehicle's timeline stands, as `live.settledThrough` of the vehicle. What ended and
    /// was confirmed by then changes no more, unless more data of that time arrives. Absent for a vehicle that is not in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_through: Option<Timestamp>,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
}

/// What a vehicle did on a trip or during a stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TripSummary {
    /// From start to end.
    pub duration_seconds: f64,
    /// The way, parked jitter not counted; a silence counts straight. Metres.
    pub distance_meters: f64,
    /// In motion.
    pub moving_seconds: f64,
    /// At rest.
    pub stopped_seconds: f64,
    /// The part of `stoppedSeconds` with the ignition reported on.
    pub idling_seconds: f64,
    /// Silences of more than ten minutes.
    pub gap_seconds: f64,
    /// Over a limit of speed; 0 without one.
    pub overspeed_seconds: f64,
    /// Distance by duration, km/h; absent below 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg_speed_kmh: Option<f64>,
    /// The highest speed that a fix reported, or of a leg of 5 s or more to one that reported none. km/h.
    pub max_speed_kmh: f64,
    /// Evaluated fixes, those of start and end included.
    pub fix_count: i64,
}

impl TripEvent {
    pub(super) fn of(record: &Record, detail: &TripDetail) -> Self {
        let location = record.location.unwrap_or_default();
        Self {
            id: record.id,
            sequence: record.sequence,
            kind: detail.kind,
            status: record.status,
            revision: record.revision,
            organization_id: record.organization_id,
            vehicle_id: record.vehicle_id,
            vehicle_name: record.vehicle_name.clone(),
            driver_id: record.driver_id,
            started_at: record.occurred_at,
            ended_at: record.ended_at,
            open: record.ended_at.is_none(),
            location,
            end_location: detail.end_location,
            start_geofence_ids: detail.start_geofence_ids.clone(),
            end_geofence_ids: detail.end_geofence_ids.clone(),
            summary: record.ended_at.map(|end| summary(record.occurred_at, end, detail)),
            settled_through: None,
            detected_at: record.detected_at,
            origin: record.origin,
        }
    }
}

fn summary(started_at: Timestamp, ended_at: Timestamp, detail: &TripDetail) -> TripSummary {
    let totals = &detail.totals;
    let duration_seconds = ended_at.seconds_since(started_at);
    let (moving_seconds, stopped_seconds) = (totals.moving_seconds(), totals.stopped_seconds());
    let average = || to_millionths(totals.distance_meters() / duration_seconds * 3.6);
    TripSummary {
        duration_seconds,
        distance_meters: totals.distance_meters(),
        moving_seconds,
        stopped_seconds,
        idling_seconds: totals.idling_seconds(),
        gap_seconds: to_millionths((duration_seconds - moving_seconds - stopped_seconds).max(0.0)),
        overspeed_seconds: totals.overspeed_seconds(),
        avg_speed_kmh: (duration_seconds >= 1.0).then(average),
        max_speed_kmh: totals.max_speed_kmh(),
        fix_count: totals.fix_count(),
    }
}
