//! Which shapes are refused, where and why.
//!
//! Stricter than what the geometry needs where a mistake is likely, looser than OGC Simple
//! Features where the meaning is plain: parts of a multipolygon may share edges (RFC 7946 cuts
//! shapes at the antimeridian), and rings may touch each other in single points. A ring may not
//! touch itself. The time is O(n log n) in the number of vertices.

mod nesting;
mod numbers;
mod rings;
mod sweep;
mod touch;

use crate::model::{Place, Polygon, Ring, ShapeSpec};

use super::place::same_place;

/// Most vertices of a shape, all rings together.
pub const MAX_VERTICES: usize = 30_000;
/// The radius of a circle in metres.
pub const RADIUS_METERS: std::ops::RangeInclusive<f64> = 10.0..=100_000.0;
/// Most problems reported of one shape.
const MAX_PROBLEMS: usize = 100;

/// Why a shape is refused, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeProblem {
    /// RFC 6901 pointer within the shape, such as `/vertices/17` or `/polygons/2/holes/0/3`.
    pub pointer: String,
    /// One of `notFinite`, `outOfRange`, `tooManyVertices`, `tooFewPoints`, `edgeTooLong`,
    /// `ringAroundPole`, `ringTooWide`, `selfIntersection`, `holeOutside`, `holesOverlap`,
    /// `partsOverlap`, `nestedPart`.
    pub code: &'static str,
    /// For people.
    pub detail: String,
}

impl ShapeProblem {
    fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }
}

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

/// The shape without points that repeat the one before them, the repeated first one at the end of
/// a ring included. It covers the same places.
#[must_use]
pub fn normalise(spec: ShapeSpec) -> ShapeSpec {
    let polygon = |polygon: Polygon| Polygon {
        vertices: without_repeats(polygon.vertices),
        holes: polygon.holes.into_iter().map(without_repeats).collect(),
    };
    match spec {
        ShapeSpec::Circle(circle) => ShapeSpec::Circle(circle),
        ShapeSpec::Polygon(one) => ShapeSpec::Polygon(polygon(one)),
        ShapeSpec::MultiPolygon(mut multi) => {
            multi.polygons = multi.polygons.into_iter().map(polygon).collect();
            ShapeSpec::MultiPolygon(multi)
        }
    }
}

fn without_repeats(ring: Ring) -> Ring {
    distinct_in_row(&ring).map(|(_, place)| place).collect()
}

/// The points of a ring, with their numbers, that do not repeat the one before, around the end too.
fn distinct_in_row(ring: &[Place]) -> impl Iterator<Item = (usize, Place)> {
    let repeats_first = |place: &&Place| same_place(**place, ring[0]);
    let tail = ring.iter().rev().take_while(repeats_first).count();
    // A ring of one point all over keeps that point.
    let end = (ring.len() - tail).max(1).min(ring.len());
    let kept = ring[..end].iter().copied().enumerate();
    kept.filter(move |(i, place)| *i == 0 || !same_place(ring[i - 1], *place))
}
