//! The newest committed state of every vehicle, running or passivated, which vehicles are inside which fence, and
//! the watchers. It is sent every commit and answers every live read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use actix::prelude::*;
use rustc_hash::FxBuildHasher;

use super::connectivity::Connectivity;
use super::hub::{PositionHub, Uncommitted};
use super::inside_index::InsideIndex;
use super::watchers::{Commit, Watchers};
use crate::meters::Meters;
use crate::model::{Change, OrganizationId, Timestamp, VehicleId};
use crate::ports::{Reread, VehicleSeed};
use crate::tracking::{Record, VehicleState};
use crate::view::VehicleNow;
use crate::watch::{CommittedRecord, Crossed, VehicleUpdate, crossed};

pub(super) struct Known {
    pub(super) organization_id: OrganizationId,
    pub(super) state: Arc<VehicleState>,
    /// Where its committed dirty mark begins; the hub knows it too.
    pub(super) dirty_from: Option<Timestamp>,
    /// Whether it is heard of.
    pub(super) connectivity: Arc<Connectivity>,
}

impl Known {
    pub(super) fn now(&self) -> VehicleNow {
        let settled_through = self.state.settled_through(self.dirty_from);
        VehicleNow { state: Arc::clone(&self.state), settled_through, connection: self.connectivity.state() }
    }
}

type Vehicles = HashSet<VehicleId, FxBuildHasher>;

/// The newest committed state of everything.
pub(crate) struct Occupancy {
    pub(super) vehicles: HashMap<VehicleId, Known, FxBuildHasher>,
    pub(super) inside: InsideIndex,
    pub(super) fleets: HashMap<OrganizationId, Vehicles>,
    pub(super) watchers: Watchers,
    pub(super) hub: PositionHub,
    pub(super) next_sequence: i64,
}

impl Occupancy {
    /// Takes the states from the seeds. `connectivity_of`: when each was heard.
    pub(crate) fn new(
        seeds: &mut [VehicleSeed],
        connectivity_of: impl Fn(VehicleId) -> Arc<Connectivity>,
        next_sequence: i64,
        hub: PositionHub,
        meters: Meters,
    ) -> Self {
        let mut occupancy = Self {
            vehicles: HashMap::with_capacity_and_hasher(seeds.len(), FxBuildHasher),
            inside: InsideIndex::default(),
            fleets: HashMap::new(),
            watchers: Watchers::new(next_sequence, meters),
            hub,
            next_sequence,
        };
        for seed in seeds {
            occupancy.hub.lock().mark(seed.vehicle.id, seed.dirty_from);
            let new = Known {
                organization_id: seed.vehicle.organization_id,
                state: Arc::new(std::mem::take(&mut seed.state)),
                dirty_from: seed.dirty_from,
                connectivity: connectivity_of(seed.vehicle.id),
            };
            occupancy.add(seed.vehicle.id, new);
        }
        occupancy
    }

    /// Adds a vehicle that was not known; returns the change.
    fn add(&mut self, vehicle_id: VehicleId, new: Known) -> VehicleUpdate {
        let crossed = crossed(&VehicleState::default(), &new.state);
        let (organization_id, now) = (new.organization_id, new.now());
        self.vehicles.insert(vehicle_id, new);
        self.fleets.entry(organization_id).or_default().insert(vehicle_id);
        self.note_crossed(vehicle_id, &crossed);
        VehicleUpdate::new(vehicle_id, organization_id, crossed, now)
    }

    /// Replaces the state of a known vehicle and returns the change; an unknown vehicle is not added.
    fn renew(&mut self, newest: CommittedVehicle, followed: Followed) -> Option<Renewed> {
        let CommittedVehicle { vehicle_id, organization_id, state, dirty_from, may_have_crossed } = newest;
        let known = self.vehicles.get_mut(&vehicle_id)?;
        let dirty_before = std::mem::replace(&mut known.dirty_from, dirty_from);
        let before = std::mem::replace(&mut known.state, Arc::clone(&state));
        known.organization_id = organization_id;
        let crossed = if may_have_crossed { crossed(&before, &state) } else { Crossed::default() };
        let has_crossed = !(crossed.0.is_empty() && crossed.1.is_empty());
        let now = (followed.states || (has_crossed && followed.crossings)).then(|| known.now());
        self.note_crossed(vehicle_id, &crossed);
        let update = now.map(|now| VehicleUpdate::new(vehicle_id, organization_id, crossed, now));
        Some(Renewed { vehicle_id, state, dirty_from, before, dirty_before, update })
    }

    /// Updates which fences a vehicle is inside of.
    fn note_crossed(&mut self, vehicle: VehicleId, (entered, left): &Crossed) {
        for fence in left {
            self.inside.leave(*fence, vehicle);
        }
        for held in entered {
            self.inside.enter(held.geofence_id, vehicle);
        }
    }

