//! The oracle: which vehicle is inside what, by `geo`'s own predicates over every fence whose box holds the place.
//!
//! Shares nothing with the server's index, its prepared shapes or its engine.

use geo::{Coord, Distance, Geodesic, Intersects, LineString, Point};

use super::{Outline, SOUTH, WEST, WIDTH};

/// A place closer than this to an outline is drawn again: rounding may decide there. Degrees.
const TOO_NEAR_DEGREES: f64 = 1e-9;
/// A place closer than this to a circle is drawn again. Metres.
const TOO_NEAR_METERS: f64 = 1e-3;

/// A vehicle went into a fence or out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transition {
    /// The vehicle's number.
    pub(crate) vehicle: u32,
    /// The number of the vehicle's fix that made it.
    pub(crate) round: u32,
    /// Whether it went in.
    pub(crate) is_entry: bool,
    /// The fence's number.
    pub(crate) fence: u32,
}

/// All fences, in drawers by the boxes' place.
pub(crate) struct Truth {
    outlines: Vec<Outline>,
    corners: Vec<(Coord, Coord)>,
    drawers: Vec<Vec<u32>>,
    side: usize,
}

impl Truth {
    pub(crate) fn new(outlines: Vec<Outline>) -> Self {
        let corners: Vec<(Coord, Coord)> = outlines.iter().map(Outline::corners).collect();
        let side = ((outlines.len() as f64).sqrt() as usize).clamp(1, 512);
        let mut truth = Self { outlines, corners, drawers: vec![Vec::new(); side * side], side };
        for (number, (low, high)) in truth.corners.iter().enumerate() {
            let columns = cell(low.x - WEST, side)..=cell(high.x - WEST, side);
            for row in cell(low.y - SOUTH, side)..=cell(high.y - SOUTH, side) {
                for column in columns.clone() {
                    truth.drawers[row * side + column].push(number as u32);
                }
            }
        }
        truth
    }

    pub(crate) fn outlines(&self) -> &[Outline] {
        &self.outlines
    }

    /// The fences a place is in, ascending; `None` when it is too near an outline to say for sure.
    pub(crate) fn inside(&self, place: Coord) -> Option<Vec<u32>> {
        let drawer = cell(place.y - SOUTH, self.side) * self.side + cell(place.x - WEST, self.side);
        let mut inside = Vec::new();
        for &number in &self.drawers[drawer] {
            let (low, high) = self.corners[number as usize];
            if place.x < low.x || place.x > high.x || place.y < low.y || place.y > high.y {
                continue;
            }
            if holds(&self.outlines[number as usize], place)? {
                inside.push(number);
            }
        }
        Some(inside)
    }
}

fn holds(outline: &Outline, place: Coord) -> Option<bool> {
    match outline {
        Outline::Rings(polygon) => {
            let rings = std::iter::once(polygon.exterior()).chain(polygon.interiors());
            for ring in rings {
                if is_too_near(ring, place) {
                    return None;
                }
            }
            Some(polygon.intersects(&Point(place)))
        }
        Outline::Circle(center, meters) => {
            let apart = Geodesic.distance(Point(*center), Point(place)) - meters;
            (apart.abs() > TOO_NEAR_METERS).then_some(apart < 0.0)
        }
    }
}

fn is_too_near(ring: &LineString, p: Coord) -> bool {
    ring.0.windows(2).any(|edge| {
        let (a, b) = (edge[0], edge[1]);
        let beside = p.y < a.y.min(b.y) - TOO_NEAR_DEGREES
            || p.y > a.y.max(b.y) + TOO_NEAR_DEGREES
            || p.x < a.x.min(b.x) - TOO_NEAR_DEGREES
            || p.x > a.x.max(b.x) + TOO_NEAR_DEGREES;
        let (wide, high) = (b.x - a.x, b.y - a.y);
        let off = (wide * (p.y - a.y) - high * (p.x - a.x)).abs();
        !beside && off < TOO_NEAR_DEGREES * wide.hypot(high)
    })
}

/// What lies beyond the region is in the outermost drawers.
fn cell(offset: f64, side: usize) -> usize {
    ((offset / WIDTH * side as f64) as usize).min(side - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Mix, Motion, World, make_fences};

    #[test]
    fn the_drawers_miss_no_fence() {
        let world =
            World { seed: 3, vehicles: 1, fences: 400, vertices: 20, mix: Mix::Real, motion: Motion::Roam };
        let truth = Truth::new(make_fences(&world));
        let mut held = 0;
        for step in 0..2_000 {
            let place =
                Coord { x: WEST + f64::from(step * 7 % 1_999) * 0.005, y: SOUTH + f64::from(step) * 0.005 };
            let all =
                truth.outlines().iter().map(|outline| holds(outline, place)).collect::<Option<Vec<_>>>();
            let Some(all) = all else { continue };
            let numbers: Vec<u32> =
                (0..).zip(all).filter(|(_, held)| *held).map(|(number, _)| number).collect();
            held += numbers.len();
            assert_eq!(truth.inside(place), Some(numbers));
        }
        assert!(held > 100, "{held}");
    }
}
