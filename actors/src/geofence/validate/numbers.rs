//! Numbers: counts, finiteness, ranges.

use super::problem::{MAX_PROBLEMS, MAX_VERTICES, RADIUS_METERS, ShapeProblem};
use crate::model::{Circle, Place, Polygon};

/// The problems of a circle.
pub(super) fn of_circle(circle: &Circle) -> Vec<ShapeProblem> {
    let mut problems: Vec<_> = place_problem(circle.center, || "/center".to_owned()).into_iter().collect();
    let radius = circle.radius_meters;
    if !radius.is_finite() {
        problems.push(ShapeProblem::new("/radiusMeters", "notFinite", "the radius is not a finite number"));
    } else if !RADIUS_METERS.contains(&radius) {
        let (least, most) = (RADIUS_METERS.start(), RADIUS_METERS.end());
        let detail = format!("the radius must be {least} to {most} metres, not {radius}");
        problems.push(ShapeProblem::new("/radiusMeters", "outOfRange", detail));
    }
    problems
}

/// The problems with the numbers of polygons, which come with the pointers to them.
pub(super) fn of_parts(parts: &[(String, &Polygon)]) -> Vec<ShapeProblem> {
    if parts.is_empty() {
        return vec![ShapeProblem::new(
            "/polygons",
            "tooFewPoints",
            "a multipolygon needs at least one polygon",
        )];
    }
    let rings = || parts.iter().flat_map(|(_, part)| std::iter::once(&part.vertices).chain(&part.holes));
    let count: usize = rings().map(Vec::len).sum();
    if count > MAX_VERTICES {
        let detail =
            format!("the shape has {count} vertices; {MAX_VERTICES} are allowed, all rings together");
        return vec![ShapeProblem::new("", "tooManyVertices", detail)];
    }
    let mut problems = Vec::new();
    for (pointer, part) in parts {
        check_ring(&part.vertices, &format!("{pointer}/vertices"), &mut problems);
        for (i, hole) in part.holes.iter().enumerate() {
            check_ring(hole, &format!("{pointer}/holes/{i}"), &mut problems);
        }
    }
    problems
}

fn check_ring(ring: &[Place], pointer: &str, problems: &mut Vec<ShapeProblem>) {
    let found =
        ring.iter().enumerate().filter_map(|(i, place)| place_problem(*place, || format!("{pointer}/{i}")));
    problems.extend(found.take(MAX_PROBLEMS.saturating_sub(problems.len())));
}

fn place_problem(place: Place, pointer: impl Fn() -> String) -> Option<ShapeProblem> {
    let Place { latitude, longitude } = place;
    if !latitude.is_finite() || !longitude.is_finite() {
        return Some(ShapeProblem::new(
            pointer(),
            "notFinite",
            "latitude or longitude is not a finite number",
        ));
    }
    let latitude_fits = latitude.abs() <= 90.0;
    let longitude_fits = longitude.abs() <= 180.0;
    if latitude_fits && longitude_fits {
        return None;
    }
    let mut detail = if latitude_fits {
        format!("longitude {longitude} is not within -180 to 180")
    } else {
        format!("latitude {latitude} is not within -90 to 90")
    };
    if latitude.abs() <= 180.0 && longitude.abs() <= 90.0 {
        detail.push_str("; latitude and longitude look swapped");
    }
    Some(ShapeProblem::new(pointer(), "outOfRange", detail))
}
