//! Made-up vehicles: seeded tours at 15 m/s within an area. A seed always gives the same fixes.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waypost_actors::model::{Place, ShapeSpec, Timestamp};

use crate::trace::Point;

/// Seconds between two fixes of a vehicle.
pub(super) const INTERVAL_SECONDS: u32 = 10;
/// 15 m/s.
const SPEED_KMH: f64 = 54.0;
const STEP_METERS: f64 = 15.0 * INTERVAL_SECONDS as f64;
/// Metres in a degree of latitude, accurate enough for a made-up track.
const METERS_PER_DEGREE: f64 = 111_195.0;
/// 2024-01-01T00:00:00Z, when every tour begins: safely in the past, the same in every run.
const BEGIN: Timestamp = Timestamp::from_micros(1_704_067_200_000_000);

/// The area that tours stay in: a box in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// Its south-western corner.
    pub low: Place,
    /// Its north-eastern corner.
    pub high: Place,
}

impl Area {
    /// The box around some fences, 500 m wider on each side; Austin where there are none.
    #[must_use]
    pub(super) fn around<'a>(shapes: impl IntoIterator<Item = &'a ShapeSpec>) -> Self {
        let mut area: Option<Self> = None;
        for place in shapes.into_iter().flat_map(outline) {
            let known = area.get_or_insert(Self { low: place, high: place });
            known.low.latitude = known.low.latitude.min(place.latitude);
            known.low.longitude = known.low.longitude.min(place.longitude);
            known.high.latitude = known.high.latitude.max(place.latitude);
            known.high.longitude = known.high.longitude.max(place.longitude);
        }
        let inner = area.unwrap_or(Self { low: Place::new(30.15, -97.9), high: Place::new(30.5, -97.6) });
        let margin = 500.0 / METERS_PER_DEGREE;
        Self {
            low: Place::new(inner.low.latitude - margin, inner.low.longitude - margin),
            high: Place::new(inner.high.latitude + margin, inner.high.longitude + margin),
        }
    }

    fn holds(&self, place: Place) -> bool {
        (self.low.latitude..=self.high.latitude).contains(&place.latitude)
            && (self.low.longitude..=self.high.longitude).contains(&place.longitude)
    }

    fn middle(&self) -> Place {
        let half = |a: f64, b: f64| f64::midpoint(a, b);
        Place {
            latitude: half(self.low.latitude, self.high.latitude),
            longitude: half(self.low.longitude, self.high.longitude),
        }
    }
}

/// Points whose box is approximately the shape's.
fn outline(shape: &ShapeSpec) -> Vec<Place> {
    match shape {
        ShapeSpec::Circle(circle) => {
            let radius = circle.radius_meters / METERS_PER_DEGREE;
            let Place { latitude, longitude } = circle.center;
            vec![
                Place::new(latitude - radius, longitude - radius),
                Place::new(latitude + radius, longitude + radius),
            ]
        }
        ShapeSpec::Polygon(polygon) => polygon.vertices.clone(),
        ShapeSpec::MultiPolygon(multi) => {
            multi.polygons.iter().flat_map(|part| part.vertices.iter().copied()).collect()
        }
    }
}

/// One vehicle on its tour.
#[derive(Debug)]
pub(super) struct Tour {
    area: Area,
    rng: StdRng,
    place: Place,
    heading_degrees: f64,
    /// When its first fix is recorded. Vehicles do not all report in the same instant.
    begin: Timestamp,
    next: u32,
    length: u32,
}

