//! Whether a stay on its way out is over: the margin and the waiting time, which are the hysteresis of a fence
//! (docs/tracking.md, "Entries and exits").

use super::identity::Anchor;
use super::standstill::Stance;
use super::state::{Candidate, Phase, Stay};
use super::step::Step;
use crate::model::{Cause, Fix};

/// An accuracy worse than this widens the exit margin no further. Metres.
const MAX_ACCURACY_MARGIN_METERS: f64 = 200.0;

impl Step<'_> {
    /// Judges a stay on its way out by a fix outside. Returns whether it goes on.
    pub(super) fn leave_or_wait(&mut self, stay: &mut Stay, fix: &Fix) -> bool {
        let beyond = self.is_beyond_margin(fix);
        let stands = self.stands();
        let Phase::Leaving { since, is_held, .. } = &mut stay.phase else { return true };
        *since = beyond.then(|| since.unwrap_or(fix.recorded_at));
        let waited = since.map(|since| fix.recorded_at.seconds_since(since));
        if (stands && *is_held)
            || waited.is_none_or(|seconds| seconds < self.version.rules.min_outside_seconds)
        {
            return true;
        }
        self.leave(stay);
        false
    }

    fn leave(&mut self, stay: &Stay) {
        let Phase::Leaving { candidate, chord, tally, .. } = &stay.phase else { return };
        let after = candidate.fix.recorded_at;
        let anchor = chord.map_or(Anchor::Fix(after), |chord| chord.anchor(after));
        self.record_exit(stay, tally, anchor, candidate, Cause::Crossing, chord.is_some());
    }

    /// Whether a fix that ends a stop shows that the vehicle had left before: it was out for long enough, and
    /// leaving was held back only until it was known that the vehicle did not stand.
    pub(super) fn left_meanwhile(&mut self, stay: &Stay, last_outside: &Fix) -> bool {
        let Phase::Leaving { since: Some(since), .. } = &stay.phase else { return false };
        let outside_seconds = last_outside.recorded_at.seconds_since(*since);
        let was_out = self.believes_held() && outside_seconds >= self.version.rules.min_outside_seconds;
        if was_out {
            self.leave(stay);
        }
        was_out
    }

    /// Whether crossings are not believed, because the vehicle stands.
    pub(super) const fn stands(&self) -> bool {
        self.version.rules.hold_while_standing && matches!(self.stance, Stance::Stands { .. })
    }

    /// Whether a fix inside is believed: the vehicle does not stand, or it stands inside.
    pub(super) fn believes_entry(&self) -> bool {
        !self.stands() || self.stands_inside()
    }

    /// Whether a fix outside is not believed, because the vehicle is known to stand inside.
    pub(super) fn stands_inside(&self) -> bool {
        let Stance::Stands { middle: Some(middle) } = self.stance else { return false };
        self.version.rules.hold_while_standing && self.version.shape.covers(middle)
    }

    /// Whether an entry that waited counts although the vehicle is out again: it was in for long enough, and the
    /// entry was held back only until it was known that the vehicle did not stand.
    pub(super) fn entered_meanwhile(&self, candidate: &Candidate, last_inside: &Fix) -> bool {
        let inside_seconds = last_inside.recorded_at.seconds_since(candidate.fix.recorded_at);
        self.believes_held() && inside_seconds >= self.version.rules.min_inside_seconds
    }

    fn believes_held(&self) -> bool {
        self.version.rules.hold_while_standing && self.stance == (Stance::Moves { believes_held: true })
    }

    /// Whether a stay that is on its way out remains so under a new version, judged at the last fix. Waiting times
    /// are left for a later fix to confirm.
    pub(super) fn goes_on_leaving(&self, stay: &mut Stay, last: &Fix) -> bool {
        let Phase::Leaving { since, .. } = &mut stay.phase else { return false };
        let beyond = self.is_beyond_margin(last);
        *since = beyond.then(|| since.unwrap_or(last.recorded_at));
        !beyond || self.version.rules.min_outside_seconds > 0.0
    }

    /// Whether a fix is farther outside than the margin: the rule's, or the fix's accuracy if that is more.
    pub(super) fn is_beyond_margin(&self, fix: &Fix) -> bool {
        let rule = self.version.rules.exit_margin_meters;
        if rule <= 0.0 {
            return true;
        }
        let accuracy = fix.accuracy_meters.unwrap_or(0.0).min(MAX_ACCURACY_MARGIN_METERS);
        self.version.shape.is_farther_outside_than(fix.place, rule.max(accuracy))
    }
}
