//! Changes on a vehicle's timeline other than fixes: geofences created, changed, enabled, disabled or deleted
//! around it, and its going out of service (docs/tracking.md, "Fence changes").

use std::sync::Arc;

use super::context::Context;
use super::effects::{Effects, Mark};
use super::identity::Anchor;
use super::near_span::NearSpan;
use super::overspeed;
use super::standstill::{self, Stance};
use super::state::{Candidate, Crossing, MOST_STAYS, Phase, Stay, VehicleState};
use super::step::{Step, holds};
use super::trips;
use crate::geofence::{FenceTimeline, PreparedVersion};
use crate::model::{Cause, EventFix, Fix, Origin, Timestamp};

/// A version of a fence that comes into force.
type DueVersion = (Timestamp, Arc<FenceTimeline>, usize);

/// Brings a vehicle up to the present: every change since the newest entry of its timeline is settled against the
/// last fix, each at its own instant. Without changes it does nothing, so it may be repeated; how often it runs
/// makes no difference.
pub fn catch_up(state: &mut VehicleState, context: &Context<'_>, effects: &mut Effects) {
    advance(state, context.detected_at, context, effects);
}

/// Settles a change of the timeline from an instant on: a version of a fence that takes effect then, or a change of
/// when the vehicle is out of service. If that instant has passed already, what was recorded since awaits a
/// correction: all of it, or only up to where the change may matter.
pub fn settle_change(
    state: &mut VehicleState,
    NearSpan { from, until }: NearSpan,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let from = from.max(Timestamp::FIRST);
    let mut passed = until.map_or(state.passed(), |until| until.min(state.passed()));
    if !context.vehicle.out_of_service.is_empty() {
        // Fixes stored without being judged, because it was out of service, may have to be judged now.
        passed = passed.max(state.newest_stored);
    }
    if from <= passed {
        let mark = Mark { from, until: passed, origin: Origin::Recompute };
        effects.late = Some(effects.late.map_or(mark, |late| late.merge(mark)));
    }
    catch_up(state, context, effects);
}

/// Settles every change after the newest entry, up to an instant.
pub(super) fn advance(
    state: &mut VehicleState,
    until: Timestamp,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let Some(last) = state.last.filter(|_| state.out_since.is_none()) else { return };
    let since = state.newest_entry;
    let out_of_service = context.vehicle.out_of_service.iter().map(|(from, _)| *from);
    let out = out_of_service.filter(|from| *from > since && *from <= until).min();
    if context.fences.last_effective_from().is_some_and(|latest| latest > since) {
        // At any one instant, going out of service comes first, and leaves nothing to change.
        let in_time = |at: Timestamp| at > since && at <= until && out.is_none_or(|out| at < out);
        for (at, fence, index) in changes(state, &last, in_time, context) {
            change(state, &fence, &fence.versions()[index], at, context, effects);
        }
    }
    if let Some(at) = out {
        go_out(state, at, context, effects);
    }
}

/// The versions that come into force at certain instants, of the fences that hold the last place or are held.
fn changes(
    state: &VehicleState,
    last: &Fix,
    in_time: impl Fn(Timestamp) -> bool,
    context: &Context<'_>,
) -> Vec<DueVersion> {
    let mut changes: Vec<DueVersion> = Vec::new();
    let mut gather = |fence: &Arc<FenceTimeline>| {
        for (index, version) in fence.versions().iter().enumerate() {
            let Some(from) = version.effective_from.filter(|from| in_time(*from)) else { continue };
            // A version planned for this instant may have been overruled since.
            if fence.in_force_at(from).is_some_and(|in_force| in_force.version == version.version) {
                changes.push((from, Arc::clone(fence), index));
            }
        }
    };
    context.fences.for_each_near(last.place, |near| gather(near.fence));
    for stay in &state.stays {
        if let Some(fence) = context.fences.get(stay.geofence_id) {
            gather(fence);
        }
    }
    changes.sort_by_key(|(at, fence, index)| (*at, fence.id, *index));
    changes.dedup_by_key(|(at, fence, index)| (*at, fence.id, *index));
    changes
}

