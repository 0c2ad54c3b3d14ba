//! One vehicle: applies its fixes in order and hands their effects to the writer. Goes on doing so
//! while a correction of its past is on its way.

use std::sync::Arc;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::time::Instant;

use super::messages::{Correct, Report, Settle};
use super::parts::VehicleParts;
use super::poison::{Quarantined, in_order};
use super::report_batch::{Outcome, VehicleReport};
use super::write_chain::WriteChain;
use crate::actor::watch::connections::Heard;
use crate::actor::watch::connectivity::Connectivity;
use crate::actor::watch::occupancy::{Seed, Withdraw};
use crate::actor::writer::inbox::Write;
use crate::error::LiveError;
use crate::meters::{Invariant, LiveActorGuard, Meters};
use crate::model::{Fix, OrganizationId, Timestamp, VehicleId};
use crate::ports::{Counts, Slice, StoreError, VehicleWrite};
use crate::tracking::{self, Context as Judgement, Effects, Meanwhile, StayCheck, VehicleState};

/// A correction is given up for now if more fixes than this are applied while it waits for its slice.
const MAX_MEANWHILE: usize = 20_000;

/// The actor of one vehicle in use.
pub(crate) struct VehicleActor {
    pub(super) parts: VehicleParts,
    /// The state once everything it handed over is committed.
    pub(super) state: Arc<VehicleState>,
    pub(super) last_used: Instant,
    /// Nothing was asked of it yet: the caller that had it started is about to.
    pub(super) is_new: bool,
    /// Taken out of use: takes no fixes any more.
    pub(super) retired: bool,
    /// What was applied while a correction waits for its slice.
    pub(super) correcting: Option<Meanwhile>,
    /// The number of the correction that is waited for.
    correction: u64,
    /// Its writes that are not committed yet.
    pub(super) chain: WriteChain,
    /// Where the earliest dirty mark begins that they may leave.
    late_from: Option<Timestamp>,
    /// The state with the fixes that came while the store was away; nothing of it is written.
    pub(super) provisional: Option<Arc<VehicleState>>,
    /// Fixes on which its predecessors panicked too often.
    pub(super) quarantined: Quarantined,
    /// Whether it is heard of.
    connectivity: Arc<Connectivity>,
    _alive: LiveActorGuard,
}

/// What a vehicle has to do before it handles a request.
enum Preparation {
    /// Nothing helps: a commit has failed since the request was accepted.
    TooLate,
    /// Take over the committed state: a commit failed since the last request, or the store refused one of its
    /// writes.
    Reseed,
    /// Nothing.
    Nothing,
}

/// The result of one step of the engine.
struct Step {
    state: Arc<VehicleState>,
    /// In a box, in which they go to the store.
    effects: Box<Effects>,
    judged_at: Timestamp,
}

impl VehicleActor {
    pub(crate) fn new(parts: VehicleParts) -> Self {
        Self {
            chain: WriteChain::default(),
            late_from: None,
            _alive: LiveActorGuard::vehicle(&parts.meters),
            quarantined: parts.poison.quarantined(),
            parts,
            state: Arc::default(),
            last_used: Instant::now(),
            is_new: true,
            retired: false,
            correcting: None,
            correction: 0,
            provisional: None,
            connectivity: Arc::default(),
        }
    }

    pub(super) fn id(&self) -> VehicleId {
        self.parts.vehicle.id
    }

    pub(super) fn organization(&self) -> OrganizationId {
        self.parts.vehicle.organization_id
    }

    /// Takes over the vehicle's committed state; the mailbox waits until it has arrived.
    fn seed(&mut self, after_barrier: bool, ctx: &mut Context<Self>, then: impl FnOnce(&mut Self) + 'static) {
        let (writer, occupancy) = (self.parts.writer.clone(), self.parts.occupancy.clone());
        let vehicle = self.id();
        self.chain.restart();
        let seed = async move {
            if after_barrier {
                // What an earlier actor of this vehicle handed over must be committed or refused first. While the
                // store is away it is refused: so is what is judged now, and a newer generation takes over the
                // state again.
                writer.barrier().await.ok();
            }
            occupancy.send(Seed(vehicle)).await
        };
        ctx.wait(seed.into_actor(self).map(move |seed, actor, ctx| match seed {
            Ok((state, connectivity)) => {
                (actor.state, actor.connectivity) = (state, connectivity);
                actor.retired = false;
                actor.correcting = None;
                actor.provisional = None;
                then(actor);
            }
            Err(_) => ctx.stop(), // the core is stopping
        }));
    }

