//! Where each shard is, as far as this node may still believe it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::context::Context;
use crate::readiness::Readiness;
use crate::store::claims::Claimed;
use crate::store::shard::Shard;

/// What was seen is believed for so long, counted from before it was asked: shorter than PostgreSQL leaves a silent node its
/// locks. So a node that was paused does not answer for a shard that another has taken meanwhile.
pub const BELIEVED_FOR: Duration = Duration::from_secs(2);

/// How long a request waits for a shard that is changing its owner.
pub(super) const OWNER_WITHIN: Duration = Duration::from_secs(5);

/// Where a shard is.
pub enum ShardLocation {
    /// On this node: which of the shard's times here it is.
    Here(u64),
    /// On the node at this address.
    At(SocketAddr),
    /// Nobody has it yet, or this node cannot tell.
    Unknown,
}

/// Where all shards are; cheap to clone.
#[derive(Clone, Default)]
pub struct Shards(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    believed_until: Option<Instant>,
    /// When it was last seen where every shard is.
    all_known_at: Option<Instant>,
    /// Those of other nodes.
    elsewhere: BTreeMap<Shard, SocketAddr>,
    /// Nodes that something was handed on to; each token is cancelled once that node's session is gone.
    departures: BTreeMap<SocketAddr, CancellationToken>,
    here: BTreeMap<Shard, Served>,
    served: u64,
}

/// A shard that is served here.
struct Served {
    /// Which of the shard's times here it is.
    time: u64,
    context: Context,
    /// Its requests in progress.
    requests: TaskTracker,
}

impl Shards {
    /// Notes who was there, and who had what, at an instant; `node` is this one.
    pub fn saw(&self, claimed: &Claimed, node: SocketAddr, at: Instant) {
        let mut state = self.0.write();
        let gone: Vec<_> =
            state.departures.extract_if(.., |node, _| !claimed.present.contains(node)).collect();
        state.elsewhere = claimed
            .owners
            .iter()
            .filter(|(_, owner)| **owner != node)
            .map(|(shard, owner)| (*shard, *owner))
            .collect();
        state.believed_until = Some(at + BELIEVED_FOR);
        let is_known = |shard: Shard| state.here.contains_key(&shard) || state.elsewhere.contains_key(&shard);
        if Shard::all().all(is_known) {
            state.all_known_at = Some(at);
        }
        drop(state);
        // Wakes everything that waits for them, which asks where shards are.
        gone.iter().for_each(|(_, departure)| departure.cancel());
    }

    /// Serves a shard from now on.
    pub fn serve(&self, shard: Shard, context: Context) {
        let mut state = self.0.write();
        state.served += 1;
        let served = Served { time: state.served, context, requests: TaskTracker::new() };
        state.here.insert(shard, served);
    }

    /// Serves a shard no longer. Gives the shard's requests that are in progress still, which no more are added to.
    pub fn leave(&self, shard: Shard) -> Option<TaskTracker> {
        let served = self.0.write().here.remove(&shard)?;
        served.requests.close();
        Some(served.requests)
    }

    /// Begins a request of a shard that is in progress until the token is dropped; `None` once that time of the shard here is over.
    pub(super) fn begin_request(&self, shard: Shard, time: u64) -> Option<TaskTrackerToken> {
        let state = self.0.read();
        let served = state.here.get(&shard).filter(|served| served.time == time)?;
        Some(served.requests.token())
    }

    /// Where a shard is now.
    #[must_use]
    pub fn location(&self, shard: Shard) -> ShardLocation {
        let state = self.0.read();
        if state.believed_until.is_none_or(|until| Instant::now() >= until) {
            return ShardLocation::Unknown;
        }
        match (state.here.get(&shard), state.elsewhere.get(&shard)) {
            (Some(served), _) => ShardLocation::Here(served.time),
            (None, Some(owner)) => ShardLocation::At(*owner),
            (None, None) => ShardLocation::Unknown,
        }
    }

    /// What requests of a shard find, while it is served here.
    #[must_use]
    pub fn context(&self, shard: Shard) -> Option<Context> {
        self.0.read().here.get(&shard).map(|served| served.context.clone())
    }

    /// The contexts of the shards that are served here.
    #[must_use]
    pub fn served(&self) -> Vec<(Shard, Context)> {
        self.0.read().here.iter().map(|(shard, served)| (*shard, served.context.clone())).collect()
    }

    /// Cancelled once another node's session is gone. Without it, whatever waits for a paused or unreachable node would wait until that
    /// node resumes or TCP gives up.
    pub(super) fn departure(&self, node: SocketAddr) -> CancellationToken {
        let known = self.0.read().departures.get(&node).cloned();
        known.unwrap_or_else(|| self.0.write().departures.entry(node).or_default().clone())
    }

    /// How often this node began to serve a shard.
    #[must_use]
    pub fn takeovers(&self) -> u64 {
        self.0.read().served
    }

    /// Why this node cannot do its work, if it cannot: also if a shard that it serves cannot, or if requests cannot go where they
    /// belong, even after they waited for a shard that is changing its owner.
    #[must_use]
    pub fn trouble(&self, readiness: &Readiness) -> Option<String> {
        let served = self.served();
        let of_served = served.iter().find_map(|(_, context)| readiness.trouble_with(&context.live));
        of_served.or_else(|| readiness.trouble()).or_else(|| self.without_owner())
    }

    fn without_owner(&self) -> Option<String> {
        let (_, _, unknown) = self.counts();
        let is_changing = self.0.read().all_known_at.is_some_and(|at| at.elapsed() < OWNER_WITHIN);
        (unknown > 0 && !is_changing).then(|| format!("{unknown} shards have no owner now"))
    }

    /// How many shards are on this node, on others, and nowhere.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let places = Shard::all().map(|shard| self.location(shard));
        places.fold((0, 0, 0), |(here, elsewhere, unknown), place| match place {
            ShardLocation::Here(_) => (here + 1, elsewhere, unknown),
            ShardLocation::At(_) => (here, elsewhere + 1, unknown),
            ShardLocation::Unknown => (here, elsewhere, unknown + 1),
        })
    }
}