/// Ends every stay: the vehicle goes out of service. Its next fix is judged like a first one.
fn go_out(state: &mut VehicleState, at: Timestamp, context: &Context<'_>, effects: &mut Effects) {
    let Some(last) = state.last else { return };
    let first = effects.records.len();
    for stay in std::mem::take(&mut state.stays).iter().filter(|stay| stay.is_open()) {
        let Some(fence) = context.fences.get(stay.geofence_id) else { continue };
        let Some(version) = fence.versions().iter().find(|v| v.version == stay.version) else { continue };
        let anchor = Anchor::Visit(stay.visit_id);
        let mut step = Step { fence, version, stance: Stance::FREE, context, effects };
        step.record_exit(stay, &stay.tally, anchor, &at_change(&last, at), Cause::VehicleDeactivated, false);
    }
    overspeed::end(state, at, context, effects);
    trips::end(state, at, context, effects);
    made_at(at, first, effects);
    state.suspect = None;
    state.out_since = Some(at);
    state.newest_entry = at;
}

fn change(
    state: &mut VehicleState,
    fence: &FenceTimeline,
    version: &PreparedVersion,
    at: Timestamp,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let Some(last) = state.last else { return };
    let first = effects.records.len();
    let stance = standstill::stance(state.standstill.as_deref(), &last);
    let mut step = Step { fence, version, stance, context, effects };
    let held = state.stays.iter().position(|stay| stay.geofence_id == fence.id);
    match held {
        Some(index) if state.stays[index].version == version.version => {}
        Some(index) => {
            if !settle(&mut state.stays[index], &last, at, &mut step) {
                state.stays.remove(index);
            }
            state.newest_entry = state.newest_entry.max(at);
        }
        None if state.stays.len() < MOST_STAYS && holds(version, last.place) && step.believes_entry() => {
            let anchor = Anchor::Version(version.version);
            let stay = step.new_stay(anchor, at, began_by(&step));
            step.record_entry(&stay, &at_change(&last, at));
            state.stays.push(stay);
            state.stays.sort_unstable_by_key(|stay| stay.geofence_id);
            state.newest_entry = state.newest_entry.max(at);
        }
        None => {}
    }
    made_at(at, first, effects);
}

/// Judges a held fence by another version, at the last fix. Returns whether the stay goes on: the
/// vehicle is inside, stands inside, or was on its way out and the version's rules do not let it go yet.
pub(super) fn settle(stay: &mut Stay, last: &Fix, at: Timestamp, step: &mut Step<'_>) -> bool {
    stay.version = step.version.version;
    if holds(step.version, last.place) {
        if matches!(stay.phase, Phase::Leaving { .. }) {
            stay.phase = Phase::Inside;
        }
        return true;
    }
    if step.version.active && (step.goes_on_leaving(stay, last) || step.stands_inside()) {
        return true;
    }
    if stay.is_open() {
        let cause = if step.version.active { Cause::GeofenceChanged } else { Cause::GeofenceDeleted };
        step.record_exit(
            stay,
            &stay.tally,
            Anchor::Version(stay.version),
            &at_change(last, at),
            cause,
            false,
        );
    }
    false
}

/// The cause of a stay that begins with a version: the fence was created or enabled, or it changed.
pub(super) fn began_by(step: &Step<'_>) -> Cause {
    let before = step.fence.versions().iter().rev().find(|v| v.version < step.version.version);
    if before.is_some_and(|before| before.active) { Cause::GeofenceChanged } else { Cause::GeofenceCreated }
}

/// A change happens where the vehicle was last seen, and exactly when it was made.
fn at_change(last: &Fix, at: Timestamp) -> Candidate {
    Candidate {
        crossing: Crossing { at, place: last.place, uncertainty_seconds: 0.0 },
        fix: EventFix::from(last),
    }
}

fn made_at(at: Timestamp, first: usize, effects: &mut Effects) {
    for record in &mut effects.records[first..] {
        record.confirmed_at = at;
    }
}
