//! Which vehicle is corrected next. Knows which vehicles are dirty, and asks them for one step of a correction at a
//! time; knows nothing of what is corrected.
//!
//! Bounds: a vehicle is in here once, and few steps are under way over all vehicles, at most [`MOST_STEPS`]: as many as
//! leave each within [`STEP_WITHIN`], so that live fixes find the store free. A step that fails is tried again after
//! ever longer pauses.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::actor::runtime::router::VehicleRouter;
use crate::actor::vehicle::messages::Correct;
use crate::actor::vehicle::report_batch::Outcome;
use crate::error::LiveError;
use crate::meters::{Figures, Meters, Share};
use crate::model::VehicleId;

/// Steps under way at once at most, over all vehicles: they mostly wait for the store, and share its commits.
const MOST_STEPS: usize = 8;
/// When a step takes longer, fewer are begun together: live fixes share the commits it waits for.
const STEP_WITHIN: Duration = Duration::from_millis(100);
/// The longest pause before a step that keeps failing is tried again.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// What corrections are made with.
pub(crate) struct CorrectionsParts {
    pub(crate) router: VehicleRouter,
    /// How long a dirty vehicle waits, so that one correction serves many late fixes.
    pub(crate) delay: Duration,
    /// The first pause after a step that failed.
    pub(crate) pause: Duration,
    /// Vehicles that were dirty at the start.
    pub(crate) dirty: Vec<VehicleId>,
    pub(crate) meters: Meters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Waits until a pause is over.
    Paused,
    /// In line.
    Queued,
    /// A step is under way. `again`: the vehicle was marked dirty since it began.
    Running { again: bool },
}

struct Case {
    turn: Turn,
    failures: u32,
    since: Instant,
}

/// An edit that waits until some vehicles are clean.
struct Waiter {
    vehicles: HashSet<VehicleId>,
    clean: oneshot::Sender<()>,
}

/// The coordinator of corrections.
pub(crate) struct Corrections {
    parts: CorrectionsParts,
    cases: HashMap<VehicleId, Case>,
    line: VecDeque<VehicleId>,
    running: usize,
    /// How many may run now.
    may_run: usize,
    waiters: Vec<Waiter>,
    waiting: Share<Figures>,
}

impl Corrections {
    pub(crate) fn new(parts: CorrectionsParts) -> Self {
        let (cases, line, waiters) = Default::default();
        let waiting = parts.meters.share(|of| &of.corrections_waiting);
        Self { parts, cases, line, running: 0, may_run: 1, waiters, waiting }
    }

    /// Adds a vehicle that was clean and is now dirty.
    fn open(&mut self, vehicle: VehicleId) {
        self.parts.meters.corrections.offer(1);
        self.cases.insert(vehicle, Case { turn: Turn::Paused, failures: 0, since: Instant::now() });
        self.waiting.set(self.cases.len());
    }

    fn pause(&mut self, vehicle: VehicleId, pause: Duration, ctx: &mut Context<Self>) {
        if let Some(case) = self.cases.get_mut(&vehicle) {
            case.turn = Turn::Paused;
            ctx.run_later(pause, move |actor, ctx| actor.line_up(vehicle, ctx));
        }
    }

    /// Ends a vehicle's pause.
    fn line_up(&mut self, vehicle: VehicleId, ctx: &mut Context<Self>) {
        if let Some(case) = self.cases.get_mut(&vehicle).filter(|case| case.turn == Turn::Paused) {
            case.turn = Turn::Queued;
            self.line.push_back(vehicle);
            self.run(ctx);
        }
    }

    fn run(&mut self, ctx: &mut Context<Self>) {
        while self.running < self.may_run {
            let Some(vehicle) = self.line.pop_front() else { return };
            let Some(case) = self.cases.get_mut(&vehicle) else { continue };
            case.turn = Turn::Running { again: false };
            self.running += 1;
            let router = self.parts.router.clone();
            let step = async move { router.ask(vehicle, |part| Correct { part }).await };
            let began = Instant::now();
            ctx.spawn(step.into_actor(self).map(move |outcome, actor, ctx| {
                actor.running -= 1;
                actor.adapt(began.elapsed());
                actor.stepped(vehicle, &outcome, ctx);
                actor.run(ctx);
            }));
        }
    }

