//! How long the shards are without their owners when faults have ended: every node does what it can, in turn, and time passes
//! when none can do anything more.
//!
//! A search for "always possible again" over all paths would need the whole graph. One way from each state is enough for it, and
//! what one state's way comes past need not be gone again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::state::{Core, State};
use super::{Action, Ownership};

/// Steps after which a way is given up: no fault takes so many to mend.
const MAX_STEPS: usize = 1_000;
/// States that are remembered at once: 16 MiB of them. What is forgotten is gone again.
const REMEMBERED: usize = 1 << 21;
/// The bits of what is remembered of a state that are its ticks; the others are of its hash.
const TICKS: u64 = 0xf;

/// What is known of states gone past.
#[derive(Debug)]
pub(super) struct Recovery {
    remembered: Vec<AtomicU64>,
    longest: AtomicU8,
}

impl Default for Recovery {
    fn default() -> Self {
        let remembered = (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect();
        Self { remembered, longest: AtomicU8::new(0) }
    }
}

impl Recovery {
    pub(super) fn longest(&self) -> u8 {
        self.longest.load(Ordering::Relaxed)
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.remembered[(key >> 4) as usize % REMEMBERED]
    }

    fn find(&self, key: u64) -> Option<u8> {
        let found = self.place(key).load(Ordering::Relaxed);
        (found | TICKS == key | TICKS).then_some((found & TICKS) as u8)
    }

    fn keep(&self, key: u64, ticks: u8) {
        if u64::from(ticks) <= TICKS {
            self.place(key).store(key & !TICKS | u64::from(ticks), Ordering::Relaxed);
        }
        self.longest.fetch_max(ticks, Ordering::Relaxed);
    }
}

impl Ownership {
    /// Ticks until each shard is served by its owner, if no fault comes any more; `None` if that is never.
    pub(super) fn rests_after(&self, state: &State) -> Option<u8> {
        let mut way: Vec<(u64, u8)> = Vec::new();
        let mut now = *state;
        let mut ticks = loop {
            let key = key(&now);
            if let Some(ticks) = self.recovery.find(key) {
                break ticks;
            }
            if self.is_at_rest(&now) {
                way.push((key, 0));
                break 0;
            }
            let (next, passed) = self.next_in_turn(&now)?;
            way.push((key, passed));
            if way.len() > MAX_STEPS {
                return None;
            }
            now = next;
        };
        for (key, passed) in way.into_iter().rev() {
            ticks += passed;
            self.recovery.keep(key, ticks);
        }
        Some(ticks)
    }

    /// Each shard is served by the node to which it belongs, under the newest epoch, and may be answered for.
    fn is_at_rest(&self, state: &State) -> bool {
        let live = state.live();
        (0..self.limits.shards).all(|shard| {
            let stored = &state.shards[shard];
            let Some(owner) = stored.holder.map(usize::from) else { return false };
            let node = &state.nodes[owner];
            let serves = matches!(node.cores[shard], Core::Serving { epoch, .. } if epoch == stored.epoch);
            let is_valid = node.speaks() && node.lease < self.limits.lease_ticks;
            self.part(live, owner) & (1 << shard) != 0 && serves && is_valid
        })
    }

    /// The next step without a fault, and the ticks it takes; `None` if nothing can happen.
    fn next_in_turn(&self, state: &State) -> Option<(State, u8)> {
        let step = |action| self.after(state, action).filter(|next| next != state);
        let found = self.in_turn.iter().find_map(|action| step(*action)).map(|next| (next, 0));
        found.or_else(|| step(Action::Tick).map(|next| (next, 1)))
    }
}

/// What each node does, the first that it can.
pub(super) fn in_turn(nodes: usize, shards: usize) -> Vec<Action> {
    let wakes = (0..nodes).map(Action::Wake);
    let steps = (0..nodes).flat_map(|node| {
        let session = [Action::Lose, Action::Join, Action::Beat].map(|action| action(node));
        let transaction = [Action::Hear, Action::Commit, Action::Resolve].map(|action| action(node));
        let core = [
            Action::FindTakenOver,
            Action::Unlock,
            Action::Raise,
            Action::ReadSeeds,
            Action::GiveBack,
            Action::Lock,
        ];
        let of_shards =
            core.into_iter().flat_map(move |action| (0..shards).map(move |shard| action(node, shard)));
        transaction.into_iter().chain(session).chain(of_shards)
    });
    wakes.chain(steps).collect()
}

fn key(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
