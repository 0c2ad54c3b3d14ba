//! Rings in a plane of degrees in which longitude runs on beyond 180, so that no edge jumps.

use std::cmp::Ordering;

pub(super) use geo::Orientation;
use geo::kernels::{Kernel, RobustKernel};

use crate::model::Place;

/// `x` degrees east, `y` degrees north.
pub(super) type Point = geo::Coord<f64>;

/// On which side of the line from `a` to `b` a point lies: counter-clockwise = left. Exact for
/// any coordinates (J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997).
pub(super) fn side(a: Point, b: Point, p: Point) -> Orientation {
    RobustKernel::orient2d(a, b, p)
}

/// West to east, then south to north.
pub(super) fn sweep_order(a: &Point, b: &Point) -> Ordering {
    a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y))
}

/// A place in the plane, moved `turns` turns to the east. One rounding at most, the same for every place on a
/// meridian; never a negative zero.
pub(super) fn point(place: Place, turns: i32) -> Point {
    Point { x: place.longitude + 360.0 * f64::from(turns), y: place.latitude + 0.0 }
}

/// A ring laid out in the plane: each vertex is less than half a turn from the one before.
pub(super) struct Loop {
    places: Vec<Place>,
    turns: Vec<i32>,
    /// Whether the ring came back to where it began; if not, it goes around a pole.
    pub(super) closes: bool,
}

impl Loop {
    /// Lays a ring out, its west end in [-180, 180).
    pub(super) fn of(ring: &[Place]) -> Self {
        let mut turns = Vec::with_capacity(ring.len());
        let mut turn = 0;
        for (i, place) in ring.iter().enumerate() {
            if i > 0 {
                turn += jump(ring[i - 1].longitude, place.longitude);
            }
            turns.push(turn);
        }
        let closes = match (ring.first(), ring.last()) {
            (Some(first), Some(last)) => turn + jump(last.longitude, first.longitude) == 0,
            _ => true,
        };
        let mut laid = Self { places: ring.to_vec(), turns, closes };
        let (west, _) = laid.west_east();
        laid.turn(-((west + 180.0) / 360.0).floor() as i32);
        laid
    }

    /// Moves the ring by whole turns.
    pub(super) fn turn(&mut self, turns: i32) {
        self.turns.iter_mut().for_each(|turn| *turn += turns);
    }

    /// Moves the ring by whole turns to where its middle is nearest to `x`.
    pub(super) fn turn_near(&mut self, x: f64) {
        let (west, east) = self.west_east();
        self.turn(((x - (west + east) / 2.0) / 360.0).round() as i32);
    }

    /// The least and the greatest `x`.
    pub(super) fn west_east(&self) -> (f64, f64) {
        self.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(west, east), p| (west.min(p.x), east.max(p.x)))
    }

    /// The vertices; the first is not repeated.
    pub(super) fn points(&self) -> Vec<Point> {
        self.points_turned(0)
    }

    /// The vertices, moved `turns` more turns to the east.
    pub(super) fn points_turned(&self, turns: i32) -> Vec<Point> {
        self.places.iter().zip(&self.turns).map(|(place, turn)| point(*place, turn + turns)).collect()
    }

    fn iter(&self) -> impl Iterator<Item = Point> {
        self.places.iter().zip(&self.turns).map(|(place, turn)| point(*place, *turn))
    }
}

/// Turns to add on the shorter way from one longitude to the next.
pub(super) fn jump(from: f64, to: f64) -> i32 {
    let east = to - from;
    if east > 180.0 {
        -1
    } else if east < -180.0 {
        1
    } else {
        0
    }
}

/// An outer ring and its holes, laid out together.
pub(super) struct LaidPolygon {
    /// The outer ring first.
    pub(super) rings: Vec<Loop>,
}

impl LaidPolygon {
    /// Lays out an outer ring, its west end in [-180, 180), and its holes beside it.
    pub(super) fn of<'a>(outer: &[Place], holes: impl Iterator<Item = &'a [Place]>) -> Self {
        let outer = Loop::of(outer);
        let (west, east) = outer.west_east();
        let mut rings = vec![outer];
        rings.extend(holes.map(|hole| {
            let mut hole = Loop::of(hole);
            hole.turn_near((west + east) / 2.0);
            hole
        }));
        Self { rings }
    }

    /// Moves all rings by whole turns.
    pub(super) fn turn(&mut self, turns: i32) {
        self.rings.iter_mut().for_each(|ring| ring.turn(turns));
    }

    /// The least and the greatest `x` of the outer ring.
    pub(super) fn west_east(&self) -> (f64, f64) {
        self.rings[0].west_east()
    }
}

/// Brings parts into one frame of 360 degrees from the returned longitude on. A part that reaches
/// the frame's east end (only where no stretch of longitudes is free of parts) is listed a
/// second time, a turn to the west: `(part, turns)`.
pub(super) fn frame(parts: &mut [LaidPolygon]) -> (f64, Vec<(usize, i32)>) {
    let stretches: Vec<_> = parts.iter().map(LaidPolygon::west_east).collect();
    let west = super::boxes::stretch_west(&stretches);
    let mut placed = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter_mut().enumerate() {
        if part.west_east().0 < west {
            part.turn(1);
        }
        placed.push((i, 0));
        if part.west_east().1 >= west + 360.0 {
            placed.push((i, -1));
        }
    }
    (west, placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(longitudes: &[f64]) -> Vec<Place> {
        longitudes.iter().enumerate().map(|(i, x)| Place::new(i as f64, *x)).collect()
    }

    #[test]
    fn a_ring_runs_on_across_the_antimeridian() {
        let xs = |ring: &[Place]| Loop::of(ring).points().iter().map(|p| p.x).collect::<Vec<_>>();
        assert_eq!(xs(&ring(&[179.5, -179.5, -179.0])), [179.5, 180.5, 181.0]);
        assert_eq!(xs(&ring(&[-179.5, 179.5, 179.0])), [180.5, 179.5, 179.0]);
        assert_eq!(xs(&ring(&[180.0, -179.0, 180.0])), [-180.0, -179.0, -180.0]);
        assert_eq!(xs(&ring(&[-10.0, 20.0, -0.0])), [-10.0, 20.0, 0.0]);
    }

    #[test]
    fn a_ring_around_a_pole_does_not_close() {
        assert!(!Loop::of(&ring(&[0.0, 120.0, -120.0])).closes);
        assert!(Loop::of(&ring(&[0.0, 120.0, 60.0])).closes);
    }

    #[test]
    fn a_hole_stands_beside_its_outer_ring() {
        let outer = ring(&[170.0, -170.0, 175.0]);
        let hole = ring(&[-175.0, -174.0, -174.5]);
        let laid = LaidPolygon::of(&outer, std::iter::once(hole.as_slice()));
        assert_eq!(laid.rings[1].west_east(), (185.0, 186.0));
    }
}
