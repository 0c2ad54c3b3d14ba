//! When each fix of the demo is due: the recorded evening, sped up, over and over.

use waypost_actors::model::Timestamp;

use super::bundle::Bundle;
use crate::trace::Point as FixItem;

/// The demo runs this many times faster than the buses did. At 30 their quietest stretch, 29 seconds
/// without a bus at a new place, takes less than a second. Speeds stay as recorded, distances too, so
/// between two fixes a bus seems to go 30 times too fast: the demo's vehicles have `maxSpeedKmh` off.
pub const DEMO_SPEED_UP: f64 = 30.0;

/// A fix and when it is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// When to send it, which is also when it claims to have been recorded.
    pub due: Timestamp,
    /// The vehicle: its index in [`Bundle::vehicles`].
    pub vehicle: usize,
    /// What to send.
    pub fix: FixItem,
}

/// The replay from `start` on, in the order of `due`, without end (and empty for an empty bundle).
/// A round begins the moment the previous one ends; the buses then jump back to where they began.
pub fn plan(bundle: &Bundle, start: Timestamp) -> impl Iterator<Item = Scheduled> + 'static {
    let mut evening: Vec<(f64, usize, FixItem)> = bundle
        .vehicles
        .iter()
        .enumerate()
        .flat_map(|(vehicle, owner)| owner.fixes.iter().map(move |fix| (vehicle, *fix)))
        .map(|(vehicle, fix)| (fix.recorded_at.seconds_since(bundle.from) / DEMO_SPEED_UP, vehicle, fix))
        .collect();
    evening.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let round_seconds = bundle.to.seconds_since(bundle.from) / DEMO_SPEED_UP;
    let rounds = if evening.is_empty() { 0 } else { u32::MAX };
    (0..rounds).flat_map(move |round| {
        let begin = start.plus_seconds(f64::from(round) * round_seconds);
        evening
            .clone()
            .into_iter()
            .map(move |(offset, vehicle, fix)| scheduled(begin.plus_seconds(offset), vehicle, fix))
    })
}

fn scheduled(due: Timestamp, vehicle: usize, fix: FixItem) -> Scheduled {
    Scheduled { due, vehicle, fix: FixItem { recorded_at: due, ..fix } }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn start() -> Timestamp {
        Timestamp::parse("2026-05-01T12:00:00.250Z").unwrap()
    }

    #[test]
    fn no_second_passes_without_a_bus_at_a_new_place_through_three_rounds() {
        let bundle = crate::demo::bundle().unwrap();
        let end = start().plus_seconds(3.0 * bundle.to.seconds_since(bundle.from) / DEMO_SPEED_UP);
        let mut places = HashMap::new();
        let mut last_move = start();
        let mut longest = 0;
        for next in plan(&bundle, start()).take_while(|next| next.due < end) {
            let place = (next.fix.place.latitude.to_bits(), next.fix.place.longitude.to_bits());
            if places.insert(next.vehicle, place) != Some(place) {
                longest = longest.max(next.due.as_millis() - last_move.as_millis());
                last_move = next.due;
            }
        }
        longest = longest.max(end.as_millis() - last_move.as_millis());
        assert!(longest <= 1000, "{longest} ms without a move");
    }

    #[test]
    fn each_bus_moves_on_in_time_and_no_fix_is_ahead_of_its_turn() {
        let bundle = crate::demo::bundle().unwrap();
        let mut newest = HashMap::new();
        let mut before = start();
        for next in plan(&bundle, start()).take(20_000) {
            assert!(next.due >= before);
            before = next.due;
            assert_eq!(next.fix.recorded_at, next.due);
            assert!(newest.insert(next.vehicle, next.due).is_none_or(|earlier| earlier < next.due));
        }
        assert_eq!(newest.len(), bundle.vehicles.len());
    }

    #[test]
    fn an_empty_bundle_has_an_empty_plan() {
        let bundle = Bundle { vehicles: Vec::new(), fences: Vec::new(), from: start(), to: start() };
        assert_eq!(plan(&bundle, start()).count(), 0);
    }
}