    /// Takes over committed states and sends the watchers what is new to them: a state that was published already,
    /// or that looks like the one before, is sent only if the vehicle entered or left a fence. With `all`, set
    /// after something untrue was published, states that look like the one before are sent too.
    fn apply(
        &mut self,
        states: Vec<CommittedVehicle>,
        Logged { records, changes, next_sequence }: Logged,
        all: bool,
    ) {
        // A vehicle may occur more than once in a commit: only its last state counts. A write that was still on its
        // way does not bring back a vehicle that was taken out of use.
        let turned = self.note_connections(&records);
        let turned_now = turned.iter().filter_map(|vehicle| self.stored(*vehicle));
        let mut newest: Vec<_> = turned_now.chain(states).collect();
        newest.reverse();
        newest.sort_by_key(|newest| newest.vehicle_id);
        newest.dedup_by(|earlier, newest| {
            let is_same = earlier.vehicle_id == newest.vehicle_id;
            newest.may_have_crossed |= is_same && earlier.may_have_crossed;
            is_same
        });
        let followed =
            Followed { states: self.watchers.follow_states(), crossings: self.watchers.follow_crossings() };
        let renewed: Vec<_> = newest.into_iter().filter_map(|newest| self.renew(newest, followed)).collect();
        self.next_sequence = next_sequence;
        let mut hub_state = self.hub.lock();
        let order = hub_state.next_order();
        let news = |Renewed { vehicle_id, state, dirty_from, before, dirty_before, update }: Renewed| {
            hub_state.mark(vehicle_id, dirty_from);
            let told = hub_state.commit(vehicle_id, &state);
            let mut update = update?;
            update.order = order;
            let all = all || turned.contains(&vehicle_id);
            match told {
                Uncommitted::Nothing => {
                    if !all
                        && !update.crossed()
                        && update.looks_like(&before, before.settled_through(dirty_before))
                    {
                        return None;
                    }
                }
                Uncommitted::This(settled) => {
                    if !all && !update.crossed() && settled == update.settled_through {
                        return None;
                    }
                }
                Uncommitted::Newer(_) if !update.crossed() => return None,
                Uncommitted::Newer(position) => update.provisional = Some(position),
            }
            Some(Arc::new(update))
        };
        let vehicles: Vec<_> = renewed.into_iter().filter_map(news).collect();
        let records: Vec<_> =
            records.into_iter().map(|record| Arc::new(CommittedRecord::new(record))).collect();
        let commit = Commit {
            vehicles: &vehicles,
            removed: None,
            records: &records,
            changes: &changes,
            next_sequence,
        };
        self.watchers.tell(&commit, &hub_state);
    }

    /// Takes over what records tell of connections; returns whose.
    fn note_connections(&self, records: &[Record]) -> HashSet<VehicleId> {
        let told = records.iter().filter_map(|record| {
            let connection = record.connection()?;
            self.vehicles.get(&record.vehicle_id)?.connectivity.tell(connection.state);
            Some(record.vehicle_id)
        });
        told.collect()
    }

    /// What memory has of a vehicle, as a commit would bring it.
    fn stored(&self, vehicle: VehicleId) -> Option<CommittedVehicle> {
        let Known { organization_id, state, dirty_from, .. } = self.vehicles.get(&vehicle)?;
        let (organization_id, dirty_from) = (*organization_id, *dirty_from);
        let state = Arc::clone(state);
        Some(CommittedVehicle {
            vehicle_id: vehicle,
            organization_id,
            state,
            dirty_from,
            may_have_crossed: true,
        })
    }

    /// Sends watchers the vehicle's stored state.
    fn tell_truth(&mut self, vehicle: VehicleId) {
        let Some(stored) = self.stored(vehicle) else { return };
        let log = Logged { next_sequence: self.next_sequence, ..Logged::default() };
        self.apply(vec![stored], log, true);
    }
}

impl Actor for Occupancy {
    type Context = Context<Self>;
}

/// What a commit added to the log.
#[derive(Default)]
pub(crate) struct Logged {
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// The next number of the log.
    pub(crate) next_sequence: i64,
}

/// What a commit changed of a vehicle.
struct Renewed {
    vehicle_id: VehicleId,
    state: Arc<VehicleState>,
    dirty_from: Option<Timestamp>,
    /// Its state before, and where its dirty mark began then.
    before: Arc<VehicleState>,
    dirty_before: Option<Timestamp>,
    /// `None` if nobody follows what changed of it.
    update: Option<VehicleUpdate>,
}

/// What of vehicles is followed by any watcher.
#[derive(Clone, Copy)]
struct Followed {
    /// Whatever a commit changes of them.
    states: bool,
    /// That they enter and leave fences.
    crossings: bool,
}

