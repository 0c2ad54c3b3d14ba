//! One vehicle: applies its fixes in order and hands their effects to the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::occupancy::{Occupancy, Seed};
use super::permits::Permit;
use super::persistence::{Barrier, Persistence, Write};
use crate::clock::Clock;
use crate::geofence::FenceSet;
use crate::live::LiveError;
use crate::model::{Fix, GeofenceId, Vehicle, VehicleId};
use crate::ports::Counts;
use crate::tracking::{self, Context as Judgement, Effects, VehicleState};

/// What a vehicle is started with.
#[derive(Clone)]
pub(crate) struct VehicleParts {
    pub(crate) vehicle: Arc<Vehicle>,
    pub(crate) fences: Arc<ArcSwap<FenceSet>>,
    pub(crate) persistence: Addr<Persistence>,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) clock: Clock,
    pub(crate) idle_after: Duration,
    /// The newest term whose beginning was known at the start.
    pub(crate) term: u64,
    /// Whether an earlier actor of this vehicle may have left something on its way to a commit.
    pub(crate) restarted: bool,
    /// Told when the actor goes idle.
    pub(crate) passivated: Recipient<super::directory::Passivated>,
    /// Counts restarts: which of the vehicle's actors this is.
    pub(crate) generation: u64,
}

/// The actor of one vehicle in use.
pub(crate) struct VehicleActor {
    parts: VehicleParts,
    /// What it is once all it handed over is committed.
    state: Arc<VehicleState>,
    in_flight: Arc<AtomicUsize>,
    last_used: Instant,
    /// Taken out of use: takes no fixes any more.
    retired: bool,
}

/// Told once what was asked for is committed or refused.
pub(crate) type Done = oneshot::Sender<Result<Counts, LiveError>>;

/// Fixes of one report, in their order. From a reporter; one in flight per reporter and vehicle.
/// Answered once applied; `done` once committed or refused.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report {
    pub(crate) fixes: Vec<Fix>,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// Settles a fence's newest version. From the edge of an edit; `done` once its records are committed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Settle {
    pub(crate) fence: GeofenceId,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// Ends every stay: the vehicle is taken out of use. From the edge; `done` once that is committed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deactivate {
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// The vehicle was taken out of use: the actor stops. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

/// The vehicle's name or limits changed. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Rename(pub(crate) Arc<Vehicle>);

