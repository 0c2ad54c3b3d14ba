//! Geofences as GeoJSON (RFC 7946): a Feature in and out, a circle as a Point with `radiusMeters`.
//!
//! Translates both ways, including the pointers of problems; whether a geofence is valid is decided elsewhere.

use serde_json::{Map, Value, json};
use waypost_actors::model::{Place, Polygon, Ring, ShapeSpec};

use crate::domain::field::FieldError;
use crate::domain::members::escaped;

/// The media type.
pub const MEDIA_TYPE: &str = "application/geo+json";

/// A Feature as the members of a new geofence. Its id is that of whatever made it.
pub fn from_new_feature(mut feature: Value) -> Result<Value, Vec<FieldError>> {
    feature.as_object_mut().and_then(|members| members.remove("id"));
    from_feature(feature)
}

/// A Feature as the members of a geofence.
pub fn from_feature(feature: Value) -> Result<Value, Vec<FieldError>> {
    let fail = |pointer: &str, detail: &str| Err(vec![FieldError::new(pointer, "value", detail)]);
    let Value::Object(mut members) = feature else { return fail("", "must be a GeoJSON Feature") };
    if members.get("type").and_then(Value::as_str) != Some("Feature") {
        return fail("/type", "must be Feature");
    }
    let known = ["type", "id", "bbox", "geometry", "properties"];
    if let Some(name) = members.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(vec![FieldError::new(format!("/{}", escaped(name)), "unknown", "is not known")]);
    }
    let mut body = match members.remove("properties") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(properties)) => properties,
        Some(_) => return fail("/properties", "must be an object"),
    };
    if let Some(id) = members.remove("id") {
        body.insert("id".to_owned(), id);
    }
    if body.contains_key("shape") {
        return fail("/properties/shape", "must be left out: the geometry says it");
    }
    let radius = body.remove("radiusMeters");
    let geometry = members.get("geometry").filter(|geometry| !geometry.is_null());
    if radius.is_some() && geometry.is_none_or(|geometry| geometry["type"] != "Point") {
        return fail("/properties/radiusMeters", "must be left out but with a Point as the geometry");
    }
    if let Some(geometry) = geometry {
        body.insert("shape".to_owned(), shape(geometry, radius)?);
    }
    Ok(Value::Object(body))
}

fn shape(geometry: &Value, radius: Option<Value>) -> Result<Value, Vec<FieldError>> {
    let at = "/geometry/coordinates";
    let coordinates = &geometry["coordinates"];
    match geometry["type"].as_str() {
        Some("Point") => {
            let center = place(coordinates, at)?;
            let mut circle = json!({ "type": "circle", "center": center });
            if let Some(radius) = radius {
                circle["radiusMeters"] = radius;
            }
            Ok(circle)
        }
        Some("Polygon") => {
            let mut polygon = polygon(coordinates, at)?;
            polygon["type"] = json!("polygon");
            Ok(polygon)
        }
        Some("MultiPolygon") => {
            let parts = list(coordinates, at)?.iter().enumerate();
            let parts: Result<Vec<Value>, _> =
                parts.map(|(i, part)| polygon(part, &format!("{at}/{i}"))).collect();
            Ok(json!({ "type": "multiPolygon", "polygons": parts? }))
        }
        _ => {
            let detail = "must be Point (with radiusMeters), Polygon or MultiPolygon";
            Err(vec![FieldError::new("/geometry/type", "value", detail)])
        }
    }
}

fn polygon(coordinates: &Value, at: &str) -> Result<Value, Vec<FieldError>> {
    let rings = list(coordinates, at)?.iter().enumerate();
    let rings: Result<Vec<Value>, _> = rings.map(|(i, points)| ring(points, &format!("{at}/{i}"))).collect();
    let mut rings = rings?.into_iter();
    let vertices = rings.next().unwrap_or_else(|| json!([]));
    let holes: Vec<Value> = rings.collect();
    Ok(json!({ "vertices": vertices, "holes": holes }))
}

fn ring(points: &Value, at: &str) -> Result<Value, Vec<FieldError>> {
    let points = list(points, at)?.iter().enumerate();
    let places: Result<Vec<Value>, _> =
        points.map(|(i, position)| place(position, &format!("{at}/{i}"))).collect();
    Ok(Value::Array(places?))
}

