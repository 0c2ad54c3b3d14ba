//! When each frame is to be sent, fixed before the first one goes out. Pure.

use waypost_actors::model::Timestamp;

use super::options::Pace;
use super::source::Fixes;

/// Silences of all vehicles at once are cut to this many seconds.
const LONGEST_SILENCE_SECONDS: f64 = 600.0;

/// A frame of one vehicle: how many fixes, and when the last of them was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FrameEnd {
    vehicle: usize,
    items: usize,
    /// The newest instant the vehicle has reached: a track may go back in time, its sending may not.
    reached: Timestamp,
}

/// When the frames of each vehicle are due, in seconds after the start; empty lists when acks set the pace.
#[must_use]
pub(super) fn dues(tracks: &[&Fixes], items: usize, pace: Pace) -> Vec<Vec<f64>> {
    let mut dues = vec![Vec::new(); tracks.len()];
    if pace == Pace::Credit {
        return dues;
    }
    let mut frames: Vec<FrameEnd> =
        tracks.iter().enumerate().flat_map(|(vehicle, fixes)| frame_ends(vehicle, fixes, items)).collect();
    // Stable: the frames of one vehicle keep their order.
    frames.sort_by_key(|frame| frame.reached);
    let mut sent = 0;
    let mut clock = 0.0;
    let mut before = frames.first().map(|frame| frame.reached);
    for frame in &frames {
        let due = match pace {
            Pace::Credit => 0.0,
            Pace::Rate(rate) => sent as f64 / rate,
            Pace::Times(times) => {
                let silence = before.map_or(0.0, |before| frame.reached.seconds_since(before));
                clock += silence.min(LONGEST_SILENCE_SECONDS);
                clock / times
            }
        };
        dues[frame.vehicle].push(due);
        sent += frame.items;
        before = Some(frame.reached);
    }
    dues
}

fn frame_ends(vehicle: usize, fixes: &Fixes, items: usize) -> Vec<FrameEnd> {
    let mut reached = Timestamp::MIN;
    let mut ends = Vec::with_capacity(fixes.len().div_ceil(items));
    for first in (0..fixes.len()).step_by(items) {
        let end = fixes.len().min(first + items);
        reached = (first..end).map(|index| fixes.recorded_at(index)).fold(reached, Timestamp::max);
        ends.push(FrameEnd { vehicle, items: end - first, reached });
    }
    ends
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::Place;

    use super::*;
    use crate::trace::Point;

    fn fixes(seconds: &[i64]) -> Fixes {
        let point = |s: &i64| Point::new(Timestamp::from_micros(s * 1_000_000), Place::new(1.0, 2.0));
        Fixes::Recorded(seconds.iter().map(point).collect())
    }

    #[test]
    fn a_rate_counts_fixes_across_vehicles_in_recorded_order() {
        let (a, b) = (fixes(&[0, 10, 20, 30]), fixes(&[5, 15]));
        assert_eq!(dues(&[&a, &b], 1, Pace::Rate(2.0)), [vec![0.0, 1.0, 2.0, 2.5], vec![0.5, 1.5]]);
        assert_eq!(dues(&[&a, &b], 2, Pace::Rate(2.0)), [vec![0.0, 2.0], vec![1.0]]);
    }

    #[test]
    fn recorded_time_runs_faster_long_silence_is_cut_and_nothing_goes_back() {
        let (a, b) = (fixes(&[0, 100, 60, 100_000]), fixes(&[50]));
        assert_eq!(dues(&[&a, &b], 1, Pace::Times(10.0)), [vec![0.0, 10.0, 10.0, 70.0], vec![5.0]]);
    }

    #[test]
    fn acks_set_the_pace_without_a_schedule() {
        assert_eq!(dues(&[&fixes(&[0, 1])], 1, Pace::Credit), [Vec::<f64>::new()]);
    }
}
