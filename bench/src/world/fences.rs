//! Fences: star-shaped smooth rings and circles, as the server takes them and as the oracle sees them.

use std::f64::consts::TAU;

use geo::{Coord, LineString, Polygon};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::{Mix, SOUTH, WEST, WIDTH, World};

/// Boxes over a random point, on average.
const OVERLAP: f64 = 1.5;
/// Centres of the clusters of [`Mix::Real`].
const CENTRES: usize = 200;
/// Metres in a degree of latitude, near enough to draw with.
const METERS_PER_DEGREE: f64 = 111_195.0;

/// A fence's shape.
#[derive(Clone, Debug)]
pub(crate) enum Outline {
    /// A ring, with holes or without.
    Rings(Polygon),
    /// A geodesic circle: centre (x longitude, y latitude) and metres.
    Circle(Coord, f64),
}

impl Outline {
    /// South-west and north-east corner of a box around it.
    pub(crate) fn corners(&self) -> (Coord, Coord) {
        match self {
            Self::Rings(polygon) => polygon.exterior().coords().fold(
                (Coord { x: f64::MAX, y: f64::MAX }, Coord { x: f64::MIN, y: f64::MIN }),
                |(low, high), point| {
                    let low = Coord { x: low.x.min(point.x), y: low.y.min(point.y) };
                    (low, Coord { x: high.x.max(point.x), y: high.y.max(point.y) })
                },
            ),
            Self::Circle(center, meters) => {
                let high = meters / METERS_PER_DEGREE * 1.02;
                let wide = high / center.y.to_radians().cos() * 1.02;
                let corner = |sign: f64| Coord { x: center.x + sign * wide, y: center.y + sign * high };
                (corner(-1.0), corner(1.0))
            }
        }
    }

    /// A place that is inside.
    pub(crate) fn middle(&self) -> Coord {
        match self {
            Self::Rings(_) => {
                let (low, high) = self.corners();
                Coord { x: f64::midpoint(low.x, high.x), y: f64::midpoint(low.y, high.y) }
            }
            Self::Circle(center, _) => *center,
        }
    }

    /// The `shape` member of a geofence.
    pub(crate) fn to_json(&self) -> Value {
        let ring = |line: &LineString| -> Vec<Value> {
            let open = line.coords().take(line.0.len() - 1);
            open.map(|point| json!({ "latitude": point.y, "longitude": point.x })).collect()
        };
        match self {
            Self::Rings(polygon) => json!({
                "type": "polygon",
                "vertices": ring(polygon.exterior()),
                "holes": polygon.interiors().iter().map(ring).collect::<Vec<_>>(),
            }),
            Self::Circle(center, meters) => json!({
                "type": "circle",
                "center": { "latitude": center.y, "longitude": center.x },
                "radiusMeters": meters,
            }),
        }
    }

    /// Its rings as GeoJSON coordinates; none of a circle.
    pub(crate) fn coordinates(&self) -> Option<Vec<Vec<[f64; 2]>>> {
        let Self::Rings(polygon) = self else { return None };
        let ring = |line: &LineString| line.coords().map(|point| [point.x, point.y]).collect();
        Some(std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect())
    }
}

/// The fences of a world, by number.
pub(crate) fn make_fences(world: &World) -> Vec<Outline> {
    let mut dice = StdRng::seed_from_u64(world.seed ^ 0xfe9c_e500);
    let side = (OVERLAP * WIDTH * WIDTH / f64::from(world.fences.max(1))).sqrt();
    let radius = side * 0.43;
    let anywhere = |dice: &mut StdRng| Coord {
        x: WEST + dice.random_range(0.0..WIDTH),
        y: SOUTH + dice.random_range(0.0..WIDTH),
    };
    match world.mix {
        Mix::Poly => (0..world.fences)
            .map(|_| {
                let center = anywhere(&mut dice);
                Outline::Rings(Polygon::new(ring(center, radius, world.vertices, &mut dice), vec![]))
            })
            .collect(),
        Mix::Real => {
            let centres: Vec<Coord> = (0..CENTRES).map(|_| anywhere(&mut dice)).collect();
            (0..world.fences).map(|_| real(&centres, radius, &mut dice)).collect()
        }
        Mix::One => {
            let middle = Coord { x: WEST + WIDTH / 2.0, y: SOUTH + WIDTH / 2.0 };
            vec![Outline::Rings(Polygon::new(ring(middle, WIDTH, world.vertices, &mut dice), vec![]))]
        }
    }
}

fn real(centres: &[Coord], radius: f64, dice: &mut StdRng) -> Outline {
    // Zipf: the first centre has the most.
    let rank = (centres.len() as f64).powf(dice.random_range(0.0..1.0)) as usize;
    let centre = centres[rank.min(centres.len()) - 1];
    let mut off = || dice.random_range(-8.0..8.0) * radius;
    let center = Coord {
        x: (centre.x + off()).clamp(WEST + 0.01, WEST + WIDTH - 0.01),
        y: (centre.y + off()).clamp(SOUTH + 0.01, SOUTH + WIDTH - 0.01),
    };
    match dice.random_range(0..100) {
        0..60 => {
            let vertices = dice.random_range(10..=100);
            Outline::Rings(Polygon::new(ring(center, radius, vertices, dice), vec![]))
        }
        60..90 => Outline::Circle(rounded(center), (radius * METERS_PER_DEGREE).round()),
        90..99 => Outline::Rings(Polygon::new(ring(center, radius, 1_000, dice), vec![])),
        _ => {
            let hole = ring(center, radius * 0.2, 500, dice);
            Outline::Rings(Polygon::new(ring(center, radius, 9_500, dice), vec![hole]))
        }
    }
}

/// Radius 1 plus four harmonics, closed. Seven decimals, so that a text of it reads back the same.
fn ring(center: Coord, radius: f64, vertices: u32, dice: &mut StdRng) -> LineString {
    let waves: Vec<(f64, f64)> =
        (0..4).map(|k| (dice.random_range(0.0..TAU), 0.25 / f64::from(k + 1))).collect();
    let point = |number: u32| {
        let angle = f64::from(number) / f64::from(vertices) * TAU;
        let wave = |(k, (phase, size)): (usize, &(f64, f64))| size * ((k + 2) as f64 * angle + phase).sin();
        let factor = 1.0 + waves.iter().enumerate().map(wave).sum::<f64>().max(-0.7);
        let (sin, cos) = angle.sin_cos();
        rounded(Coord { x: center.x + radius * factor * cos, y: center.y + radius * factor * sin })
    };
    let mut points: Vec<Coord> = (0..vertices).map(point).collect();
    points.push(points[0]);
    points.dedup();
    LineString(points)
}

/// Seven decimals, as devices have it.
pub(crate) fn rounded(point: Coord) -> Coord {
    let round = |degrees: f64| (degrees * 1e7).round() / 1e7;
    Coord { x: round(point.x), y: round(point.y) }
}
