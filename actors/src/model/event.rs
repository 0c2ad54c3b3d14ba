//! A vehicle entering, leaving or dwelling in a geofence, as clients see it.

use serde::{Deserialize, Serialize};

use super::analytics::Analytics;
use super::fix::{Fix, Place};
use super::ids::{DriverId, EventId, GeofenceId, OrganizationId, VehicleId, VisitId};
use super::time::Timestamp;

words!(
    /// What happened.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    EventKind {
        /// The vehicle came in.
        Entry = "entry",
        /// The vehicle went out.
        Exit = "exit",
        /// The vehicle stayed as long as the fence's rule asks.
        Dwell = "dwell",
    }
);

words!(
    /// Whether a record still holds.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    EventStatus {
        /// It holds.
        Active = "active",
        /// Later data took it back.
        Retracted = "retracted",
    }
);

words!(
    /// How a record came about.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    Origin {
        /// From fixes in order, as they came.
        Live = "live",
        /// From fixes that came late.
        Backfill = "backfill",
        /// From a new evaluation of stored fixes.
        Recompute = "recompute",
    }
);

words!(
    /// Why a record exists.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    Cause {
        /// The vehicle crossed the boundary.
        Crossing = "crossing",
        /// The vehicle's first fix was inside.
        Initial = "initial",
        /// The fence came into being or into force around the vehicle.
        GeofenceCreated = "geofenceCreated",
        /// The fence changed around the vehicle.
        GeofenceChanged = "geofenceChanged",
        /// The fence was deleted or disabled around the vehicle.
        GeofenceDeleted = "geofenceDeleted",
        /// The vehicle was taken out of use.
        VehicleDeactivated = "vehicleDeactivated",
    }
);

/// The fix a record rests on, as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventFix {
    /// The device's clock at the fix.
    pub recorded_at: Timestamp,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// km/h, where the device said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_kmh: Option<f64>,
    /// Degrees clockwise from north, where the device said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading_degrees: Option<f64>,
    /// Metres, where the device said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_meters: Option<f64>,
}

impl From<&Fix> for EventFix {
    fn from(fix: &Fix) -> Self {
        Self {
            recorded_at: fix.recorded_at,
            latitude: fix.place.latitude,
            longitude: fix.place.longitude,
            speed_kmh: fix.speed_kmh,
            heading_degrees: fix.heading_degrees,
            accuracy_meters: fix.accuracy_meters,
        }
    }
}

/// An entry, exit or dwell record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// A hash of vehicle, fence, type and anchor, shaped as a UUIDv8: the same happening has the same id for ever.
    pub id: EventId,
    /// The place in the log: given at commit, without gaps, anew for each revision.
    pub sequence: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// Whether the record still holds.
    pub status: EventStatus,
    /// 1 at first; one more with each correction.
    pub revision: i64,
    /// The stay this record begins, ends or belongs to.
    pub visit_id: VisitId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Which vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name.
    pub vehicle_name: String,
    /// Which fence.
    pub geofence_id: GeofenceId,
    /// The fence's name.
    pub geofence_name: String,
    /// The version of the fence that was in force.
    pub geofence_version: i64,
    /// Who drove, where an assignment says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<DriverId>,
    /// When it happened: where the way between two fixes crosses the boundary.
    pub occurred_at: Timestamp,
    /// It happened within so many seconds of `occurredAt`.
    pub time_uncertainty_seconds: f64,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
    /// Why the record exists.
    pub cause: Cause,
    /// `true` for a passage seen by neither fix.
    pub inferred: bool,
    /// Where it happened.
    pub location: Place,
    /// The first fix on the new side, as recorded.
    pub fix: EventFix,
    /// On exits: what the vehicle did inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analytics: Option<Analytics>,
}
