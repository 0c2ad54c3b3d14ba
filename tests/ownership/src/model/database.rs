//! Transactions of a shard: the row of its writer is locked and its epoch looked at, then rows follow, then the answer.

use super::state::{Core, State, Transaction};
use super::{Mistake, Ownership};

impl Ownership {
    /// The tracker's fix is new to this core, so far as it knows.
    pub(super) fn begin(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let stored = state.shards[shard];
        let node = &mut state.nodes[index];
        let (epoch, seen) = node.cores[shard].committer()?;
        let is_asked = stored.acknowledged < self.limits.fixes && stored.acknowledged >= seen;
        if node.is_paused || node.transaction != Transaction::Absent || !is_asked {
            return None;
        }
        if epoch != stored.epoch && !self.makes(Mistake::CommitsWithoutTheEpoch) {
            return None;
        }
        if state.is_row_locked(shard) {
            return None;
        }
        state.nodes[index].transaction = Transaction::Begun { shard: shard as u8, idle: 0 };
        Some(())
    }

    /// What waits to be committed, or the upkeep, meets another epoch.
    pub(super) fn find_taken_over(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let node = &state.nodes[index];
        let (epoch, _) = node.cores[shard].committer()?;
        let is_free = node.transaction == Transaction::Absent && !state.is_row_locked(shard);
        if node.is_paused || !is_free || epoch == state.shards[shard].epoch {
            return None;
        }
        state.nodes[index].cores[shard] = self.taken_over();
        Some(())
    }

    /// What is left of a core that finds another epoch.
    pub(super) fn taken_over(&self) -> Core {
        if self.makes(Mistake::KeepsTheLockWhenTakenOver) { Core::Absent } else { Core::Ended }
    }

    pub(super) fn commit(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        let Transaction::Begun { shard, .. } = node.transaction else { return None };
        if node.is_paused {
            return None;
        }
        let (epoch, seen) = node.cores[usize::from(shard)].committer()?;
        node.transaction = Transaction::Committed { shard };
        let stored = &mut state.shards[usize::from(shard)];
        state.broken.order_of_epochs |= epoch < stored.committed_epoch;
        state.broken.memory |= seen != stored.rows;
        stored.committed_epoch = stored.committed_epoch.max(epoch);
        stored.rows += 1;
        Some(())
    }

    pub(super) fn hear(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        let Transaction::Committed { shard } = node.transaction else { return None };
        if node.is_paused {
            return None;
        }
        node.transaction = Transaction::Absent;
        let core = &mut node.cores[usize::from(shard)];
        let (_, seen) = core.committer()?;
        core.know(seen + 1);
        let stored = &mut state.shards[usize::from(shard)];
        stored.acknowledged = stored.acknowledged.max(seen + 1);
        Some(())
    }

    /// Under its own epoch nobody else has committed, so what is stored is what this core knows and perhaps the row in doubt.
    pub(super) fn resolve(&self, state: &mut State, index: usize) -> Option<()> {
        let Transaction::InDoubt { shard } = state.nodes[index].transaction else { return None };
        let shard = usize::from(shard);
        if state.nodes[index].is_paused || state.is_row_locked(shard) {
            return None;
        }
        let stored = state.shards[shard];
        let node = &mut state.nodes[index];
        node.transaction = Transaction::Absent;
        let core = &mut node.cores[shard];
        match core.committer() {
            Some((epoch, _)) if epoch == stored.epoch => core.know(stored.rows),
            Some(_) => *core = self.taken_over(),
            None => {}
        }
        Some(())
    }

    /// A fix that came again is acknowledged if it is stored, whoever owns the shard.
    pub(super) fn acknowledge(&self, state: &mut State, index: usize, shard: usize) -> Option<()> {
        let node = &state.nodes[index];
        let Core::Serving { seen, .. } = node.cores[shard] else { return None };
        let stored = &mut state.shards[shard];
        if node.is_paused || stored.acknowledged >= seen {
            return None;
        }
        stored.acknowledged += 1;
        Some(())
    }
}
