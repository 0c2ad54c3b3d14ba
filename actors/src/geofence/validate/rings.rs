//! Each ring by itself, and all of them laid out in one plane.

use super::super::place::eastward_degrees;
use super::super::plane::{LaidPolygon, Loop, Orientation, Point, frame, side, sweep_order};
use super::problem::ShapeProblem;
use crate::geofence::normalise::distinct_in_row;
use crate::model::{Place, Polygon};

/// A ring as its owner drew it, less repeated points, with the way back to them.
pub(super) struct NamedRing {
    pointer: String,
    places: Vec<Place>,
    /// The number of each place in the ring as given.
    given: Vec<usize>,
    part: usize,
    is_hole: bool,
}

impl NamedRing {
    fn of(ring: &[Place], pointer: String, part: usize, is_hole: bool) -> Self {
        let (given, places) =
            if ring.is_empty() { (Vec::new(), Vec::new()) } else { distinct_in_row(ring).unzip() };
        Self { pointer, places, given, part, is_hole }
    }

    /// The pointer to the ring, or to one of its vertices.
    pub(super) fn pointer(&self, vertex: Option<usize>) -> String {
        match vertex {
            Some(vertex) => format!("{}/{}", self.pointer, self.given[vertex]),
            None => self.pointer.clone(),
        }
    }
}

/// All rings; of each part the outer one first.
pub(super) fn named(parts: &[(String, &Polygon)]) -> Vec<NamedRing> {
    let mut rings = Vec::new();
    for (number, (pointer, part)) in parts.iter().enumerate() {
        rings.push(NamedRing::of(&part.vertices, format!("{pointer}/vertices"), number, false));
        for (i, hole) in part.holes.iter().enumerate() {
            rings.push(NamedRing::of(hole, format!("{pointer}/holes/{i}"), number, true));
        }
    }
    rings
}

/// The problems of a ring, whatever lies around it.
pub(super) fn problem(ring: &NamedRing) -> Option<ShapeProblem> {
    let mut distinct: Vec<_> = ring.places.iter().map(|p| (p.latitude + 0.0, p.longitude + 0.0)).collect();
    distinct.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    distinct.dedup();
    if distinct.len() < 3 {
        let detail = format!("a ring needs at least three distinct points, this one has {}", distinct.len());
        return Some(ShapeProblem::new(ring.pointer(None), "tooFewPoints", detail));
    }
    for (i, place) in ring.places.iter().enumerate() {
        let next = ring.places[(i + 1) % ring.places.len()];
        if eastward_degrees(place.longitude, next.longitude).abs() >= 180.0 {
            let detail =
                "the edge from here spans 180 degrees of longitude, so that neither way round is shorter";
            return Some(ShapeProblem::new(ring.pointer(Some(i)), "edgeTooLong", detail));
        }
    }
    let laid = Loop::of(&ring.places);
    let (west, east) = laid.west_east();
    if !laid.closes {
        let detail = "the ring goes around a pole; a circle can hold a pole, a polygon cannot";
        return Some(ShapeProblem::new(ring.pointer(None), "ringAroundPole", detail));
    }
    (east - west >= 360.0).then(|| {
        let detail =
            format!("the ring spans {} degrees of longitude; less than 360 are allowed", east - west);
        ShapeProblem::new(ring.pointer(None), "ringTooWide", detail)
    })
}

/// A ring in the plane, walked with the polygon's interior on its left.
pub(super) struct Outline {
    /// Its number among the named rings.
    pub(super) ring: usize,
    pub(super) part: usize,
    pub(super) is_hole: bool,
    pub(super) points: Vec<Point>,
    /// Whether the points are in the order given.
    pub(super) forward: bool,
    /// Whether this is a second copy of its part, a turn to the west.
    pub(super) is_copy: bool,
}

impl Outline {
    /// The number, in the named ring, of the vertex that comes first of the edge's two.
    pub(super) fn vertex_of_edge(&self, edge: usize) -> usize {
        let n = self.points.len();
        if self.forward { edge } else { n - 1 - (edge + 1) % n }
    }

    /// The number, in the named ring, of a vertex.
    pub(super) fn vertex(&self, vertex: usize) -> usize {
        if self.forward { vertex } else { self.points.len() - 1 - vertex }
    }
}

/// Lays the rings out; the outlines of a part follow each other, the outer one first.
pub(super) fn lay_out(rings: &[NamedRing]) -> Vec<Outline> {
    let groups: Vec<&[NamedRing]> = rings.chunk_by(|a, b| a.part == b.part).collect();
    let mut parts: Vec<LaidPolygon> = groups
        .iter()
        .map(|group| LaidPolygon::of(&group[0].places, group[1..].iter().map(|hole| hole.places.as_slice())))
        .collect();
    let mut first_ring = Vec::with_capacity(groups.len());
    let mut count = 0;
    for group in &groups {
        first_ring.push(count);
        count += group.len();
    }
    let (_, placed) = frame(&mut parts);
    let mut outlines = Vec::with_capacity(count);
    for (part, turns) in placed {
        for (i, laid) in parts[part].rings.iter().enumerate() {
            let is_hole = rings[first_ring[part] + i].is_hole;
            let (points, forward) = interior_on_left(laid.points_turned(turns), is_hole);
            outlines.push(Outline {
                ring: first_ring[part] + i,
                part,
                is_hole,
                points,
                forward,
                is_copy: turns != 0,
            });
        }
    }
    outlines
}

/// Turns a ring so that the interior of its polygon is on the left. (Of a ring that crosses
/// itself the result means nothing; it is refused before anyone asks.)
fn interior_on_left(mut points: Vec<Point>, is_hole: bool) -> (Vec<Point>, bool) {
    let n = points.len();
    let corner = (0..n).min_by(|&i, &j| sweep_order(&points[i], &points[j])).unwrap_or(0);
    let turn = side(points[(corner + n - 1) % n], points[corner], points[(corner + 1) % n]);
    let forward = (turn == Orientation::CounterClockwise) != is_hole;
    if !forward {
        points.reverse();
    }
    (points, forward)
}
