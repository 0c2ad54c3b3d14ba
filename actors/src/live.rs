//! `Live`: the one handle the server holds on the live core. No actor address leaves the crate.

use crate::model::{Cause, Fence, Fix, GeofenceId, Timestamp, Vehicle, VehicleId, VisitId};

/// Why the live core did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The store cannot be written now; ask again later.
    #[error("the store cannot be written now")]
    Unavailable,
    /// The live core is stopping.
    #[error("the server is stopping")]
    Stopped,
}

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

/// The handle on the live core; cheap to clone.
#[derive(Clone)]
pub struct Live {}

impl Live {
    /// Makes a vehicle known, or its new name and limits. Call after the change is committed.
    pub async fn put_vehicle(&self, _vehicle: Vehicle) -> Result<(), LiveError> {
        Ok(())
    }

    /// Takes a vehicle out: its stays end with cause `vehicleDeactivated`. Returns once that is committed.
    pub async fn remove_vehicle(&self, _vehicle: VehicleId) -> Result<(), LiveError> {
        Ok(())
    }

    /// Puts a fence's new version in force; `fence.versions` holds just that one. Call after it is
    /// committed to the store; returns once every vehicle sees it and the records of the vehicles it
    /// touches are committed. Marks the version settled.
    pub async fn put_fence(&self, _fence: Fence) -> Result<(), LiveError> {
        Ok(())
    }

    /// What is known of a vehicle now; `None` for one the core was never told of.
    pub async fn vehicle(&self, _vehicle: VehicleId) -> Result<Option<VehicleView>, LiveError> {
        Ok(None)
    }

    /// The vehicles inside a fence now, by entry, then id; empty for an unknown fence.
    pub async fn inside(&self, _fence: GeofenceId) -> Result<Vec<InsideView>, LiveError> {
        Ok(Vec::new())
    }
}