fn list<'v>(value: &'v Value, at: &str) -> Result<&'v Vec<Value>, Vec<FieldError>> {
    value.as_array().ok_or_else(|| vec![FieldError::new(at, "type", "must be a list")])
}

/// A position without anything after longitude and latitude, such as an altitude.
fn place(position: &Value, at: &str) -> Result<Value, Vec<FieldError>> {
    let number = |i: usize| position.get(i).filter(|value| value.is_number());
    match (number(0), number(1)) {
        (Some(longitude), Some(latitude)) => Ok(json!({ "latitude": latitude, "longitude": longitude })),
        _ => Err(vec![FieldError::new(at, "type", "must be [longitude, latitude]")]),
    }
}

/// Translates the pointer of a geofence's problem into a Feature.
#[must_use]
pub fn pointer_in_feature(pointer: &str) -> String {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let ["shape", place @ ..] = parts.as_slice() else {
        return match parts.as_slice() {
            [] | ["id", ..] => pointer.to_owned(),
            _ => format!("/properties{pointer}"),
        };
    };
    let at = "/geometry/coordinates";
    let hole = |i: &str| i.parse::<usize>().map_or(0, |i| i + 1);
    let joined = |rest: &[&str]| {
        let axis = |part: &&str| match *part {
            "longitude" => "0".to_owned(),
            "latitude" => "1".to_owned(),
            index => index.to_owned(),
        };
        rest.iter().map(|part| format!("/{}", axis(part))).collect::<String>()
    };
    match place {
        ["radiusMeters"] => "/properties/radiusMeters".to_owned(),
        ["center", rest @ ..] => format!("{at}{}", joined(rest)),
        ["vertices", rest @ ..] => format!("{at}/0{}", joined(rest)),
        ["holes", i, rest @ ..] => format!("{at}/{}{}", hole(i), joined(rest)),
        ["polygons", p, "vertices", rest @ ..] => format!("{at}/{p}/0{}", joined(rest)),
        ["polygons", p, "holes", i, rest @ ..] => format!("{at}/{p}/{}{}", hole(i), joined(rest)),
        ["polygons", rest @ ..] => format!("{at}{}", joined(rest)),
        _ => "/geometry".to_owned(),
    }
}

/// Converts a geofence, in the form of the plain interface, to a Feature.
#[must_use]
pub fn to_feature(mut geofence: Value, shape: Option<&ShapeSpec>) -> Value {
    let mut take =
        |name: &str| geofence.as_object_mut().and_then(|members| members.remove(name)).unwrap_or_default();
    let (id, bbox, _) = (take("id"), take("bbox"), take("shape"));
    if let Some(ShapeSpec::Circle(circle)) = shape {
        geofence["radiusMeters"] = json!(circle.radius_meters);
    }
    let geometry = shape.map_or(Value::Null, geometry);
    json!({ "type": "Feature", "id": id, "bbox": bbox, "geometry": geometry, "properties": geofence })
}

fn geometry(shape: &ShapeSpec) -> Value {
    match shape {
        ShapeSpec::Circle(circle) => json!({ "type": "Point", "coordinates": position(&circle.center) }),
        ShapeSpec::Polygon(polygon) => json!({ "type": "Polygon", "coordinates": coordinates(polygon) }),
        ShapeSpec::MultiPolygon(parts) => {
            let parts: Vec<Value> = parts.polygons.iter().map(coordinates).collect();
            json!({ "type": "MultiPolygon", "coordinates": parts })
        }
    }
}

fn coordinates(polygon: &Polygon) -> Value {
    let outer = std::iter::once(closed(&polygon.vertices, true));
    Value::Array(outer.chain(polygon.holes.iter().map(|hole| closed(hole, false))).collect())
}

fn position(place: &Place) -> Value {
    json!([place.longitude, place.latitude])
}

/// A ring by the right-hand rule (the outer one counterclockwise), with its first position repeated.
fn closed(ring: &Ring, is_outer: bool) -> Value {
    let mut positions: Vec<Value> = ring.iter().map(position).collect();
    if (doubled_area(ring) > 0.0) != is_outer {
        positions.reverse();
    }
    positions.extend(positions.first().cloned());
    Value::Array(positions)
}

