//! A refuel or drain as clients see it.

use serde::{Deserialize, Serialize};

use super::event::FuelEvent;
use crate::model::{DriverId, EventStatus, GeofenceId, OrganizationId, Origin, Timestamp, VehicleId};

/// A refuel or drain, numbered and revised as geofence events are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FuelRecord {
    /// Its place in the order of commits, one order with geofence events; anew with each revision.
    pub sequence: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: FuelEvent,
    /// Whether the record still holds.
    pub status: EventStatus,
    /// 1 at first; one more with each correction.
    pub revision: i64,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// Who drove at `startedAt`, where an assignment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// The geofences that held the place at `startedAt`.
    pub geofence_ids: Vec<GeofenceId>,
    /// The version of the calibration its levels are of.
    pub calibration_version: i64,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
}
