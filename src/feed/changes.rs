//! What changed for a subscription since its last delta: each vehicle's newest state, and who went
//! in and out on balance. Its size is bounded by the vehicles and their fences, however long it waits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use waypost_actors::model::{GeofenceId, VehicleId};
use waypost_actors::watch::VehicleUpdate;

use super::filter::Filter;
use super::protocol::Topic;
use super::wire::{self, InsideOut, LeftOut, OccupancyOut};

/// Changes waiting for the next delta.
#[derive(Default)]
pub(super) struct Changes {
    vehicles: BTreeMap<VehicleId, Arc<VehicleUpdate>>,
    crossings: BTreeMap<(GeofenceId, VehicleId), Option<InsideOut>>,
    removes: HashSet<VehicleId>,
    /// Vehicles within the box; only kept when there is one.
    shown: HashSet<VehicleId>,
}

/// One delta's content.
pub(super) struct Delta {
    pub(super) vehicles: Vec<Arc<VehicleUpdate>>,
    pub(super) removes: Vec<VehicleId>,
    pub(super) occupancy: OccupancyOut,
}

impl Changes {
    /// Begins from a snapshot that showed these vehicles.
    pub(super) fn from_snapshot(shown: impl Iterator<Item = VehicleId>, filter: &Filter) -> Self {
        let shown = if filter.has_box() { shown.collect() } else { HashSet::new() };
        Self { shown, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vehicles.is_empty() && self.crossings.is_empty() && self.removes.is_empty()
    }

    pub(super) fn add(&mut self, update: &Arc<VehicleUpdate>, topics: &HashSet<Topic>, filter: &Filter) {
        let vehicle = update.vehicle_id;
        if !filter.vehicle(vehicle) {
            return;
        }
        let of_fuel = || topics.contains(&Topic::Fuel) && update.state.fuel.is_some();
        if topics.contains(&Topic::Positions) || of_fuel() {
            self.add_position(update, filter);
        }
        if topics.contains(&Topic::Occupancy) {
            for fence in update.left.iter().filter(|fence| filter.fence(**fence)) {
                self.crossings.insert((*fence, vehicle), None);
            }
            for inside in wire::inside(vehicle, &update.state) {
                let entered = update.entered.iter().any(|held| held.geofence_id == inside.geofence_id);
                if entered && filter.fence(inside.geofence_id) {
                    self.crossings.insert((inside.geofence_id, vehicle), Some(inside));
                }
            }
        }
    }

    /// A vehicle was taken out of use; who was inside is told by the crossings before.
    pub(super) fn remove(&mut self, vehicle: VehicleId) {
        self.vehicles.remove(&vehicle);
        self.shown.remove(&vehicle);
        self.removes.insert(vehicle);
    }

    fn add_position(&mut self, update: &Arc<VehicleUpdate>, filter: &Filter) {
        let vehicle = update.vehicle_id;
        if update.state.last.is_none_or(|fix| filter.place(fix.place)) {
            self.vehicles.insert(vehicle, Arc::clone(update));
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
                None => occupancy.leave.push(LeftOut { geofence_id, vehicle_id }),
            }
        }
        Delta {
            vehicles: std::mem::take(&mut self.vehicles).into_values().collect(),
            removes: std::mem::take(&mut self.removes).into_iter().collect(),
            occupancy,
        }
    }
}
