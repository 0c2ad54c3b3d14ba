//! Shapes across and around the antimeridian.

use crate::{at, multi, polygon, prepared, rectangle};

#[test]
fn one_ring_and_its_two_halves_are_the_same() {
    let ring = prepared(&polygon(
        rectangle(177.0, -20.0, -178.0, -15.0),
        vec![rectangle(179.0, -18.0, -179.0, -17.0)],
    ));
    // RFC 7946, 3.1.9: cut at the antimeridian, hole and all.
    let halves = prepared(&multi(vec![
        (
            crate::ring(&[
                (177.0, -20.0),
                (180.0, -20.0),
                (180.0, -18.0),
                (179.0, -18.0),
                (179.0, -17.0),
                (180.0, -17.0),
                (180.0, -15.0),
                (177.0, -15.0),
            ]),
            vec![],
        ),
        (
            crate::ring(&[
                (-180.0, -20.0),
                (-178.0, -20.0),
                (-178.0, -15.0),
                (-180.0, -15.0),
                (-180.0, -17.0),
                (-179.0, -17.0),
                (-179.0, -18.0),
                (-180.0, -18.0),
            ]),
            vec![],
        ),
    ]));
    for shape in [&ring, &halves] {
        let mut boxes: Vec<_> = shape.boxes().map(|b| (b.west, b.south, b.east, b.north)).collect();
        boxes.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(boxes, [(-180.0, -20.0, -178.0, -15.0), (177.0, -20.0, 180.0, -15.0)]);
        for (x, y, inside) in [
            (180.0, -19.0, true),
            (-180.0, -19.0, true),
            (177.0, -16.0, true),
            (-178.0, -16.0, true),
            (179.0, -17.5, true),
            (179.5, -17.5, false),
            (-179.5, -17.5, false),
            (176.9, -16.0, false),
            (-177.9, -16.0, false),
            (0.0, -16.0, false),
        ] {
            assert_eq!(shape.covers(at(x, y)), inside, "{x} {y}");
        }
        assert_eq!(shape.crossings(at(176.0, -16.0), at(-177.0, -16.0)), [1.0 / 7.0, 6.0 / 7.0]);
        assert_eq!(shape.crossings(at(178.0, -16.0), at(-179.0, -16.0)), [] as [f64; 0]);
        assert!(shape.is_farther_outside_than(at(-177.9, -16.0), 10_000.0));
        assert!(!shape.is_farther_outside_than(at(-177.9, -16.0), 11_000.0));
    }
    assert!((ring.area_square_meters() / halves.area_square_meters() - 1.0).abs() < 1e-12);
}

#[test]
fn parts_all_around_the_globe_have_one_belt() {
    let lune = |west: f64, east: f64| (rectangle(west, 0.0, east, 1.0), vec![]);
    let shape = prepared(&multi(vec![lune(-170.0, -40.0), lune(-40.0, 90.0), lune(90.0, -170.0)]));
    assert_eq!(shape.boxes().map(|b| (b.west, b.east)).collect::<Vec<_>>(), [(-180.0, 180.0)]);
    for x in (-180..=180).step_by(5) {
        assert!(shape.covers(at(f64::from(x), 0.5)), "{x}");
        assert!(!shape.covers(at(f64::from(x), 1.5)), "{x}");
    }
    assert_eq!(shape.crossings(at(80.0, 0.5), at(-175.0, 0.5)), [] as [f64; 0]);
}

#[test]
fn the_east_edge_of_the_last_part_around_the_globe_is_inside() {
    let part = |west: f64, east: f64, south: f64| (rectangle(west, south, east, south + 1.0), vec![]);
    let shape =
        prepared(&multi(vec![part(-170.0, -40.0, 0.0), part(-40.0, 90.0, 0.0), part(90.0, -170.0, 2.0)]));
    for x in [90.0, 135.0, 180.0, -180.0, -175.0, -170.0] {
        assert!(shape.covers(at(x, 2.5)), "{x}");
    }
    assert!(!shape.covers(at(-169.0, 2.5)) && shape.covers(at(-170.0, 0.5)));
}
