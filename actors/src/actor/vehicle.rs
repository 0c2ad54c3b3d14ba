//! One vehicle: applies its fixes in order and hands their effects to the writer. Goes on doing so
//! while a correction of its past is on its way.

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
use crate::model::{Fix, Timestamp, Vehicle, VehicleId};
use crate::ports::{Counts, Slice, StoreError, TrackStore};
use crate::tracking::{self, Context as Judgement, Effects, Mark, Meanwhile, Standing, VehicleState};

/// A correction that waits for its slice while so many fixes are applied is given up for now.
const MAX_MEANWHILE: usize = 20_000;

/// What a vehicle is started with.
#[derive(Clone)]
pub(crate) struct VehicleParts {
    pub(crate) vehicle: Arc<Vehicle>,
    pub(crate) fences: Arc<ArcSwap<FenceSet>>,
    pub(crate) store: Arc<dyn TrackStore>,
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
    /// What happens while a correction waits for its slice.
    correcting: Option<Meanwhile>,
    /// Counts corrections: the one that is waited for.
    correction: u64,
}

/// What became of what was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// Whether the vehicle awaits a correction that what was asked for brought about, or left.
    pub(crate) is_dirty: bool,
}

/// Told once what was asked for is committed or refused.
pub(crate) type Done = oneshot::Sender<Result<Outcome, LiveError>>;

/// Fixes of one report, in their order. From a reporter; one in flight per reporter and vehicle.
/// Answered once applied; `done` once committed or refused.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report {
    pub(crate) fixes: Vec<Fix>,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// The timeline changed from an instant on: a fence's version takes effect, or the vehicle goes out of
/// service. From the edge of an edit; `done` once the records are committed, or owed by a dirty mark.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Settle {
    pub(crate) from: Timestamp,
    /// The vehicle is out of service for ever and takes no fixes from here on.
    pub(crate) retire: bool,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// One step of a correction. From the coordinator of corrections, one at a time; `done` once it is
/// committed, with whether the vehicle is still dirty.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Correct {
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
            correcting: None,
            correction: 0,
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
                actor.correcting = None;
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
            let counts = Counts { stored: 0, duplicates: effects.duplicates };
            done.send(Ok(Outcome { counts, is_dirty: false })).ok();
            return;
        }
        if let Some(late) = may_be_late(&effects)
            && let Some(meanwhile) = &mut self.correcting
        {
            meanwhile.late = Some(meanwhile.late.map_or(late, |known| known.merge(late)));
        }
        self.write(effects, Arc::new(state), permit, done);
    }

    fn write(&mut self, effects: Effects, state: Arc<VehicleState>, permit: Permit, done: Done) {
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
        let (write, why) = match self.parts.persistence.try_send(write) {
            Ok(()) => {
                self.state = state;
                return;
            }
            Err(SendError::Full(write)) => (write, LiveError::Unavailable),
            Err(SendError::Closed(write)) => (write, LiveError::Stopped),
        };
        self.correcting = None; // it remembers what has not happened
        refuse(write.done, why);
    }

    /// Reads a slice of the past, while live fixes are applied.
    fn begin_correction(&mut self, permit: Permit, done: Done, ctx: &mut Context<Self>) {
        self.correcting = Some(Meanwhile::default());
        self.correction += 1;
        let number = self.correction;
        let (persistence, store, vehicle) =
            (self.parts.persistence.clone(), Arc::clone(&self.parts.store), self.id());
        let slice = async move {
            // What was handed over before must be stored when the slice is read.
            persistence.send(Barrier).await.map_err(|_| LiveError::Stopped)??;
            store.slice(vehicle).await.map_err(|error| unread(&error))
        };
        ctx.spawn(slice.into_actor(self).map(move |slice, actor, _| {
            // Nothing is remembered if the state was taken over anew, or too much happened.
            let meanwhile = actor.correcting.take_if(|_| actor.correction == number);
            match (slice, meanwhile) {
                (Ok(Some(slice)), Some(meanwhile)) => actor.correct(&slice, &meanwhile, permit, done),
                (Ok(None), Some(_)) => {
                    done.send(Ok(Outcome::default())).ok();
                }
                (Ok(_), None) => refuse(done, LiveError::Unavailable),
                (Err(error), _) => refuse(done, error),
            }
        }));
    }

    /// Evaluates a slice and hands over what it found. Live fixes wait for no more than this.
    fn correct(&mut self, slice: &Slice, meanwhile: &Meanwhile, permit: Permit, done: Done) {
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        let corrected = tracking::correct(slice, meanwhile, &judgement);
        let state = Arc::new(corrected.live(&self.state));
        let effects = Effects { correction: Some(Box::new(corrected.correction)), ..Effects::default() };
        self.write(effects, state, permit, done);
    }

    /// Keeps fixes for a correction that waits for its slice.
    fn remember(&mut self, fixes: &[Fix]) {
        if let Some(meanwhile) = &mut self.correcting {
            meanwhile.fixes.extend_from_slice(fixes);
            if meanwhile.fixes.len() > MAX_MEANWHILE {
                self.correcting = None;
            }
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

fn unread(error: &StoreError) -> LiveError {
    tracing::warn!(%error, "the store gave no slice for a correction");
    LiveError::Unavailable
}

/// What these effects may mark dirty when they are stored: only the store knows what it had before.
fn may_be_late(effects: &Effects) -> Option<Mark> {
    let rechecked = effects.rows.iter().filter(|row| matches!(row.standing, Standing::Recheck { .. }));
    rechecked.map(|row| Mark::of_fix(row.fix.recorded_at)).chain(effects.late).reduce(Mark::merge)
}

impl Actor for VehicleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.seed(self.parts.restarted, ctx, |_| {});
        let idle_after = self.parts.idle_after;
        ctx.run_interval(idle_after, move |actor, ctx| {
            let idle = actor.last_used.elapsed() >= idle_after;
            if idle && actor.correcting.is_none() && actor.in_flight.load(Ordering::Acquire) == 0 {
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
            // However a frame was packed, newest first too: what it holds is applied in its order.
            let mut fixes = fixes;
            fixes.sort_by(tracking::by_rank);
            actor.remember(&fixes);
            actor.step(permit, done, |state, judgement, effects| {
                for fix in fixes {
                    tracking::apply(state, fix, judgement, effects);
                }
                tracking::catch_up(state, judgement, effects);
            });
        });
    }
}

impl Handler<Settle> for VehicleActor {
    type Result = ();

    fn handle(&mut self, settle: Settle, ctx: &mut Context<Self>) {
        let Settle { from, retire, permit, done } = settle;
        self.in_term(permit, done, ctx, move |actor, permit, done| {
            actor.step(permit, done, |state, judgement, effects| {
                tracking::settle_change(state, from, judgement, effects);
            });
            // From here on a connection that still has the address cannot begin a new stay.
            actor.retired |= retire;
        });
    }
}

impl Handler<Correct> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Correct { permit, done }: Correct, ctx: &mut Context<Self>) {
        self.last_used = Instant::now();
        if permit.term < self.parts.term {
            refuse(done, LiveError::Unavailable);
        } else if permit.term > self.parts.term {
            // The first of a new term takes over the state; this one comes again.
            self.parts.term = permit.term;
            self.seed(false, ctx, |_| refuse(done, LiveError::Unavailable));
        } else {
            self.begin_correction(permit, done, ctx);
        }
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
