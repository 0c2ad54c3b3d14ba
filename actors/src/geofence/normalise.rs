//! Removes from a shape the points that add nothing.

use super::place::same_place;
use crate::model::{Place, Polygon, Ring, ShapeSpec};

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
pub(super) fn distinct_in_row(ring: &[Place]) -> impl Iterator<Item = (usize, Place)> {
    let repeats_first = |place: &&Place| same_place(**place, ring[0]);
    let tail = ring.iter().rev().take_while(repeats_first).count();
    // A ring that consists of one repeated point keeps that point.
    let end = (ring.len() - tail).max(1).min(ring.len());
    let kept = ring[..end].iter().copied().enumerate();
    kept.filter(move |(i, place)| *i == 0 || !same_place(ring[i - 1], *place))
}