    /// Applies a part's fixes except the quarantined ones. In whatever order a frame was packed, even newest first,
    /// its fixes are applied in timeline order.
    fn apply(&mut self, part: VehicleReport, quarantined: &[Fix]) {
        self.hear(part.fixes());
        let in_order = in_order(part.fixes(), quarantined);
        let fixes = in_order.as_deref().unwrap_or(part.fixes());
        self.remember(fixes);
        // If the step panics, this notes the fix it was at, before the part is lost and sent again.
        let guard = self.parts.poison.guard(fixes);
        let step = self.step(|state, judgement, effects, meters| {
            effects.rows.reserve_exact(fixes.len());
            let mut check = StayCheck::of(state);
            for (index, fix) in fixes.iter().enumerate() {
                guard.at(index);
                let carried = part.attributes(self.id(), fix);
                tracking::apply_with(state, *fix, carried, judgement, effects);
                hold(check.agrees(&effects.records, state), meters);
            }
            tracking::catch_up(state, judgement, effects);
            hold(check.agrees(&effects.records, state), meters);
        });
        drop(guard);
        self.hand_over(step, part);
    }

    /// Notes that the vehicle is heard of: now, however old its fixes are. Those of a frame came together.
    fn hear(&self, fixes: &[Fix]) {
        if fixes.last().is_some_and(|fix| self.connectivity.hear(fix.received_at)) {
            let (vehicle_id, organization_id) = (self.id(), self.organization());
            let connectivity = Arc::clone(&self.connectivity);
            if self.parts.connections.try_send(Heard { vehicle_id, organization_id, connectivity }).is_err() {
                self.connectivity.answer(); // the next report asks again
            }
        }
    }

    /// Runs one step of the engine.
    fn step(&self, run: impl FnOnce(&mut VehicleState, &Judgement<'_>, &mut Effects, &Meters)) -> Step {
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        let (mut state, mut effects) = (Arc::clone(&self.state), Box::<Effects>::default());
        // Copied once, to where it stays.
        run(Arc::make_mut(&mut state), &judgement, &mut effects, &self.parts.meters);
        Step { state, effects, judged_at: judgement.detected_at }
    }

    /// Hands a step's effects to the writer. Effects that cannot be handed over count as not having happened.
    fn hand_over(&mut self, step: Step, part: VehicleReport) {
        let Step { state, effects, judged_at } = step;
        if effects.is_empty() && state == self.state && self.is_committed(&part) {
            let counts = Counts { stored: 0, duplicates: effects.duplicates };
            part.resolve(Ok(Outcome { counts, ..Outcome::default() }));
            return;
        }
        if let Some(late) = effects.may_be_late()
            && let Some(meanwhile) = &mut self.correcting
        {
            meanwhile.late = Some(meanwhile.late.map_or(late, |known| known.merge(late)));
        }
        self.write(effects, state, judged_at, part);
    }

    fn write(
        &mut self,
        effects: Box<Effects>,
        state: Arc<VehicleState>,
        judged_at: Timestamp,
        part: VehicleReport,
    ) {
        let arrived = effects.rows.iter().map(|row| row.fix.received_at).min();
        if self.chain.is_empty() {
            self.late_from = None;
        }
        let late = effects.may_be_late().map(|mark| mark.from);
        self.late_from = late.into_iter().chain(self.late_from).min();
        if state.last != self.state.last || state.attributes != self.state.attributes {
            // Before the writer has it: the commit must find what was published.
            let settled = state.settled_through(self.late_from);
            self.parts.hub.publish(self.id(), self.organization(), &state, settled, part.ticket());
        }
        let (vehicle_id, organization_id) = (self.id(), self.organization());
        let to_store =
            VehicleWrite { vehicle_id, organization_id, effects, state: Arc::clone(&state), judged_at };
        let age_seconds = arrived.map_or(0.0, |arrived| judged_at.seconds_since(arrived).max(0.0));
        let write = Write { to_store, part, link: self.chain.append(), age_seconds };
        match self.parts.writer.take(write) {
            Ok(()) => self.state = state,
            Err(write) => {
                self.correcting = None; // it remembers what has not happened
                self.parts.occupancy.try_send(Withdraw(self.id())).ok(); // fails only while the core is stopping
                write.part.resolve(Err(LiveError::Stopped));
            }
        }
    }

    /// Reads a slice of the past, while live fixes are applied.
    fn begin_correction(&mut self, part: VehicleReport, ctx: &mut Context<Self>) {
        self.correcting = Some(Meanwhile::default());
        self.correction += 1;
        let number = self.correction;
        let (writer, store, vehicle) = (self.parts.writer.clone(), Arc::clone(&self.parts.store), self.id());
        let slice = async move {
            // Everything handed over before must be stored when the slice is read.
            writer.barrier().await?;
            store.slice(vehicle).await.map_err(|error| unread(&error))
        };
        ctx.spawn(slice.into_actor(self).map(move |slice, actor, _| {
            // `None` if the state was taken over anew, or too many fixes were applied meanwhile.
            let meanwhile = actor.correcting.take_if(|_| actor.correction == number);
            match (slice, meanwhile) {
                (Ok(Some(slice)), Some(meanwhile)) => actor.correct(&slice, &meanwhile, part),
                (Ok(None), Some(_)) => part.resolve(Ok(Outcome::default())),
                (Ok(_), None) => part.resolve(Err(LiveError::Unavailable)),
                (Err(error), _) => part.resolve(Err(error)),
            }
        }));
    }

    /// Evaluates a slice and hands over the correction. Live fixes wait for no more than this.
    fn correct(&mut self, slice: &Slice, meanwhile: &Meanwhile, part: VehicleReport) {
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        let corrected = tracking::correct(slice, meanwhile, &judgement);
        let state = Arc::new(corrected.live(&self.state));
        let correction = Some(Box::new(corrected.correction));
        let effects = Box::new(Effects { correction, ..Effects::default() });
        let judged_at = judgement.detected_at;
        self.write(effects, state, judged_at, part);
    }

    /// Keeps fixes for a correction that is waiting for its slice.
    fn remember(&mut self, fixes: &[Fix]) {
        if let Some(meanwhile) = &mut self.correcting {
            meanwhile.fixes.extend_from_slice(fixes);
            if meanwhile.fixes.len() > MAX_MEANWHILE {
                self.correcting = None;
            }
        }
    }

    /// Whether the state is the committed one. An empty chain may also mean that a write was refused, but then the
    /// part's generation is over or the chain is invalid, and both change before the chain empties.
    fn is_committed(&self, part: &VehicleReport) -> bool {
        self.chain.is_empty() && part.ticket().is_current() && self.chain.is_valid()
    }

    /// Runs `apply` in the part's generation: at once, or after taking over the committed state if a commit has
    /// failed since the last request or the store refused one of the vehicle's writes.
    fn in_generation(
        &mut self,
        part: VehicleReport,
        ctx: &mut Context<Self>,
        apply: impl FnOnce(&mut Self, VehicleReport) + 'static,
    ) {
        match self.begin(&part) {
            Preparation::TooLate => part.resolve(Err(LiveError::Unavailable)),
            Preparation::Reseed => self.seed(false, ctx, move |actor| apply(actor, part)),
            Preparation::Nothing => apply(self, part),
        }
    }

    /// Compares the request's write generation with the vehicle's.
    fn begin(&mut self, part: &VehicleReport) -> Preparation {
        (self.last_used, self.is_new) = (Instant::now(), false);
        let generation = part.ticket().generation;
        if generation < self.parts.generation {
            Preparation::TooLate
        } else if generation > self.parts.generation || !self.chain.is_valid() {
            self.parts.generation = generation;
            Preparation::Reseed
        } else {
            Preparation::Nothing
        }
    }
}

/// A vehicle whose records and state contradict each other starts again from what is stored: it panics, and is
/// supervised like any other vehicle that does.
fn hold(is_whole: bool, meters: &Meters) {
    if !is_whole {
        meters.violated(Invariant::Stays, "a vehicle's records do not leave the stays that its state has");
        panic!("a vehicle's records do not leave the stays that its state has");
    }
}

fn unread(error: &StoreError) -> LiveError {
    tracing::warn!(%error, "the store gave no slice for a correction");
    LiveError::Unavailable
}

impl Actor for VehicleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.seed(self.parts.restarted, ctx, |_| {});
    }
}

