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
    /// The writer's term at the start.
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
    state: VehicleState,
    in_flight: Arc<AtomicUsize>,
    last_used: Instant,
}

/// Fixes of one report, in their order. From a reporter; one in flight per reporter and vehicle.
/// Answered once applied; `done` once committed or refused.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report {
    pub(crate) fixes: Vec<Fix>,
    pub(crate) permit: Permit,
    pub(crate) done: oneshot::Sender<Result<Counts, LiveError>>,
}

/// Settles a fence's newest version. From the edge of an edit; `done` once its records are committed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Settle {
    pub(crate) fence: GeofenceId,
    pub(crate) permit: Permit,
    pub(crate) done: oneshot::Sender<Result<Counts, LiveError>>,
}

/// Ends every stay: the vehicle is taken out of use. From the edge; `done` once that is committed.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deactivate {
    pub(crate) permit: Permit,
    pub(crate) done: oneshot::Sender<Result<Counts, LiveError>>,
}

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
            state: VehicleState::default(),
            in_flight: Arc::new(AtomicUsize::new(0)),
            last_used: Instant::now(),
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
                persistence.send(Barrier).await.ok();
            }
            occupancy.send(Seed(vehicle)).await
        };
        ctx.wait(seed.into_actor(self).map(move |seed, actor, ctx| match seed {
            Ok(state) => {
                actor.state = state;
                then(actor);
            }
            Err(_) => ctx.stop(), // the core is stopping
        }));
    }

    /// Runs one step of the engine and hands its effects to the writer.
    fn step(
        &mut self,
        permit: Permit,
        done: oneshot::Sender<Result<Counts, LiveError>>,
        run: impl FnOnce(&mut VehicleState, &Judgement<'_>, &mut Effects),
    ) {
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        let mut effects = Effects::default();
        run(&mut self.state, &judgement, &mut effects);
        if effects.is_empty() {
            // Nothing to write; but a repeated fix may still be on its way to its commit.
            if self.in_flight.load(Ordering::Acquire) == 0 {
                done.send(Ok(Counts { stored: 0, duplicates: effects.duplicates })).ok();
                return;
            }
        }
        let write = Write {
            vehicle_id: self.parts.vehicle.id,
            organization_id: self.parts.vehicle.organization_id,
            effects,
            state: Arc::new(self.state.clone()),
            permit,
            in_flight: InFlight::begin(&self.in_flight),
            done,
        };
        // The permits bound what is on its way, and the writer's mailbox holds that much.
        if let Err(SendError::Full(write) | SendError::Closed(write)) = self.parts.persistence.try_send(write)
        {
            write.done.send(Err(LiveError::Stopped)).ok();
        }
    }

    /// Runs `apply` in the permit's term: at once, or after taking over the committed state when a
    /// commit failed since the last one.
    fn in_term(&mut self, term: u64, ctx: &mut Context<Self>, apply: impl FnOnce(&mut Self) + 'static) {
        self.last_used = Instant::now();
        if term > self.parts.term {
            self.parts.term = term;
            self.seed(false, ctx, apply);
        } else {
            apply(self);
        }
    }
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

    fn handle(&mut self, report: Report, ctx: &mut Context<Self>) {
        if report.permit.term < self.parts.term {
            report.done.send(Err(LiveError::Unavailable)).ok();
            return;
        }
        self.in_term(report.permit.term, ctx, move |actor| {
            let Report { fixes, permit, done } = report;
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

    fn handle(&mut self, settle: Settle, ctx: &mut Context<Self>) {
        if settle.permit.term < self.parts.term {
            settle.done.send(Err(LiveError::Unavailable)).ok();
            return;
        }
        self.in_term(settle.permit.term, ctx, move |actor| {
            let Settle { fence, permit, done } = settle;
            actor.step(permit, done, |state, judgement, effects| {
                tracking::settle_fence(state, fence, judgement, effects);
            });
        });
    }
}

impl Handler<Deactivate> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Deactivate { permit, done }: Deactivate, ctx: &mut Context<Self>) {
        if permit.term < self.parts.term {
            done.send(Err(LiveError::Unavailable)).ok();
            return;
        }
        self.in_term(permit.term, ctx, move |actor| actor.step(permit, done, tracking::deactivate));
    }
}

impl Handler<Rename> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Rename(vehicle): Rename, _: &mut Context<Self>) {
        self.parts.vehicle = vehicle;
    }
}
