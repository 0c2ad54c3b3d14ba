//! Circles against the geodesic itself.

use geographiclib_rs::{DirectGeodesic, Geodesic};
use waypost_actors::geofence::{GeoBox, Shape, geodesic_meters, haversine_meters};
use waypost_actors::model::Place;

use crate::{Dice, at, circle, moved_place, polygon, prepared};

fn place_from(center: Place, bearing: f64, meters: f64) -> Place {
    let (latitude, longitude): (f64, f64) =
        Geodesic::wgs84().direct(center.latitude, center.longitude, bearing, meters);
    Place::new(latitude, longitude)
}

fn is_boxed(shape: &Shape, place: Place) -> bool {
    let holds = |area: &GeoBox, longitude: f64| {
        (area.west..=area.east).contains(&longitude) && (area.south..=area.north).contains(&place.latitude)
    };
    let is_rim = place.longitude.abs() == 180.0;
    shape.boxes().any(|area| holds(&area, place.longitude) || (is_rim && holds(&area, -place.longitude)))
}

#[test]
fn the_geodesic_decides() {
    for latitude in [0.0, 45.0, -75.0, 89.9] {
        for radius in [10.0, 400.0, 7_000.0, 100_000.0] {
            let center = at(179.99, latitude);
            let shape = prepared(&circle(179.99, latitude, radius));
            for bearing in (0..360).step_by(15) {
                for factor in
                    [0.0, 0.5, 0.9925, 0.9935, 0.997, 1.0 - 1e-6, 1.0 + 1e-6, 1.003, 1.0065, 1.0075, 2.0]
                {
                    let place = place_from(center, f64::from(bearing), factor * radius);
                    assert_eq!(shape.covers(place), factor < 1.0, "{latitude} {radius} {bearing} {factor}");
                    assert!(
                        factor > 1.0 || is_boxed(&shape, place),
                        "{latitude} {radius} {bearing} {factor}"
                    );
                    let margin = 0.002 * radius;
                    assert_eq!(
                        shape.is_farther_outside_than(place, margin),
                        factor > 1.002,
                        "{radius} {factor}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_haversine_alone_would_err() {
    let center = at(0.0, 0.0);
    let place = place_from(center, 0.0, 1003.0);
    assert!(haversine_meters(center, place) > 1003.0 * 1.005);
    let east = place_from(center, 90.0, 999.5);
    assert!(haversine_meters(center, east) < geodesic_meters(center, east));
    assert!(!prepared(&circle(0.0, 0.0, 1002.999)).covers(place));
    assert!(prepared(&circle(0.0, 0.0, 1003.001)).covers(place));
}

#[test]
fn a_circle_holds_a_pole() {
    let shape = prepared(&circle(10.0, 89.9, 20_000.0));
    assert!([-180.0, -97.0, 0.0, 10.0, 180.0].iter().all(|&x| shape.covers(at(x, 90.0))));
    assert!(shape.covers(at(-170.0, 89.95)) && !shape.covers(at(-170.0, 89.9)));
    let boxes: Vec<_> = shape.boxes().collect();
    assert_eq!(boxes.len(), 1);
    assert_eq!((boxes[0].west, boxes[0].east, boxes[0].north), (-180.0, 180.0, 90.0));
    let south = prepared(&circle(-60.0, -89.2, 100_000.0));
    assert_eq!(
        south.boxes().map(|b| (b.west, b.south, b.east)).collect::<Vec<_>>(),
        [(-180.0, -90.0, 180.0)]
    );
    assert_eq!(
        shape.crossings(at(-170.0, 89.0), at(10.0, 89.0)).len(),
        0,
        "this way goes round by longitude"
    );
    assert_eq!(shape.crossings(at(10.0, 89.0), at(10.0, 90.0)).len(), 1);
}

#[test]
fn a_circle_crosses_the_antimeridian() {
    let shape = prepared(&circle(-179.9995, 10.0, 100.0));
    assert!(
        shape.covers(at(180.0, 10.0)) && shape.covers(at(-180.0, 10.0)) && shape.covers(at(179.9999, 10.0))
    );
    let mut boxes: Vec<_> = shape.boxes().collect();
    boxes.sort_by(|a, b| a.west.total_cmp(&b.west));
    assert_eq!(boxes.len(), 2);
    assert_eq!((boxes[0].west, boxes[1].east), (-180.0, 180.0));
    assert!(boxes[0].east > -179.9995 && boxes[1].west > 179.99);
}

#[test]
fn moving_a_circle_and_a_place_east_changes_nothing() {
    let mut dice = Dice(3);
    let grain = |degrees: f64| (degrees * 1024.0).round() / 1024.0;
    for _ in 0..300 {
        let latitude = grain(dice.between(-89.0, 89.0));
        let radius = dice.between(10.0, 100_000.0);
        let reach = radius / 111_000.0;
        let place =
            at(grain(dice.between(-reach, reach)), grain((latitude + dice.between(-reach, reach)).min(90.0)));
        let degrees = grain(dice.between(-180.0, 180.0));
        let here = prepared(&circle(0.0, latitude, radius)).covers(place);
        let center = moved_place(at(0.0, latitude), degrees);
        let there = prepared(&circle(center.longitude, latitude, radius)).covers(moved_place(place, degrees));
        assert_eq!(here, there, "{latitude} {radius} {place:?} {degrees}");
    }
}

#[test]
fn crossings_lie_on_the_circle() {
    let mut dice = Dice(11);
    let mut pairs = 0;
    for i in 0..400 {
        let latitude = [0.0, 45.0, -75.0, 89.9][i % 4];
        let radius = [10.0, 1_000.0, 100_000.0][i % 3];
        let center = at(180.0, latitude);
        let shape = prepared(&circle(180.0, latitude, radius));
        let mut end =
            |near: f64| place_from(center, dice.between(0.0, 360.0), dice.between(near, 3.0) * radius);
        let (from, to) = (end(0.0), end(if i % 2 == 0 { 1.0 } else { 0.0 }));
        let crossings = shape.crossings(from, to);
        assert_eq!(crossings.len() % 2 == 1, shape.covers(from) != shape.covers(to));
        pairs += usize::from(crossings.len() == 2 && !shape.covers(from));
        for share in crossings {
            let place = waypost_actors::geofence::interpolate(from, to, share);
            let off = geodesic_meters(center, place) - radius;
            assert!(off.abs() < 1e-3, "{latitude} {radius} {off}");
        }
    }
    assert!(pairs > 20, "{pairs} ways through a circle with both ends outside");
}

/// The area of a circle is known to a part in 100,000, that of a ring to far less.
#[test]
fn a_large_circle_is_as_large_as_the_ring_on_its_rim() {
    for latitude in [0.0, -30.0, 52.0, 75.0] {
        let radius = 100_000.0;
        let rim = (0..7_200).map(|step| place_from(at(11.0, latitude), f64::from(step) / 20.0, radius));
        let ring = prepared(&polygon(rim.collect(), vec![]));
        let shape = prepared(&circle(11.0, latitude, radius));
        let share = shape.area_square_meters() / ring.area_square_meters();
        assert!((share - 1.0).abs() < 1e-5, "{latitude}: {share}");
        let flat = std::f64::consts::PI * radius * radius;
        assert!((shape.area_square_meters() / flat - 1.0).abs() < 1e-4, "{latitude}");
    }
}
