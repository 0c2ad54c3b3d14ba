//! Geodesic circles on WGS 84. Never a polygon in disguise.

use super::boxes::GeoBox;
use super::boxes::MOST_METERS_PER_DEGREE;
use super::place::{eastward_degrees, geodesic_meters, haversine_meters, interpolate};
use crate::model::{Circle, Place};

/// The haversine distance is off by at most 0.56 % (E-W at the equator 0.11 %, N-S there 0.56 %,
/// E-W at the poles 0.45 %). Outside this band around a radius it decides.
const BAND: std::ops::RangeInclusive<f64> = 0.993..=1.007;
/// The shortest degree of a meridian, at the equator, in metres (110,574.27 rounded down).
const LEAST_METERS_PER_DEGREE_NORTH: f64 = 110_574.0;

/// A circle prepared for queries.
#[derive(PartialEq)]
pub(super) struct CircleShape {
    circle: Circle,
}

/// A share of a way, and how far outside the circle the way is there (negative: inside). Metres.
#[derive(Clone, Copy)]
struct Probe {
    share: f64,
    excess: f64,
}

/// A way that is straight in longitude and latitude.
#[derive(Clone, Copy)]
struct Segment {
    from: Place,
    to: Place,
}

impl CircleShape {
    pub(super) fn prepare(circle: &Circle) -> Self {
        Self { circle: circle.clone() }
    }

    pub(super) fn covers(&self, place: Place) -> bool {
        self.is_within(place, self.circle.radius_meters)
    }

    pub(super) fn is_farther_outside_than(&self, place: Place, meters: f64) -> bool {
        !self.is_within(place, self.circle.radius_meters + meters)
    }

    /// Whether every place no farther than `meters` from this one is in the circle.
    pub(super) fn holds_all_within(&self, place: Place, meters: f64) -> bool {
        let radius = self.circle.radius_meters;
        meters < radius && self.is_within(place, radius - meters)
    }

    /// Whether the geodesic from the centre is at most `meters` long.
    fn is_within(&self, place: Place, meters: f64) -> bool {
        let center = self.circle.center;
        if (place.latitude - center.latitude).abs() * LEAST_METERS_PER_DEGREE_NORTH > meters {
            return false;
        }
        let rough = haversine_meters(center, place);
        if rough < BAND.start() * meters {
            true
        } else if rough > BAND.end() * meters {
            false
        } else {
            geodesic_meters(center, place) <= meters
        }
    }

    /// The box or boxes around the circle, a little larger than it.
    pub(super) fn boxes(&self) -> Vec<GeoBox> {
        let Circle { center, radius_meters } = self.circle;
        let reach = radius_meters / LEAST_METERS_PER_DEGREE_NORTH;
        let (south, north) = (center.latitude - reach, center.latitude + reach);
        // On a sphere, the meridians that touch a cap of angle r are asin(sin r / cos latitude) away.
        let sine = reach.to_radians().sin() / center.latitude.to_radians().cos();
        if north >= 90.0 || south <= -90.0 || sine >= 1.0 {
            return GeoBox::spanning(-180.0, 180.0, south.max(-90.0), north.min(90.0));
        }
        // The ellipsoid differs from the sphere by less than the band.
        let half = sine.asin().to_degrees() * BAND.end();
        let mut west = center.longitude - half;
        if west < -180.0 {
            west += 360.0;
        }
        GeoBox::spanning(west, west + 2.0 * half, south, north)
    }

    /// Where the way meets the circle, in no order: shares of the way, good to 0.1 mm. Chords
    /// shorter than a metre (or a 4096th of the way) may go unseen.
    pub(super) fn cuts(&self, from: Place, to: Place, cuts: &mut Vec<f64>) {
        let way = Segment { from, to };
        let length = way.length_bound(0.0, 1.0);
        let radius = self.circle.radius_meters;
        let rough = haversine_meters(self.circle.center, from) + haversine_meters(self.circle.center, to);
        let passes_by = BAND.start() * rough - length > 2.0 * radius;
        let stays_inside = BAND.end() * rough + length < 2.0 * radius;
        if !passes_by && !stays_inside {
            let graze = (length / 4096.0).max(1.0);
            self.search(&way, self.probe(&way, 0.0), self.probe(&way, 1.0), graze, cuts);
        }
    }

    fn probe(&self, way: &Segment, share: f64) -> Probe {
        let meters = geodesic_meters(self.circle.center, interpolate(way.from, way.to, share));
        Probe { share, excess: meters - self.circle.radius_meters }
    }

    /// Halves a piece of the way until it cannot meet the circle or meets it once. On a piece of
    /// length L the distance from the centre changes by L at most.
    fn search(&self, way: &Segment, a: Probe, b: Probe, graze: f64, cuts: &mut Vec<f64>) {
        let length = way.length_bound(a.share, b.share);
        if (a.excess > 0.0) == (b.excess > 0.0) {
            if a.excess.abs() + b.excess.abs() > length || length < graze {
                return;
            }
        } else if way.is_plain(a.share, b.share) && length < self.circle.radius_meters / 4.0 || length < graze
        {
            cuts.push(self.root(way, a, b, length));
            return;
        }
        let middle = self.probe(way, (a.share + b.share) / 2.0);
        self.search(way, a, middle, graze, cuts);
        self.search(way, middle, b, graze, cuts);
    }

    /// The share, between two probes on either side, at which the way meets the circle; by the Illinois form of
    /// regula falsi.
    fn root(&self, way: &Segment, mut a: Probe, mut b: Probe, length: f64) -> f64 {
        const ENOUGH_METERS: f64 = 1e-4;
        let meters_per_share = length / (b.share - a.share);
        let mut kept = 0;
        for _ in 0..100 {
            if (b.share - a.share) * meters_per_share < ENOUGH_METERS {
                break;
            }
            let share = (a.share * b.excess - b.share * a.excess) / (b.excess - a.excess);
            let next = self.probe(way, share);
            if next.excess.abs() < ENOUGH_METERS * 1e-4 {
                return share;
            }
            if (next.excess > 0.0) == (a.excess > 0.0) {
                b.excess *= if kept == 1 { 0.5 } else { 1.0 };
                (a, kept) = (next, 1);
            } else {
                a.excess *= if kept == -1 { 0.5 } else { 1.0 };
                (b, kept) = (next, -1);
            }
        }
        (a.share + b.share) / 2.0
    }
}

impl Segment {
    fn east(&self) -> f64 {
        eastward_degrees(self.from.longitude, self.to.longitude)
    }

    /// An upper bound, in metres, on the length of the piece between two shares.
    fn length_bound(&self, start: f64, end: f64) -> f64 {
        let (latitude, north) = (self.from.latitude, self.to.latitude - self.from.latitude);
        let (here, there) = (latitude + start * north, latitude + end * north);
        let nearest_equator = if here * there <= 0.0 { 0.0 } else { here.abs().min(there.abs()) };
        let share = end - start;
        let east = self.east() * share * nearest_equator.to_radians().cos();
        (north * share).hypot(east) * MOST_METERS_PER_DEGREE
    }

    /// Whether the piece spans few enough degrees of longitude for a circle to look round from it.
    fn is_plain(&self, start: f64, end: f64) -> bool {
        (self.east() * (end - start)).abs() < 5.0
    }
}
