//! Which vehicles there are, and the address of each one in use. Starts, passivates and restarts
//! vehicle actors; asked once per connection or actor, not per fix.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;

use super::handles::{VehicleHandle, VehicleHandles};
use super::permits::Permits;
use super::registry::FenceSnapshots;
use super::workers::{Affinity, Workers};
use crate::actor::vehicle::actor::VehicleActor;
use crate::actor::vehicle::messages::{Leave, PassivateIfIdle, Passivated, Rename, Retire};
use crate::actor::vehicle::parts::VehicleParts;
use crate::actor::vehicle::poison::PoisonFixes;
use crate::actor::watch::connections::Connections;
use crate::actor::watch::hub::PositionHub;
use crate::actor::watch::occupancy::Occupancy;
use crate::actor::writer::inbox::Writer;
use crate::clock::Clock;
use crate::meters::Meters;
use crate::model::{Vehicle, VehicleId};
use crate::ports::TrackStore;

/// Restarts after panics that a vehicle is allowed within the restart window.
const RESTART_BUDGET: usize = 3;
/// Turns per idle time; each vehicle is asked in one of them whether it is still in use.
const TURNS: u32 = 16;

/// Why a vehicle has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocateError {
    /// The directory does not know the vehicle, or it was taken out of use.
    Unknown,
    /// It panicked too often, and rests for a while.
    Resting,
}

/// What vehicles are started with.
pub(crate) struct DirectoryParts {
    pub(crate) handles: VehicleHandles,
    pub(crate) workers: Workers,
    pub(crate) writer: Writer,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) connections: Addr<Connections>,
    pub(crate) hub: PositionHub,
    pub(crate) snapshots: FenceSnapshots,
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) permits: Permits,
    pub(crate) clock: Clock,
    pub(crate) idle_after: Duration,
    /// The window of the restart budget: a vehicle over it rests until its oldest restart is older than this.
    pub(crate) restart_window: Duration,
    pub(crate) meters: Meters,
}

struct Entry {
    vehicle: Arc<Vehicle>,
    /// What went wrong with its actors; kept while one runs, or while any of it still counts.
    failures: Option<Box<FailureHistory>>,
}

/// What went wrong with a vehicle's actors.
#[derive(Default)]
struct FailureHistory {
    restarts: Vec<Instant>,
    poison: PoisonFixes,
}

/// The vehicle as the directory knows it. From the edge.
#[derive(Message)]
#[rtype(result = "Option<Arc<Vehicle>>")]
pub(crate) struct Known(pub(crate) VehicleId);

impl Handler<Known> for Directory {
    type Result = Option<Arc<Vehicle>>;

    fn handle(&mut self, Known(vehicle): Known, _: &mut Context<Self>) -> Self::Result {
        self.entries.get(&vehicle).map(|entry| Arc::clone(&entry.vehicle))
    }
}

/// The directory of vehicles.
pub(crate) struct Directory {
    parts: DirectoryParts,
    entries: HashMap<VehicleId, Entry>,
    /// Numbers the actors of all vehicles, so that no two are mistaken for each other.
    incarnation: u64,
}

impl Directory {
    pub(crate) fn new(parts: DirectoryParts, vehicles: Vec<Vehicle>) -> Self {
        let entries =
            vehicles.into_iter().map(|vehicle| (vehicle.id, Entry::new(Arc::new(vehicle)))).collect();
        Self { parts, entries, incarnation: 0 }
    }
}

impl Directory {
    /// Asks the vehicles whose turn it is to check whether they are idle.
    fn passivate_idle(&self, turn: u32) {
        let in_turn = |vehicle: &VehicleId| vehicle.0.as_u128() % u128::from(TURNS) == u128::from(turn);
        for (_, handle) in self.parts.handles.read().iter().filter(|(vehicle, _)| in_turn(vehicle)) {
            // A vehicle whose mailbox is full is in use.
            handle.address.try_send(PassivateIfIdle).ok();
        }
    }
}

impl FailureHistory {
    /// Whether nothing that went wrong still counts.
    fn is_over(&self, window: Duration) -> bool {
        self.poison.is_empty() && self.restarts.iter().all(|at| at.elapsed() >= window)
    }
}

impl Entry {
    fn new(vehicle: Arc<Vehicle>) -> Self {
        Self { vehicle, failures: None }
    }

    /// Notes a restart; `false` when the budget is used up.
    fn may_restart(&mut self, window: Duration) -> bool {
        let restarts = &mut self.failures.get_or_insert_default().restarts;
        restarts.retain(|at| at.elapsed() < window);
        if restarts.len() >= RESTART_BUDGET {
            return false;
        }
        restarts.push(Instant::now());
        true
    }
}

impl Actor for Directory {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let mut turn = 0;
        let pause = (self.parts.idle_after / TURNS).max(Duration::from_millis(1));
        ctx.run_interval(pause, move |directory, _| {
            directory.passivate_idle(turn);
            turn = (turn + 1) % TURNS;
        });
    }
}

/// Finds a vehicle's address, starting its actor if need be. `stale`: the incarnation of an address whose actor
/// took a message without answering, or would not take it.
#[derive(Message)]
#[rtype(result = "Result<VehicleHandle, LocateError>")]
pub(crate) struct Locate {
    pub(crate) vehicle: VehicleId,
    pub(crate) stale: Option<u64>,
    pub(crate) affinity: Affinity,
}

