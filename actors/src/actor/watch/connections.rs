//! Detects when vehicles fall silent or come back, with one timer wheel for all, and logs each change as a record. Knows
//! nothing of where vehicles are.
//!
//! A vehicle notes by itself when it is heard ([`Connectivity`]); the wheel looks at it when it may have become silent, and puts it
//! in again if it was heard since. Silence counts from the start of the server, and anew from each time the store comes
//! back, and from the end of each pause of the server itself of more than a minute (a suspended machine).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use rustc_hash::FxBuildHasher;

use super::connectivity::Connectivity;
use super::occupancy::Occupancy;
use super::queries::Whereabouts;
use super::wheel::TimerWheel;
use crate::actor::runtime::permits::Permits;
use crate::actor::writer::inbox::{NotLogged, Writer};
use crate::clock::Clock;
use crate::meters::Meters;
use crate::model::{Connection, OrganizationId, Silence, Timestamp, VehicleId};
use crate::ports::{Seeds, VehicleSeed};
use crate::tracking::{ConnectionChange, Record};

/// Vehicles that may ask at once to be looked at; others ask with their next report.
const MAILBOX: usize = 1_024;
/// Records handed over at once, at most.
const TOGETHER: usize = 500;
/// If more than this lies between two looks, the server was paused or its clock was set, and silence counts anew. Seconds.
const PAUSE_SECONDS: f64 = 60.0;
/// A vehicle whose record the store refuses for good is looked at again after this time. Seconds.
const REST_SECONDS: f64 = 3_600.0;

/// What silence is found with.
pub(crate) struct ConnectionsParts {
    pub(crate) writer: Writer,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) permits: Permits,
    pub(crate) clock: Clock,
    pub(crate) meters: Meters,
    /// The time between two looks.
    pub(crate) every: Duration,
    pub(crate) silences: HashMap<OrganizationId, Silence>,
    pub(crate) tracked: TrackedVehicles,
}

/// The connectivity of each vehicle at the start.
pub(crate) type TrackedVehicles = HashMap<VehicleId, Tracked, FxBuildHasher>;

/// A vehicle that was heard once.
pub(crate) struct Tracked {
    organization_id: OrganizationId,
    pub(crate) connectivity: Arc<Connectivity>,
    /// When it was heard last before it was told to be silent.
    silent_since: Timestamp,
    /// Its newest place in the wheel; older ones are void.
    turn: u32,
}

impl Tracked {
    /// What the clock said when it was ahead is yet to come.
    fn be_no_later(&mut self, than: Timestamp) {
        self.connectivity.hear_no_later(than);
        self.silent_since = self.silent_since.min(than);
    }
}

/// Detects silent vehicles and logs their changes to online, stale and offline.
pub(crate) struct Connections {
    parts: ConnectionsParts,
    wheel: TimerWheel<(VehicleId, u32)>,
    /// Vehicles whose state may have to be told.
    waiting: BTreeSet<VehicleId>,
    is_telling: bool,
    /// Records handed over at once: fewer once the store has refused some, so that one at fault is found.
    together: usize,
    /// The write generation at the last look: a new one begins after an outage.
    generation: u64,
    /// No silence began earlier.
    counts_from: Timestamp,
    looked_at: Timestamp,
}

/// Connectivity as it is stored. Where the log says nothing of a vehicle, its state follows from the time between its last
/// report and the newest one of the fleet, which is about when the server last ran.
pub(crate) fn connectivity_of(seeds: &Seeds) -> TrackedVehicles {
    let silences: HashMap<_, _> = seeds.silences.iter().copied().collect();
    let heard_at = |seed: &VehicleSeed| {
        let told = seed.connection.map(|(_, heard_at)| heard_at);
        seed.state.last.map(|fix| fix.received_at).or(told)
    };
    let newest = seeds.vehicles.iter().filter_map(heard_at).max();
    // When one whose state is lost was heard is not known: it is silent from the start on.
    let of_lost = |seed: &VehicleSeed| seed.is_lost.then_some(newest.unwrap_or(Timestamp::LAST));
    let connectivity = |(seed, heard_at): (&VehicleSeed, Timestamp)| {
        let organization_id = seed.vehicle.organization_id;
        let (told, silent_since) = seed.connection.unwrap_or_else(|| {
            let silent = newest.map_or(0.0, |newest| newest.seconds_since(heard_at));
            let told = silences.get(&organization_id).map_or(Connection::Online, |known| known.makes(silent));
            (told, heard_at)
        });
        // It may have been heard by fixes that are older than its newest.
        let heard_at = if told == Connection::Online { heard_at.max(silent_since) } else { heard_at };
        let connectivity = Arc::new(Connectivity::new(Some((heard_at, told))));
        connectivity.track();
        (seed.vehicle.id, Tracked { organization_id, connectivity, silent_since, turn: 0 })
    };
    let heard = |seed| Some((seed, heard_at(seed).or_else(|| of_lost(seed))?));
    seeds.vehicles.iter().filter_map(heard).map(connectivity).collect()
}

