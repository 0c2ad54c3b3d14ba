//! What the geometry says of a shape. STAND-IN until `waypost_actors::geofence` is merged: replace
//! the bodies of `checked` by its `validate`, `normalise` and `Shape::prepare`, and drop the rest.

use waypost_actors::model::{Place, Ring, ShapeSpec};

use crate::domain::field::FieldError;

/// A shape that is good, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checked {
    /// The shape, normalised.
    pub shape: ShapeSpec,
    /// West, south, east, north in degrees; west > east across the antimeridian.
    pub bbox: [f64; 4],
    /// On WGS 84.
    pub area_square_meters: f64,
}

/// Checks a shape; pointers begin with `/shape`.
pub(super) fn checked(shape: ShapeSpec) -> Result<Checked, Vec<FieldError>> {
    let shape = opened(shape);
    let rings = rings(&shape);
    let mut problems = Vec::new();
    for (pointer, ring) in &rings {
        if ring.len() < 3 && !pointer.ends_with("/center") {
            problems.push(FieldError::new(
                pointer,
                "tooFewPoints",
                "must have at least three distinct points",
            ));
        }
        for (i, place) in ring.iter().enumerate() {
            if !(-90.0..=90.0).contains(&place.latitude) || !(-180.0..=180.0).contains(&place.longitude) {
                let detail = "latitude must be -90 to 90 and longitude -180 to 180; latitude and longitude look swapped";
                problems.push(FieldError::new(format!("{pointer}/{i}"), "outOfRange", detail));
            }
        }
    }
    if let ShapeSpec::Circle(circle) = &shape
        && !(10.0..=100_000.0).contains(&circle.radius_meters)
    {
        problems.push(FieldError::new("/shape/radiusMeters", "outOfRange", "must be 10 to 100,000 metres"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let points: Vec<Place> = rings.into_iter().flat_map(|(_, ring)| ring).collect();
    let margin = match &shape {
        ShapeSpec::Circle(circle) => circle.radius_meters / 111_000.0,
        _ => 0.0,
    };
    let least = |f: fn(&Place) -> f64| points.iter().map(f).fold(f64::INFINITY, f64::min) - margin;
    let most = |f: fn(&Place) -> f64| points.iter().map(f).fold(f64::NEG_INFINITY, f64::max) + margin;
    let bbox = [least(|p| p.longitude), least(|p| p.latitude), most(|p| p.longitude), most(|p| p.latitude)];
    let area_square_meters = (bbox[2] - bbox[0]) * (bbox[3] - bbox[1]) * 111_000.0 * 111_000.0;
    Ok(Checked { shape, bbox, area_square_meters })
}

fn rings(shape: &ShapeSpec) -> Vec<(String, Ring)> {
    match shape {
        ShapeSpec::Circle(circle) => vec![("/shape/center".into(), vec![circle.center])],
        ShapeSpec::Polygon(polygon) => vec![("/shape/vertices".into(), polygon.vertices.clone())],
        ShapeSpec::MultiPolygon(parts) => parts
            .polygons
            .iter()
            .enumerate()
            .map(|(i, part)| (format!("/shape/polygons/{i}/vertices"), part.vertices.clone()))
            .collect(),
    }
}

fn opened(mut shape: ShapeSpec) -> ShapeSpec {
    let open = |ring: &mut Ring| {
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
    };
    let open_polygon = |polygon: &mut waypost_actors::model::Polygon| {
        open(&mut polygon.vertices);
        polygon.holes.iter_mut().for_each(open);
    };
    match &mut shape {
        ShapeSpec::Circle(_) => {}
        ShapeSpec::Polygon(polygon) => open_polygon(polygon),
        ShapeSpec::MultiPolygon(parts) => parts.polygons.iter_mut().for_each(open_polygon),
    }
    shape
}
