//! What a fix or a change is judged with.

use crate::geofence::FenceSet;
use crate::model::{GeofenceId, Place, Timestamp, Vehicle};

/// What a fix or a change is judged with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The vehicle whose fix or change it is.
    pub vehicle: &'a Vehicle,
    /// The fences of the vehicle's organization.
    pub fences: &'a FenceSet,
    /// The server's clock: when the records are found.
    pub detected_at: Timestamp,
}

impl Context<'_> {
    /// The fences that hold a place by the versions of an instant, by id.
    pub(super) fn fences_holding(&self, place: Place, at: Timestamp) -> Vec<GeofenceId> {
        let mut fences = Vec::new();
        self.fences.for_each_near(place, |near| {
            let version = near.fence.in_force_at(at).filter(|version| version.active);
            if version.is_some_and(|version| near.is_in(version)) {
                fences.push(near.fence.id);
            }
        });
        fences.sort_unstable();
        fences
    }
}