impl Connections {
    pub(crate) fn new(mut parts: ConnectionsParts) -> Self {
        let now = (parts.clock)();
        let generation = parts.permits.generation();
        parts.tracked.values_mut().for_each(|tracked| tracked.be_no_later(now));
        let (wheel, waiting) = (TimerWheel::new(now), BTreeSet::new());
        let (is_telling, together) = (false, TOGETHER);
        Self { parts, wheel, waiting, is_telling, together, generation, counts_from: now, looked_at: now }
    }

    /// What a vehicle is, as far as can be told; `None`: nobody asks.
    fn state(&self, tracked: &Tracked, now: Timestamp) -> Option<Connection> {
        let silence = self.parts.silences.get(&tracked.organization_id)?;
        let (told, heard_at) = (tracked.connectivity.told()?, tracked.connectivity.heard_at());
        if told != Connection::Online && heard_at > tracked.silent_since {
            return Some(Connection::Online);
        }
        // Who is silent stays so, though silence counts anew.
        Some(told.max(silence.makes(now.seconds_since(heard_at.max(self.counts_from)))))
    }

    /// Sets when to look at a vehicle again.
    fn line_up(&mut self, vehicle: VehicleId) {
        let Some(tracked) = self.parts.tracked.get_mut(&vehicle) else { return };
        let Some(told) = tracked.connectivity.told() else { return };
        let heard_at = tracked.connectivity.heard_at();
        tracked.turn = tracked.turn.wrapping_add(1);
        if told != Connection::Online && heard_at > tracked.silent_since {
            self.waiting.insert(vehicle);
        } else if let Some(silence) = self.parts.silences.get(&tracked.organization_id)
            && let Some(due) = silence.next(told, heard_at.max(self.counts_from))
        {
            self.wheel.put((vehicle, tracked.turn), due);
        }
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        if self.parts.silences.is_empty() {
            return;
        }
        let (now, generation) = (self.read_clock(), self.parts.permits.generation());
        if generation != self.generation || !self.parts.permits.is_available() {
            (self.generation, self.counts_from) = (generation, now);
        }
        for (vehicle, turn) in self.wheel.turn(now) {
            if self.parts.tracked.get(&vehicle).is_some_and(|tracked| tracked.turn == turn) {
                self.waiting.insert(vehicle);
            }
        }
        self.tell(ctx);
        self.parts.meters.connection_looks.add(1);
    }

    /// The present instant. If it is long after the one read before, the server was paused and heard nobody, so silence counts anew.
    fn read_clock(&mut self) -> Timestamp {
        let now = (self.parts.clock)();
        let passed_seconds = now.seconds_since(self.looked_at);
        self.looked_at = now;
        if passed_seconds < -PAUSE_SECONDS {
            self.begin_anew(now);
        } else if passed_seconds > PAUSE_SECONDS {
            self.counts_from = now;
        }
        now
    }

    /// Lets all silence count from now: the clock was ahead, and what it said then is yet to come.
    fn begin_anew(&mut self, now: Timestamp) {
        (self.wheel, self.counts_from) = (TimerWheel::new(now), now);
        self.parts.tracked.values_mut().for_each(|tracked| tracked.be_no_later(now));
        let all: Vec<VehicleId> = self.parts.tracked.keys().copied().collect();
        all.into_iter().for_each(|vehicle| self.line_up(vehicle));
    }

    /// Hands over what there is to tell, unless something is on its way.
    fn tell(&mut self, ctx: &mut Context<Self>) {
        if self.is_telling || self.waiting.is_empty() || !self.parts.permits.is_available() {
            return;
        }
        let now = self.read_clock();
        let changes = self.changes(now);
        if changes.is_empty() {
            return;
        }
        self.is_telling = true;
        let (occupancy, writer) = (self.parts.occupancy.clone(), self.parts.writer.clone());
        let told = async move {
            let vehicles = changes.iter().map(|change| change.vehicle_id).collect();
            let places = occupancy.send(Whereabouts(vehicles)).await.unwrap_or_default();
            let known = |change: &ConnectionChange| Some((*change, *places.get(&change.vehicle_id)?));
            let record = |(change, (location, was_moving))| {
                ConnectionChange { location, was_moving, ..change }.record(now)
            };
            let records: Vec<Record> = changes.iter().filter_map(known).map(record).collect();
            let told = if records.is_empty() { Ok(()) } else { writer.log_connections(records).await };
            let (known, gone) = changes
                .iter()
                .map(|change| change.vehicle_id)
                .partition(|vehicle| places.contains_key(vehicle));
            (known, gone, told)
        };
        ctx.spawn(told.into_actor(self).map(|(known, gone, told), actor, ctx| {
            actor.is_telling = false;
            actor.told(known, gone, told, ctx);
        }));
    }

