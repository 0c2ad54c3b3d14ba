//! Passages: a fence crossed between two fixes that are both outside (docs/tracking.md §3).

use super::Context;
use super::analytics::Piece;
use super::effects::Effects;
use super::identity::Anchor;
use super::judge::{Step, between};
use super::motion::Leg;
use super::state::{Candidate, Crossing};
use super::timeline::implied_speed_kmh;
use crate::geofence::{Shape, haversine_meters, interpolate};
use crate::model::{Cause, Fix, GeofenceId};

/// A shorter way through a fence is not worth a visit. Metres.
const MIN_CHORD_METERS: f64 = 10.0;

/// Records an entry and an exit for each chord of the segment through a fence the vehicle is in
/// neither before nor after. `held`: the fences held before this fix, whose crossings are exits.
pub(super) fn infer_passages(
    held: &[GeofenceId],
    before: &Fix,
    leg: &Leg,
    fix: &Fix,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    // A confirmed jump says where the vehicle is, not which way it took.
    let limit = context.vehicle.limits.max_speed_kmh;
    if limit.is_some_and(|limit| implied_speed_kmh(before, fix) > limit) {
        return;
    }
    let seconds = fix.recorded_at.seconds_since(before.recorded_at);
    context.fences.for_each_near_segment(before.place, fix.place, |fence| {
        let Some(version) = fence.in_force_at(fix.recorded_at) else { return };
        // The version must have been in force on the whole way.
        let settled = fence.in_force_at(before.recorded_at).is_some_and(|v| v.version == version.version)
            && fence.last_change_until(fix.recorded_at) <= Some(before.recorded_at);
        if !version.active
            || !version.rules.infer_passages
            || seconds > version.rules.max_gap_seconds
            || !settled
        {
            return;
        }
        let outside = |place| !version.shape.covers(place);
        if held.contains(&fence.id) || !outside(before.place) || !outside(fix.place) {
            return;
        }
        let mut step = Step { fence, version, context, effects };
        for (number, (enter, leave)) in chords(&version.shape, before, fix).into_iter().enumerate() {
            let enough = (leave - enter) * seconds >= version.rules.min_inside_seconds;
            if enough {
                let ends = (between(before, fix, enter), between(before, fix, leave));
                step.record_passage(before, leg, fix, number as u32, ends);
            }
        }
    });
}

/// The parts of the segment inside the shape, as shares of its way, long enough to count.
fn chords(shape: &Shape, before: &Fix, fix: &Fix) -> Vec<(f64, f64)> {
    let length = haversine_meters(before.place, fix.place);
    let shares = shape.crossings(before.place, fix.place);
    let inside = |enter: f64, leave: f64| {
        shape.covers(interpolate(before.place, fix.place, f64::midpoint(enter, leave)))
    };
    shares
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .filter(|(enter, leave)| (leave - enter) * length > MIN_CHORD_METERS && inside(*enter, *leave))
        .collect()
}

impl Step<'_> {
    fn record_passage(
        &mut self,
        before: &Fix,
        leg: &Leg,
        fix: &Fix,
        chord: u32,
        (entry, exit): (Crossing, Crossing),
    ) {
        let anchor = Anchor::Passage { before: before.recorded_at, after: fix.recorded_at, chord };
        let mut stay = self.new_stay(anchor, entry.at, Cause::Crossing);
        let chord = Piece::new((entry.at, entry.place), (exit.at, exit.place));
        stay.tally.travel(leg, chord, &self.version.rules);
        self.record_entry_as(&stay, &Candidate { crossing: entry, fix: *fix }, true);
        self.record_exit(
            &stay,
            &stay.tally,
            anchor,
            &Candidate { crossing: exit, fix: *fix },
            Cause::Crossing,
            true,
        );
    }
}
