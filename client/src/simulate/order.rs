//! The order in which fixes are sent, and which of them are sent twice. Pure.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::options::{Options, Order};
use super::source::{Fixes, Track};
use crate::trace::Point;

/// Puts each track into the requested order; changes nothing if nothing was requested.
pub(super) fn arrange(options: &Options, tracks: &mut [Track]) {
    if options.order == Order::Recorded && options.repeat == 0.0 {
        return;
    }
    let mut rng = StdRng::seed_from_u64(options.seed);
    for track in tracks {
        let fixes = std::mem::replace(&mut track.fixes, Fixes::Recorded(Vec::new()));
        let mut points: Vec<Point> = fixes.into_points().collect();
        match options.order {
            Order::Recorded => {}
            Order::NewestFirst => points.sort_by_key(|point| std::cmp::Reverse(point.recorded_at)),
            Order::Shuffled => points.shuffle(&mut rng),
        }
        track.fixes = Fixes::Recorded(repeated(points, options.repeat, &mut rng));
    }
}

/// Repeats a share of the points, each at a random moment after the original.
fn repeated(points: Vec<Point>, share: f64, rng: &mut StdRng) -> Vec<Point> {
    let end = points.len() as f64;
    let mut placed: Vec<(f64, Point)> = Vec::with_capacity(points.len());
    for (index, point) in points.into_iter().enumerate() {
        if share > 0.0 && rng.random_bool(share) {
            placed.push((rng.random_range(index as f64..=end), point));
        }
        placed.push((index as f64, point));
    }
    placed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    placed.into_iter().map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use waypost_actors::model::{Place, Timestamp};

    use super::*;

    fn seconds(line: &str) -> Vec<i64> {
        let point = |s: i64| Point::new(Timestamp::from_micros(s * 1_000_000), Place::new(1.0, 2.0));
        let fixes = Fixes::Recorded((0..100).map(point).collect());
        let mut tracks = [Track { vehicle: "v".to_owned(), fixes }];
        arrange(&Options::try_parse_from(line.split_whitespace()).unwrap(), &mut tracks);
        let [track] = tracks;
        track.fixes.into_points().map(|point| point.recorded_at.as_micros() / 1_000_000).collect()
    }

    #[test]
    fn fixes_come_in_the_order_asked_for() {
        let in_order: Vec<i64> = (0..100).collect();
        assert_eq!(seconds("simulate a"), in_order);
        assert_eq!(
            seconds("simulate a --order newest-first"),
            in_order.iter().rev().copied().collect::<Vec<_>>()
        );
        let mut shuffled = seconds("simulate a --order shuffled");
        assert_ne!(shuffled, in_order);
        shuffled.sort_unstable();
        assert_eq!(shuffled, in_order);
    }

    #[test]
    fn a_repetition_comes_behind_its_fix() {
        let sent = seconds("simulate a --repeat 0.5");
        let twice = (0..100).filter(|s| sent.iter().filter(|sent| *sent == s).count() == 2).count();
        assert_eq!(sent.len(), 100 + twice);
        assert!((30..70).contains(&twice), "{twice}");
        let firsts: Vec<i64> = (0..100).collect();
        let mut seen = std::collections::HashSet::new();
        assert_eq!(sent.into_iter().filter(|s| seen.insert(*s)).collect::<Vec<_>>(), firsts);
    }
}
