//! Time, and what goes wrong in it: pauses, lost connections, a failover of the database.
//!
//! Time passes for all alike, once every node that is awake has joined, has beaten, and has finished the statements under way:
//! whoever does not get so far within a tick is paused. Reading seeds and stopping a core may take as long as they like.

use super::state::{Beat, Core, Node, State, Transaction};
use super::{Mistake, Ownership};

impl Ownership {
    pub(super) fn tick(&self, state: &mut State) -> Option<()> {
        if !(0..self.limits.nodes).all(|node| self.may_pass(state, node)) {
            return None;
        }
        let lease_ticks = self.limits.lease_ticks;
        for index in 0..self.limits.nodes {
            let node = &mut state.nodes[index];
            let is_asleep = node.is_paused && self.makes(Mistake::ClockThatSleeps);
            node.lease = (node.lease + u8::from(!is_asleep)).min(lease_ticks);
            node.begun = (node.begun + 1).min(lease_ticks);
            if let Some(beat) = &mut node.unread {
                beat.begun = (beat.begun + u8::from(!is_asleep)).min(lease_ticks);
            }
            if let Transaction::Begun { shard, idle } = &mut node.transaction {
                *idle += 1;
                if *idle >= self.limits.idle_ticks {
                    node.transaction = Transaction::InDoubt { shard: *shard };
                }
            }
            if let Some(idle) = &mut state.sessions[index] {
                *idle += 1;
                if *idle >= self.limits.idle_ticks {
                    state.end_session(index);
                }
            }
        }
        Some(())
    }

    fn may_pass(&self, state: &State, index: usize) -> bool {
        let node = &state.nodes[index];
        let has_beaten = match (node.has_joined, node.is_cut) {
            (true, true) => node.lease < self.limits.lease_ticks || node.is_left_behind,
            (true, false) => node.lease == 0,
            (false, _) => state.sessions[index].is_some(),
        };
        let is_idle = matches!(node.transaction, Transaction::Absent | Transaction::InDoubt { .. });
        let may_raise = |shard: usize| {
            let has_lock = node.speaks() && state.shards[shard].holder == Some(index as u8);
            has_lock && node.cores[shard] == Core::Locked && !state.is_row_locked(shard)
        };
        node.is_paused || has_beaten && is_idle && !(0..self.limits.shards).any(may_raise)
    }

    pub(super) fn pause(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        state.pauses_left = state.pauses_left.checked_sub(1).filter(|_| !node.is_paused)?;
        node.is_paused = true;
        Some(())
    }

    pub(super) fn pause_in_beat(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &state.nodes[index];
        state.pauses_left = state.pauses_left.checked_sub(1).filter(|_| node.speaks())?;
        *state.sessions[index].as_mut()? = 0;
        let part = self.part(state.live(), index);
        let node = &mut state.nodes[index];
        node.is_paused = true;
        node.unread = Some(Beat { begun: 0, part });
        Some(())
    }

    /// The answer of a beat lies where it arrived, whether or not its session still lives.
    pub(super) fn wake(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        if !std::mem::take(&mut node.is_paused) {
            return None;
        }
        if let Some(Beat { begun, part }) = node.unread.take() {
            node.lease = if self.makes(Mistake::CountsFromTheEnd) { 0 } else { begun };
            (node.begun, node.part) = (begun, Some(part));
        }
        Some(())
    }

    pub(super) fn sever(&self, state: &mut State, index: usize) -> Option<()> {
        state.lost_connections_left = state.lost_connections_left.checked_sub(1)?;
        state.sessions[index]?;
        state.end_session(index);
        state.nodes[index].was_severed = state.nodes[index].has_joined;
        Some(())
    }

    pub(super) fn cut(&self, state: &mut State, index: usize) -> Option<()> {
        let node = &mut state.nodes[index];
        state.lost_connections_left =
            state.lost_connections_left.checked_sub(1).filter(|_| node.has_joined && !node.is_cut)?;
        node.is_cut = true;
        Some(())
    }

    pub(super) fn break_transaction(&self, state: &mut State, index: usize) -> Option<()> {
        state.lost_connections_left = state.lost_connections_left.checked_sub(1)?;
        doubt(&mut state.nodes[index]).then_some(())
    }

    /// What was committed stays, what was not is rolled back, and nobody hears which.
    pub(super) fn fail_over(&self, state: &mut State) -> Option<()> {
        state.failovers_left = state.failovers_left.checked_sub(1)?;
        for index in 0..self.limits.nodes {
            if state.sessions[index].is_some() {
                state.nodes[index].was_severed = state.nodes[index].has_joined;
            }
            state.end_session(index);
            doubt(&mut state.nodes[index]);
        }
        if self.makes(Mistake::CommitsWithoutTheStandby) {
            for shard in &mut state.shards {
                shard.epoch = shard.epoch.saturating_sub(1);
                shard.rows = shard.rows.saturating_sub(1);
            }
        }
        Some(())
    }
}

impl Ownership {
    /// The node's connections lead to a primary that has lost its standby: no commit there is answered.
    pub(super) fn leave_behind(&self, state: &mut State, index: usize) -> Option<()> {
        if !state.nodes[index].has_joined || state.nodes[index].is_cut {
            return None;
        }
        self.fail_over(state)?;
        let node = &mut state.nodes[index];
        node.is_cut = true;
        node.is_left_behind = self.makes(Mistake::BeatsWithoutWriting);
        Some(())
    }
}

/// The connection of a transaction is gone. Whether there was one.
fn doubt(node: &mut Node) -> bool {
    match node.transaction {
        Transaction::Begun { shard, .. } | Transaction::Committed { shard } => {
            node.transaction = Transaction::InDoubt { shard };
            true
        }
        Transaction::Absent | Transaction::InDoubt { .. } => false,
    }
}
