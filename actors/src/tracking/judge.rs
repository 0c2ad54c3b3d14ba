//! Judging one fix: which fences it enters and leaves (docs/tracking.md, "Entries and exits").

use smallvec::SmallVec;

use super::alert;
use super::analytics::Piece;
use super::change::{self, settle};
use super::context::Context;
use super::crossing::{WhichCrossing, at_fix, crossing};
use super::effects::Effects;
use super::fuel;
use super::identity::{Anchor, event_id};
use super::motion::Leg;
use super::overspeed;
use super::overstay::Overstay;
use super::passage::{Followed, infer_passages, is_plausible};
use super::record::Record;
use super::record_kind::RecordKind;
use super::standstill::{self, Stance, Standstill};
use super::state::{Candidate, Crossing, MOST_STAYS, Phase, Stay, VehicleState};
use super::step::Step;
use super::trips;
use crate::geofence::Near;
use crate::model::{Cause, EventFix, EventKind, Fix, GeofenceId, Timestamp, VisitId};

/// The usual number of fences around a fix: up to this many take no allocation.
const FEW: usize = 4;

/// Judges a fix that is newer than everything on the timeline.
pub(super) fn judge(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    let first_record = effects.records.len();
    change::advance(state, fix.recorded_at, context, effects);
    let before = state.last;
    let max_speed_kmh = context.vehicle.limits.max_speed_kmh;
    let stood = state.standstill.as_deref().is_some_and(Standstill::stands);
    let stance = standstill::follow(&mut state.standstill, before.as_ref(), &fix, max_speed_kmh);
    let way = before.map(|before| (before, state.trail.leg(&before, &fix, max_speed_kmh)));
    let infers_passages = context.fences.infers_passages();
    let mut held: SmallVec<[GeofenceId; FEW]> = match infers_passages {
        true => state.stays.iter().map(|stay| stay.geofence_id).collect(),
        false => SmallVec::new(),
    };
    held.sort_unstable();
    let mut around: SmallVec<[Near<'_>; FEW]> = SmallVec::new();
    context.fences.for_each_near(fix.place, |near| around.push(near));
    // What is recorded must not depend on how the snapshot came about.
    around.sort_unstable_by_key(|near| near.fence.id);
    if let Some((before, leg)) = &way {
        leave_or_stay(state, &around, (before, leg), &fix, stance, (context, effects));
        if infers_passages {
            infer_passages(state, &held, (before, leg), &fix, stance, (context, effects));
        }
    }
    enter(state, &around, way.as_ref(), &fix, (stance, first_record), (context, effects));
    state.stays.sort_unstable_by_key(|stay| stay.geofence_id);
    fuel::take(state, way.as_ref(), &fix, context, effects);
    overspeed::follow(state, way.as_ref(), &fix, context, effects);
    trips::follow(state, way.as_ref(), &fix, (stance, stood), context, effects);
    state.trail.follow(way.as_ref(), &fix, max_speed_kmh);
    state.last = Some(fix);
    state.attributes = None;
    state.newest_entry = fix.recorded_at;
}

/// Sorted by instant; at one instant exits come before entries, then by fence. Only a visit that ends at the
/// instant of its entry or dwell has its exit after it.
pub(super) fn in_order(records: &mut [Record]) {
    if records.len() < 2 {
        return;
    }
    let visit = |record: &Record| Some((record.geofence()?.visit_id, record.occurred_at));
    let before = records.iter().filter(|record| record.kind() != RecordKind::Exit);
    let mut begun: SmallVec<[(VisitId, Timestamp); FEW]> = before.filter_map(visit).collect();
    begun.sort_unstable();
    let rank = |record: &Record| match record.kind() {
        RecordKind::Exit if visit(record).is_some_and(|visit| begun.binary_search(&visit).is_ok()) => 3,
        RecordKind::Exit => 0,
        RecordKind::Entry => 1,
        RecordKind::Dwell => 2,
        RecordKind::Refuel
        | RecordKind::Drain
        | RecordKind::Overspeed
        | RecordKind::Trip
        | RecordKind::Stop => 4,
        RecordKind::Alert => 5,
        // Not of the timeline.
        RecordKind::Online | RecordKind::Stale | RecordKind::Offline => 6,
    };
    let fence = |record: &Record| record.geofence().map(|detail| detail.geofence_id);
    records.sort_by_key(|record| (record.occurred_at, rank(record), fence(record)));
}

/// Judges every fence held: still inside, on the way out, or out. `around`: the fences that may hold the fix, by id.
fn leave_or_stay(
    state: &mut VehicleState,
    around: &[Near<'_>],
    (before, leg): (&Fix, &Leg),
    fix: &Fix,
    stance: Stance,
    (context, effects): (&Context<'_>, &mut Effects),
) {
    let mut stays = std::mem::take(&mut state.stays);
    stays.retain_mut(|stay| {
        let near = around.binary_search_by_key(&stay.geofence_id, |near| near.fence.id);
        let near = near.ok().map(|index| &around[index]);
        let fence = near.map(|near| near.fence).or_else(|| context.fences.get(stay.geofence_id));
        let Some(fence) = fence else { return true };
        let Some(version) = fence.in_force_at(fix.recorded_at) else { return true };
        let is_inside = near.is_some_and(|near| near.is_in(version));
        let mut step = Step { fence, version, stance, context, effects };
        // The version is in force since before the newest entry, but was made later: until the correction it caused
        // is done, it is taken to be in force from here on.
        let changed_at = state.newest_entry;
        if version.version != stay.version && !settle(stay, before, changed_at, &mut step) {
            return false;
        }
        step.continue_stay(stay, (before, leg), fix, is_inside)
    });
    state.stays = stays;
}

/// Judges the fences around the fix that the vehicle was not in, as far as it may be in so many. `first_record`: where this
/// step's records begin.
fn enter(
    state: &mut VehicleState,
    around: &[Near<'_>],
    way: Option<&(Fix, Leg)>,
    fix: &Fix,
    (stance, first_record): (Stance, usize),
    (context, effects): (&Context<'_>, &mut Effects),
) {
    state.stays.sort_unstable_by_key(|stay| stay.geofence_id);
    let known = state.stays.len();
    let left = left_in(&effects.records[first_record..]);
    for near in around {
        if state.stays.len() >= MOST_STAYS {
            break;
        }
        let fence = near.fence;
        if state.stays[..known].binary_search_by_key(&fence.id, |stay| stay.geofence_id).is_ok() {
            continue;
        }
        let version = fence.in_force_at(fix.recorded_at).filter(|version| version.active);
        let Some(version) = version.filter(|version| near.is_in(version)) else { continue };
        let not_before = left_at(&left, fence.id).max(fence.last_change_until(fix.recorded_at));
        let mut step = Step { fence, version, stance, context, effects };
        state.stays.push(step.begin_stay(way, fix, not_before));
    }
}

/// Fences, and when they were left, sorted.
type Left = SmallVec<[(GeofenceId, Timestamp); FEW]>;

/// The fences that records are about, and when.
fn left_in(records: &[Record]) -> Left {
    let about = |record: &Record| Some((record.geofence()?.geofence_id, record.occurred_at));
    let mut left: Left = records.iter().filter_map(about).collect();
    left.sort_unstable();
    left
}

/// When a fence was left last, if it was.
fn left_at(left: &[(GeofenceId, Timestamp)], fence: GeofenceId) -> Option<Timestamp> {
    let until = left.partition_point(|(id, _)| *id <= fence);
    left[..until].last().filter(|(id, _)| *id == fence).map(|(_, at)| *at)
}

impl Step<'_> {
    /// `not_before`: when the fence last changed, or was left in this very step.
    fn begin_stay(&mut self, way: Option<&(Fix, Leg)>, fix: &Fix, not_before: Option<Timestamp>) -> Stay {
        let (crossing, cause) = match way {
            None => (at_fix(fix, 0.0), Cause::Initial),
            Some((before, _)) => self.entry_crossing(before, fix, not_before),
        };
        let candidate = Candidate { crossing, fix: EventFix::from(fix) };
        let mut stay = self.new_stay(Anchor::Fix(fix.recorded_at), crossing.at, cause);
        if let Some((_, leg)) = way {
            stay.tally.travel(leg, crossing.piece_to(fix), &self.version.rules);
        }
        self.count(&mut stay, fix);
        if self.version.rules.min_inside_seconds > 0.0 || !self.believes_entry() {
            stay.phase = Phase::Entering(Box::new(candidate));
        } else {
            self.record_entry(&stay, &candidate);
            self.dwell(&mut stay, fix);
        }
        stay
    }

    /// Returns whether the stay goes on.
    fn continue_stay(
        &mut self,
        stay: &mut Stay,
        (before, leg): (&Fix, &Leg),
        fix: &Fix,
        is_inside: bool,
    ) -> bool {
        let rules = &self.version.rules;
        let mut at_exit = stay.tally;
        stay.tally.travel(leg, Piece::between(before, stay.entered_at, fix), rules);
        self.count(stay, fix);
        if is_inside {
            if self.left_meanwhile(stay, before) {
                return false;
            }
            self.inside(stay, fix);
            return true;
        }
        if let Phase::Entering(candidate) = &stay.phase {
            if !self.entered_meanwhile(candidate, before) {
                return false; // a broken candidate leaves nothing behind
            }
            self.record_entry(stay, candidate);
        }
        if !matches!(stay.phase, Phase::Leaving { .. }) {
            let crossing = self.exit_crossing(stay, before, fix);
            let left = Piece::since(before, stay.entered_at, (crossing.at, crossing.place));
            at_exit.travel(leg, left, rules);
            let (candidate, tally) =
                (Box::new(Candidate { crossing, fix: EventFix::from(fix) }), Box::new(at_exit));
            let is_held = self.stands();
            stay.phase = Phase::Leaving { candidate, since: None, chord: None, is_held, tally };
        } else if !self.stands() {
            let has_left = self.left_meanwhile(stay, before);
            if is_plausible(before, fix, self.context) {
                // Both fixes are outside: a way back through the fence breaks an exit that is still waiting.
                let held = (!has_left).then(|| Followed::held(stay.clone(), at_exit, before));
                let Some(goes_on) = self.pass_through(held, (before, leg), fix) else { return false };
                *stay = goes_on;
            } else if has_left {
                return false;
            }
        }
        self.leave_or_wait(stay, fix)
    }

    fn inside(&mut self, stay: &mut Stay, fix: &Fix) {
        match std::mem::replace(&mut stay.phase, Phase::Inside) {
            Phase::Entering(candidate) => {
                let waited = fix.recorded_at.seconds_since(candidate.fix.recorded_at);
                if waited < self.version.rules.min_inside_seconds || !self.believes_entry() {
                    stay.phase = Phase::Entering(candidate);
                    return;
                }
                self.record_entry(stay, &candidate);
            }
            Phase::Inside | Phase::Leaving { .. } => {}
        }
        self.dwell(stay, fix);
    }

    /// Makes the one dwell record of a visit, confirmed by a fix inside.
    fn dwell(&mut self, stay: &mut Stay, fix: &Fix) {
        let Some(after) = self.version.rules.dwell_after_seconds.filter(|_| !stay.dwelt) else { return };
        if fix.recorded_at.seconds_since(stay.entered_at) >= after {
            stay.dwelt = true;
            let crossing = Crossing {
                at: stay.entered_at.plus_seconds(after),
                place: fix.place,
                uncertainty_seconds: 0.0,
            };
            let candidate = Candidate { crossing, fix: EventFix::from(fix) };
            let id = event_id(self.vehicle(), self.fence.id, EventKind::Dwell, Anchor::Visit(stay.visit_id));
            let dwell = self.detail(EventKind::Dwell, stay, &candidate, stay.cause, false);
            self.record(id, &candidate, dwell);
            let overstay = Overstay { since: crossing.at, place: fix.place, confirmed_at: fix.recorded_at };
            let found = (None, fix.recorded_at);
            let alert = alert::of_overstay((stay, &overstay), self.fence, found, self.context);
            self.effects.records.push(alert);
            stay.overstay = Some(Box::new(overstay));
        }
    }

    fn entry_crossing(&self, before: &Fix, fix: &Fix, not_before: Option<Timestamp>) -> (Crossing, Cause) {
        match crossing(self.version, before, fix, WhichCrossing::Last, not_before) {
            Some(crossing) => (crossing, Cause::Crossing),
            // Inside before too, and not held: the fence came into force over the vehicle's past.
            None if self.version.shape.covers(before.place) => (at_fix(fix, 0.0), change::began_by(self)),
            None => (at_fix(fix, fix.recorded_at.seconds_since(before.recorded_at)), Cause::Crossing),
        }
    }

    /// Not before the stay began or the fence changed: both may lie between the two fixes.
    fn exit_crossing(&self, stay: &Stay, before: &Fix, fix: &Fix) -> Crossing {
        let not_before = self.fence.last_change_until(fix.recorded_at).max(Some(stay.entered_at));
        crossing(self.version, before, fix, WhichCrossing::First, not_before)
            .unwrap_or_else(|| at_fix(fix, fix.recorded_at.seconds_since(before.recorded_at)))
    }
}
