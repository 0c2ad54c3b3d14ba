//! What the live core answers about a vehicle or a fence now. Plain values; knows no actor.

use crate::model::{Analytics, Cause, Fix, GeofenceId, Motion, Timestamp, VehicleId, VisitId};
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VehicleView {
    /// Its newest fix, if it ever had one.
    pub fix: Option<Fix>,
    /// The fences it is in, by entry.
    pub geofences: Vec<HeldFence>,
    /// Whether it moves, as of its newest fix.
    pub motion: Motion,
}

/// What a vehicle did so far in a fence it is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningVisit {
    /// The stay.
    pub visit_id: VisitId,
    /// Its newest fix, or the entry if that is later.
    pub as_of: Timestamp,
    /// Up to then.
    pub analytics: Analytics,
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
