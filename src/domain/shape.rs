//! Parses the shape of a geofence. Checks its form only; whether the shape is valid is up to the geometry.

use serde_json::Value;
use waypost_actors::model::{Circle, MultiPolygon, Place, Polygon, Ring, ShapeSpec};

use super::field::{FieldError, MOST_ERRORS};
use super::members::{Members, Read};

/// Reads a shape; pointers begin with `at`.
pub fn read_shape(value: &Value, at: &str) -> Result<ShapeSpec, Vec<FieldError>> {
    let kind = value.get("type").and_then(Value::as_str);
    let mut members = Members::at(value, at.to_owned());
    members.any("type");
    match kind {
        Some("circle") => {
            let center = members.any("center");
            let center = place_at(center, &format!("{at}/center"), &mut members);
            let radius_meters = members.required("radiusMeters", any_number);
            members
                .finish(|| Some(ShapeSpec::Circle(Circle { center: center?, radius_meters: radius_meters? })))
        }
        Some("polygon") => {
            let polygon = read_polygon(&mut members, value, at);
            members.finish(|| polygon.map(ShapeSpec::Polygon))
        }
        Some("multiPolygon") => {
            let polygons = read_parts(&mut members, at);
            members.finish(|| Some(ShapeSpec::MultiPolygon(MultiPolygon { polygons: polygons? })))
        }
        _ if value.is_object() => {
            let detail = "must be one of circle, polygon, multiPolygon";
            Err(vec![FieldError::new(format!("{at}/type"), "value", detail)])
        }
        _ => Err(vec![FieldError::new(at, "type", "must be an object")]),
    }
}

fn read_polygon(members: &mut Members<'_>, value: &Value, at: &str) -> Option<Polygon> {
    members.any("vertices");
    members.any("holes");
    let mut problems = Vec::new();
    let vertices = read_ring(value.get("vertices"), &format!("{at}/vertices"), &mut problems);
    let holes = match value.get("holes") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(holes)) => holes
            .iter()
            .enumerate()
            .map_while(|(i, hole)| {
                (problems.len() < MOST_ERRORS)
                    .then(|| read_ring(Some(hole), &format!("{at}/holes/{i}"), &mut problems))
            })
            .collect(),
        Some(_) => {
            problems.push(FieldError::new(format!("{at}/holes"), "type", "must be a list of rings"));
            Vec::new()
        }
    };
    let is_good = problems.is_empty();
    members.extend(problems);
    is_good.then_some(Polygon { vertices, holes })
}

fn read_parts(members: &mut Members<'_>, at: &str) -> Option<Vec<Polygon>> {
    let Some(Value::Array(parts)) = members.any("polygons") else {
        members.problem("polygons", "type", "must be a list of polygons");
        return None;
    };
    let mut polygons = Vec::with_capacity(parts.len());
    let mut found = 0;
    for (i, part) in parts.iter().enumerate() {
        if found >= MOST_ERRORS {
            break;
        }
        let at = format!("{at}/polygons/{i}");
        let mut inner = Members::at(part, at.clone());
        let polygon = read_polygon(&mut inner, part, &at);
        match inner.finish(|| polygon) {
            Ok(polygon) => polygons.push(polygon),
            Err(problems) => {
                found += problems.len();
                members.extend(problems);
            }
        }
    }
    Some(polygons)
}

fn read_ring(value: Option<&Value>, at: &str, problems: &mut Vec<FieldError>) -> Ring {
    let Some(Value::Array(points)) = value else {
        problems.push(FieldError::new(at, "type", "must be a list of points"));
        return Ring::new();
    };
    let mut ring = Ring::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        if problems.len() >= MOST_ERRORS {
            break;
        }
        match read_place(point) {
            Some(place) => ring.push(place),
            None => {
                let detail = "must be {\"latitude\": degrees, \"longitude\": degrees} and nothing more";
                problems.push(FieldError::new(format!("{at}/{i}"), "type", detail));
            }
        }
    }
    ring
}

fn read_place(value: &Value) -> Option<Place> {
    let members = value.as_object().filter(|members| members.len() == 2)?;
    Some(Place::new(members.get("latitude")?.as_f64()?, members.get("longitude")?.as_f64()?))
}

fn place_at(value: Option<&Value>, at: &str, members: &mut Members<'_>) -> Option<Place> {
    let mut problems = Vec::new();
    let ring = read_ring(Some(&Value::Array(vec![value.cloned().unwrap_or_default()])), at, &mut problems);
    for problem in &mut problems {
        problem.pointer = at.to_owned();
    }
    members.extend(problems);
    ring.first().copied()
}

fn any_number(value: &Value) -> Read<f64> {
    value.as_f64().ok_or_else(|| ("type", "a number".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_more_problems_are_told_than_of_a_request() {
        let hole = json!({ "vertices": [], "holes": vec![0; 1_000] });
        for shape in [
            json!({ "type": "polygon", "vertices": [], "holes": vec![0; 1_000] }),
            json!({ "type": "multiPolygon", "polygons": vec![hole; 50] }),
            json!({ "type": "multiPolygon", "polygons": vec![0; 1_000] }),
        ] {
            let told = read_shape(&shape, "/shape").unwrap_err().len();
            assert!((100..=201).contains(&told), "{told}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let p = |latitude: f64, longitude: f64| json!({ "latitude": latitude, "longitude": longitude });
        let ring = json!([p(0.0, 0.0), p(0.0, 1.0), p(1.0, 0.0)]);
        for shape in [
            json!({ "type": "circle", "center": p(1.0, 2.0), "radiusMeters": 50.0 }),
            json!({ "type": "polygon", "vertices": ring, "holes": [ring] }),
            json!({ "type": "multiPolygon", "polygons": [{ "vertices": ring }, { "vertices": ring }] }),
        ] {
            let read = read_shape(&shape, "/shape").unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), shape);
        }
    }

    #[test]
    fn what_is_badly_written_is_pointed_at() {
        let good = json!({ "latitude": 1, "longitude": 2 });
        for (shape, pointer) in [
            (json!(7), "/shape"),
            (json!({ "type": "square" }), "/shape/type"),
            (json!({ "type": "circle", "center": good }), "/shape/radiusMeters"),
            (json!({ "type": "circle", "radiusMeters": 50 }), "/shape/center"),
            (
                json!({ "type": "circle", "center": good, "radiusMeters": 50, "vertices": [] }),
                "/shape/vertices",
            ),
            (json!({ "type": "polygon", "vertices": [good, [1, 2]] }), "/shape/vertices/1"),
            (json!({ "type": "polygon", "vertices": [good], "holes": [[good, "x"]] }), "/shape/holes/0/1"),
            (
                json!({ "type": "multiPolygon", "polygons": [{ "vertices": 1 }] }),
                "/shape/polygons/0/vertices",
            ),
        ] {
            let problems = read_shape(&shape, "/shape").unwrap_err();
            assert_eq!(problems[0].pointer, pointer, "{shape}");
        }
    }
}
