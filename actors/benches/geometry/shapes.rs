//! Fences to measure on, drawn and real, and the plain loops they are compared with.

use std::io::Read;

use geo::{Coord, LineString, MultiPolygon};
use serde::Deserialize;
use waypost_actors::geofence::Shape;
use waypost_actors::model::{self, Place, Polygon, Ring, ShapeSpec};

/// Where the drawn fences lie, in degrees: a country of this width.
pub(crate) const WIDTH: f64 = 8.0;
const SOUTH: f64 = 46.0;
const WEST: f64 = 6.0;

/// A fence with its name and number of vertices.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) spec: ShapeSpec,
    pub(crate) vertices: usize,
}

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * (high - low)
    }

    /// Anywhere in the country.
    pub(crate) fn place(&mut self) -> Place {
        Place::new(self.between(SOUTH, SOUTH + WIDTH), self.between(WEST, WEST + WIDTH))
    }

    pub(crate) fn near(&mut self, place: Place, degrees: f64) -> Place {
        let mut off = || self.between(-degrees, degrees);
        Place::new(place.latitude + off(), place.longitude + off())
    }
}

pub(crate) fn ring_fence(kind: &str, vertices: usize, ragged: bool) -> Named {
    let spec = ring_at(Place::new(48.0, 10.0), 0.05, vertices, ragged, &mut Dice(vertices as u64));
    Named { name: kind.to_owned(), spec, vertices }
}

/// A round outline with waves, or one whose every vertex has a distance of its own from the centre.
pub(crate) fn ring_at(
    center: Place,
    radius: f64,
    vertices: usize,
    ragged: bool,
    dice: &mut Dice,
) -> ShapeSpec {
    let phase = dice.between(0.0, std::f64::consts::TAU);
    let vertex = |number: usize| {
        let angle = number as f64 / vertices as f64 * std::f64::consts::TAU;
        let wave = 1.0 + 0.1 * (3.0 * angle + phase).sin();
        let factor = if ragged { dice.between(0.3, 1.0) } else { wave };
        let (sin, cos) = angle.sin_cos();
        Place::new(center.latitude + radius * factor * sin, center.longitude + radius * factor * cos)
    };
    ShapeSpec::Polygon(Polygon { vertices: (0..vertices).map(vertex).collect(), holes: vec![] })
}

#[derive(Deserialize)]
struct Collection {
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    properties: Properties,
    geometry: Geometry,
}

#[derive(Deserialize)]
struct Properties {
    id: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "coordinates")]
enum Geometry {
    Polygon(Vec<Vec<(f64, f64)>>),
    MultiPolygon(Vec<Vec<Vec<(f64, f64)>>>),
}

/// The demo's fences, or those of `WAYPOST_BENCH_FENCES`.
pub(crate) fn real_fences() -> Vec<Named> {
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/../demo/fences.geojson.gz");
    let path = std::env::var("WAYPOST_BENCH_FENCES").unwrap_or_else(|_| bundled.to_owned());
    let content = std::fs::read(&path).expect("the file of fences can be read");
    let mut text = Vec::new();
    if path.ends_with(".gz") {
        flate2::read::GzDecoder::new(&content[..]).read_to_end(&mut text).expect("gzip");
    } else {
        text = content;
    }
    let collection: Collection = serde_json::from_slice(&text).expect("GeoJSON of polygons");
    collection.features.into_iter().map(named).collect()
}

fn named(feature: Feature) -> Named {
    let parts = match feature.geometry {
        Geometry::Polygon(rings) => vec![rings],
        Geometry::MultiPolygon(parts) => parts,
    };
    let vertices = parts.iter().flatten().map(|ring| ring.len() - 1).sum();
    let ring = |points: Vec<(f64, f64)>| -> Ring {
        points.iter().skip(1).map(|&(longitude, latitude)| Place { latitude, longitude }).collect()
    };
    let polygons = parts.into_iter().map(|rings| {
        let mut rings = rings.into_iter().map(ring);
        Polygon { vertices: rings.next().unwrap_or_default(), holes: rings.collect() }
    });
    let spec = ShapeSpec::MultiPolygon(model::MultiPolygon { polygons: polygons.collect() });
    Named { name: feature.properties.id, spec, vertices }
}

/// The same in `geo`'s types, whose questions look at every edge.
pub(crate) fn plane(spec: &ShapeSpec) -> MultiPolygon {
    let line = |ring: &Ring| -> LineString {
        let mut line: Vec<Coord> =
            ring.iter().map(|place| Coord { x: place.longitude, y: place.latitude }).collect();
        line.extend(line.first().copied());
        line.into()
    };
    let part =
        |part: &Polygon| geo::Polygon::new(line(&part.vertices), part.holes.iter().map(line).collect());
    match spec {
        ShapeSpec::Polygon(polygon) => MultiPolygon::new(vec![part(polygon)]),
        ShapeSpec::MultiPolygon(multi) => multi.polygons.iter().map(part).collect(),
        ShapeSpec::Circle(_) => MultiPolygon::new(vec![]),
    }
}

/// A place in the shape's first box or this share of it around.
pub(crate) fn around(shape: &Shape, share: f64, dice: &mut Dice) -> Place {
    let area = shape.boxes().next().expect("every shape has a box");
    let (high, wide) = ((area.north - area.south) * share, (area.east - area.west) * share);
    Place::new(
        dice.between(area.south - high, area.north + high),
        dice.between(area.west - wide, area.east + wide),
    )
}

/// How many edges the way meets, by looking at each.
pub(crate) fn brute_crossings(plane: &MultiPolygon, from: Place, to: Place) -> usize {
    use geo::{Intersects, Line};
    let way = Line::new((from.longitude, from.latitude), (to.longitude, to.latitude));
    let (low, high) = (way.start.y.min(way.end.y), way.start.y.max(way.end.y));
    let (west, east) = (way.start.x.min(way.end.x), way.start.x.max(way.end.x));
    let rings = plane.iter().flat_map(|part| std::iter::once(part.exterior()).chain(part.interiors()));
    let beside = |edge: &Line| {
        edge.start.y.max(edge.end.y) < low
            || edge.start.y.min(edge.end.y) > high
            || edge.start.x.max(edge.end.x) < west
            || edge.start.x.min(edge.end.x) > east
    };
    rings.flat_map(LineString::lines).filter(|edge| !beside(edge) && edge.intersects(&way)).count()
}
