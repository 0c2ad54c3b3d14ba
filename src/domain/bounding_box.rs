//! A box on the map: west, south, east and north in degrees; west > east crosses the antimeridian.

use waypost_actors::model::Place;

/// Whether a place is within a box.
#[must_use]
pub fn holds([west, south, east, north]: [f64; 4], place: Place) -> bool {
    let within = if west <= east {
        (west..=east).contains(&place.longitude)
    } else {
        place.longitude >= west || place.longitude <= east
    };
    within && (south..=north).contains(&place.latitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_may_cross_the_antimeridian() {
        let (fiji, paris) = (Place::new(-17.0, 178.0), Place::new(48.9, 2.3));
        assert!(holds([170.0, -20.0, -170.0, 0.0], fiji) && !holds([170.0, -20.0, -170.0, 90.0], paris));
        assert!(holds([0.0, 40.0, 10.0, 50.0], paris) && !holds([0.0, 40.0, 10.0, 50.0], fiji));
    }
}
