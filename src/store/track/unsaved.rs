//! Vehicles' states that are newer than their rows: which they are, and when the row of one is written.
//!
//! The fix log tells how such a state came about, so a row may lag. Commits write some of them, all vehicles taking turns, so
//! that the log behind all of them stays bounded; nothing runs beside the commits. They take turns in the order of their keys,
//! and several at once, because rows of neighbours share pages.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use waypost_actors::model::{OrganizationId, VehicleId};
use waypost_actors::tracking::{PositionRow, VehicleState};

use crate::store::packed_chunk::ChunkFix;
use crate::store::state_row::{Left, MarkChange, NewState};

/// How many fixes the log may hold, whatever the number of vehicles: a start replays them within half a second or so.
const LOG_FIXES: usize = 300_000;
/// And how many for each vehicle, so that a row is not written for a few fixes however many vehicles there are.
const LOG_FIXES_PER_VEHICLE: usize = 16;
/// Rows are written this many at once at least, as far as there are so many: neighbours share a page, which is logged once for all.
const ROWS_AT_ONCE: usize = 16;

/// What a fix carries counts as another fix for each so many bytes: so the log, which is also in memory, is bounded in bytes.
const BYTES_AS_FIX: usize = 512;

/// How many fixes the log holds with these, by what they take.
pub(super) fn log_fixes<'a>(rows: impl Iterator<Item = &'a PositionRow>) -> usize {
    let of = |row: &PositionRow| {
        1 + row.attributes.as_ref().map_or(0, |attributes| attributes.as_json().len()) / BYTES_AS_FIX
    };
    rows.map(of).sum()
}

/// A state that is newer than its row.
#[derive(Clone, Debug)]
struct Behind {
    organization: OrganizationId,
    state: Arc<VehicleState>,
    /// The first commit that is not in the row.
    since: i64,
}

/// States that are newer than their rows.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    behind: BTreeMap<VehicleId, Behind>,
    /// Whose turn was last.
    turn: Option<VehicleId>,
    /// By their first commit; one whose row was written since is in it no more than by name.
    order: VecDeque<(i64, VehicleId)>,
    /// Fixes, times vehicles, for which no row was written yet.
    owed: usize,
}

/// What a commit does with the states of its vehicles and of those that lag.
#[derive(Debug)]
pub(super) struct Plan {
    /// Their rows are written.
    pub(super) saved: Vec<NewState>,
    /// Not written: recoverable from the fix log.
    logged: Vec<NewState>,
    /// Fixes of the commit that are newer than all others of their vehicles.
    pub(super) fresh: HashMap<VehicleId, Vec<ChunkFix>>,
    owed: usize,
    /// Whose turn was last.
    turn: Option<VehicleId>,
}

impl Unsaved {
    /// After a start: what the log held, each vehicle with the first commit that is not in its row.
    pub(super) fn resume(&mut self, replayed: impl IntoIterator<Item = (NewState, i64)>) {
        let mut replayed: Vec<(NewState, i64)> = replayed.into_iter().collect();
        replayed.sort_unstable_by_key(|(new, since)| (*since, new.vehicle));
        for (new, since) in replayed {
            self.put(new, since);
        }
    }

    /// A vehicle's state, if it is newer than its row.
    pub(super) fn state(&self, vehicle: VehicleId) -> Option<&Arc<VehicleState>> {
        self.behind.get(&vehicle).map(|behind| &behind.state)
    }

    /// The first commit that some row lacks: the log before it says nothing that is not stored.
    pub(super) fn log_from(&mut self) -> Option<i64> {
        while let Some((since, vehicle)) = self.order.front() {
            if self.behind.get(vehicle).is_some_and(|behind| behind.since == *since) {
                return Some(*since);
            }
            self.order.pop_front();
        }
        None
    }

    /// [`Self::log_from`], once some states are saved.
    pub(super) fn log_from_without(&self, saved: &[NewState]) -> Option<i64> {
        let saved: HashSet<VehicleId> = saved.iter().map(|new| new.vehicle).collect();
        let left = self.behind.iter().filter(|(vehicle, _)| !saved.contains(vehicle));
        left.map(|(_, behind)| behind.since).min()
    }

