//! What the live core answers about a vehicle or a fence now. Plain values; knows no actor.

use crate::model::{Cause, Fix, GeofenceId, Timestamp, VehicleId, VisitId};
use crate::tracking::Stay;

/// A geofence a vehicle is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldFence {
    /// Which.
    pub geofence_id: GeofenceId,
    /// The stay.
    pub visit_id: VisitId,
    /// Since when.
    pub entered_at: Timestamp,
    /// Why the stay began.
    pub cause: Cause,
}

impl From<&Stay> for HeldFence {
    fn from(stay: &Stay) -> Self {
        Self {
            geofence_id: stay.geofence_id,
            visit_id: stay.visit_id,
            entered_at: stay.entered_at,
            cause: stay.cause,
        }
    }
}

/// What the live core knows of a vehicle now.
#[derive(Clone, Debug, PartialEq)]
pub struct VehicleView {
    /// Its newest fix, if it ever had one.
    pub fix: Option<Fix>,
    /// The fences it is in, by entry.
    pub geofences: Vec<HeldFence>,
}

/// A vehicle inside a fence now.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideView {
    /// Which.
    pub vehicle_id: VehicleId,
    /// The stay.
    pub held: HeldFence,
    /// Its newest fix.
    pub fix: Fix,
}
