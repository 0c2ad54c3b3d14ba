//! Newest vehicle states on their way to readers outside the process. Coalesces, may lag, never blocks another
//! actor. Refills a cache that is new, was emptied, or was last filled long ago.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::time::{Instant, timeout};

use crate::actor::watch::occupancy::Occupancy;
use crate::actor::watch::queries::AllStates;
use crate::clock::Clock;
use crate::meters::Meters;
use crate::model::{OrganizationId, VehicleId};
use crate::ports::{CacheError, LiveCache, Newest};
use crate::tracking::VehicleState;

/// The time between two writes to the cache.
const PUT_EVERY: Duration = Duration::from_millis(100);
/// A cache that takes longer than this to answer counts as away.
const PUT_TIMEOUT: Duration = Duration::from_millis(500);
/// The time between two checks whether the cache was emptied, or is back.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The time between two fillings: each drops leftovers that nothing else removed.
const FILL_EVERY: Duration = Duration::from_secs(300);
/// Filling takes some seconds for a hundred thousand vehicles.
const FILL_TIMEOUT: Duration = Duration::from_secs(60);

/// The way to the cache.
pub(crate) struct Cache {
    cache: Arc<dyn LiveCache>,
    occupancy: Addr<Occupancy>,
    clock: Clock,
    newest: HashMap<VehicleId, (OrganizationId, Arc<VehicleState>)>,
    removed: HashSet<(OrganizationId, VehicleId)>,
    is_busy: bool,
    is_away: bool,
    looked_at: Option<Instant>,
    filled_at: Option<Instant>,
    meters: Meters,
}

/// How a turn ended.
enum Done {
    Put { removed: Vec<(OrganizationId, VehicleId)>, states: Vec<Newest>, took: Duration },
    Filled(bool),
    Looked { is_filled: bool },
}

impl Cache {
    pub(crate) fn new(
        cache: Arc<dyn LiveCache>,
        occupancy: Addr<Occupancy>,
        clock: Clock,
        meters: Meters,
    ) -> Self {
        Self {
            cache,
            occupancy,
            clock,
            newest: HashMap::new(),
            removed: HashSet::new(),
            is_busy: false,
            is_away: false,
            looked_at: None,
            filled_at: None,
            meters,
        }
    }

    /// One request at a time: an older filling must not overwrite what is put after it.
    fn turn(&mut self, ctx: &mut Context<Self>) {
        if self.is_busy {
            return;
        }
        let is_due = |at: Option<Instant>, every| at.is_none_or(|at: Instant| at.elapsed() >= every);
        if is_due(self.looked_at, LOOK_EVERY) {
            self.looked_at = Some(Instant::now());
            self.look(ctx);
        } else if self.is_away {
            // It is only checked until it answers.
        } else if is_due(self.filled_at, FILL_EVERY) {
            self.fill(ctx);
        } else if !self.newest.is_empty() || !self.removed.is_empty() {
            self.put(ctx);
        }
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        let cache = Arc::clone(&self.cache);
        self.begin(ctx, async move {
            let is_filled = in_time(PUT_TIMEOUT, cache.is_filled()).await;
            let problem = is_filled.as_ref().err().cloned();
            (Done::Looked { is_filled: is_filled.unwrap_or(true) }, problem)
        });
    }

    fn fill(&mut self, ctx: &mut Context<Self>) {
        // They are committed, so the filling contains them.
        self.newest.clear();
        self.removed.clear();
        let (cache, occupancy) = (Arc::clone(&self.cache), self.occupancy.clone());
        let now = (self.clock)();
        self.begin(ctx, async move {
            let everyone = occupancy.send(AllStates).await.unwrap_or_default();
            let filled = in_time(FILL_TIMEOUT, cache.fill(&everyone, now)).await;
            (Done::Filled(filled.is_ok()), filled.err())
        });
    }

    fn put(&mut self, ctx: &mut Context<Self>) {
        let (cache, now) = (Arc::clone(&self.cache), (self.clock)());
        let states: Vec<_> =
            self.newest.drain().map(|(vehicle, (org, state))| (org, vehicle, state)).collect();
        let removed: Vec<_> = self.removed.drain().collect();
        let begun = Instant::now();
        self.begin(ctx, async move {
            let put = in_time(PUT_TIMEOUT, cache.put(&removed, &states, now)).await;
            (Done::Put { removed, states, took: begun.elapsed() }, put.err())
        });
    }

    fn begin(
        &mut self,
        ctx: &mut Context<Self>,
        turn: impl Future<Output = (Done, Option<CacheError>)> + 'static,
    ) {
        self.is_busy = true;
        ctx.spawn(turn.into_actor(self).map(|(done, problem), actor, _| actor.done(done, problem)));
    }

    fn done(&mut self, done: Done, problem: Option<CacheError>) {
        self.is_busy = false;
        match done {
            Done::Put { states, took, .. } if problem.is_none() => {
                self.meters.cache.accept(states.len() as u64, took);
            }
            Done::Put { removed, states, .. } => self.keep(removed, states),
            Done::Filled(is_filled) => self.filled_at = is_filled.then(Instant::now),
            Done::Looked { is_filled } => self.filled_at = self.filled_at.filter(|_| is_filled),
        }
        match (&problem, self.is_away) {
            (Some(problem), false) => {
                tracing::warn!(%problem, "the cache is away; live state is served from memory as always");
            }
            (None, true) => tracing::info!("the cache answers again"),
            _ => {}
        }
        self.is_away = problem.is_some();
    }

    /// Keeps what could not be put until the cache is back, except where something newer came.
    fn keep(&mut self, removed: Vec<(OrganizationId, VehicleId)>, states: Vec<Newest>) {
        for (organization, vehicle, state) in states {
            match self.newest.entry(vehicle) {
                Entry::Vacant(place) if !self.removed.contains(&(organization, vehicle)) => {
                    place.insert((organization, state));
                }
                _ => self.meters.cache.refuse(1),
            }
        }
        self.removed.extend(removed);
    }
}

async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, CacheError>>,
) -> Result<T, CacheError> {
    timeout(limit, answer).await.unwrap_or(Err(CacheError::Timeout))
}

impl Actor for Cache {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(PUT_EVERY, |actor, ctx| actor.turn(ctx));
    }
}

/// The newest states, after their commit. From the writer; dropped when the mailbox is full, since newer ones
/// follow.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct CacheNewest(pub(crate) Vec<Newest>);

impl Handler<CacheNewest> for Cache {
    type Result = ();

    fn handle(&mut self, CacheNewest(states): CacheNewest, _: &mut Context<Self>) {
        for (organization, vehicle, state) in states {
            self.meters.cache.offer(1);
            if self.newest.insert(vehicle, (organization, state)).is_some() {
                self.meters.cache.refuse(1);
            }
        }
    }
}

/// A vehicle that was taken out of use. From the edge.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct CacheRemove(pub(crate) VehicleId, pub(crate) OrganizationId);

impl Handler<CacheRemove> for Cache {
    type Result = ();

    fn handle(&mut self, CacheRemove(vehicle, organization): CacheRemove, _: &mut Context<Self>) {
        if self.newest.remove(&vehicle).is_some() {
            self.meters.cache.refuse(1);
        }
        self.removed.insert((organization, vehicle));
    }
}
