//! What is refused, where and why.

use waypost_actors::geofence::{MAX_VERTICES, normalise, validate};
use waypost_actors::model::{Ring, ShapeSpec};

use crate::{at, circle, multi, polygon, rectangle, ring};

fn refusals(spec: &ShapeSpec) -> Vec<(String, &'static str)> {
    let problems = validate(spec).err().unwrap_or_default();
    problems.into_iter().map(|problem| (problem.pointer, problem.code)).collect()
}

fn square(west: f64, side: f64) -> Ring {
    rectangle(west, 0.0, west + side, side)
}

/// Refused for one reason, at one place.
fn check(cases: Vec<(ShapeSpec, &str, &'static str)>) {
    for (spec, pointer, code) in cases {
        assert_eq!(refusals(&spec), [(pointer.to_owned(), code)], "{spec:?}");
    }
}

#[test]
fn mistakes_of_circles_and_rings_have_their_pointer_and_code() {
    let nan = f64::NAN;
    check(vec![
        (circle(0.0, 0.0, 9.9), "/radiusMeters", "outOfRange"),
        (circle(0.0, 0.0, 100_000.1), "/radiusMeters", "outOfRange"),
        (circle(0.0, 0.0, nan), "/radiusMeters", "notFinite"),
        (circle(0.0, 90.1, 10.0), "/center", "outOfRange"),
        (polygon(vec![], vec![]), "/vertices", "tooFewPoints"),
        (
            polygon(ring(&[(0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]), vec![]),
            "/vertices",
            "tooFewPoints",
        ),
        (polygon(ring(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), vec![]), "/vertices/2", "selfIntersection"),
        (polygon(ring(&[(0.0, 0.0), (1.0, nan), (2.0, 2.0)]), vec![]), "/vertices/1", "notFinite"),
        (polygon(ring(&[(0.0, 0.0), (1.0, 0.0), (2.0, 91.0)]), vec![]), "/vertices/2", "outOfRange"),
        // a bow tie, with repeated points counted in the pointer
        (
            polygon(ring(&[(0.0, 0.0), (0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]), vec![]),
            "/vertices/3",
            "selfIntersection",
        ),
        // a ring that touches itself in a vertex, and one with a spike
        (
            polygon(ring(&[(0.0, 0.0), (2.0, 0.0), (1.0, 1.0), (2.0, 2.0), (0.0, 2.0), (1.0, 1.0)]), vec![]),
            "/vertices/5",
            "selfIntersection",
        ),
        (
            polygon(ring(&[(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (4.0, 5.0), (4.0, 2.0), (0.0, 2.0)]), vec![]),
            "/vertices/3",
            "selfIntersection",
        ),
        (polygon(ring(&[(-90.0, 0.0), (90.0, 0.0), (0.0, 10.0)]), vec![]), "/vertices/0", "edgeTooLong"),
        (polygon(ring(&[(0.0, 80.0), (120.0, 80.0), (-120.0, 80.0)]), vec![]), "/vertices", "ringAroundPole"),
        // more than once around, and back
        (
            polygon(
                ring(&[
                    (0.0, 0.0),
                    (100.0, 0.0),
                    (-160.0, 0.0),
                    (-60.0, 0.0),
                    (40.0, 0.0),
                    (-60.0, 5.0),
                    (-160.0, 5.0),
                    (100.0, 5.0),
                ]),
                vec![],
            ),
            "/vertices",
            "ringTooWide",
        ),
    ]);
}

#[test]
fn mistakes_of_holes_have_their_pointer_and_code() {
    check(vec![
        (polygon(square(0.0, 4.0), vec![square(10.0, 1.0)]), "/holes/0", "holeOutside"),
        (polygon(square(0.0, 4.0), vec![rectangle(1.0, 1.0, 5.0, 2.0)]), "/holes/0/0", "holeOutside"),
        (polygon(square(0.0, 4.0), vec![rectangle(-8.0, -8.0, 8.0, 8.0)]), "/holes/0", "holeOutside"),
        // a hole beyond the edge that it touches from outside in one vertex
        (
            polygon(square(0.0, 4.0), vec![ring(&[(4.0, 2.0), (6.0, 1.0), (6.0, 3.0)])]),
            "/holes/0/0",
            "holeOutside",
        ),
        (
            polygon(square(0.0, 9.0), vec![rectangle(1.0, 1.0, 4.0, 4.0), rectangle(2.0, 2.0, 3.0, 3.0)]),
            "/holes/1",
            "holesOverlap",
        ),
        (
            polygon(square(0.0, 9.0), vec![rectangle(2.0, 2.0, 3.0, 3.0), rectangle(1.0, 1.0, 4.0, 4.0)]),
            "/holes/0",
            "holesOverlap",
        ),
        (
            polygon(square(0.0, 9.0), vec![rectangle(1.0, 1.0, 4.0, 4.0), rectangle(3.0, 3.0, 6.0, 6.0)]),
            "/holes/1/3",
            "holesOverlap",
        ),
    ]);
}

#[test]
fn mistakes_of_parts_have_their_pointer_and_code() {
    check(vec![
        (multi(vec![]), "/polygons", "tooFewPoints"),
        (
            multi(vec![(square(0.0, 4.0), vec![]), (square(1.0, 1.0), vec![])]),
            "/polygons/1/vertices/0",
            "partsOverlap",
        ),
        (
            multi(vec![(square(0.0, 4.0), vec![]), (rectangle(1.0, 1.0, 2.0, 2.0), vec![])]),
            "/polygons/1/vertices",
            "nestedPart",
        ),
        (
            multi(vec![(rectangle(1.0, 1.0, 2.0, 2.0), vec![]), (square(0.0, 4.0), vec![])]),
            "/polygons/0/vertices",
            "nestedPart",
        ),
        (
            multi(vec![(square(0.0, 4.0), vec![]), (square(0.0, 4.0), vec![])]),
            "/polygons/1/vertices/0",
            "partsOverlap",
        ),
        (
            multi(vec![(square(9.0, 4.0), vec![]), (square(0.0, 4.0), vec![rectangle(1.0, 1.0, 6.0, 2.0)])]),
            "/polygons/1/holes/0/0",
            "holeOutside",
        ),
        // two names of one stretch of longitudes
        (
            multi(vec![
                (rectangle(170.0, 0.0, -170.0, 2.0), vec![]),
                (rectangle(-175.0, 1.0, -165.0, 3.0), vec![]),
            ]),
            "/polygons/1/vertices/3",
            "partsOverlap",
        ),
    ]);
}

#[test]
fn all_wrong_numbers_are_told_at_once_with_a_hint() {
    let swapped = polygon(ring(&[(30.0, -97.0), (30.1, -97.0), (30.1, -97.1)]), vec![ring(&[(200.0, 0.0)])]);
    let problems = validate(&swapped).unwrap_err();
    let pointers: Vec<_> = problems.iter().map(|p| p.pointer.as_str()).collect();
    assert_eq!(pointers, ["/vertices/0", "/vertices/1", "/vertices/2", "/holes/0/0"]);
    assert!(problems[0].detail.ends_with("latitude and longitude look swapped"), "{}", problems[0].detail);
    assert!(!problems[3].detail.contains("swapped"), "{}", problems[3].detail);
}

#[test]
fn touching_in_points_and_sharing_edges_of_parts_is_allowed() {
    for spec in [
        // closed rings, points in a row
        polygon(ring(&[(0.0, 0.0), (4.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0), (0.0, 0.0)]), vec![]),
        polygon(rectangle(178.0, 0.0, -178.0, 1.0), vec![]),
        polygon(ring(&[(179.0, 0.0), (180.0, 0.0), (-180.0, 0.0), (-179.0, 0.0), (-179.0, 1.0)]), vec![]),
        // a hole touching the outer ring with a vertex, and one spanning it from vertex to vertex
        polygon(square(0.0, 4.0), vec![ring(&[(4.0, 2.0), (2.0, 1.0), (2.0, 3.0)])]),
        polygon(square(0.0, 4.0), vec![ring(&[(0.0, 0.0), (4.0, 4.0), (1.0, 3.0)])]),
        polygon(square(0.0, 9.0), vec![rectangle(1.0, 1.0, 4.0, 4.0), rectangle(4.0, 4.0, 6.0, 6.0)]),
        // parts side by side, corner to corner, and an island in a lake that touches its shore
        multi(vec![(square(0.0, 4.0), vec![]), (square(4.0, 2.0), vec![])]),
        multi(vec![(square(0.0, 4.0), vec![]), (rectangle(4.0, 4.0, 6.0, 6.0), vec![])]),
        multi(vec![
            (square(0.0, 9.0), vec![rectangle(1.0, 1.0, 8.0, 8.0)]),
            (ring(&[(1.0, 1.0), (8.0, 1.0), (4.0, 8.0)]), vec![]),
        ]),
        multi(vec![
            (rectangle(170.0, 0.0, 180.0, 2.0), vec![]),
            (rectangle(-180.0, 0.0, -170.0, 2.0), vec![]),
        ]),
    ] {
        assert_eq!(validate(&spec), Ok(()), "{spec:?}");
        assert_eq!(validate(&normalise(spec.clone())), Ok(()), "{spec:?}");
    }
}

/// A part of the square around the origin, from a corner or the middle of a side on for so many eighths of a turn.
fn wedge(first: usize, eighths: usize, size: f64) -> Ring {
    const COMPASS: [(f64, f64); 8] = [
        (1.0, 0.0),
        (1.0, 1.0),
        (0.0, 1.0),
        (-1.0, 1.0),
        (-1.0, 0.0),
        (-1.0, -1.0),
        (0.0, -1.0),
        (1.0, -1.0),
    ];
    let rim = (first..=first + eighths).map(|direction| COMPASS[direction % 8]);
    let rim: Vec<_> = rim.map(|(x, y)| (x * size, y * size)).collect();
    ring(&[&[(0.0, 0.0)], &rim[..]].concat())
}

/// All wedges: where each begins and how wide it is.
fn wedges() -> impl Iterator<Item = (usize, usize)> {
    (0..8).flat_map(|first| (1..8).map(move |eighths| (first, eighths)))
}

#[test]
fn around_a_point_parts_may_be_beside_each_other_in_any_directions() {
    let covered = |(first, eighths): (usize, usize)| {
        (first..first + eighths).fold(0_u8, |known, at| known | 1_u8 << (at % 8))
    };
    for one in wedges() {
        for other in wedges() {
            for size in [1.0, 0.5] {
                let parts = [wedge(one.0, one.1, 1.0), wedge(other.0, other.1, size)];
                let spec = multi(parts.map(|part| (part, vec![])).into());
                let overlaps = covered(one) & covered(other) != 0;
                assert_eq!(validate(&spec).is_err(), overlaps, "{one:?} {other:?} {size}");
            }
        }
    }
}

#[test]
fn a_hole_at_a_corner_lies_between_its_sides_in_any_directions() {
    for (first, eighths) in wedges() {
        for (begins, wide) in wedges() {
            let spec = polygon(wedge(first, eighths, 1.0), vec![wedge(begins, wide, 0.5)]);
            let after = (begins + 8 - first) % 8;
            let is_between = after > 0 && after + wide < eighths;
            assert_eq!(validate(&spec).is_ok(), is_between, "{first} {eighths} {begins} {wide}");
        }
    }
}

#[test]
fn normalising_drops_what_repeats() {
    let given = polygon(
        ring(&[(180.0, 0.0), (-180.0, 0.0), (-179.0, 1.0), (-179.0, 1.0), (179.0, 2.0), (180.0, 0.0)]),
        vec![],
    );
    assert_eq!(normalise(given), polygon(ring(&[(180.0, 0.0), (-179.0, 1.0), (179.0, 2.0)]), vec![]));
    let one_point = polygon(ring(&[(1.0, 1.0), (1.0, 1.0)]), vec![vec![]]);
    assert_eq!(normalise(one_point), polygon(ring(&[(1.0, 1.0)]), vec![vec![]]));
}

#[test]
fn thirty_thousand_vertices_are_allowed_in_any_arrangement() {
    // Slanted teeth as long as the whole: in every direction, all boxes of edges overlap.
    let n = MAX_VERTICES / 2 - 1;
    let teeth = |i: usize| {
        let x = i as f64 * 1e-3;
        [at(x, x), at(x + 40.0, x - 40.0 + 1e-3)]
    };
    let mut comb: Ring = (0..n).flat_map(teeth).collect();
    comb.push(at(60.0, 30.0));
    comb.push(at(-10.0, 30.0));
    assert_eq!(comb.len(), MAX_VERTICES);
    assert_eq!(validate(&polygon(comb.clone(), vec![])), Ok(()));
    comb.push(at(-9.0, 1.0));
    assert_eq!(refusals(&polygon(comb, vec![])), [(String::new(), "tooManyVertices")]);
    let fan = |i: usize| {
        let (sin, cos) = (i as f64 / 9000.0 * std::f64::consts::TAU).sin_cos();
        let (sin_next, cos_next) = ((i as f64 + 0.5) / 9000.0 * std::f64::consts::TAU).sin_cos();
        (vec![at(0.0, 0.0), at(cos, sin), at(cos_next, sin_next)], vec![])
    };
    assert_eq!(validate(&multi((0..9000).map(fan).collect())), Ok(()));
}
