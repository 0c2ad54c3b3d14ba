//! Fence changes on a vehicle's timeline: created, changed, enabled, disabled, deleted around it
//! (docs/tracking.md §3).

use std::sync::Arc;

use super::Context;
use super::effects::Effects;
use super::identity::Anchor;
use super::judge::{Step, holds};
use super::state::{Candidate, Crossing, Phase, Stay, VehicleState};
use crate::geofence::{FenceTimeline, PreparedVersion};
use crate::model::{Cause, Fix, GeofenceId, Timestamp};

/// Brings the timeline up to an instant: versions that came in force since the newest entry are
/// settled against the last fix, each at its own instant.
pub(super) fn advance(
    state: &mut VehicleState,
    until: Timestamp,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let Some(last) = state.last else { return };
    let since = state.newest_entry;
    if context.fences.last_effective_from().is_none_or(|latest| latest <= since) {
        return;
    }
    let mut changes: Vec<(Timestamp, Arc<FenceTimeline>, usize)> = Vec::new();
    let mut gather = |fence: &Arc<FenceTimeline>| {
        for (index, version) in fence.versions().iter().enumerate() {
            let Some(from) = version.effective_from.filter(|from| *from > since && *from <= until) else {
                continue;
            };
            // A version planned for this instant may have been overruled since.
            if fence.in_force_at(from).is_some_and(|in_force| in_force.version == version.version) {
                changes.push((from, Arc::clone(fence), index));
            }
        }
    };
    context.fences.for_each_near(last.place, &mut gather);
    for stay in &state.stays {
        if let Some(fence) = context.fences.get(stay.geofence_id) {
            gather(fence);
        }
    }
    changes.sort_by_key(|(at, fence, index)| (*at, fence.id, *index));
    changes.dedup_by_key(|(at, fence, index)| (*at, fence.id, *index));
    for (at, fence, index) in changes {
        change(state, &fence, &fence.versions()[index], at, context, effects);
    }
}

/// Settles a fence's newest version against a vehicle at the instant of the change, or at its newest
/// entry if its clock is ahead. Nothing happens where nothing changes, so it may be repeated.
pub fn settle_fence(
    state: &mut VehicleState,
    fence: GeofenceId,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let Some(fence) = context.fences.get(fence) else { return };
    let newest = fence.newest();
    let at = newest.changed_at.max(state.newest_entry);
    if let Some(version) = fence.in_force_at(at) {
        change(state, fence, version, at, context, effects);
    }
}

/// Ends every stay of a vehicle that is taken out of use, now.
pub fn deactivate(state: &mut VehicleState, context: &Context<'_>, effects: &mut Effects) {
    let Some(last) = state.last else { return };
    let at = context.detected_at.max(state.newest_entry);
    for stay in std::mem::take(&mut state.stays).iter().filter(|stay| stay.is_open()) {
        let Some(fence) = context.fences.get(stay.geofence_id) else { continue };
        let Some(version) = fence.versions().iter().find(|v| v.version == stay.version) else { continue };
        let anchor = Anchor::Visit(stay.visit_id);
        let mut step = Step { fence, version, context, effects };
        step.record_exit(stay, &stay.tally, anchor, &at_change(&last, at), Cause::VehicleDeactivated, false);
    }
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
    let mut step = Step { fence, version, context, effects };
    let held = state.stays.iter().position(|stay| stay.geofence_id == fence.id);
    match held {
        Some(index) if state.stays[index].version == version.version => {}
        Some(index) => {
            if !settle(&mut state.stays[index], &last, at, &mut step) {
                state.stays.remove(index);
            }
            state.newest_entry = state.newest_entry.max(at);
        }
        None if holds(version, last.place) => {
            let anchor = Anchor::Version(version.version);
            let mut stay = step.new_stay(anchor, at, began_by(&step));
            if last.recorded_at >= at {
                step.count(&mut stay, &last);
            }
            step.record_entry(&stay, &at_change(&last, at));
            state.stays.push(stay);
            state.stays.sort_unstable_by_key(|stay| stay.geofence_id);
            state.newest_entry = state.newest_entry.max(at);
        }
        None => {}
    }
}

/// Judges a held fence by another version, at the last fix. Returns whether the stay goes on: the
/// vehicle is inside, or was on its way out and the version's rules do not let it go yet.
pub(super) fn settle(stay: &mut Stay, last: &Fix, at: Timestamp, step: &mut Step<'_>) -> bool {
    stay.version = step.version.version;
    if holds(step.version, last.place) {
        if matches!(stay.phase, Phase::Leaving { .. }) {
            stay.phase = Phase::Inside;
        }
        return true;
    }
    if step.version.active && step.goes_on_leaving(stay, last) {
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

/// Why a stay that begins with a version begins: the fence was made or enabled, or it changed.
pub(super) fn began_by(step: &Step<'_>) -> Cause {
    let before = step.fence.versions().iter().rev().find(|v| v.version < step.version.version);
    if before.is_some_and(|before| before.active) { Cause::GeofenceChanged } else { Cause::GeofenceCreated }
}

/// A fence change happens where the vehicle was last seen, and exactly when it was made.
fn at_change(last: &Fix, at: Timestamp) -> Candidate {
    Candidate { crossing: Crossing { at, place: last.place, uncertainty_seconds: 0.0 }, fix: *last }
}
