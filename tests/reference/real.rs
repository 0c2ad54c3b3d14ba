//! Real visits: by exact rules a minute or longer, with fixes farther than the margin from the boundary, inside it
//! and, before and after, outside. However noise is held back, each of them must be found, at the same instants.

use std::collections::{HashMap, HashSet};

use waypost_actors::geofence::{Shape, haversine_meters};
use waypost_actors::model::{Fix, GeofenceId, Place, Rules, Timestamp};
use waypost_actors::tracking::{Effects, VisitRow};

use crate::replay::{Replay, judged};

const LEAST_SECONDS: f64 = 60.0;
/// Directions in which a place inside is looked at to tell whether the boundary is near.
const DIRECTIONS: u32 = 32;

/// A visit: vehicle, fence, when it began and when it ended.
pub(crate) type Visit = (String, GeofenceId, Timestamp, Option<Timestamp>);

/// The visits of a replay, by vehicle and fence, in time.
fn visits(effects: &Effects) -> HashMap<GeofenceId, Vec<(Timestamp, Option<Timestamp>)>> {
    let mut newest: HashMap<_, &VisitRow> = HashMap::new();
    effects.visits.iter().for_each(|visit| {
        newest.insert(visit.id, visit);
    });
    let mut visits: HashMap<_, Vec<_>> = HashMap::new();
    for visit in newest.values() {
        let spans = visits.entry(visit.geofence_id).or_default();
        spans.push((visit.entered_at, visit.exit.map(|(_, at)| at)));
    }
    visits.values_mut().for_each(|spans| spans.sort_unstable());
    visits
}

/// Every visit of a replay.
pub(crate) fn all(replay: &Replay) -> HashSet<Visit> {
    let of = |(name, effects): &(String, Effects)| {
        let spans = visits(effects);
        let each =
            spans.iter().flat_map(|(fence, spans)| spans.iter().map(|(from, to)| (*fence, *from, *to)));
        each.map(|(fence, from, to)| (name.clone(), fence, from, to)).collect::<Vec<_>>()
    };
    replay.effects.iter().flat_map(of).collect()
}

/// The real ones of a replay by exact rules.
pub(crate) fn real(exact: &Replay) -> Vec<Visit> {
    let mut real = Vec::new();
    for (name, effects) in &exact.effects {
        let fixes = judged(effects);
        for (fence, spans) in visits(effects) {
            let shape = &exact.fences.get(fence).expect("a visit names a fence there is").newest().shape;
            for (number, (from, to)) in spans.iter().enumerate() {
                let since =
                    number.checked_sub(1).and_then(|before| spans[before].1).unwrap_or(Timestamp::MIN);
                let until = spans.get(number + 1).map_or(Timestamp::MAX, |next| next.0);
                let Some(left) = to.filter(|to| to.seconds_since(*from) >= LEAST_SECONDS) else { continue };
                let between = |from: Timestamp, to: Timestamp| {
                    let first = fixes.partition_point(|fix| fix.recorded_at < from);
                    let last = fixes.partition_point(|fix| fix.recorded_at <= to);
                    &fixes[first..last.max(first)]
                };
                let out = |fixes: &[Fix]| fixes.iter().any(|fix| is_well_outside(shape, fix.place));
                let is_in = between(*from, left).iter().any(|fix| is_well_inside(shape, fix.place));
                if is_in && out(between(since, *from)) && out(between(left, until)) {
                    real.push((name.clone(), fence, *from, Some(left)));
                }
            }
        }
    }
    real.sort_by(|a, b| (&a.0, a.1, a.2).cmp(&(&b.0, b.1, b.2)));
    real
}

fn is_well_outside(shape: &Shape, place: Place) -> bool {
    shape.is_farther_outside_than(place, Rules::default().exit_margin_meters)
}

fn is_well_inside(shape: &Shape, place: Place) -> bool {
    let margin = Rules::default().exit_margin_meters;
    let degree = haversine_meters(place, Place::new(place.latitude + 1.0, place.longitude));
    let parallel = degree * place.latitude.to_radians().cos();
    (0..DIRECTIONS).all(|number| {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(number) / f64::from(DIRECTIONS)).sin_cos();
        shape.covers(Place::new(
            place.latitude + margin * cos / degree,
            place.longitude + margin * sin / parallel,
        ))
    })
}
