//! Where and when the way between two fixes crosses a boundary (docs/tracking.md, "Entries and exits").

use super::state::Crossing;
use crate::geofence::{PreparedVersion, interpolate};
use crate::model::{Fix, Timestamp};

/// Which of several crossings counts: the last into a fence, the first out of it.
#[derive(Clone, Copy)]
pub(super) enum WhichCrossing {
    First,
    Last,
}

/// Where the way between two fixes crosses the boundary, interpolated in time but not before an
/// instant (the fence changed, or was entered, after the fix before); at the later fix itself across
/// too long a gap. `None` when the way does not cross.
pub(super) fn crossing(
    version: &PreparedVersion,
    before: &Fix,
    fix: &Fix,
    which: WhichCrossing,
    not_before: Option<Timestamp>,
) -> Option<Crossing> {
    let seconds = fix.recorded_at.seconds_since(before.recorded_at);
    let shares = version.shape.crossings(before.place, fix.place);
    let share = *match which {
        WhichCrossing::First => shares.first(),
        WhichCrossing::Last => shares.last(),
    }?;
    if seconds > version.rules.max_gap_seconds {
        return Some(at_fix(fix, seconds));
    }
    let crossing = between(before, fix, share);
    let Some(earliest) = not_before.filter(|earliest| crossing.at < *earliest) else { return Some(crossing) };
    Some(match which {
        // It was already on its way in by then.
        WhichCrossing::Last => {
            let at = earliest;
            Crossing { at, ..between(before, fix, at.seconds_since(before.recorded_at) / seconds) }
        }
        // By what is recorded, it was then still where the previous fix saw it, and has been on its way out since.
        WhichCrossing::First => {
            let left = fix.recorded_at.seconds_since(earliest);
            let at = earliest.plus_seconds(left * share);
            Crossing { at, uncertainty_seconds: left / 2.0, ..crossing }
        }
    })
}

/// A point of the way between two fixes. It happened between them: half their distance in time
/// either way.
pub(super) fn between(before: &Fix, fix: &Fix, share: f64) -> Crossing {
    let seconds = fix.recorded_at.seconds_since(before.recorded_at);
    Crossing {
        at: before.recorded_at.plus_seconds(seconds * share),
        place: interpolate(before.place, fix.place, share),
        uncertainty_seconds: seconds / 2.0,
    }
}

pub(super) fn at_fix(fix: &Fix, uncertainty_seconds: f64) -> Crossing {
    Crossing { at: fix.recorded_at, place: fix.place, uncertainty_seconds }
}
