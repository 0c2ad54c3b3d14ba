//! Where a fix stands on its vehicle's timeline: new, a duplicate, late, or too doubtful to judge
//! (docs/tracking.md §1).

use std::cmp::Ordering;

use super::effects::{Effects, PositionRow, Quarantine, Standing};
use super::judge::judge;
use super::{Context, MAX_CLOCK_AHEAD_SECONDS, VehicleState};
use crate::geofence::haversine_meters;
use crate::model::{Fix, Timestamp};

/// Applies one accepted fix: judges it, or stores it unjudged when it is late or doubtful.
pub fn apply(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    if let Some(quarantine) = doubtful(&fix, context) {
        store(state, fix, Some(quarantine), false, effects);
        return;
    }
    match fix.recorded_at.cmp(&newest(state)) {
        Ordering::Less => store(state, fix, None, true, effects),
        Ordering::Equal if at_same_instant(state, &fix).is_some() => repeat(state, fix, effects),
        Ordering::Equal | Ordering::Greater => proceed(state, fix, context, effects),
    }
}

/// Kept but never evaluated, whatever comes next.
fn doubtful(fix: &Fix, context: &Context<'_>) -> Option<Quarantine> {
    let inaccurate = |limit: f64| {
        fix.accuracy_meters.is_some_and(|accuracy| accuracy > limit).then_some(Quarantine::Accuracy)
    };
    if fix.recorded_at.seconds_since(fix.received_at) > MAX_CLOCK_AHEAD_SECONDS {
        Some(Quarantine::Future)
    } else {
        context.vehicle.limits.max_accuracy_meters.and_then(inaccurate)
    }
}

/// The newest entry of the timeline; a suspect is on it too.
fn newest(state: &VehicleState) -> Timestamp {
    state.suspect.map_or(state.newest_entry, |suspect| suspect.recorded_at.max(state.newest_entry))
}

fn at_same_instant<'a>(state: &'a mut VehicleState, fix: &Fix) -> Option<&'a mut Fix> {
    let same = |known: &&mut Fix| known.recorded_at == fix.recorded_at;
    state.suspect.as_mut().filter(same).or(state.last.as_mut().filter(same))
}

/// Another report of the newest instant: the same fix again, or another place. Which of two places
/// counts never depends on which came first, so a better one that comes second is a late fix.
fn repeat(state: &mut VehicleState, fix: Fix, effects: &mut Effects) {
    let Some(known) = at_same_instant(state, &fix) else { return };
    if known.place != fix.place {
        let late = rank(&fix).lt(&rank(known));
        store(state, fix, None, late, effects);
    } else if known.fill_from(&fix) {
        store(state, fix, None, false, effects);
    } else {
        effects.duplicates += 1;
    }
}

/// Smaller is better: known accuracy before unknown, then finer, then lower latitude and longitude.
fn rank(fix: &Fix) -> (f64, f64, f64) {
    (fix.accuracy_meters.unwrap_or(f64::INFINITY), fix.place.latitude, fix.place.longitude)
}

/// A fix newer than everything judged so far. One that implies an impossible speed waits for the
/// next: if that agrees with it, both count; if not, the waiting one never does.
fn proceed(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    let limit = context.vehicle.limits.max_speed_kmh;
    let plausible = |from: Option<Fix>| match (from, limit) {
        (Some(from), Some(limit)) => implied_speed_kmh(&from, &fix) <= limit,
        _ => true,
    };
    let suspect = state.suspect.take();
    if plausible(state.last) {
        store(state, fix, None, false, effects);
        judge(state, fix, context, effects);
    } else if let Some(suspect) = suspect.filter(|suspect| plausible(Some(*suspect))) {
        effects.confirmed.push(suspect);
        store(state, fix, None, false, effects);
        // A fence change may have come between them; what is recorded up to it stands.
        if suspect.recorded_at >= state.newest_entry {
            judge(state, suspect, context, effects);
        }
        judge(state, fix, context, effects);
    } else {
        store(state, fix, Some(Quarantine::Speed), false, effects);
        state.suspect = Some(fix);
    }
}

/// km/h on the great circle between two fixes; infinite for two places at one instant.
pub(super) fn implied_speed_kmh(from: &Fix, to: &Fix) -> f64 {
    let meters = haversine_meters(from.place, to.place);
    let seconds = to.recorded_at.seconds_since(from.recorded_at);
    if meters == 0.0 { 0.0 } else { meters / seconds.max(0.0) * 3.6 }
}

fn store(
    state: &mut VehicleState,
    fix: Fix,
    quarantine: Option<Quarantine>,
    late: bool,
    effects: &mut Effects,
) {
    // What is newer than all stored fixes can be late all the same: a fence change may be newer.
    let fresh = fix.recorded_at > state.newest_stored && !late;
    state.newest_stored = state.newest_stored.max(fix.recorded_at);
    let standing = if fresh { Standing::Fresh } else { Standing::Recheck { late } };
    effects.rows.push(PositionRow { fix, quarantine, standing });
}
