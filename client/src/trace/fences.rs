//! Fences beside traces: a GeoJSON feature collection of polygons, and a JSON list of circles.

use serde::Deserialize;
use waypost_actors::model::{Circle, MultiPolygon, Place, Polygon, Ring, ShapeSpec};

/// A fence of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedShape {
    /// `properties.id` or else `properties.name`; a circle's `id`.
    pub id: String,
    /// `properties.name` or else the id.
    pub name: String,
    /// The shape.
    pub shape: ShapeSpec,
}

/// Why a file of fences cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FenceFileError {
    /// Not the JSON expected.
    #[error("not the JSON expected: {0}")]
    Json(#[from] serde_json::Error),
    /// A feature without a name.
    #[error("feature {0} has neither properties.id nor properties.name")]
    Nameless(usize),
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
    id: Option<String>,
    name: Option<String>,
}

type Rings = Vec<Vec<(f64, f64)>>;

#[derive(Deserialize)]
#[serde(tag = "type", content = "coordinates")]
enum Geometry {
    Polygon(Rings),
    MultiPolygon(Vec<Rings>),
}

#[derive(Deserialize)]
struct CircleRow {
    id: String,
    name: Option<String>,
    lat: f64,
    lon: f64,
    radius_m: f64,
}

/// Reads the polygons of a GeoJSON feature collection. A multipolygon of one part is a polygon.
pub fn polygons(json: &[u8]) -> Result<Vec<NamedShape>, FenceFileError> {
    let collection: Collection = serde_json::from_slice(json)?;
    collection.features.into_iter().enumerate().map(|(index, feature)| named(index, feature)).collect()
}

/// Reads a list of circles: `id, lat, lon, radius_m`, and `name` where present.
pub fn circles(json: &[u8]) -> Result<Vec<NamedShape>, FenceFileError> {
    let rows: Vec<CircleRow> = serde_json::from_slice(json)?;
    let circle =
        |row: &CircleRow| Circle { center: Place::new(row.lat, row.lon), radius_meters: row.radius_m };
    let shape = |row: CircleRow| NamedShape {
        shape: ShapeSpec::Circle(circle(&row)),
        name: row.name.unwrap_or_else(|| row.id.clone()),
        id: row.id,
    };
    Ok(rows.into_iter().map(shape).collect())
}

fn named(index: usize, feature: Feature) -> Result<NamedShape, FenceFileError> {
    let Properties { id, name } = feature.properties;
    let id = id.or_else(|| name.clone()).ok_or(FenceFileError::Nameless(index))?;
    let shape = match feature.geometry {
        Geometry::Polygon(rings) => ShapeSpec::Polygon(polygon(rings)),
        Geometry::MultiPolygon(parts) => {
            let mut polygons: Vec<_> = parts.into_iter().map(polygon).collect();
            match polygons.pop() {
                Some(only) if polygons.is_empty() => ShapeSpec::Polygon(only),
                last => {
                    polygons.extend(last);
                    ShapeSpec::MultiPolygon(MultiPolygon { polygons })
                }
            }
        }
    };
    Ok(NamedShape { name: name.unwrap_or_else(|| id.clone()), id, shape })
}

fn polygon(rings: Rings) -> Polygon {
    let mut rings = rings.into_iter().map(ring);
    Polygon { vertices: rings.next().unwrap_or_default(), holes: rings.collect() }
}

/// GeoJSON repeats a ring's first point at its end; Waypost does not.
fn ring(points: Vec<(f64, f64)>) -> Ring {
    let mut ring: Ring =
        points.into_iter().map(|(longitude, latitude)| Place { latitude, longitude }).collect();
    if ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_parts_and_names_come_over() {
        let json = br#"{"type":"FeatureCollection","features":[
            {"type":"Feature","properties":{"id":"a","name":"A"},"geometry":{"type":"MultiPolygon","coordinates":
              [[[[0,0],[4,0],[4,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]]}},
            {"type":"Feature","properties":{"name":"B"},"geometry":{"type":"MultiPolygon","coordinates":
              [[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]}}]}"#;
        let fences = polygons(json).unwrap();
        let ShapeSpec::Polygon(first) = &fences[0].shape else { panic!("{:?}", fences[0]) };
        assert_eq!((first.vertices.len(), first.holes.len()), (3, 1));
        assert_eq!(first.vertices[1], Place::new(0.0, 4.0));
        let ShapeSpec::MultiPolygon(second) = &fences[1].shape else { panic!("{:?}", fences[1]) };
        assert_eq!(second.polygons.len(), 2);
        assert_eq!((fences[0].name.as_str(), fences[1].id.as_str()), ("A", "B"));
        assert!(matches!(
            polygons(br#"{"features":[{"properties":{},"geometry":{"type":"Polygon","coordinates":[]}}]}"#),
            Err(FenceFileError::Nameless(0))
        ));
    }

    #[test]
    fn circles_keep_their_radius() {
        let found = circles(br#"[{"id":"c1","lat":30.1,"lon":-97.7,"radius_m":50}]"#).unwrap();
        let want = Circle { center: Place::new(30.1, -97.7), radius_meters: 50.0 };
        assert_eq!(found[0].shape, ShapeSpec::Circle(want));
        assert_eq!(found[0].name, "c1");
    }
}
