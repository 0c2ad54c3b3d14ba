//! Newest vehicle states on their way to readers outside the process. Coalesces, may lag, never
//! blocks anybody.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt as _;
use actix::prelude::*;
use tokio::time::Instant;

use crate::meters::Meters;
use crate::model::{OrganizationId, VehicleId};
use crate::ports::LiveCache;
use crate::tracking::VehicleState;

/// Between two writes to the cache.
const PUT_EVERY: Duration = Duration::from_millis(100);
/// A cache that does not answer in this time is away.
const PUT_TIMEOUT: Duration = Duration::from_millis(500);

/// The way to the cache.
pub(crate) struct Cache {
    cache: Arc<dyn LiveCache>,
    newest: HashMap<VehicleId, (OrganizationId, Arc<VehicleState>)>,
    putting: bool,
    away: bool,
    meters: Meters,
}

impl Cache {
    pub(crate) fn new(cache: Arc<dyn LiveCache>, meters: Meters) -> Self {
        Self { cache, newest: HashMap::new(), putting: false, away: false, meters }
    }

    fn put(&mut self, ctx: &mut Context<Self>) {
        if self.putting || self.newest.is_empty() {
            return;
        }
        self.putting = true;
        let cache = Arc::clone(&self.cache);
        let states: Vec<_> =
            self.newest.drain().map(|(vehicle, (org, state))| (org, vehicle, state)).collect();
        let begun = Instant::now();
        let put = async move {
            let result = tokio::time::timeout(PUT_TIMEOUT, cache.put(&states)).await;
            let problem = match result {
                Ok(Ok(())) => None,
                Ok(Err(problem)) => Some(problem),
                Err(_) => Some("no answer in time".to_owned()),
            };
            (states, problem, begun.elapsed())
        };
        ctx.spawn(put.into_actor(self).map(|(states, problem, took), actor, _| {
            if problem.is_none() {
                actor.meters.cache.accept(states.len() as u64, took);
            }
            actor.put_done(states, problem);
        }));
    }

    fn put_done(
        &mut self,
        states: Vec<(OrganizationId, VehicleId, Arc<VehicleState>)>,
        problem: Option<String>,
    ) {
        self.putting = false;
        if let Some(problem) = &problem {
            if !self.away {
                tracing::warn!(problem, "the cache is away; live state is served from memory as always");
            }
            // Kept until it is back, unless something newer came.
            for (organization, vehicle, state) in states {
                match self.newest.entry(vehicle) {
                    Entry::Occupied(_) => self.meters.cache.refuse(1),
                    Entry::Vacant(place) => {
                        place.insert((organization, state));
                    }
                }
            }
        } else if self.away {
            tracing::info!("the cache answers again");
        }
        self.away = problem.is_some();
    }
}

impl Actor for Cache {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(PUT_EVERY, |actor, ctx| actor.put(ctx));
    }
}

/// Newest states, after their commit. From the writer; dropped when the mailbox is full, since a
/// newer one follows.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct CacheNewest(pub(crate) Vec<(OrganizationId, VehicleId, Arc<VehicleState>)>);

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
