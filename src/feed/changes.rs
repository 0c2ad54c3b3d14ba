//! What changed for a subscription since its last delta: the newest known position of each vehicle, and the net
//! crossings of fences. Bounded by the number of vehicles and their fences, however long it waits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use waypost_actors::live::VehicleNow;
use waypost_actors::model::{Fix, GeofenceId, OrganizationId, VehicleId};
use waypost_actors::watch::{PositionBatch, ProvisionalPosition, VehicleUpdate};

use super::filter::Filter;
use super::occupancy::{InsideOut, LeaveOut, OccupancyOut, inside};

/// Changes waiting for the next delta.
#[derive(Default)]
pub(super) struct PendingDelta {
    vehicles: BTreeMap<VehicleId, VehicleChange>,
    crossings: BTreeMap<(GeofenceId, VehicleId), Option<InsideOut>>,
    removes: HashSet<VehicleId>,
    /// Vehicles within the box; only kept when there is one.
    shown: HashSet<VehicleId>,
}

/// A vehicle's latest change.
#[derive(Clone)]
pub(super) enum VehicleChange {
    /// It was seen at a position that may not be stored yet.
    Seen(Arc<ProvisionalPosition>),
    /// A commit changed it.
    Committed(Arc<VehicleUpdate>),
    /// A commit changed it, and it has been seen at another position since.
    Both(Arc<VehicleUpdate>, Arc<ProvisionalPosition>),
}

/// A vehicle of a snapshot: its committed state, and its newest provisional position.
pub(super) struct Known {
    pub(super) vehicle_id: VehicleId,
    pub(super) organization_id: OrganizationId,
    pub(super) now: VehicleNow,
    pub(super) provisional: Option<Arc<ProvisionalPosition>>,
}

/// The content of one delta.
pub(super) struct Delta {
    pub(super) vehicles: Vec<VehicleChange>,
    pub(super) removes: Vec<VehicleId>,
    pub(super) occupancy: OccupancyOut,
}

impl VehicleChange {
    /// The vehicle and its organization.
    pub(super) fn of(&self) -> (VehicleId, OrganizationId) {
        match self {
            Self::Seen(provisional) => (provisional.vehicle_id, provisional.organization_id),
            Self::Committed(update) | Self::Both(update, _) => (update.vehicle_id, update.organization_id),
        }
    }

    /// Its newest position.
    fn fix(&self) -> Option<&Fix> {
        match self {
            Self::Seen(provisional) | Self::Both(_, provisional) => provisional.fix(),
            Self::Committed(update) => update.state.last.as_ref(),
        }
    }
}

impl Known {
    /// Its newest position.
    pub(super) fn fix(&self) -> Option<&Fix> {
        self.provisional.as_ref().map_or(self.now.state.last.as_ref(), |provisional| provisional.fix())
    }
}

impl PendingDelta {
    /// Starts from a snapshot that showed these vehicles.
    pub(super) fn from_snapshot(shown: impl Iterator<Item = VehicleId>, filter: &Filter) -> Self {
        let shown = if filter.has_box() { shown.collect() } else { HashSet::new() };
        Self { shown, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vehicles.is_empty() && self.crossings.is_empty() && self.removes.is_empty()
    }

    /// Adds a vehicle changed by a commit.
    pub(super) fn add(&mut self, update: &Arc<VehicleUpdate>, filter: &Filter) {
        let vehicle = update.vehicle_id;
        if !filter.interest.vehicle(vehicle) {
            return;
        }
        if filter.shows(update.state.fuel.is_some()) {
            let seen = match self.vehicles.get(&vehicle) {
                Some(VehicleChange::Seen(seen) | VehicleChange::Both(_, seen))
                    if seen.order > update.order =>
                {
                    Some(seen)
                }
                _ => update.provisional.as_ref(),
            };
            let update = Arc::clone(update);
            self.put(
                vehicle,
                seen.cloned()
                    .map_or(VehicleChange::Committed(update.clone()), |s| VehicleChange::Both(update, s)),
                filter,
            );
        }
        if filter.interest.occupancy {
            for fence in update.left.iter().filter(|fence| filter.interest.fence(**fence)) {
                self.crossings.insert((*fence, vehicle), None);
            }
            for inside in inside(vehicle, &update.state) {
                let entered = update.entered.iter().any(|held| held.geofence_id == inside.geofence_id);
                if entered && filter.interest.fence(inside.geofence_id) {
                    self.crossings.insert((inside.geofence_id, vehicle), Some(inside));
                }
            }
        }
    }

    /// Adds provisional positions, all newer than anything known of their vehicles.
    pub(super) fn see(&mut self, batch: &PositionBatch, filter: &Filter) {
        for provisional in batch.provisional.iter().filter(|provisional| filter.shows(provisional.has_fuel()))
        {
            let vehicle = provisional.vehicle_id;
            let change = match self.vehicles.remove(&vehicle) {
                Some(VehicleChange::Committed(update) | VehicleChange::Both(update, _)) => {
                    VehicleChange::Both(update, Arc::clone(provisional))
                }
                Some(VehicleChange::Seen(_)) | None => VehicleChange::Seen(Arc::clone(provisional)),
            };
            self.put(vehicle, change, filter);
        }
    }

    /// Removes a vehicle that was taken out of use. The fences it leaves are already among the crossings.
    pub(super) fn remove(&mut self, vehicle: VehicleId) {
        self.vehicles.remove(&vehicle);
        self.shown.remove(&vehicle);
        self.removes.insert(vehicle);
    }

    fn put(&mut self, vehicle: VehicleId, change: VehicleChange, filter: &Filter) {
        if change.fix().is_none_or(|fix| filter.place(fix.place)) {
            self.vehicles.insert(vehicle, change);
            self.removes.remove(&vehicle);
            if filter.has_box() {
                self.shown.insert(vehicle);
            }
        } else if self.shown.remove(&vehicle) {
            self.vehicles.remove(&vehicle);
            self.removes.insert(vehicle);
        }
    }

    pub(super) fn take(&mut self) -> Delta {
        let mut occupancy = OccupancyOut::default();
        for ((geofence_id, vehicle_id), inside) in std::mem::take(&mut self.crossings) {
            match inside {
                Some(inside) => occupancy.enter.push(inside),
                None => occupancy.leave.push(LeaveOut { geofence_id, vehicle_id }),
            }
        }
        Delta {
            vehicles: std::mem::take(&mut self.vehicles).into_values().collect(),
            removes: std::mem::take(&mut self.removes).into_iter().collect(),
            occupancy,
        }
    }
}
