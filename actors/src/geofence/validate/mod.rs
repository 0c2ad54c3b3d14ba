//! Which shapes are refused, where and why.
//!
//! Stricter than what the geometry needs where a mistake is likely, looser than OGC Simple
//! Features where the meaning is plain: parts of a multipolygon may share edges (RFC 7946 cuts
//! shapes at the antimeridian), and rings may touch each other in single points. A ring may not
//! touch itself. The time is O(n log n) in the number of vertices.

mod nesting;
mod numbers;
mod problem;
mod rings;
mod sweep;
mod touch;

use problem::MAX_PROBLEMS;
pub use problem::{MAX_VERTICES, RADIUS_METERS, ShapeProblem};

use crate::model::{Polygon, ShapeSpec};

/// Checks a shape. A ring may repeat its first point at its end, and any point in a row.
///
/// # Errors
/// Every problem of the first stage that finds one: the numbers, then each ring by itself, then
/// the first place where rings meet as they must not, then holes and parts within one another.
pub fn validate(spec: &ShapeSpec) -> Result<(), Vec<ShapeProblem>> {
    match spec {
        ShapeSpec::Circle(circle) => accepted(numbers::of_circle(circle)),
        ShapeSpec::Polygon(polygon) => of_parts(&[(String::new(), polygon)]),
        ShapeSpec::MultiPolygon(multi) => {
            let parts = multi.polygons.iter().enumerate();
            of_parts(&parts.map(|(i, part)| (format!("/polygons/{i}"), part)).collect::<Vec<_>>())
        }
    }
}

fn of_parts(parts: &[(String, &Polygon)]) -> Result<(), Vec<ShapeProblem>> {
    accepted(numbers::of_parts(parts))?;
    let rings = rings::named(parts);
    accepted(rings.iter().filter_map(rings::problem).take(MAX_PROBLEMS).collect())?;
    let outlines = rings::lay_out(&rings);
    let touches = sweep::touches(&outlines).map_err(|clash| vec![clash.problem(&rings)])?;
    touch::check(&outlines, touches).map_err(|clash| vec![clash.problem(&rings)])?;
    accepted(nesting::problems(&rings, &outlines))
}

fn accepted(mut problems: Vec<ShapeProblem>) -> Result<(), Vec<ShapeProblem>> {
    problems.truncate(MAX_PROBLEMS);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