impl Handler<Report> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Report(part): Report, ctx: &mut Context<Self>) {
        let notice = part.notice();
        let quarantined = self.quarantined.of(part.fixes());
        if !quarantined.is_empty() {
            part.set_aside(&quarantined);
        }
        self.in_generation(part, ctx, move |actor, part| {
            if actor.retired {
                part.resolve(Err(LiveError::UnknownVehicle));
            } else {
                actor.apply(part, &quarantined);
            }
        });
        notice.applied();
    }
}

impl Handler<Settle> for VehicleActor {
    type Result = ();

    fn handle(&mut self, settle: Settle, ctx: &mut Context<Self>) {
        let Settle { span, retire, part } = settle;
        self.in_generation(part, ctx, move |actor, part| {
            let step = actor.step(|state, judgement, effects, meters| {
                let mut check = StayCheck::of(state);
                tracking::settle_change(state, span, judgement, effects);
                hold(check.agrees(&effects.records, state), meters);
            });
            actor.hand_over(step, part);
            // From here on, a connection that still has the address cannot begin a new stay.
            actor.retired |= retire;
        });
    }
}

impl Handler<Correct> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Correct { part }: Correct, ctx: &mut Context<Self>) {
        match self.begin(&part) {
            Preparation::TooLate => part.resolve(Err(LiveError::Unavailable)),
            // The first request of a new generation takes over the state; the coordinator sends this one again.
            Preparation::Reseed => self.seed(false, ctx, |_| part.resolve(Err(LiveError::Unavailable))),
            Preparation::Nothing => self.begin_correction(part, ctx),
        }
    }
}
