//! What the writer knows beyond what is stored.

use std::sync::Arc;

use waypost_actors::ports::Committed;

use super::fix_log::LogRow;
use super::tails::Tails;
use super::unsaved::{Plan, Unsaved};
use crate::store::fuel_day::FuelDays;
use crate::store::sql::Result;
use crate::store::state_row::NewState;

/// What the writer knows beyond what is stored; held from the beginning of a commit to its end.
#[derive(Debug, Default)]
pub(super) struct Memory {
    tails: Arc<Tails>,
    /// Whether the log was read: until then the rest is empty.
    pub(super) is_recovered: bool,
    pub(super) unsaved: Unsaved,
    /// A commit whose outcome is unknown.
    pub(super) doubt: Option<Doubt>,
    /// The log holds nothing from before this commit.
    pub(super) log_from: i64,
    pub(super) fuel_days: FuelDays,
}

/// A commit whose outcome is unknown, and what it does if it is stored.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) number: i64,
    pub(super) plan: Plan,
    /// The log begins there afterwards.
    pub(super) log_from: i64,
}

/// A batch that is written and not committed yet: until then the shard's memory has it as in doubt.
pub(super) struct Written {
    /// What its commit answers.
    pub(super) committed: Vec<Committed>,
    /// Its number.
    pub(super) number: i64,
    /// Its row of the log, if it has one, until that is appended.
    pub(super) logged: Option<LogRow>,
}

impl Memory {
    pub(super) fn new(tails: Arc<Tails>) -> Self {
        Self { tails, ..Self::default() }
    }

    /// States are stored with all fixes of their vehicles.
    pub(super) fn saved(&mut self, saved: &[NewState]) {
        self.unsaved.saved(saved);
        self.tails.chunked(saved.iter().map(|new| new.vehicle));
    }

    /// Whether the commit in doubt is stored, once the newest one that is stored is known.
    pub(super) fn resolve_in_doubt(&mut self, newest: i64) -> Result<()> {
        if let Some(Doubt { number, plan, log_from }) = self.doubt.take()
            && number <= newest
        {
            self.tails.append(plan.fresh.iter().map(|(vehicle, fixes)| (*vehicle, fixes.as_slice())))?;
            self.tails.chunked(plan.saved.iter().map(|new| new.vehicle));
            self.unsaved.committed(plan, number);
            self.log_from = log_from;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use uuid::Uuid;
    use waypost_actors::model::{Fix, OrganizationId, Place, Timestamp, VehicleId};
    use waypost_actors::tracking::VehicleState;

    use super::*;
    use crate::store::packed_chunk::ChunkFix;
    use crate::store::state_row::{Left, MarkChange};

    const VEHICLE: VehicleId = VehicleId(Uuid::nil());

    /// A commit of one fix, with a state by which it is known.
    fn plan(memory: &mut Memory, unsaved: u32) -> Plan {
        let newest = NewState {
            vehicle: VEHICLE,
            organization: OrganizationId(Uuid::nil()),
            state: Arc::new(VehicleState { unsaved, ..VehicleState::default() }),
            change: MarkChange::default(),
        };
        let mut plan = memory.unsaved.plan(HashMap::from([(VEHICLE, Left { newest, is_logged: true })]), 1);
        let at = Timestamp::FIRST.plus_seconds(f64::from(unsaved));
        plan.fresh = HashMap::from([(
            VEHICLE,
            vec![ChunkFix {
                fix: Fix::new(at, at, Place::new(1.0, 2.0)),
                quarantine: None,
                attributes: None,
            }],
        )]);
        plan
    }

    #[test]
    fn a_commit_in_doubt_counts_if_it_is_stored() {
        for (newest, expected) in [(4, 1), (5, 2), (6, 2)] {
            let mut memory = Memory::default();
            let before = plan(&mut memory, 1);
            memory.doubt = Some(Doubt { number: 4, plan: before, log_from: 1 });
            memory.resolve_in_doubt(4).expect("packed");
            let doubtful = plan(&mut memory, 2);
            memory.doubt = Some(Doubt { number: 5, plan: doubtful, log_from: 2 });
            memory.resolve_in_doubt(newest).expect("packed");
            let known = memory.unsaved.state(VEHICLE).expect("it is behind").unsaved;
            let tail = memory.tails.of(VEHICLE).expect("unpacked").len();
            assert_eq!(
                (known, tail, memory.log_from, memory.doubt.is_none()),
                (expected, expected as usize, i64::from(expected), true),
                "the newest one stored is {newest}"
            );
        }
    }
}