/// One vehicle of a commit.
pub(crate) struct CommittedVehicle {
    pub(crate) vehicle_id: VehicleId,
    pub(crate) organization_id: OrganizationId,
    pub(crate) state: Arc<VehicleState>,
    /// Where its dirty mark begins.
    pub(crate) dirty_from: Option<Timestamp>,
    /// Whether it may have entered or left a fence since the last commit.
    pub(crate) may_have_crossed: bool,
}

/// A commit. From the writer, which waits for the answer before it acknowledges.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Committed {
    pub(crate) vehicles: Vec<CommittedVehicle>,
    pub(crate) log: Logged,
}

impl Handler<Committed> for Occupancy {
    type Result = ();

    fn handle(&mut self, committed: Committed, _: &mut Context<Self>) {
        self.apply(committed.vehicles, committed.log, false);
    }
}

/// What is stored after a doubtful commit replaces the state in memory. From the writer.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Replace(pub(crate) Reread);

impl Handler<Replace> for Occupancy {
    type Result = ();

    fn handle(&mut self, Replace(reread): Replace, _: &mut Context<Self>) {
        let open = self.hub.begin_anew(&mut self.hub.lock());
        // For vehicles outside the failed commit, the state in memory is the stored one.
        let untouched = open.iter().filter_map(|vehicle| self.stored(*vehicle));
        let dirty: HashMap<VehicleId, Timestamp> = reread.dirty.into_iter().collect();
        let stored = reread.states.into_iter().filter_map(|(vehicle_id, state)| {
            Some(CommittedVehicle {
                vehicle_id,
                organization_id: self.vehicles.get(&vehicle_id)?.organization_id,
                state: Arc::new(state),
                dirty_from: dirty.get(&vehicle_id).copied(),
                may_have_crossed: true,
            })
        });
        let states: Vec<_> = untouched.chain(stored).collect();
        let Reread { records, changes, next_sequence, .. } = reread;
        self.apply(states, Logged { records, changes, next_sequence }, true);
    }
}

/// A vehicle's newest committed state and its connectivity, to start its actor with. From the vehicle.
#[derive(Message)]
#[rtype(result = "(Arc<VehicleState>, Arc<Connectivity>)")]
pub(crate) struct Seed(pub(crate) VehicleId);

impl Handler<Seed> for Occupancy {
    type Result = MessageResult<Seed>;

    fn handle(&mut self, Seed(vehicle): Seed, _: &mut Context<Self>) -> Self::Result {
        let known = self.vehicles.get(&vehicle);
        MessageResult(
            known
                .map(|known| (Arc::clone(&known.state), Arc::clone(&known.connectivity)))
                .unwrap_or_default(),
        )
    }
}

/// Adds a vehicle that never reported. From the edge.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Introduce {
    pub(crate) vehicle_id: VehicleId,
    pub(crate) organization_id: OrganizationId,
}

impl Handler<Introduce> for Occupancy {
    type Result = ();

    fn handle(&mut self, new: Introduce, _: &mut Context<Self>) {
        if !self.vehicles.contains_key(&new.vehicle_id) {
            let Introduce { vehicle_id, organization_id } = new;
            let (state, connectivity) = (Arc::default(), Arc::default());
            let new = Known { organization_id, state, dirty_from: None, connectivity };
            let mut update = self.add(vehicle_id, new);
            let mut hub_state = self.hub.lock();
            update.order = hub_state.next_order();
            let vehicles = [Arc::new(update)];
            self.watchers.tell(&Commit::of(&vehicles, None, self.next_sequence), &hub_state);
        }
    }
}

/// Forgets a vehicle that was taken out of use; returns its organization. From the edge.
#[derive(Message)]
#[rtype(result = "Option<OrganizationId>")]
pub(crate) struct Forget(pub(crate) VehicleId);

impl Handler<Forget> for Occupancy {
    type Result = Option<OrganizationId>;

    fn handle(&mut self, Forget(vehicle): Forget, _: &mut Context<Self>) -> Self::Result {
        let known = self.vehicles.remove(&vehicle)?;
        for stay in &known.state.stays {
            self.inside.leave(stay.geofence_id, vehicle);
        }
        if let Some(fleet) = self.fleets.get_mut(&known.organization_id) {
            fleet.remove(&vehicle);
        }
        let mut hub_state = self.hub.lock();
        hub_state.withdraw(vehicle);
        hub_state.mark(vehicle, None);
        let removed = Some((vehicle, known.organization_id));
        self.watchers.tell(&Commit::of(&[], removed, self.next_sequence), &hub_state);
        Some(known.organization_id)
    }
}

/// A vehicle's writes were refused for good: what was published of them is not true. From the writer.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Withdraw(pub(crate) VehicleId);

impl Handler<Withdraw> for Occupancy {
    type Result = ();

    fn handle(&mut self, Withdraw(vehicle): Withdraw, _: &mut Context<Self>) {
        let was_told = self.hub.lock().withdraw(vehicle);
        if was_told {
            self.tell_truth(vehicle);
        }
    }
}
