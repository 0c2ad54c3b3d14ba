//! Distances between places and points on the way from one to another.

use std::sync::LazyLock;

use geographiclib_rs::{Geodesic, InverseGeodesic};

use crate::model::Place;

/// Semi-major axis of WGS 84 in metres.
pub(super) const EQUATOR_METERS: f64 = 6_378_137.0;
/// Flattening of WGS 84.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// First eccentricity squared: f (2 - f).
pub(super) const ECCENTRICITY_SQUARED: f64 = FLATTENING * (2.0 - FLATTENING);
/// Mean radius of the Earth in metres: (2a + b) / 3 of WGS 84 (IUGG's R1).
const EARTH_RADIUS_METERS: f64 = 6_371_008.8;

/// The series coefficients of WGS 84, computed once.
static WGS84: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// Great-circle distance in metres on a sphere of the mean radius; within 0.56 % of the geodesic.
#[must_use]
pub fn haversine_meters(a: Place, b: Place) -> f64 {
    let (phi_a, phi_b) = (a.latitude.to_radians(), b.latitude.to_radians());
    let half_phi = ((phi_b - phi_a) / 2.0).sin();
    let half_lambda = (eastward_degrees(a.longitude, b.longitude).to_radians() / 2.0).sin();
    let chord = half_phi * half_phi + phi_a.cos() * phi_b.cos() * half_lambda * half_lambda;
    2.0 * EARTH_RADIUS_METERS * chord.sqrt().min(1.0).asin()
}

/// Whether two places are farther apart than `meters` by [`haversine_meters`]. For ways far shorter than that,
/// which are nearly all, the sum of the arcs northward and eastward along the equator tells without a sine.
#[must_use]
pub fn is_farther_than(a: Place, b: Place, meters: f64) -> bool {
    const ROUNDING: f64 = 1.000_000_1;
    let degrees = (b.latitude - a.latitude).abs() + eastward_degrees(a.longitude, b.longitude).abs();
    let at_most = EARTH_RADIUS_METERS * degrees.to_radians() * ROUNDING;
    at_most > meters && haversine_meters(a, b) > meters
}

/// Geodesic distance in metres on WGS 84 (C. F. F. Karney, Algorithms for geodesics, 2013);
/// accurate to some nanometres.
#[must_use]
pub fn geodesic_meters(a: Place, b: Place) -> f64 {
    // Only the difference of longitude matters; from zero, it is the same wherever the pair lies.
    WGS84.inverse(a.latitude, 0.0, b.latitude, eastward_degrees(a.longitude, b.longitude))
}

/// Metres between two places, to a millionth of them: short ways by the radii of curvature half-way,
/// far cheaper than the geodesic; long ones and those near a pole by the geodesic.
#[must_use]
pub fn leg_meters(a: Place, b: Place) -> f64 {
    const SHORT_DEGREES: f64 = 0.1;
    const NEAR_POLE_DEGREES: f64 = 80.0;
    let (north, east) = (b.latitude - a.latitude, eastward_degrees(a.longitude, b.longitude));
    let half_way = f64::midpoint(a.latitude, b.latitude);
    if north.abs().max(east.abs()) > SHORT_DEGREES || half_way.abs() > NEAR_POLE_DEGREES {
        return geodesic_meters(a, b);
    }
    let (per_degree_east, per_degree_north) = meters_per_degree(half_way);
    (east * per_degree_east).hypot(north * per_degree_north)
}

/// The place at `share` (0 to 1) of the way that is straight in longitude and latitude, the
/// shorter way round. Its longitude is in [-180, 180).
#[must_use]
pub fn interpolate(from: Place, to: Place, share: f64) -> Place {
    if share <= 0.0 {
        return Place::new(from.latitude, canonical_degrees(from.longitude));
    }
    if share >= 1.0 {
        return Place::new(to.latitude, canonical_degrees(to.longitude));
    }
    let east = eastward_degrees(from.longitude, to.longitude);
    Place::new(
        from.latitude + share * (to.latitude - from.latitude),
        canonical_degrees(from.longitude + share * east),
    )
}

