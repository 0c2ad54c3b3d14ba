//! Readers' queries of the newest committed state.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;

use super::occupancy::{Known, Occupancy};
use crate::geofence::FenceTimeline;
use crate::model::{GeofenceId, OrganizationId, Place, Timestamp, VehicleId};
use crate::ports::Newest;
use crate::tracking::{Stay, VehicleState, was_on_its_way};
use crate::view::{HeldFence, InsideView, Running, RunningVisit, VehicleNow, VehicleView};
use crate::watch::{Interest, Watch};

/// What is known of a vehicle. From the edge.
#[derive(Message)]
#[rtype(result = "Option<VehicleView>")]
pub(crate) struct View(pub(crate) VehicleId);

impl Handler<View> for Occupancy {
    type Result = Option<VehicleView>;

    fn handle(&mut self, View(vehicle): View, _: &mut Context<Self>) -> Self::Result {
        Some(VehicleView::of(vehicle, &self.vehicles.get(&vehicle)?.now()))
    }
}

/// Every vehicle of an organization. From the edge.
#[derive(Message)]
#[rtype(result = "Vec<(VehicleId, VehicleNow)>")]
pub(crate) struct Fleet(pub(crate) OrganizationId);

impl Handler<Fleet> for Occupancy {
    type Result = Vec<(VehicleId, VehicleNow)>;

    fn handle(&mut self, Fleet(organization): Fleet, _: &mut Context<Self>) -> Self::Result {
        let fleet = self.fleets.get(&organization).into_iter().flatten();
        fleet.filter_map(|id| Some((*id, self.vehicles.get(id)?.now()))).collect()
    }
}

/// What some vehicles have done so far in the fences they are in, and how far that stands. From the edge.
#[derive(Message)]
#[rtype(result = "Running")]
pub(crate) struct GoingOn(pub(crate) Vec<VehicleId>);

impl Handler<GoingOn> for Occupancy {
    type Result = MessageResult<GoingOn>;

    fn handle(&mut self, GoingOn(vehicles): GoingOn, _: &mut Context<Self>) -> Self::Result {
        let known = || vehicles.iter().filter_map(|id| Some((*id, self.vehicles.get(id)?.now())));
        let running = |state: &VehicleState| {
            let newest = state.last.map_or(Timestamp::MIN, |fix| fix.recorded_at);
            let visit = |stay: &Stay| {
                let (as_of, analytics) = stay.running(newest);
                RunningVisit { visit_id: stay.visit_id, as_of, analytics }
            };
            state.open_stays().map(visit).collect::<Vec<_>>()
        };
        MessageResult(Running {
            visits: known().flat_map(|(_, now)| running(&now.state)).collect(),
            settled: known().filter_map(|(id, now)| Some((id, now.settled_through?))).collect(),
        })
    }
}

/// Where some vehicles were last and whether they were on their way, of those that are in use. From the one who tells of connections.
#[derive(Message)]
#[rtype(result = "HashMap<VehicleId, (Option<Place>, bool)>")]
pub(crate) struct Whereabouts(pub(crate) Vec<VehicleId>);

impl Handler<Whereabouts> for Occupancy {
    type Result = MessageResult<Whereabouts>;

    fn handle(&mut self, Whereabouts(vehicles): Whereabouts, _: &mut Context<Self>) -> Self::Result {
        let known = |id: &VehicleId| {
            let state = &self.vehicles.get(id)?.state;
            let was_moving = was_on_its_way(state);
            Some((*id, (state.last.map(|fix| fix.place), was_moving)))
        };
        MessageResult(vehicles.iter().filter_map(known).collect())
    }
}

/// The vehicles in a fence. From the edge.
#[derive(Message)]
#[rtype(result = "Vec<InsideView>")]
pub(crate) struct Inside(pub(crate) GeofenceId);

impl Handler<Inside> for Occupancy {
    type Result = Vec<InsideView>;

