//! Occupancy in the feed's format.

use serde::Serialize;
use waypost_actors::model::{GeofenceId, Timestamp, VehicleId, VisitId};
use waypost_actors::tracking::VehicleState;

/// A vehicle that is, or went, inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InsideOut {
    pub(super) geofence_id: GeofenceId,
    pub(super) vehicle_id: VehicleId,
    pub(super) visit_id: VisitId,
    pub(super) entered_at: Timestamp,
}

/// A vehicle that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeaveOut {
    pub(super) geofence_id: GeofenceId,
    pub(super) vehicle_id: VehicleId,
}

/// Vehicles that went in and out since the last delta.
#[derive(Debug, Default, Serialize)]
pub(super) struct OccupancyOut {
    pub(super) enter: Vec<InsideOut>,
    pub(super) leave: Vec<LeaveOut>,
}

/// The geofences that a vehicle's state says it is inside of.
pub(super) fn inside(id: VehicleId, state: &VehicleState) -> impl Iterator<Item = InsideOut> {
    state.open_stays().map(move |stay| InsideOut {
        geofence_id: stay.geofence_id,
        vehicle_id: id,
        visit_id: stay.visit_id,
        entered_at: stay.entered_at,
    })
}
