//! Geometric validation of a shape.

use waypost_actors::geofence::{self, GeoBox, Shape};
use waypost_actors::model::ShapeSpec;

use crate::domain::field::FieldError;

/// A valid shape, with what is derived from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checked {
    /// The shape, normalised.
    pub shape: ShapeSpec,
    /// West, south, east, north in degrees; west > east across the antimeridian.
    pub bbox: [f64; 4],
    /// The area on WGS 84.
    pub area_square_meters: f64,
}

/// Checks a shape; pointers begin with `/shape`. Thousands of vertices take milliseconds, so call it off the async
/// threads.
pub(super) fn checked(shape: ShapeSpec) -> Result<Checked, Vec<FieldError>> {
    geofence::validate(&shape).map_err(|problems| {
        let field = |problem: geofence::ShapeProblem| {
            FieldError::new(format!("/shape{}", problem.pointer), problem.code, problem.detail)
        };
        problems.into_iter().map(field).collect::<Vec<_>>()
    })?;
    let shape = geofence::normalise(shape);
    let prepared = Shape::prepare(&shape);
    let boxes: Vec<GeoBox> = prepared.boxes().collect();
    Ok(Checked { bbox: bbox(&boxes), area_square_meters: prepared.area_square_meters(), shape })
}

/// Merges the boxes: two sides of the antimeridian become one box with west > east.
fn bbox(boxes: &[GeoBox]) -> [f64; 4] {
    let least = |of: fn(&GeoBox) -> f64| boxes.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&GeoBox) -> f64| boxes.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (south, north) = (least(|b| b.south), most(|b| b.north));
    match boxes {
        [_, _] => [most(|b| b.west), south, least(|b| b.east), north],
        _ => [least(|b| b.west), south, most(|b| b.east), north],
    }
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::{Circle, Place};

    use super::*;

    fn circle(longitude: f64) -> ShapeSpec {
        ShapeSpec::Circle(Circle { center: Place::new(0.0, longitude), radius_meters: 1000.0 })
    }

    #[test]
    fn a_box_across_the_antimeridian_has_its_west_in_the_east() {
        let [west, _, east, _] = checked(circle(180.0)).unwrap().bbox;
        assert!(west > 179.9 && east < -179.9, "{west} {east}");
        let [west, south, east, north] = checked(circle(10.0)).unwrap().bbox;
        assert!(west < 10.0 && 10.0 < east && south < 0.0 && 0.0 < north);
    }

    #[test]
    fn problems_point_into_the_body() {
        let too_small = ShapeSpec::Circle(Circle { center: Place::new(0.0, 0.0), radius_meters: 1.0 });
        let problems = checked(too_small).unwrap_err();
        assert_eq!(problems[0].pointer, "/shape/radiusMeters");
    }
}
