//! The geometry through its public interface: what is covered, crossed, near and refused.

mod boundary;
mod circles;
mod crossings;
mod fences;
mod grid;
mod index;
mod meridian;
mod refusals;
mod simplicity;
mod vincenty;

use waypost_actors::geofence::Shape;
use waypost_actors::model::{Circle, MultiPolygon, Place, Polygon, Ring, ShapeSpec};

/// A place from longitude and latitude, the order of plane geometry.
pub(crate) fn at(x: f64, y: f64) -> Place {
    Place::new(y, x)
}

pub(crate) fn ring(points: &[(f64, f64)]) -> Ring {
    points.iter().map(|&(x, y)| at(x, y)).collect()
}

pub(crate) fn rectangle(west: f64, south: f64, east: f64, north: f64) -> Ring {
    ring(&[(west, south), (east, south), (east, north), (west, north)])
}

pub(crate) fn polygon(vertices: Ring, holes: Vec<Ring>) -> ShapeSpec {
    ShapeSpec::Polygon(Polygon { vertices, holes })
}

pub(crate) fn multi(parts: Vec<(Ring, Vec<Ring>)>) -> ShapeSpec {
    let polygons = parts.into_iter().map(|(vertices, holes)| Polygon { vertices, holes }).collect();
    ShapeSpec::MultiPolygon(MultiPolygon { polygons })
}

pub(crate) fn circle(x: f64, y: f64, radius_meters: f64) -> ShapeSpec {
    ShapeSpec::Circle(Circle { center: at(x, y), radius_meters })
}

/// A valid shape, prepared.
pub(crate) fn prepared(spec: &ShapeSpec) -> Shape {
    assert_eq!(waypost_actors::geofence::validate(spec), Ok(()), "{spec:?}");
    Shape::prepare(spec)
}

/// Moves every longitude, exactly for numbers with few binary digits.
pub(crate) fn moved(spec: &ShapeSpec, degrees: f64) -> ShapeSpec {
    let shift = |ring: &Ring| ring.iter().map(|p| moved_place(*p, degrees)).collect::<Ring>();
    let part = |p: &Polygon| (shift(&p.vertices), p.holes.iter().map(shift).collect::<Vec<_>>());
    match spec {
        ShapeSpec::Circle(c) => ShapeSpec::Circle(Circle {
            center: moved_place(c.center, degrees),
            radius_meters: c.radius_meters,
        }),
        ShapeSpec::Polygon(p) => polygon(part(p).0, part(p).1),
        ShapeSpec::MultiPolygon(m) => multi(m.polygons.iter().map(part).collect()),
    }
}

pub(crate) fn moved_place(place: Place, degrees: f64) -> Place {
    let longitude = (place.longitude + degrees + 180.0).rem_euclid(360.0) - 180.0;
    Place::new(place.latitude, longitude)
}

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number in [0, 1).
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.share() * (high - low)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.share() * count as f64) as usize
    }
}