impl Handler<Locate> for Directory {
    type Result = Result<VehicleHandle, LocateError>;

    fn handle(&mut self, locate: Locate, ctx: &mut Context<Self>) -> Self::Result {
        let entry = self.entries.get_mut(&locate.vehicle).ok_or(LocateError::Unknown)?;
        let known = self.parts.handles.get(locate.vehicle);
        if let Some(handle) = known.as_ref().filter(|handle| handle.is_fresh(locate.stale)) {
            if locate.affinity.should_migrate(&handle.worker) {
                // It passivates when it has nothing to do; the reporting connection then finds it gone, and starts
                // it on its own thread.
                handle.address.try_send(Leave).ok();
            }
            return Ok(handle.clone());
        }
        // An actor that stops says goodbye first; this one did not. Either it panicked, and the caller's word
        // counts, since the mailbox looks open while the thread unwinds. Or its thread ended together with the
        // connections on it, which is not counted against the vehicle.
        let restarted = known.is_some();
        if known.is_some_and(|handle| handle.worker.is_there()) {
            if !entry.may_restart(self.parts.restart_window) {
                self.parts.meters.rests.add(1);
                return Err(LocateError::Resting);
            }
            self.parts.meters.restarts.add(1);
            tracing::error!(vehicle.id = %locate.vehicle, "vehicle actor panicked, restarting it");
        }
        self.incarnation += 1;
        let parts = VehicleParts {
            vehicle: Arc::clone(&entry.vehicle),
            fences: self.parts.snapshots.of(entry.vehicle.organization_id),
            store: Arc::clone(&self.parts.store),
            writer: self.parts.writer.clone(),
            occupancy: self.parts.occupancy.clone(),
            connections: self.parts.connections.clone(),
            hub: self.parts.hub.clone(),
            clock: Arc::clone(&self.parts.clock),
            idle_after: self.parts.idle_after,
            generation: self.parts.permits.begun_generation(),
            restarted,
            passivated: ctx.address().recipient(),
            incarnation: self.incarnation,
            poison: entry.failures.get_or_insert_default().poison.clone(),
            meters: self.parts.meters.clone(),
        };
        let worker =
            locate.affinity.worker().cloned().unwrap_or_else(|| self.parts.workers.own_for(locate.vehicle));
        let address = VehicleActor::start_in_arbiter(&worker.thread, move |_| VehicleActor::new(parts));
        let handle = VehicleHandle { address, incarnation: self.incarnation, restarted, worker };
        self.parts.handles.write().insert(locate.vehicle, handle.clone());
        Ok(handle)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A vehicle's actor ends with the last of its addresses.
        self.parts.handles.write().clear();
    }
}

impl Handler<Passivated> for Directory {
    type Result = ();

    fn handle(&mut self, gone: Passivated, _: &mut Context<Self>) {
        let mut handles = self.parts.handles.write();
        if let Some(entry) = self.entries.get_mut(&gone.vehicle)
            && handles.get(&gone.vehicle).is_some_and(|handle| handle.incarnation == gone.incarnation)
        {
            handles.remove(&gone.vehicle);
            entry.failures.take_if(|failures| failures.is_over(self.parts.restart_window));
        }
    }
}

/// A vehicle was created or changed. From the edge; answers with the vehicle as it was before, once its actor
/// knows.
#[derive(Message)]
#[rtype(result = "Option<Arc<Vehicle>>")]
pub(crate) struct PutVehicle(pub(crate) Vehicle);

impl Handler<PutVehicle> for Directory {
    type Result = ResponseFuture<Option<Arc<Vehicle>>>;

    fn handle(&mut self, PutVehicle(vehicle): PutVehicle, _: &mut Context<Self>) -> Self::Result {
        let vehicle = Arc::new(vehicle);
        let known = self.entries.get_mut(&vehicle.id);
        let (before, handle) = match known {
            Some(entry) => {
                let before = std::mem::replace(&mut entry.vehicle, Arc::clone(&vehicle));
                (Some(before), self.parts.handles.get(vehicle.id))
            }
            None => {
                self.entries.insert(vehicle.id, Entry::new(Arc::clone(&vehicle)));
                (None, None)
            }
        };
        Box::pin(async move {
            if let Some(handle) = handle {
                // An actor that stopped meanwhile is started with the new vehicle.
                handle.address.send(Rename(vehicle)).await.ok();
            }
            before
        })
    }
}

/// A vehicle was taken out of use: its address is no longer given out. From the edge.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ForgetVehicle(pub(crate) VehicleId);

impl Handler<ForgetVehicle> for Directory {
    type Result = ();

    fn handle(&mut self, ForgetVehicle(vehicle): ForgetVehicle, ctx: &mut Context<Self>) {
        self.entries.remove(&vehicle);
        let handle = self.parts.handles.write().remove(&vehicle);
        if let Some(handle) = handle {
            // Connections that hold its address find it closed, and ask the directory.
            let told = handle.address.send(Retire);
            ctx.spawn(told.into_actor(self).map(|_, _, _| ()));
        }
    }
}