    /// What to do in a commit of `fixes` ([`log_fixes`]) that leaves this.
    pub(super) fn plan(&self, left: HashMap<VehicleId, Left>, fixes: usize) -> Plan {
        let vehicles = self.behind.len().max(1);
        let bound = LOG_FIXES.max(LOG_FIXES_PER_VEHICLE * vehicles);
        let owed = self.owed + fixes * vehicles;
        let due = owed / bound;
        let due = if due < ROWS_AT_ONCE.min(vehicles) { 0 } else { due };
        let owed = owed - due * bound;
        let turn = self.next_turns(due).last().map(|(vehicle, _)| vehicle);
        let mut plan = Plan { saved: Vec::new(), logged: Vec::new(), fresh: HashMap::new(), owed, turn };
        let mut left = left;
        for (vehicle, behind) in self.next_turns(due) {
            let newer = left.remove(&vehicle).map(|left| left.newest);
            plan.saved.push(newer.unwrap_or_else(|| behind.as_new(vehicle)));
        }
        for (_, Left { newest, is_logged }) in left {
            if is_logged { plan.logged.push(newest) } else { plan.saved.push(newest) }
        }
        plan
    }

    /// A vehicle, if its state is newer than its row.
    pub(super) fn lagging_state(&self, vehicle: VehicleId) -> Option<NewState> {
        self.behind.get(&vehicle).map(|behind| behind.as_new(vehicle))
    }

    /// Vehicles whose states are newer than their rows.
    pub(super) fn vehicles(&self) -> Vec<VehicleId> {
        self.behind.keys().copied().collect()
    }

    /// The next ones whose turn it is.
    fn next_turns(&self, many: usize) -> impl Iterator<Item = (VehicleId, &Behind)> {
        let since = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.turn.map(|turn| self.behind.range(..=turn)).into_iter().flatten();
        let all = self.behind.range((since, Bound::Unbounded)).chain(rest);
        all.take(many).map(|(vehicle, behind)| (*vehicle, behind))
    }

    /// A commit is stored.
    pub(super) fn committed(&mut self, plan: Plan, number: i64) {
        self.owed = plan.owed;
        self.turn = plan.turn.or(self.turn);
        self.saved(&plan.saved);
        for new in plan.logged {
            self.put(new, number);
        }
    }

    /// Rows are written.
    pub(super) fn saved(&mut self, saved: &[NewState]) {
        for new in saved {
            self.behind.remove(&new.vehicle);
        }
    }

    fn put(&mut self, new: NewState, number: i64) {
        let NewState { vehicle, organization, state, .. } = new;
        match self.behind.entry(vehicle) {
            Entry::Occupied(known) => {
                let behind = known.into_mut();
                (behind.organization, behind.state) = (organization, state);
            }
            Entry::Vacant(entry) => {
                entry.insert(Behind { organization, state, since: number });
                self.order.push_back((number, vehicle));
            }
        }
    }
}

impl Plan {
    /// Whose state the log tells.
    pub(super) fn logged(&self) -> Vec<VehicleId> {
        self.logged.iter().map(|new| new.vehicle).collect()
    }
}