    /// Lets more or fewer steps run together, after one took this long.
    fn adapt(&mut self, took: Duration) {
        self.may_run =
            if took > STEP_WITHIN { (self.may_run - 1).max(1) } else { (self.may_run + 1).min(MOST_STEPS) };
    }

    fn stepped(&mut self, vehicle: VehicleId, outcome: &Result<Outcome, LiveError>, ctx: &mut Context<Self>) {
        let Some(case) = self.cases.get_mut(&vehicle) else { return };
        let again = case.turn == Turn::Running { again: true };
        match outcome {
            Ok(outcome) => {
                case.failures = 0;
                if again {
                    self.pause(vehicle, self.parts.delay, ctx);
                } else if outcome.is_dirty {
                    case.turn = Turn::Paused;
                    self.line_up(vehicle, ctx);
                } else {
                    self.forget(vehicle);
                }
            }
            Err(LiveError::Unavailable) => {
                let pause = self.parts.pause.saturating_mul(1 << case.failures.min(16));
                case.failures += 1;
                self.pause(vehicle, pause.min(MAX_PAUSE), ctx);
            }
            Err(LiveError::UnknownVehicle | LiveError::Stopped) => self.forget(vehicle),
        }
    }

    /// Removes a vehicle that is clean, or gone, and answers the edits that waited for it.
    fn forget(&mut self, vehicle: VehicleId) {
        if let Some(case) = self.cases.remove(&vehicle) {
            self.parts.meters.corrections.accept(1, case.since.elapsed());
            self.waiting.set(self.cases.len());
        }
        for waiter in &mut self.waiters {
            waiter.vehicles.remove(&vehicle);
        }
        let (clean, waiting) =
            std::mem::take(&mut self.waiters).into_iter().partition(|waiter| waiter.vehicles.is_empty());
        self.waiters = waiting;
        let clean: Vec<Waiter> = clean;
        for waiter in clean {
            waiter.clean.send(()).ok();
        }
    }
}

impl Actor for Corrections {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        for vehicle in std::mem::take(&mut self.parts.dirty) {
            self.open(vehicle);
            self.line_up(vehicle, ctx);
        }
    }
}

/// Vehicles that have a dirty mark after a commit. From the writer.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Dirty(pub(crate) Vec<VehicleId>);

impl Handler<Dirty> for Corrections {
    type Result = ();

    fn handle(&mut self, Dirty(vehicles): Dirty, ctx: &mut Context<Self>) {
        for vehicle in vehicles {
            match self.cases.get_mut(&vehicle) {
                Some(case) => {
                    if let Turn::Running { again } = &mut case.turn {
                        *again = true;
                    }
                }
                None => {
                    self.open(vehicle);
                    self.pause(vehicle, self.parts.delay, ctx);
                }
            }
        }
    }
}

/// Tells once some vehicles are clean; their pause, meant to share a correction with other late fixes, ends at once. From the
/// edge of an edit, which drops the other end when it has waited for long enough.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Await {
    pub(crate) vehicles: Vec<VehicleId>,
    pub(crate) clean: oneshot::Sender<()>,
}

impl Handler<Await> for Corrections {
    type Result = ();

    fn handle(&mut self, Await { vehicles, clean }: Await, ctx: &mut Context<Self>) {
        // Drops the waiters that gave up.
        self.waiters.retain(|waiter| !waiter.clean.is_closed());
        let vehicles: HashSet<_> = vehicles.into_iter().filter(|v| self.cases.contains_key(v)).collect();
        for vehicle in &vehicles {
            self.line_up(*vehicle, ctx);
        }
        if vehicles.is_empty() {
            clean.send(()).ok();
        } else {
            self.waiters.push(Waiter { vehicles, clean });
        }
    }
}