/// Counts a write on its way until its commit is known.
pub(crate) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl VehicleActor {
    pub(crate) fn new(parts: VehicleParts) -> Self {
        Self {
            parts,
            state: Arc::default(),
            in_flight: Arc::new(AtomicUsize::new(0)),
            last_used: Instant::now(),
            retired: false,
        }
    }

    fn id(&self) -> VehicleId {
        self.parts.vehicle.id
    }

    /// Takes over the vehicle's committed state; the mailbox waits until it is there.
    fn seed(&mut self, after_barrier: bool, ctx: &mut Context<Self>, then: impl FnOnce(&mut Self) + 'static) {
        let (persistence, occupancy) = (self.parts.persistence.clone(), self.parts.occupancy.clone());
        let vehicle = self.id();
        let seed = async move {
            if after_barrier {
                // What an earlier actor of this vehicle left must be committed or refused first.
                // While the store is away it is refused: what is judged now is too, and a newer
                // term takes over the state again.
                persistence.send(Barrier).await.ok();
            }
            occupancy.send(Seed(vehicle)).await
        };
        ctx.wait(seed.into_actor(self).map(move |seed, actor, ctx| match seed {
            Ok(state) => {
                actor.state = state;
                actor.retired = false;
                then(actor);
            }
            Err(_) => ctx.stop(), // the core is stopping
        }));
    }

    /// Runs one step of the engine and hands its effects to the writer. What cannot be handed over
    /// has not happened.
    fn step(
        &mut self,
        permit: Permit,
        done: Done,
        run: impl FnOnce(&mut VehicleState, &Judgement<'_>, &mut Effects),
    ) {
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        let (mut state, mut effects) = (VehicleState::clone(&self.state), Effects::default());
        run(&mut state, &judgement, &mut effects);
        if effects.is_empty() && state == *self.state && self.is_committed(&permit) {
            done.send(Ok(Counts { stored: 0, duplicates: effects.duplicates })).ok();
            return;
        }
        let state = Arc::new(state);
        let write = Write {
            vehicle_id: self.parts.vehicle.id,
            organization_id: self.parts.vehicle.organization_id,
            effects,
            state: Arc::clone(&state),
            permit,
            in_flight: InFlight::begin(&self.in_flight),
            done,
        };
        // The permits bound what is on its way, and the writer's mailbox holds that much.
        match self.parts.persistence.try_send(write) {
            Ok(()) => self.state = state,
            Err(SendError::Full(write)) => refuse(write.done, LiveError::Unavailable),
            Err(SendError::Closed(write)) => refuse(write.done, LiveError::Stopped),
        }
    }

    /// Whether the state is the committed one. Nothing on its way may also mean that it was
    /// refused; but then the permit's term is over, and that is told first.
    fn is_committed(&self, permit: &Permit) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0 && permit.is_current()
    }

    /// Runs `apply` in the permit's term: at once, or after taking over the committed state when a
    /// commit failed since the last one.
    fn in_term(
        &mut self,
        permit: Permit,
        done: Done,
        ctx: &mut Context<Self>,
        apply: impl FnOnce(&mut Self, Permit, Done) + 'static,
    ) {
        self.last_used = Instant::now();
        if permit.term < self.parts.term {
            refuse(done, LiveError::Unavailable);
        } else if permit.term > self.parts.term {
            self.parts.term = permit.term;
            self.seed(false, ctx, move |actor| apply(actor, permit, done));
        } else {
            apply(self, permit, done);
        }
    }
}

fn refuse(done: Done, why: LiveError) {
    done.send(Err(why)).ok();
}

impl Actor for VehicleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.seed(self.parts.restarted, ctx, |_| {});
        let idle_after = self.parts.idle_after;
        ctx.run_interval(idle_after, move |actor, ctx| {
            let idle = actor.last_used.elapsed() >= idle_after;
            if idle && actor.in_flight.load(Ordering::Acquire) == 0 {
                let gone =
                    super::directory::Passivated { vehicle: actor.id(), generation: actor.parts.generation };
                if actor.parts.passivated.try_send(gone).is_ok() {
                    ctx.stop();
                }
            }
        });
    }
}

impl Handler<Report> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Report { fixes, permit, done }: Report, ctx: &mut Context<Self>) {
        self.in_term(permit, done, ctx, move |actor, permit, done| {
            if actor.retired {
                return refuse(done, LiveError::UnknownVehicle);
            }
            actor.step(permit, done, |state, judgement, effects| {
                for fix in fixes {
                    tracking::apply(state, fix, judgement, effects);
                }
            });
        });
    }
}

impl Handler<Settle> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Settle { fence, permit, done }: Settle, ctx: &mut Context<Self>) {
        self.in_term(permit, done, ctx, move |actor, permit, done| {
            if actor.retired {
                return refuse(done, LiveError::UnknownVehicle);
            }
            actor.step(permit, done, |state, judgement, effects| {
                tracking::settle_fence(state, fence, judgement, effects);
            });
        });
    }
}

impl Handler<Deactivate> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Deactivate { permit, done }: Deactivate, ctx: &mut Context<Self>) {
        self.in_term(permit, done, ctx, |actor, permit, done| {
            actor.step(permit, done, tracking::deactivate);
            // From here on a connection that still has the address cannot begin a new stay.
            actor.retired = true;
        });
    }
}

impl Handler<Retire> for VehicleActor {
    type Result = ();

    fn handle(&mut self, _: Retire, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

impl Handler<Rename> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Rename(vehicle): Rename, _: &mut Context<Self>) {
        self.parts.vehicle = vehicle;
    }
}