    /// The changes to tell next.
    fn changes(&mut self, now: Timestamp) -> Vec<ConnectionChange> {
        let mut changes = Vec::new();
        while changes.len() < self.together
            && let Some(vehicle_id) = self.waiting.pop_first()
        {
            let change = self.change(vehicle_id, now);
            if change.is_none() {
                self.line_up(vehicle_id);
            }
            changes.extend(change);
        }
        changes
    }

    fn change(&mut self, vehicle_id: VehicleId, now: Timestamp) -> Option<ConnectionChange> {
        let tracked = self.parts.tracked.get(&vehicle_id)?;
        let state = self.state(tracked, now).filter(|state| Some(*state) != tracked.connectivity.told())?;
        let silence = *self.parts.silences.get(&tracked.organization_id)?;
        let counts_from = self.counts_from;
        let tracked = self.parts.tracked.get_mut(&vehicle_id)?;
        let (organization_id, heard_at) = (tracked.organization_id, tracked.connectivity.heard_at());
        let occurred_at = if state == Connection::Online {
            heard_at
        } else {
            tracked.silent_since = heard_at;
            heard_at.max(counts_from).plus_seconds(silence.seconds_to(state) as f64)
        };
        let silent_since = tracked.silent_since;
        Some(ConnectionChange {
            vehicle_id,
            organization_id,
            state,
            silent_since,
            heard_at,
            occurred_at,
            location: None,
            was_moving: false,
        })
    }

    fn told(
        &mut self,
        known: Vec<VehicleId>,
        gone: Vec<VehicleId>,
        told: Result<(), NotLogged>,
        ctx: &mut Context<Self>,
    ) {
        for vehicle in gone {
            self.parts.tracked.remove(&vehicle);
        }
        match told {
            Ok(()) => {
                self.together = (self.together * 2).min(TOGETHER);
                known.into_iter().for_each(|vehicle| self.line_up(vehicle));
                self.tell(ctx);
            }
            // Until the next look, which knows whether the store was away.
            Err(NotLogged::Lost) => self.waiting.extend(known),
            Err(NotLogged::Refused) if known.len() > 1 => {
                self.together = known.len() / 2;
                self.waiting.extend(known);
                self.tell(ctx);
            }
            Err(NotLogged::Refused) => {
                let later = (self.parts.clock)().plus_seconds(REST_SECONDS);
                for vehicle in known {
                    if let Some(tracked) = self.parts.tracked.get_mut(&vehicle) {
                        tracked.turn = tracked.turn.wrapping_add(1);
                        self.wheel.put((vehicle, tracked.turn), later);
                    }
                }
                self.tell(ctx);
            }
        }
    }
}

impl Actor for Connections {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
        let all: Vec<VehicleId> = self.parts.tracked.keys().copied().collect();
        all.into_iter().for_each(|vehicle| self.line_up(vehicle));
        ctx.run_interval(self.parts.every, Self::look);
    }
}

/// A vehicle was heard that was not online. From the vehicle, once until it is answered.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Heard {
    pub(crate) vehicle_id: VehicleId,
    pub(crate) organization_id: OrganizationId,
    pub(crate) connectivity: Arc<Connectivity>,
}

impl Handler<Heard> for Connections {
    type Result = ();

    fn handle(
        &mut self,
        Heard { vehicle_id, organization_id, connectivity }: Heard,
        ctx: &mut Context<Self>,
    ) {
        connectivity.track();
        let new = Tracked { organization_id, connectivity, silent_since: Timestamp::MIN, turn: 0 };
        self.parts.tracked.entry(vehicle_id).or_insert(new);
        self.line_up(vehicle_id);
        self.tell(ctx);
    }
}

/// How much silence counts in an organization from now on. From the edge.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PutSilence(pub(crate) OrganizationId, pub(crate) Silence);

impl Handler<PutSilence> for Connections {
    type Result = ();

    fn handle(&mut self, PutSilence(organization, silence): PutSilence, _: &mut Context<Self>) {
        if self.parts.silences.insert(organization, silence) == Some(silence) {
            return;
        }
        let own = self.parts.tracked.iter().filter(|(_, tracked)| tracked.organization_id == organization);
        let own: Vec<VehicleId> = own.map(|(vehicle, _)| *vehicle).collect();
        own.into_iter().for_each(|vehicle| self.line_up(vehicle));
    }
}