/// Metres per degree of longitude and of latitude on WGS 84: the radii of curvature in the prime
/// vertical (times the cosine) and in the meridian.
pub(super) fn meters_per_degree(latitude: f64) -> (f64, f64) {
    let (sin, cos) = latitude.to_radians().sin_cos();
    let w = 1.0 - ECCENTRICITY_SQUARED * sin * sin;
    let prime_vertical = EQUATOR_METERS / w.sqrt();
    let meridian = prime_vertical * (1.0 - ECCENTRICITY_SQUARED) / w;
    ((prime_vertical * cos).max(0.0).to_radians(), meridian.to_radians())
}

/// Degrees to go east from one longitude to another, the shorter way round: -180 to 180.
pub(crate) fn eastward_degrees(from: f64, to: f64) -> f64 {
    let east = to - from;
    if east > 180.0 {
        (to - 360.0) - from
    } else if east < -180.0 {
        (to + 360.0) - from
    } else {
        east
    }
}

/// A longitude at most one turn away as [-180, 180).
pub(crate) fn canonical_degrees(longitude: f64) -> f64 {
    if longitude >= 180.0 {
        longitude - 360.0
    } else if longitude < -180.0 {
        longitude + 360.0
    } else {
        longitude
    }
}

/// Whether two places are one point: the meridians 180 and -180 are the same.
pub(super) fn same_place(a: Place, b: Place) -> bool {
    a.latitude == b.latitude && eastward_degrees(a.longitude, b.longitude) == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_known_elsewhere() {
        // One degree along the equator and along a meridian at the pole (GeographicLib's GeodSolve).
        let degree = geodesic_meters(Place::new(0.0, 179.5), Place::new(0.0, -179.5));
        assert!((degree - 111_319.490_793).abs() < 1e-6, "{degree}");
        let polar = geodesic_meters(Place::new(89.0, 0.0), Place::new(90.0, 77.0));
        assert!((polar - 111_693.864_9).abs() < 1e-3, "{polar}");
        let round = haversine_meters(Place::new(0.0, -180.0), Place::new(0.0, 0.0));
        assert!((round - std::f64::consts::PI * EARTH_RADIUS_METERS).abs() < 1e-6);
        assert_eq!(haversine_meters(Place::new(12.0, 180.0), Place::new(12.0, -180.0)), 0.0);
    }

    #[test]
    fn whether_it_is_farther_is_as_the_distance_says() {
        for a in [Place::new(0.0, 179.9), Place::new(60.0, -0.1), Place::new(-89.5, 12.0)] {
            for (north, east) in [(0.2, 0.0), (0.0, 0.3), (-0.4, 0.4), (0.0, 0.0), (1e-7, 1e-7)] {
                let b = Place::new(a.latitude + north, canonical_degrees(a.longitude + east));
                let meters = haversine_meters(a, b);
                for limit in
                    [0.0, meters * 0.5, meters * 0.999_999, meters, meters * 1.000_001, meters * 3.0, 1e9]
                {
                    assert_eq!(is_farther_than(a, b, limit), meters > limit, "{a:?} {b:?} {limit}");
                }
            }
        }
    }

    #[test]
    fn short_legs_are_as_long_as_the_geodesic_to_a_millionth() {
        for latitude in [-79.9, -45.0, -0.03, 0.0, 30.27, 60.0, 79.9] {
            for (north, east) in [(0.1, 0.1), (0.1, 0.0), (0.0, 0.1), (-0.05, 0.001), (1e-5, -1e-5)] {
                let (a, b) = (Place::new(latitude, 179.95), Place::new(latitude + north, 179.95 + east));
                let b = Place::new(b.latitude, canonical_degrees(b.longitude));
                let (leg, geodesic) = (leg_meters(a, b), geodesic_meters(a, b));
                assert!((leg / geodesic - 1.0).abs() < 1e-6, "{a:?} {b:?}: {leg}, {geodesic}");
            }
        }
    }

    #[test]
    fn the_way_between_places_is_the_shorter_one() {
        let (fiji, samoa) = (Place::new(-18.0, 178.0), Place::new(-14.0, -172.0));
        assert_eq!(interpolate(fiji, samoa, 0.5), Place::new(-16.0, -177.0));
        assert_eq!(interpolate(samoa, fiji, 0.9), Place::new(-17.6, 179.0));
        assert_eq!(interpolate(fiji, Place::new(-18.0, 180.0), 1.0), Place::new(-18.0, -180.0));
        assert_eq!(interpolate(fiji, samoa, 0.2), Place::new(-17.2, -180.0));
    }
}
