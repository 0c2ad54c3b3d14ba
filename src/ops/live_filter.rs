//! Vehicles by where they are and what they do now: filters that the live core answers, not the store.

use std::collections::HashMap;

use waypost_actors::live::VehicleNow;
use waypost_actors::model::{Connection, GeofenceId, Motion, VehicleId};

use super::error::OpError;
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::bounding_box;

/// What vehicles must be like now. A member without values asks for nothing.
#[derive(Clone, Debug, Default)]
pub struct LiveFilter {
    /// In one of these geofences.
    pub geofence_ids: Vec<GeofenceId>,
    /// Within this box: west, south, east, north.
    pub bbox: Option<[f64; 4]>,
    /// Heard of like one of these.
    pub states: Vec<Connection>,
    /// Moving like one of these.
    pub motions: Vec<Motion>,
}

/// The vehicles of an organization as the live core knows them now.
pub(super) struct Fleet {
    vehicles: HashMap<VehicleId, VehicleNow>,
}

impl LiveFilter {
    /// Whether it asks for nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.geofence_ids.is_empty()
            && self.bbox.is_none()
            && self.states.is_empty()
            && self.motions.is_empty()
    }

    /// Refuses to answer a caller by what it may not see.
    pub(super) fn require(&self, caller: &Caller) -> Result<(), OpError> {
        if !self.geofence_ids.is_empty() {
            caller.may(Action::ReadEvents)?;
        }
        if self.bbox.is_some() || !self.states.is_empty() || !self.motions.is_empty() {
            caller.may(Action::ReadLivePositions)?;
        }
        Ok(())
    }

    fn accepts(&self, VehicleNow { state, connection, .. }: &VehicleNow) -> bool {
        let is_inside = |fence: &GeofenceId| state.open_stays().any(|stay| stay.geofence_id == *fence);
        let is_within = |bbox| state.last.is_some_and(|fix| bounding_box::holds(bbox, fix.place));
        (self.geofence_ids.is_empty() || self.geofence_ids.iter().any(is_inside))
            && self.bbox.is_none_or(is_within)
            && (self.motions.is_empty() || self.motions.contains(&state.trail.motion))
            && (self.states.is_empty() || self.states.contains(connection))
    }
}

impl Fleet {
    /// The fleet now.
    pub(super) async fn of(context: &Context, scope: &OrgScope) -> Result<Self, OpError> {
        let vehicles = context.live.fleet(scope.organization_id()).await?.into_iter().collect();
        Ok(Self { vehicles })
    }

    /// The vehicles that are as a filter asks, in no order.
    pub(super) fn accepted(&self, filter: &LiveFilter) -> impl Iterator<Item = (VehicleId, &VehicleNow)> {
        let all = self.vehicles.iter().map(|(vehicle, now)| (*vehicle, now));
        all.filter(|(_, now)| filter.accepts(now))
    }

    /// Whether a vehicle is as a filter asks. One that the core does not know never reported.
    pub(super) fn accepts(&self, vehicle: VehicleId, filter: &LiveFilter) -> bool {
        match self.vehicles.get(&vehicle) {
            Some(now) => filter.accepts(now),
            None => filter.accepts(&VehicleNow::never()),
        }
    }
}