/// Twice the signed area in square degrees, with edges the shorter way round; positive if counterclockwise.
fn doubled_area(ring: &Ring) -> f64 {
    let Some(first) = ring.first() else { return 0.0 };
    let east = |from: f64, to: f64| (to - from + 540.0).rem_euclid(360.0) - 180.0;
    let (mut doubled, mut x, mut before) = (0.0, 0.0, first);
    for place in ring.iter().skip(1).chain([first]) {
        // Step by step, since the ring as a whole may be wider than half the world.
        let next = x + east(before.longitude, place.longitude);
        doubled += x * place.latitude - next * before.latitude;
        (x, before) = (next, place);
    }
    doubled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::shape::read_shape;

    #[test]
    fn a_polygon_with_a_hole_comes_back_by_the_right_hand_rule() {
        let clockwise = json!([[0.0, 0.0], [0.0, 4.0], [4.0, 4.0], [4.0, 0.0], [0.0, 0.0]]);
        let hole = json!([[1.0, 1.0], [2.0, 1.0], [2.0, 2.0], [1.0, 1.0]]);
        let feature = json!({ "type": "Feature", "properties": { "name": "x" },
            "geometry": { "type": "Polygon", "coordinates": [clockwise, hole] } });
        let body = from_feature(feature.clone()).unwrap();
        let ShapeSpec::Polygon(mut polygon) = read_shape(&body["shape"], "/shape").unwrap() else {
            panic!("a polygon")
        };
        polygon.vertices.pop();
        polygon.holes[0].pop();
        let out = to_feature(body, Some(&ShapeSpec::Polygon(polygon)));
        assert_eq!(
            out["geometry"]["coordinates"],
            json!([
                [[4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0], [4.0, 0.0]],
                [[2.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
            ])
        );
        assert_eq!(out["properties"], json!({ "name": "x" }));
    }

    #[test]
    fn a_ring_wider_than_half_the_world_is_written_counterclockwise_too() {
        let ring = [[-170.0, 0.0], [0.0, 0.0], [170.0, 0.0], [170.0, 10.0], [0.0, 10.0], [-170.0, 10.0]];
        let mut vertices: Ring = ring.iter().map(|[x, y]| Place::new(*y, *x)).collect();
        for _ in 0..2 {
            let outer = closed(&vertices, true);
            let at = |place: [f64; 2]| outer.as_array().unwrap().iter().position(|p| *p == json!(place));
            assert!(at([0.0, 0.0]).unwrap() < at([170.0, 0.0]).unwrap(), "{outer}");
            vertices = vertices.into_iter().rev().collect();
            vertices.rotate_left(1);
        }
    }

    #[test]
    fn a_circle_is_a_point_with_a_radius() {
        let feature = json!({ "type": "Feature", "properties": { "name": "x", "radiusMeters": 50.0 },
            "geometry": { "type": "Point", "coordinates": [8.0, 50.0] } });
        let body = from_feature(feature.clone()).unwrap();
        let shape = read_shape(&body["shape"], "/shape").unwrap();
        let out = to_feature(body, Some(&shape));
        assert_eq!(out["geometry"], feature["geometry"]);
        assert_eq!(out["properties"], feature["properties"]);
    }

    #[test]
    fn problems_are_placed_where_the_client_wrote() {
        for (ours, theirs) in [
            ("/name", "/properties/name"),
            ("/rules/maxGapSeconds", "/properties/rules/maxGapSeconds"),
            ("/shape/radiusMeters", "/properties/radiusMeters"),
            ("/shape/center/latitude", "/geometry/coordinates/1"),
            ("/shape/vertices/7", "/geometry/coordinates/0/7"),
            ("/shape/holes/2/7", "/geometry/coordinates/3/7"),
            ("/shape/polygons/1/vertices/7/longitude", "/geometry/coordinates/1/0/7/0"),
            ("/shape/polygons/1/holes/0", "/geometry/coordinates/1/1"),
            ("/shape", "/geometry"),
        ] {
            assert_eq!(pointer_in_feature(ours), theirs);
        }
    }
}
