//! How a fix relates to its vehicle's timeline: new, a duplicate, late, or too doubtful to judge (docs/tracking.md,
//! "Accepting a fix").

use std::cmp::Ordering;

use super::accept::MAX_CLOCK_AHEAD_SECONDS;
use super::alert;
use super::change::advance;
use super::context::Context;
use super::effects::{Checkpoint, Effects, Freshness, PositionRow, Quarantine};
use super::fuel;
use super::judge::{in_order, judge};
use super::motion::{Trail, is_faster_than};
use super::overspeed;
use super::state::VehicleState;
use super::state::Waypoint;
use super::trips;
use crate::geofence::is_farther_than;
use crate::model::{Fix, Merged};

/// Evaluated fixes after which a state is kept for corrections.
const CHECKPOINT_EVERY: u32 = 500;

/// Applies one accepted fix: judges it, or stores it unjudged when it is late or doubtful.
pub fn apply(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    // Merging another report into a fix that counts cannot give one that does not count.
    if at_same_instant(state, &fix).is_some_and(|known| known.place == fix.place) {
        repeat(state, fix, context, effects);
    } else if let Some(quarantine) = doubtful(&fix, context) {
        store(state, fix, Some(quarantine), false, effects);
    } else if let Some(known) = at_same_instant(state, &fix) {
        // Which of two places counts must not depend on arrival: a better one that comes second is late.
        let late = by_rank(&fix, known).is_lt();
        store(state, fix, None, late, effects);
    } else if fix.recorded_at < state.newest() || fix.recorded_at <= state.corrected_to {
        store(state, fix, None, true, effects);
    } else {
        proceed(state, fix, context, effects);
        keep(state, effects);
    }
}

/// The order in which fixes are applied: by instant, and at one instant the one that counts first.
#[must_use]
pub fn by_rank(a: &Fix, b: &Fix) -> Ordering {
    let rank =
        |fix: &Fix| (fix.accuracy_meters.unwrap_or(f64::INFINITY), fix.place.latitude, fix.place.longitude);
    let (left, right) = (rank(a), rank(b));
    a.recorded_at
        .cmp(&b.recorded_at)
        .then(left.0.total_cmp(&right.0))
        .then(left.1.total_cmp(&right.1))
        .then(left.2.total_cmp(&right.2))
}

/// Why a fix is kept but never evaluated, whatever comes next.
fn doubtful(fix: &Fix, context: &Context<'_>) -> Option<Quarantine> {
    let inaccurate = |limit: f64| {
        fix.accuracy_meters.is_some_and(|accuracy| accuracy > limit).then_some(Quarantine::Accuracy)
    };
    if fix.recorded_at.seconds_since(fix.received_at) > MAX_CLOCK_AHEAD_SECONDS {
        Some(Quarantine::Future)
    } else if context.vehicle.is_out_at(fix.recorded_at) {
        Some(Quarantine::OutOfService)
    } else {
        context.vehicle.limits.max_accuracy_meters.and_then(inaccurate)
    }
}

fn at_same_instant<'a>(state: &'a mut VehicleState, fix: &Fix) -> Option<&'a mut Fix> {
    state.fixes_mut().find(|known| known.recorded_at == fix.recorded_at)
}

/// Another report of the newest fix, or of one that waits.
fn repeat(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    let Some(known) = at_same_instant(state, &fix) else { return };
    let before = *known;
    // What it says of the ignition is judged with the fix behind it.
    let merged = known.merge(&fix);
    let whole = *known;
    match merged {
        Merged::Same => effects.duplicates += 1,
        Merged::Unjudged if fuel::repeat(state, &before, &whole, context, effects) => {
            effects.rows.push(PositionRow {
                fix,
                quarantine: None,
                attributes: None,
                freshness: Freshness::Repeat,
            });
        }
        // The store merges both in the same way, and marks the vehicle if that changes a record.
        Merged::Unjudged | Merged::Judged => store(state, fix, None, false, effects),
    }
}