    fn handle(&mut self, Inside(fence): Inside, _: &mut Context<Self>) -> Self::Result {
        let inside = |vehicle_id: VehicleId| {
            let Known { state, connectivity, .. } = self.vehicles.get(&vehicle_id)?;
            let held = HeldFence::from(state.stay(fence)?);
            Some(InsideView { vehicle_id, held, fix: state.last?, connection: connectivity.state() })
        };
        let mut views: Vec<InsideView> = self.inside.vehicles(fence).filter_map(inside).collect();
        views.sort_by_key(|view| (view.held.entered_at, view.vehicle_id));
        views
    }
}

/// The vehicles that a version of a fence may touch. From the edge of an edit.
#[derive(Message)]
#[rtype(result = "Touching")]
pub(crate) struct Touched {
    pub(crate) fence: Arc<FenceTimeline>,
    pub(crate) version: i64,
}

/// Vehicles that a version of a fence may touch.
#[derive(Debug, Default)]
pub(crate) struct Touching {
    /// Those in the fence, and those whose last fix it holds.
    pub(crate) now: Vec<VehicleId>,
    /// Others that went on past the instant at which it takes effect and may have come near since.
    pub(crate) before: Vec<VehicleId>,
}

impl Handler<Touched> for Occupancy {
    type Result = MessageResult<Touched>;

    fn handle(&mut self, Touched { fence, version }: Touched, _: &mut Context<Self>) -> Self::Result {
        let mut touching = Touching::default();
        let Some(version) = fence.versions().iter().find(|known| known.version == version) else {
            return MessageResult(touching);
        };
        let from = version.effective_from.unwrap_or(Timestamp::FIRST);
        let is_there = |state: &VehicleState| {
            state.stay(fence.id).is_some()
                || (version.active && state.last.is_some_and(|fix| version.shape.covers(fix.place)))
        };
        for vehicle in self.fleets.get(&fence.organization_id).into_iter().flatten() {
            let Some(known) = self.vehicles.get(vehicle) else { continue };
            if is_there(&known.state) {
                touching.now.push(*vehicle);
            } else if known.state.may_have_met(&fence, from) {
                touching.before.push(*vehicle);
            }
        }
        MessageResult(touching)
    }
}

/// The newest state of every vehicle that was ever anywhere. From the cache.
#[derive(Message)]
#[rtype(result = "Vec<Newest>")]
pub(crate) struct AllStates;

impl Handler<AllStates> for Occupancy {
    type Result = Vec<Newest>;

    fn handle(&mut self, AllStates: AllStates, _: &mut Context<Self>) -> Self::Result {
        let was_anywhere = self.vehicles.iter().filter(|(_, known)| known.state.last.is_some());
        was_anywhere.map(|(id, known)| (known.organization_id, *id, Arc::clone(&known.state))).collect()
    }
}

/// Starts watching. From the edge.
#[derive(Message)]
#[rtype(result = "Watch")]
pub(crate) struct StartWatch {
    pub(crate) interest: Interest,
    pub(crate) capacity: usize,
}

impl Handler<StartWatch> for Occupancy {
    type Result = MessageResult<StartWatch>;

    fn handle(
        &mut self,
        StartWatch { interest, capacity }: StartWatch,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let audience = interest.audience;
        let vehicles = self
            .vehicles
            .iter()
            .filter(|(vehicle, known)| audience.sees(known.organization_id) && interest.vehicle(**vehicle))
            .map(|(vehicle, known)| (*vehicle, known.organization_id, known.now()))
            .collect();
        let mut hub_state = self.hub.lock();
        let provisional = if interest.states() { hub_state.uncommitted_of(&interest) } else { Vec::new() };
        let subscription = self.hub.subscribe(&interest, &mut hub_state);
        let updates = self.watchers.add(interest, capacity);
        let (next_sequence, told_up_to) = (self.next_sequence, self.watchers.told_up_to());
        MessageResult(Watch { vehicles, provisional, next_sequence, updates, subscription, told_up_to })
    }
}