impl Behind {
    fn as_new(&self, vehicle: VehicleId) -> NewState {
        NewState {
            vehicle,
            organization: self.organization,
            state: Arc::clone(&self.state),
            change: MarkChange::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use waypost_actors::model::{Attributes, Fix, Place, Timestamp};
    use waypost_actors::tracking::Freshness;

    use super::*;

    fn vehicle(number: usize) -> VehicleId {
        VehicleId(Uuid::from_u128(number as u128))
    }

    fn left(vehicles: impl Iterator<Item = usize>, is_logged: bool) -> HashMap<VehicleId, Left> {
        let one = |number: usize| {
            let newest = NewState {
                vehicle: vehicle(number),
                organization: OrganizationId(Uuid::nil()),
                state: Arc::default(),
                change: MarkChange::default(),
            };
            (vehicle(number), Left { newest, is_logged })
        };
        vehicles.map(one).collect()
    }

    /// Commits of 500 fixes of as many vehicles in turn: the longest the log was, and the rows written. Fixes.
    fn run(vehicles: usize, commits: usize) -> (usize, usize, usize) {
        let (mut unsaved, mut longest, mut rows, mut most) = (Unsaved::default(), 0, 0, 0);
        for number in 0..commits {
            let some = (0..500).map(|index| (number * 500 + index) % vehicles);
            let plan = unsaved.plan(left(some, true), 500);
            rows += plan.saved.len();
            most = most.max(plan.saved.len());
            unsaved.committed(plan, number as i64);
            let from = unsaved.log_from().unwrap_or(number as i64);
            longest = longest.max((number as i64 - from) as usize * 500);
        }
        (longest, rows, most)
    }

    #[test]
    fn the_log_is_bounded_and_rows_are_written_evenly() {
        for (vehicles, commits) in [(1_000, 900), (10_000, 900), (30_000, 1_440)] {
            let (longest, rows, most) = run(vehicles, commits);
            let bound = LOG_FIXES.max(LOG_FIXES_PER_VEHICLE * vehicles);
            assert!(longest <= bound + bound / 10, "{vehicles} vehicles: {longest} fixes");
            let fixes_per_row = commits * 500 / rows;
            assert!(
                fixes_per_row >= bound / vehicles,
                "{vehicles} vehicles: a row per {fixes_per_row} fixes"
            );
            let most_at_once = ROWS_AT_ONCE + 500 * vehicles / bound;
            assert!(most <= most_at_once, "{vehicles} vehicles: {most} rows in one commit");
        }
    }

    #[test]
    fn small_commits_write_many_rows_at_once_or_none() {
        for (vehicles, expected) in [(1_000, ROWS_AT_ONCE), (1, 1)] {
            let mut unsaved = Unsaved::default();
            let mut written = BTreeMap::<usize, usize>::new();
            for number in 0..200_000 {
                let plan = unsaved.plan(left(std::iter::once(number % vehicles), true), 1_000);
                *written.entry(plan.saved.len()).or_default() += 1;
                unsaved.committed(plan, number as i64);
            }
            let least = written.keys().find(|rows| **rows > 0);
            assert_eq!(least, Some(&expected), "{vehicles} vehicles: {written:?}");
        }
    }

    #[test]
    fn what_the_log_does_not_tell_is_saved_at_once() {
        let mut unsaved = Unsaved::default();
        let plan = unsaved.plan(left(0..3, true), 3);
        assert!(plan.saved.is_empty());
        unsaved.committed(plan, 7);
        assert_eq!(unsaved.log_from(), Some(7));
        let plan = unsaved.plan(left(0..2, false), 0);
        assert_eq!(plan.saved.len(), 2);
        unsaved.committed(plan, 8);
        assert!(unsaved.state(vehicle(0)).is_none() && unsaved.state(vehicle(2)).is_some());
        // One that is behind again is so from there on.
        let plan = unsaved.plan(left(0..1, true), 1);
        unsaved.committed(plan, 9);
        let last = unsaved.lagging_state(vehicle(2)).expect("it lags");
        unsaved.saved(&[last]);
        assert_eq!(unsaved.log_from(), Some(9));
    }

    #[test]
    fn a_start_goes_on_with_what_the_log_held() {
        let mut unsaved = Unsaved::default();
        let held = left(0..2, true).into_values().map(|left| left.newest);
        unsaved.resume(held.zip([5, 3]));
        assert_eq!(unsaved.log_from(), Some(3));
        let plan = unsaved.plan(left(0..2, true), 2);
        unsaved.committed(plan, 6);
        assert_eq!(unsaved.log_from(), Some(3), "they are behind since then");
    }

    #[test]
    fn what_a_fix_carries_counts_by_its_bytes() {
        let fix = Fix::new(Timestamp::MIN, Timestamp::MIN, Place::new(0.0, 0.0));
        let row = |bytes: usize| {
            let text = format!("{{\"a\":\"{}\"}}", "x".repeat(bytes));
            let attributes = (bytes > 0).then(|| Attributes::from_json(&text).unwrap());
            PositionRow { fix, quarantine: None, attributes, freshness: Freshness::Fresh }
        };
        let counted = |rows: &[PositionRow]| log_fixes(rows.iter());
        assert_eq!((counted(&[row(0)]), counted(&[row(300)]), counted(&[row(4_000), row(0)])), (1, 1, 9));
    }
}
