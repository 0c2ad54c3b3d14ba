//! A visit: a vehicle's stay in a geofence, from its entry to its exit.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{
    Analytics, Cause, DriverId, EventId, GeofenceId, OrganizationId, Place, Timestamp, VehicleId, VisitId,
};

use super::words::words;

/// One end of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VisitEnd {
    /// Its record.
    pub event_id: EventId,
    /// Why.
    pub cause: Cause,
    /// The version of the fence that was in force.
    pub geofence_version: i64,
    /// It happened within so many seconds of the instant.
    pub time_uncertainty_seconds: f64,
    /// Where.
    pub location: Place,
}

/// A vehicle's stay in a geofence.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Visit {
    /// The visit.
    pub id: VisitId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// Its name today.
    pub vehicle_name: String,
    /// Which fence.
    pub geofence_id: GeofenceId,
    /// Its name today.
    pub geofence_name: String,
    /// Who drove at the entry, where an assignment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// Whether the vehicle is still inside.
    pub open: bool,
    /// From when.
    pub entered_at: Timestamp,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exited_at: Option<Timestamp>,
    /// `true` for a passage seen by neither fix.
    pub inferred: bool,
    /// How it began.
    pub entry: VisitEnd,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<VisitEnd>,
    /// Of an open visit: the newest fix its analytics know of, or its entry if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Up to when the vehicle's timeline stands, as `live.settledThrough` of the vehicle. A visit whose exit is confirmed by then
    /// changes no more, unless more data of that time arrives. Absent for a vehicle that is not in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_through: Option<Timestamp>,
    /// What the vehicle did; of an open visit what it did so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analytics: Option<Analytics>,
}

/// Filters visits. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisitFilter {
    /// Of these vehicles.
    pub vehicle_ids: Vec<Uuid>,
    /// Begun with these drivers.
    pub driver_ids: Vec<Uuid>,
    /// In these geofences.
    pub geofence_ids: Vec<Uuid>,
    /// Not ended before this instant.
    pub from: Option<Timestamp>,
    /// Begun before this instant.
    pub to: Option<Timestamp>,
    /// Still open, or ended.
    pub open: Option<bool>,
    /// Only stays of at least this long; open ones count up to now.
    pub min_duration_seconds: Option<f64>,
}

words!(
    /// In which order.
    VisitOrder {
        /// The newest entry first.
        NewestFirst = "-enteredAt",
        /// The oldest entry first.
        OldestFirst = "enteredAt",
    }
);