impl Tour {
    /// The tour of vehicle number `vehicle`, with `length` fixes.
    #[must_use]
    pub(super) fn new(area: Area, seed: u64, vehicle: u32, length: u32) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ u64::from(vehicle).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let place = Place {
            latitude: rng.random_range(area.low.latitude..=area.high.latitude),
            longitude: rng.random_range(area.low.longitude..=area.high.longitude),
        };
        let heading_degrees = rng.random_range(0.0..360.0);
        let offset_millis = rng.random_range(0..i64::from(INTERVAL_SECONDS) * 1000);
        let begin = Timestamp::from_micros(BEGIN.as_micros() + offset_millis * 1000);
        Self { area, rng, place, heading_degrees, begin, next: 0, length }
    }

    /// The tour of vehicle number `vehicle`, recorded entirely before any other tour begins.
    #[must_use]
    pub(super) fn ending_before_all(area: Area, seed: u64, vehicle: u32, length: u32) -> Self {
        let tour = Self::new(area, seed, vehicle, length);
        let begin = tour.begin.plus_seconds(-f64::from(length + 1) * f64::from(INTERVAL_SECONDS));
        Self { begin, ..tour }
    }

    /// The number of fixes of the whole tour.
    #[must_use]
    pub(super) const fn length(&self) -> u32 {
        self.length
    }

    /// When fix number `index` is recorded.
    #[must_use]
    pub(super) fn recorded_at(&self, index: u32) -> Timestamp {
        let millis = i64::from(index) * i64::from(INTERVAL_SECONDS) * 1000;
        Timestamp::from_micros(self.begin.as_micros() + millis * 1000)
    }

    fn step(&mut self) {
        self.heading_degrees = (self.heading_degrees + self.rng.random_range(-25.0..25.0)).rem_euclid(360.0);
        let mut to = advanced(self.place, self.heading_degrees);
        if !self.area.holds(to) {
            self.heading_degrees = bearing(self.place, self.area.middle());
            to = advanced(self.place, self.heading_degrees);
        }
        self.place = to;
    }
}

impl Iterator for Tour {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        if self.next == self.length {
            return None;
        }
        // Six decimals, as a tracker would have them, so that a value reads back as it was sent.
        let rounded = |degrees: f64| (degrees * 1e6).round() / 1e6;
        let place = Place::new(rounded(self.place.latitude), rounded(self.place.longitude));
        let mut point = Point::new(self.recorded_at(self.next), place);
        point.speed_kmh = Some(SPEED_KMH);
        point.heading_degrees = Some(self.heading_degrees.round() % 360.0);
        self.next += 1;
        self.step();
        Some(point)
    }
}

fn advanced(from: Place, heading_degrees: f64) -> Place {
    let (east, north) = heading_degrees.to_radians().sin_cos();
    let step = STEP_METERS / METERS_PER_DEGREE;
    Place {
        latitude: from.latitude + north * step,
        longitude: from.longitude + east * step / from.latitude.to_radians().cos(),
    }
}

fn bearing(from: Place, to: Place) -> f64 {
    let east = (to.longitude - from.longitude) * from.latitude.to_radians().cos();
    east.atan2(to.latitude - from.latitude).to_degrees().rem_euclid(360.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_tour_and_another_another() {
        let area = Area::around([]);
        let tour = |seed, vehicle| Tour::new(area, seed, vehicle, 50).collect::<Vec<_>>();
        assert_eq!(tour(7, 3), tour(7, 3));
        assert_ne!(tour(7, 3), tour(8, 3));
        assert_ne!(tour(7, 3), tour(7, 4));
    }

    #[test]
    fn a_tour_keeps_its_pace_and_its_area() {
        let area = Area::around([]);
        let points: Vec<_> = Tour::new(area, 1, 0, 2000).collect();
        assert_eq!(points.len(), 2000);
        for pair in points.windows(2) {
            let (a, b) = (pair[0].place, pair[1].place);
            let east = (b.longitude - a.longitude) * a.latitude.to_radians().cos();
            let meters = east.hypot(b.latitude - a.latitude) * METERS_PER_DEGREE;
            assert!((meters - 150.0).abs() < 1.0, "{meters}");
            assert_eq!(pair[1].recorded_at.seconds_since(pair[0].recorded_at), 10.0);
            assert!(area.holds(b), "{b:?}");
        }
    }
}
