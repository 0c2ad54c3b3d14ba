//! Whether a stay on its way out is over: the margin and the waiting time (docs/tracking.md §3).

use super::identity::Anchor;
use super::judge::Step;
use super::state::{Phase, Stay};
use crate::model::{Cause, Fix};

/// An accuracy worse than this widens the exit margin no further. Metres.
const MAX_ACCURACY_MARGIN_METERS: f64 = 200.0;

impl Step<'_> {
    /// Judges a stay on its way out by a fix outside. Returns whether it goes on.
    pub(super) fn leave_or_wait(&mut self, stay: &mut Stay, fix: &Fix) -> bool {
        let beyond = self.is_beyond_margin(fix);
        let Phase::Leaving { candidate, since, chord, tally } = &mut stay.phase else { return true };
        *since = beyond.then(|| since.unwrap_or(fix.recorded_at));
        let waited = since.map(|since| fix.recorded_at.seconds_since(since));
        if waited.is_none_or(|seconds| seconds < self.version.rules.min_outside_seconds) {
            return true;
        }
        let (candidate, chord, tally) = (**candidate, *chord, **tally);
        let after = candidate.fix.recorded_at;
        let anchor = chord.map_or(Anchor::Fix(after), |chord| chord.anchor(after));
        self.record_exit(stay, &tally, anchor, &candidate, Cause::Crossing, chord.is_some());
        false
    }

    /// Whether a stay that is on its way out stays so under a new version, judged at the last fix.
    /// Waiting times are for a later fix to confirm.
    pub(super) fn goes_on_leaving(&self, stay: &mut Stay, last: &Fix) -> bool {
        let Phase::Leaving { since, .. } = &mut stay.phase else { return false };
        let beyond = self.is_beyond_margin(last);
        *since = beyond.then(|| since.unwrap_or(last.recorded_at));
        !beyond || self.version.rules.min_outside_seconds > 0.0
    }

    /// Farther outside than the margin: the rule's, or the fix's accuracy if that is more.
    pub(super) fn is_beyond_margin(&self, fix: &Fix) -> bool {
        let rule = self.version.rules.exit_margin_meters;
        if rule <= 0.0 {
            return true;
        }
        let accuracy = fix.accuracy_meters.unwrap_or(0.0).min(MAX_ACCURACY_MARGIN_METERS);
        self.version.shape.is_farther_outside_than(fix.place, rule.max(accuracy))
    }
}