/// Handles a fix newer than everything judged so far. One that implies an impossible speed waits for the next: if
/// that agrees with it, both count; if not, the waiting one never does.
fn proceed(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    let first = effects.records.len();
    // Changes come first, and are settled against the last fix that counts: as if each had been settled when it was
    // made, whether or not a waiting fix is believed later.
    advance(state, fix.recorded_at, context, effects);
    let own = effects.records.len();
    if state.out_since.take().is_some() {
        (state.last, state.suspect, state.attributes) = (None, None, None);
        (state.trail, state.standstill) = (Trail::default(), None);
    }
    let limit = context.vehicle.limits.max_speed_kmh;
    let plausible = |from: Option<Fix>| match (from, limit) {
        (Some(from), Some(limit)) => !is_faster_than(&from, &fix, limit),
        _ => true,
    };
    let suspect = state.suspect.take().map(|suspect| *suspect);
    if plausible(state.last) {
        store(state, fix, None, false, effects);
        count(state, fix, context, effects);
    } else if let Some(suspect) = suspect.filter(|suspect| plausible(Some(*suspect))) {
        store(state, fix, None, false, effects);
        // A fence change may have come between them; what was recorded up to it stands.
        if suspect.recorded_at >= state.newest_entry {
            effects.confirmed.push(suspect);
            count(state, suspect, context, effects);
        }
        count(state, fix, context, effects);
    } else {
        store(state, fix, Some(Quarantine::Speed), false, effects);
        state.suspect = Some(Box::new(fix));
    }
    overspeed::confirm(state, &mut effects.records[own..], fix.recorded_at);
    alert::confirm(state, own, fix.recorded_at, effects);
    trips::confirm(state, &effects.records[own..], fix.recorded_at);
    in_order(&mut effects.records[first..]);
}

/// Judges a fix that counts.
fn count(state: &mut VehicleState, fix: Fix, context: &Context<'_>, effects: &mut Effects) {
    if state.last.is_none_or(|last| is_jump(&last, &fix)) {
        state.jumped_at = fix.recorded_at;
    }
    state.came_from = state.last.map(|last| Waypoint { at: last.recorded_at, place: last.place });
    state.unsaved += 1;
    judge(state, fix, context, effects);
}

/// Keeps the state as a checkpoint when it is time.
fn keep(state: &mut VehicleState, effects: &mut Effects) {
    if state.unsaved >= CHECKPOINT_EVERY {
        state.unsaved = 0;
        effects.checkpoints.push(Checkpoint { at: state.newest(), state: state.clone() });
    }
}

/// Whether a way is longer or faster than a plain one, as [`VehicleState::jumped_at`] defines it.
fn is_jump(from: &Fix, to: &Fix) -> bool {
    let seconds = to.recorded_at.seconds_since(from.recorded_at);
    let plain = VehicleState::MAX_LEG_METERS.min(VehicleState::MAX_METERS_PER_SECOND * seconds);
    is_farther_than(from.place, to.place, plain)
}

fn store(
    state: &mut VehicleState,
    fix: Fix,
    quarantine: Option<Quarantine>,
    late: bool,
    effects: &mut Effects,
) {
    let freshness =
        if is_fresh(state, &fix, quarantine, late) { Freshness::Fresh } else { Freshness::Recheck { late } };
    if quarantine == Some(Quarantine::Future) {
        // A clock that is wrong once must not make every later fix one that may be stored already.
        state.future.get_or_insert_default().add(fix.recorded_at, state.newest_stored);
    } else {
        state.newest_stored = state.newest_stored.max(fix.recorded_at);
    }
    effects.rows.push(PositionRow { fix, quarantine, attributes: None, freshness });
}

/// Whether a fix is certainly not stored yet: it is newer than everything stored, and none that was dated ahead lies there.
fn is_fresh(state: &VehicleState, fix: &Fix, quarantine: Option<Quarantine>, late: bool) -> bool {
    // A fix newer than all stored ones can still be late: a fence change may be newer.
    !late
        && quarantine != Some(Quarantine::Future)
        && fix.recorded_at > state.newest_stored
        && !state.future.as_ref().is_some_and(|future| future.may_hold(fix.recorded_at))
}
