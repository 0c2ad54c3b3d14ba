//! Boundaries are inside.

use geo::Intersects;

use crate::{Dice, at, polygon, prepared, rectangle, ring};

#[test]
fn edges_vertices_and_hole_rings_are_inside() {
    let shape = prepared(&polygon(
        rectangle(0.0, 0.0, 10.0, 10.0),
        vec![ring(&[(2.0, 2.0), (8.0, 2.0), (5.0, 8.0)])],
    ));
    for (x, y, inside) in [
        (0.0, 0.0, true),
        (10.0, 10.0, true),
        (10.0, 3.7, true),
        (4.2, 0.0, true),
        (-0.0, 5.0, true),
        (10.0_f64.next_up(), 5.0, false),
        (5.0, (-0.0_f64).next_down(), false),
        (2.0, 2.0, true),
        (5.0, 2.0, true),
        (5.0, 8.0, true),
        (3.0, 4.0, true),
        (5.0, 2.0_f64.next_up(), false),
        (5.0, 5.0, false),
        (1.0, 2.0, true),
        (9.0, 8.0, true),
        (12.0, 8.0, false),
    ] {
        assert_eq!(shape.covers(at(x, y)), inside, "{x} {y}");
    }
}

#[test]
fn neighbours_share_their_edge() {
    // The middle vertex lies exactly on the line from the first to the last only in binary.
    let (a, b, c) = ((-97.75, 30.5), (-97.625, 30.25), (-97.5, 30.0));
    let west = prepared(&polygon(ring(&[a, b, c, (-98.0, 30.0)]), vec![]));
    let east = prepared(&polygon(ring(&[a, c, (-97.0, 31.0)]), vec![]));
    for place in [a, b, c, (-97.6875, 30.375), (-97.5625, 30.125)] {
        assert!(west.covers(at(place.0, place.1)), "west {place:?}");
        assert!(east.covers(at(place.0, place.1)), "east {place:?}");
    }
}

#[test]
fn a_ragged_outline_agrees_with_the_plain_loop() {
    let mut dice = Dice(7);
    for (vertices, ragged) in [(5, 0.9), (60, 0.5), (700, 0.9), (3000, 0.05)] {
        let points: Vec<(f64, f64)> = (0..vertices)
            .map(|i| {
                let (sin, cos) = (f64::from(i) / f64::from(vertices) * std::f64::consts::TAU).sin_cos();
                let radius = 1.0 - ragged * dice.share();
                (-97.0 + radius * cos, 30.0 + radius * sin)
            })
            .collect();
        let shape = prepared(&polygon(ring(&points), vec![]));
        let plain = geo::Polygon::new(geo::LineString::from(points.clone()), vec![]);
        for i in 0..2000 {
            let point = match i % 4 {
                0 => points[dice.below(points.len())],
                1 => (dice.between(-98.1, -95.9), points[dice.below(points.len())].1),
                _ => (dice.between(-98.1, -95.9), dice.between(28.9, 31.1)),
            };
            assert_eq!(
                shape.covers(at(point.0, point.1)),
                plain.intersects(&geo::Point::from(point)),
                "{point:?}"
            );
        }
    }
}

#[test]
fn the_margin_is_measured_from_the_nearest_edge() {
    // At 60 degrees north a degree is 55,800.1 m of longitude and 111,412.3 m of latitude.
    let shape =
        prepared(&polygon(rectangle(10.0, 60.0, 10.5, 60.5), vec![rectangle(10.1, 60.1, 10.4, 60.4)]));
    let east_of = |meters: f64| at(10.5 + meters / 55_800.1, 60.0);
    assert!(shape.is_farther_outside_than(east_of(20.01), 20.0));
    assert!(!shape.is_farther_outside_than(east_of(19.99), 20.0));
    let south_of = |meters: f64| at(10.2, 60.0 - meters / 111_412.3);
    assert!(shape.is_farther_outside_than(south_of(20.01), 20.0));
    assert!(!shape.is_farther_outside_than(south_of(19.99), 20.0));
    assert!(shape.is_farther_outside_than(south_of(0.001), 0.0));
    assert!(!shape.is_farther_outside_than(at(10.2, 60.0), 0.0));
    // Inside is not outside, however deep; in the hole is.
    assert!(!shape.is_farther_outside_than(at(10.05, 60.05), 0.0));
    assert!(shape.is_farther_outside_than(at(10.25, 60.25), 200.0));
    assert!(!shape.is_farther_outside_than(at(10.25, 60.25), 20_000.0));
}

#[test]
fn an_edge_in_pieces_encloses_the_same_area() {
    let corners = [(0.0, 10.0), (40.0, 20.0), (10.0, 70.0)];
    let point = |edge: usize, share: f64| {
        let ((ax, ay), (bx, by)) = (corners[edge], corners[(edge + 1) % 3]);
        at(ax + share * (bx - ax), ay + share * (by - ay))
    };
    let area = |pieces: usize| {
        let edge = |edge: usize| (0..pieces).map(move |piece| point(edge, piece as f64 / pieces as f64));
        prepared(&polygon((0..3).flat_map(edge).collect(), vec![])).area_square_meters()
    };
    assert!((area(1) / area(500) - 1.0).abs() < 1e-9, "{} {}", area(1), area(500));
}
