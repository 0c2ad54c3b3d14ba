//! Events do not depend on where on the globe they happen: the same streets on another meridian, across
//! the antimeridian, or south of the equator make the same events.

use std::collections::BTreeMap;

use waypost_actors::model::{EventId, Place, Polygon, Rules, ShapeSpec, Timestamp};

use crate::data::{Data, bundled};
use crate::replay::{NO_LIMITS, replay};

/// Steps in a degree, a power of two: a move by whole degrees is exact then.
const STEPS: f64 = 1_048_576.0;

fn each_place(data: &mut Data, change: impl Fn(Place) -> Place) {
    let each_part = |part: &mut Polygon| {
        let rings = std::iter::once(&mut part.vertices).chain(&mut part.holes);
        rings.flatten().for_each(|place| *place = change(*place));
    };
    for named in &mut data.fences {
        match &mut named.shape {
            ShapeSpec::Circle(circle) => circle.center = change(circle.center),
            ShapeSpec::Polygon(polygon) => each_part(polygon),
            ShapeSpec::MultiPolygon(multi) => multi.polygons.iter_mut().for_each(each_part),
        }
    }
    data.fixes.iter_mut().for_each(|(_, fix)| fix.place = change(fix.place));
}

/// The slice, its coordinates rounded to the grid.
fn on_grid() -> Data {
    let round = |degrees: f64| (degrees * STEPS).round() / STEPS;
    let mut data = bundled();
    each_place(&mut data, |place| Place::new(round(place.latitude), round(place.longitude)));
    data
}

fn east(place: Place, degrees: f64) -> Place {
    let longitude = place.longitude + degrees;
    Place::new(place.latitude, if longitude >= 180.0 { longitude - 360.0 } else { longitude })
}

fn instants(data: &Data, rules: Rules) -> BTreeMap<EventId, Timestamp> {
    replay(data, rules, NO_LIMITS).events().map(|event| (event.id, event.occurred_at)).collect()
}

fn assert_same_after(change: impl Fn(Place) -> Place) {
    let here = on_grid();
    let mut there = on_grid();
    each_place(&mut there, change);
    for rules in [Rules::EXACT, Rules::default()] {
        let (here, there) = (instants(&here, rules), instants(&there, rules));
        assert!(here.len() > 40_000, "{}", here.len());
        assert!(here.keys().eq(there.keys()), "{} events here, {} there", here.len(), there.len());
        for ((id, here), there) in here.iter().zip(there.values()) {
            // Where a way meets a circle is searched for, to a tenth of a millimetre.
            assert!(here.seconds_since(*there).abs() <= 0.002, "{id:?} {here} {there}");
        }
    }
}

#[test]
fn a_move_along_the_parallel_across_the_antimeridian_changes_no_event() {
    // Austin lies on 97.75 degrees west: its streets cross the antimeridian then.
    assert_same_after(|place| east(place, 277.75));
}

#[test]
fn south_of_the_equator_nothing_is_different() {
    assert_same_after(|place| Place::new(-place.latitude, place.longitude));
}
