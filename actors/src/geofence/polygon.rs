//! Polygons whose edges are straight in longitude and latitude: one part or several.

use super::area::ring_square_meters;
use super::boxes::GeoBox;
use super::edge_bitmap::{Cell, EdgeBitmap};
use super::edges::{EdgeIndex, Position};
use super::place::meters_per_degree;
use super::plane::{LaidPolygon, Orientation, Point, frame, jump, point, side};
use super::runs::Span;
use crate::model::{Place, Polygon};

/// Parts prepared for queries, in one plane of 360 degrees.
///
/// Parts of a valid shape do not overlap, so the even-odd rule over all of their rings is their
/// union less their holes; what two parts share is boundary, and so inside.
pub(super) struct PolygonShape {
    /// Where the plane begins, in degrees east.
    west: f64,
    edges: EdgeIndex,
    bitmap: EdgeBitmap,
    square_meters: f64,
}

impl PolygonShape {
    pub(super) fn prepare(parts: &[Polygon]) -> Self {
        let mut laid: Vec<LaidPolygon> = parts
            .iter()
            .map(|part| LaidPolygon::of(&part.vertices, part.holes.iter().map(Vec::as_slice)))
            .collect();
        let (west, placed) = frame(&mut laid);
        let square_meters = laid.iter().map(area_of).sum();
        let mut rings = Vec::new();
        for (part, turns) in placed {
            rings.extend(laid[part].rings.iter().map(|ring| ring.points_turned(turns)));
        }
        let edges = EdgeIndex::build(&rings);
        let bitmap = EdgeBitmap::draw(&rings, &edges);
        Self { west, edges, bitmap, square_meters }
    }

    pub(super) fn square_meters(&self) -> f64 {
        self.square_meters
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.edges.heap_bytes() + self.bitmap.heap_bytes()
    }

    pub(super) fn boxes(&self) -> Vec<GeoBox> {
        let (low, high) = (self.edges.low, self.edges.high);
        GeoBox::spanning(self.west, high.x, low.y, high.y)
    }

    /// Its edges in the plane.
    pub(super) fn edges(&self) -> impl Iterator<Item = (Point, Point)> {
        self.edges.iter()
    }

    pub(super) fn covers(&self, place: Place) -> bool {
        let turns = if place.longitude < self.west {
            1
        } else if place.longitude >= self.west + 360.0 {
            -1
        } else {
            0
        };
        let p = point(place, turns);
        match self.bitmap.at(p) {
            Cell::Inside => true,
            Cell::Outside => false,
            Cell::Met => self.edges.locate(p) != Position::Outside,
        }
    }

    /// Whether a place outside is farther than `meters` from every edge, in the plane that touches WGS 84 at the
    /// place.
    pub(super) fn is_farther_outside_than(&self, place: Place, meters: f64) -> bool {
        !self.is_near_edge(place, meters) && !self.covers(place)
    }

    fn is_near_edge(&self, place: Place, meters: f64) -> bool {
        let (east, north) = meters_per_degree(place.latitude);
        // The distance in degrees, rounding included.
        let (reach_x, reach_y) = (meters / east * 1.000_001, meters / north * 1.000_001);
        let (low, high) = (self.edges.low, self.edges.high);
        (-1..=1).any(|turns| {
            let p = point(place, turns);
            if p.x + reach_x < low.x || p.x - reach_x > high.x {
                return false;
            }
            let corner = |sign: f64| Point { x: p.x + sign * reach_x, y: p.y + sign * reach_y };
            let area = Span::of(corner(-1.0), corner(1.0));
            if !self.bitmap.may_enter(&area) {
                return false;
            }
            let local = |v: Point| ((v.x - p.x) * east, (v.y - p.y) * north);
            let mut near = false;
            self.edges
                .for_each_near(&area, |a, b| near = near || passes_origin_within(local(a), local(b), meters));
            near
        })
    }

    /// Where the way meets an edge, in no order: shares of the way. Returns whether it is plain: it
    /// crosses from one side of an edge to the other each time, so that membership turns over with
    /// every share (but not where it crosses two edges at once).
    pub(super) fn cuts(&self, from: Place, to: Place, cuts: &mut Vec<f64>) -> bool {
        let to_turns = jump(from.longitude, to.longitude);
        let (low, high) = (self.edges.low, self.edges.high);
        let (mut plain, mut met) = (true, 0);
        for turns in -1..=1 {
            let (p, q) = (point(from, turns), point(to, turns + to_turns));
            if p.x.max(q.x) < low.x || p.x.min(q.x) > high.x || !self.bitmap.may_meet(p, q) {
                continue;
            }
            let before = cuts.len();
            self.edges.for_each_near(&Span::of(p, q), |a, b| plain &= cut(p, q, a, b, cuts));
            met += usize::from(cuts.len() > before);
        }
        // A part that is listed a second time, one turn away, is met there too.
        plain && met <= 1
    }
}

fn area_of(part: &LaidPolygon) -> f64 {
    let mut rings = part.rings.iter().map(|ring| ring_square_meters(&ring.points()));
    rings.next().unwrap_or(0.0) - rings.sum::<f64>()
}

/// Whether the segment between two points (metres) comes within `meters` of the origin.
fn passes_origin_within(a: (f64, f64), b: (f64, f64), meters: f64) -> bool {
    let beyond = |u: f64, v: f64| u.min(v) > meters || u.max(v) < -meters;
    if beyond(a.0, b.0) || beyond(a.1, b.1) {
        return false;
    }
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let along = -(a.0 * dx + a.1 * dy) / (dx * dx + dy * dy).max(f64::MIN_POSITIVE);
    let along = along.clamp(0.0, 1.0);
    (a.0 + along * dx).hypot(a.1 + along * dy) <= meters
}

/// Adds the share of the way `p` to `q` at which it meets the edge `a` to `b`; none where it runs along it, because
/// the edges beside it are met where that ends. Whether they meet is decided exactly. Returns `false` where they only
/// touch: neither apart nor across.
fn cut(p: Point, q: Point, a: Point, b: Point, cuts: &mut Vec<f64>) -> bool {
    let (side_a, side_b) = (side(p, q, a), side(p, q, b));
    if side_a == side_b {
        return side_a != Orientation::Collinear;
    }
    let (side_p, side_q) = (side(a, b, p), side(a, b, q));
    if side_p == side_q && side_p != Orientation::Collinear {
        return true;
    }
    match (side_p, side_q) {
        (Orientation::Collinear, _) => cuts.push(0.0),
        (_, Orientation::Collinear) => cuts.push(1.0),
        _ => cuts.push(share_across(p, q, a, b)),
    }
    ![side_a, side_b, side_p, side_q].contains(&Orientation::Collinear)
}

fn share_across(p: Point, q: Point, a: Point, b: Point) -> f64 {
    let edge = b - a;
    let off = |v: Point| (edge.x * (v.y - a.y) - edge.y * (v.x - a.x)).abs();
    let (off_p, off_q) = (off(p), off(q));
    // Both vanish only where rounding hides a crossing that the exact predicate sees.
    if off_p + off_q > 0.0 { off_p / (off_p + off_q) } else { 0.5 }
}
