//! How a node comes to own a shard and ceases to: the lock session, its beat, taking, giving back, losing.

use super::state::{Core, Node, State, Transaction};
use super::{Mistake, Ownership};

impl Ownership {
    /// Reads who is alive, once a tick; the database counts the session's idle time anew.
    pub(super) fn beat(&self, state: &mut State, node: usize) -> Option<()> {
        if state.nodes[node].is_left_behind && !state.nodes[node].is_paused {
            state.nodes[node].lease = 0;
            return Some(());
        }
        if !state.nodes[node].speaks() || state.nodes[node].lease == 0 {
            return None;
        }
        *state.sessions[node].as_mut()? = 0;
        let part = self.part(state.live(), node);
        let node = &mut state.nodes[node];
        (node.lease, node.begun, node.part) = (0, 0, Some(part));
        Some(())
    }

    /// The session fails or its lease has passed, so the node ends its cores and forgets the session.
    pub(super) fn lose(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &state.nodes[index];
        if node.is_paused || !node.has_joined {
            return None;
        }
        let has_failed = state.sessions[index].is_none() && !node.is_cut;
        let has_passed = node.lease >= self.limits.lease_ticks && (node.part.is_some() || node.is_cut);
        if !has_failed && !has_passed {
            return None;
        }
        // A connection that swallows everything cannot be closed: the database finds it idle.
        if !node.is_cut {
            state.end_session(index);
        }
        state.nodes[index] = Node { has_joined: false, ..Node::joined(self.limits.lease_ticks) };
        Some(())
    }

    /// The lock of the node's own number waits for the end of its session before, so a node never has two.
    pub(super) fn join(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        if node.is_paused || node.has_joined || state.sessions[index].is_some() {
            return None;
        }
        node.has_joined = true;
        state.sessions[index] = Some(0);
        Some(())
    }

    pub(super) fn lock(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let node = &state.nodes[index];
        let is_free = state.shards[shard].holder.is_none();
        let is_wanted = node.belongs(shard) == Some(true) && node.cores[shard] == Core::Absent;
        // Whatever the session is asked also counts its idle time anew, which no promise rests on.
        if !node.speaks() || state.sessions[index].is_none() || !is_free || !is_wanted {
            return None;
        }
        state.shards[shard].holder = Some(index as u8);
        state.nodes[index].cores[shard] = Core::Locked;
        Some(())
    }

    /// A node that is paused now may have sent the statement before.
    pub(super) fn raise(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let core = state.nodes[index].cores[shard];
        if core == Core::Locked && self.makes(Mistake::ReadsSeedsFirst) {
            return None;
        }
        if !matches!(core, Core::Locked | Core::Seeded { .. }) || state.is_row_locked(shard) {
            return None;
        }
        let has_lock = state.shards[shard].holder == Some(index as u8);
        if !has_lock && !self.makes(Mistake::RaisesOverAnotherConnection) {
            return None;
        }
        if !self.makes(Mistake::KeepsTheEpoch) {
            state.shards[shard].epoch += 1;
        }
        let epoch = state.shards[shard].epoch;
        let seeded = |seen| Core::Serving { epoch, seen };
        state.nodes[index].cores[shard] =
            if let Core::Seeded { seen } = core { seeded(seen) } else { Core::Raised { epoch } };
        Some(())
    }

    /// Seeds count if the epoch is still the node's own after they were read.
    pub(super) fn read_seeds(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let is_checked = !self.makes(Mistake::TrustsLateSeeds);
        if state.nodes[index].is_paused || is_checked && state.is_row_locked(shard) {
            return None;
        }
        let stored = &state.shards[shard];
        let (seen, core) = (stored.rows, &mut state.nodes[index].cores[shard]);
        *core = match *core {
            Core::Raised { epoch } if is_checked && epoch != stored.epoch => self.taken_over(),
            Core::Raised { epoch } => Core::Serving { epoch, seen },
            Core::Locked if self.makes(Mistake::ReadsSeedsFirst) => Core::Seeded { seen },
            _ => return None,
        };
        Some(())
    }

    pub(super) fn give_back(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        let Core::Serving { epoch, seen } = node.cores[shard] else { return None };
        if !node.speaks() || node.belongs(shard) != Some(false) {
            return None;
        }
        node.cores[shard] = Core::Stopping { epoch, seen };
        if self.makes(Mistake::UnlocksFirst) {
            free(state, index, shard);
        }
        Some(())
    }

    /// Frees the lock of a core that has stopped or was taken over. It does nothing to a lock that the session does not have.
    pub(super) fn unlock(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        let under_way = match node.transaction {
            Transaction::Absent => None,
            Transaction::Begun { shard, .. }
            | Transaction::Committed { shard }
            | Transaction::InDoubt { shard } => Some(usize::from(shard)),
        };
        let has_ended = match node.cores[shard] {
            Core::Stopping { .. } => under_way != Some(shard),
            Core::Ended => true,
            _ => false,
        };
        if !node.speaks() || state.sessions[index].is_none() || !has_ended {
            return None;
        }
        node.cores[shard] = Core::Absent;
        free(state, index, shard);
        Some(())
    }
}

fn free(state: &mut State, node: usize, shard: usize) {
    let holder = &mut state.shards[shard].holder;
    if *holder == Some(node as u8) {
        *holder = None;
    }
}
