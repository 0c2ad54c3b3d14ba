//! Passages: a fence crossed between two fixes that are both outside (docs/tracking.md, "Entries and exits").
//!
//! No fix saw the vehicle inside, but the way between them passes through. A chord of it counts as a stay inside
//! would: it is an entry if it lasts long enough, it breaks an exit that was not confirmed yet, and a stay it
//! begins ends by the same margin and waiting time as any other.

use super::analytics::{Piece, Tally};
use super::context::Context;
use super::crossing::between;
use super::effects::Effects;
use super::identity::Anchor;
use super::motion::{Leg, is_faster_than};
use super::standstill::Stance;
use super::state::{Candidate, Chord, Crossing, MOST_STAYS, Phase, Stay, VehicleState};
use super::step::Step;
use crate::geofence::{Shape, haversine_meters, interpolate};
use crate::model::{Cause, EventFix, Fix, GeofenceId, Place, Timestamp};

/// A shorter way through a fence is not worth a visit. Metres.
const MIN_CHORD_METERS: f64 = 10.0;

/// Follows the way to a fix through the fences the vehicle is in neither before nor after. `held`: the
/// fences held before this fix, by id, whose crossings are exits.
pub(super) fn infer_passages(
    state: &mut VehicleState,
    held: &[GeofenceId],
    way: (&Fix, &Leg),
    fix: &Fix,
    stance: Stance,
    (context, effects): (&Context<'_>, &mut Effects),
) {
    let (before, _) = way;
    if !is_plausible(before, fix, context) {
        return;
    }
    let first_record = effects.records.len();
    // By their ids, and no more than the vehicle may be in.
    context.fences.for_each_near_segment(before.place, fix.place, |fence| {
        if effects.records.len() - first_record >= 2 * MOST_STAYS || state.stays.len() >= MOST_STAYS {
            return;
        }
        let Some(version) = fence.in_force_at(fix.recorded_at) else { return };
        let outside = |place| !version.shape.covers(place);
        if held.binary_search(&fence.id).is_ok() || !outside(before.place) || !outside(fix.place) {
            return;
        }
        let mut step = Step { fence, version, stance, context, effects };
        if step.stands() {
            return;
        }
        let Some(mut stay) = step.pass_through(None, way, fix) else { return };
        if step.leave_or_wait(&mut stay, fix) {
            state.stays.push(stay);
        }
    });
}

/// Whether the way is plausible: a confirmed jump says where the vehicle is, not which way it took.
pub(super) fn is_plausible(before: &Fix, fix: &Fix, context: &Context<'_>) -> bool {
    let limit = context.vehicle.limits.max_speed_kmh;
    limit.is_none_or(|limit| !is_faster_than(before, fix, limit))
}

/// The parts of the segment inside the shape that are long enough to count, as shares of the way.
fn chords(shape: &Shape, before: &Fix, fix: &Fix) -> Vec<(f64, f64)> {
    let place = |share| interpolate(before.place, fix.place, share);
    let shares = shape.crossings(before.place, fix.place);
    let counts = |&(enter, leave): &(f64, f64)| {
        shape.covers(place(f64::midpoint(enter, leave)))
            && haversine_meters(place(enter), place(leave)) > MIN_CHORD_METERS
    };
    shares.windows(2).map(|pair| (pair[0], pair[1])).filter(counts).collect()
}

impl Chord {
    pub(super) const fn anchor(self, after: Timestamp) -> Anchor {
        Anchor::Passage { before: self.before, after, chord: self.number }
    }
}

/// A stay that is followed along a way, and its tally up to there.
pub(super) struct Followed {
    stay: Stay,
    tally: Tally,
    /// Where its part of the way begins.
    from: (Timestamp, Place),
}

impl Followed {
    /// A stay on its way out since before the way began.
    pub(super) fn held(stay: Stay, tally: Tally, before: &Fix) -> Self {
        let from = (before.recorded_at.max(stay.entered_at), before.place);
        Self { stay, tally, from }
    }
}

impl Step<'_> {
    /// Follows a plausible way between two fixes outside, with the stay that is on its way out, if there is one. A
    /// stay returned at the end is on its way out.
    pub(super) fn pass_through(
        &mut self,
        held: Option<Followed>,
        (before, leg): (&Fix, &Leg),
        fix: &Fix,
    ) -> Option<Stay> {
        if !self.may_infer(before, fix) {
            return held.map(|held| held.stay);
        }
        let seconds = fix.recorded_at.seconds_since(before.recorded_at);
        let mut followed = held;
        let mut left = None;
        for (number, (enter, leave)) in (0..).zip(chords(&self.version.shape, before, fix)) {
            let chord = Chord { before: before.recorded_at, number };
            let (entry, exit) = (between(before, fix, enter), between(before, fix, leave));
            let was_out = left.is_some_and(|left| self.was_out(left, enter, before, fix));
            if let Some(ended) = followed.take_if(|_| was_out) {
                self.end_at_chord(&ended.stay, fix);
            }
            if followed.is_none() && (leave - enter) * seconds >= self.version.rules.min_inside_seconds {
                followed = Some(self.begin_at_chord(chord, entry, leg, fix));
            }
            if let Some(Followed { stay, tally, from }) = &mut followed {
                let mut tally = Box::new(*tally);
                tally.travel(leg, Piece::new(*from, (exit.at, exit.place)), &self.version.rules);
                let candidate = Box::new(Candidate { crossing: exit, fix: EventFix::from(fix) });
                let chord = Some(chord);
                stay.phase = Phase::Leaving { candidate, since: None, chord, is_held: false, tally };
                left = Some(leave);
            }
        }
        followed.map(|followed| followed.stay)
    }

    /// Whether the way between two fixes may show more than the fixes themselves.
    fn may_infer(&self, before: &Fix, fix: &Fix) -> bool {
        let rules = &self.version.rules;
        // The version must have been in force on the whole way.
        let was_in_force =
            self.fence.in_force_at(before.recorded_at).is_some_and(|v| v.version == self.version.version)
                && self.fence.last_change_until(fix.recorded_at) <= Some(before.recorded_at);
        self.version.active
            && rules.infer_passages
            && fix.recorded_at.seconds_since(before.recorded_at) <= rules.max_gap_seconds
            && was_in_force
    }

    /// Whether the vehicle was out between two chords: for long enough, and beyond the margin halfway.
    fn was_out(&self, left: f64, enter: f64, before: &Fix, fix: &Fix) -> bool {
        let (from, to) = (between(before, fix, left).at, between(before, fix, enter).at);
        let halfway = interpolate(before.place, fix.place, f64::midpoint(left, enter));
        from < to
            && to.seconds_since(from) >= self.version.rules.min_outside_seconds
            && self.is_beyond_margin(&Fix { place: halfway, ..*fix })
    }

    fn begin_at_chord(&mut self, chord: Chord, entry: Crossing, leg: &Leg, fix: &Fix) -> Followed {
        let mut stay = self.new_stay(chord.anchor(fix.recorded_at), entry.at, Cause::Crossing);
        self.record_entry_as(&stay, &Candidate { crossing: entry, fix: EventFix::from(fix) }, true);
        // In case the stay goes on, the fix counts as one of it.
        stay.tally.travel(leg, entry.piece_to(fix), &self.version.rules);
        self.count(&mut stay, fix);
        Followed { stay, tally: Tally::default(), from: (entry.at, entry.place) }
    }

    fn end_at_chord(&mut self, stay: &Stay, fix: &Fix) {
        let Phase::Leaving { candidate, chord: Some(chord), tally, .. } = &stay.phase else { return };
        let anchor = chord.anchor(fix.recorded_at);
        self.record_exit(stay, tally, anchor, candidate, Cause::Crossing, true);
    }
}
