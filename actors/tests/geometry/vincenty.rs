//! Circles against a geodesic of our own: T. Vincenty, Direct and Inverse Solutions of Geodesics on the
//! Ellipsoid (Survey Review 1975), which shares nothing with the code it checks.
//!
//! Its series are good to some 0.1 mm; a circle may differ by 1 mm at most.

use waypost_actors::geofence::{geodesic_meters, interpolate};
use waypost_actors::model::Place;

use crate::{Dice, at, circle, prepared};

const SEMI_MAJOR: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
const SEMI_MINOR: f64 = SEMI_MAJOR * (1.0 - FLATTENING);
const MILLIMETER: f64 = 0.001;

/// The coefficients A and B of a geodesic by its second eccentricity times cos² of its azimuth at the equator.
fn series(cos_squared_alpha: f64) -> (f64, f64) {
    let u2 =
        cos_squared_alpha * (SEMI_MAJOR * SEMI_MAJOR - SEMI_MINOR * SEMI_MINOR) / (SEMI_MINOR * SEMI_MINOR);
    let a = 1.0 + u2 / 16_384.0 * (4_096.0 + u2 * (-768.0 + u2 * (320.0 - 175.0 * u2)));
    let b = u2 / 1_024.0 * (256.0 + u2 * (-128.0 + u2 * (74.0 - 47.0 * u2)));
    (a, b)
}

fn delta_sigma(b: f64, sin_sigma: f64, cos_sigma: f64, cos_2m: f64) -> f64 {
    let square = 2.0f64.mul_add(cos_2m * cos_2m, -1.0);
    let cubic = b / 6.0 * cos_2m * (4.0 * sin_sigma * sin_sigma - 3.0) * (4.0 * cos_2m * cos_2m - 3.0);
    b * sin_sigma * (cos_2m + b / 4.0 * (cos_sigma * square - cubic))
}

/// The difference between longitude on the auxiliary sphere and on the ellipsoid.
fn longitude_correction(sin_alpha: f64, sigma: f64, cos_2m: f64) -> f64 {
    let cos_squared = 1.0 - sin_alpha * sin_alpha;
    let c = FLATTENING / 16.0 * cos_squared * (4.0 + FLATTENING * (4.0 - 3.0 * cos_squared));
    let (sin, cos) = sigma.sin_cos();
    (1.0 - c)
        * FLATTENING
        * sin_alpha
        * (sigma + c * sin * (cos_2m + c * cos * (2.0 * cos_2m * cos_2m - 1.0)))
}

/// The place `meters` away in the direction `bearing` (degrees clockwise from north).
fn direct(from: Place, bearing: f64, meters: f64) -> Place {
    let (sin_alpha1, cos_alpha1) = bearing.to_radians().sin_cos();
    let tan_u1 = (1.0 - FLATTENING) * from.latitude.to_radians().tan();
    let cos_u1 = 1.0 / tan_u1.hypot(1.0);
    let sin_u1 = tan_u1 * cos_u1;
    let sigma1 = tan_u1.atan2(cos_alpha1);
    let sin_alpha = cos_u1 * sin_alpha1;
    let (a, b) = series(1.0 - sin_alpha * sin_alpha);
    let mut sigma = meters / (SEMI_MINOR * a);
    for _ in 0..50 {
        let (sin, cos) = sigma.sin_cos();
        sigma = meters / (SEMI_MINOR * a) + delta_sigma(b, sin, cos, (2.0 * sigma1 + sigma).cos());
    }
    let (sin, cos) = sigma.sin_cos();
    let across = sin_u1 * sin - cos_u1 * cos * cos_alpha1;
    let latitude =
        (sin_u1 * cos + cos_u1 * sin * cos_alpha1).atan2((1.0 - FLATTENING) * sin_alpha.hypot(across));
    let lambda = (sin * sin_alpha1).atan2(cos_u1 * cos - sin_u1 * sin * cos_alpha1);
    let east = lambda - longitude_correction(sin_alpha, sigma, (2.0 * sigma1 + sigma).cos());
    let longitude = (from.longitude + east.to_degrees() + 540.0).rem_euclid(360.0) - 180.0;
    Place::new(latitude.to_degrees(), longitude)
}

/// Metres between two places that are not nearly opposite.
fn inverse(from: Place, to: Place) -> f64 {
    let east = ((to.longitude - from.longitude + 540.0).rem_euclid(360.0) - 180.0).to_radians();
    let reduced = |place: Place| ((1.0 - FLATTENING) * place.latitude.to_radians().tan()).atan().sin_cos();
    let ((sin_u1, cos_u1), (sin_u2, cos_u2)) = (reduced(from), reduced(to));
    let mut lambda = east;
    let mut meters = 0.0;
    for _ in 0..100 {
        let (sin, cos) = lambda.sin_cos();
        let sin_sigma = (cos_u2 * sin).hypot(cos_u1 * sin_u2 - sin_u1 * cos_u2 * cos);
        if sin_sigma == 0.0 {
            return 0.0;
        }
        let cos_sigma = sin_u1 * sin_u2 + cos_u1 * cos_u2 * cos;
        let sigma = sin_sigma.atan2(cos_sigma);
        let sin_alpha = cos_u1 * cos_u2 * sin / sin_sigma;
        let cos_squared = 1.0 - sin_alpha * sin_alpha;
        let cos_2m = if cos_squared == 0.0 { 0.0 } else { cos_sigma - 2.0 * sin_u1 * sin_u2 / cos_squared };
        let (a, b) = series(cos_squared);
        meters = SEMI_MINOR * a * (sigma - delta_sigma(b, sin_sigma, cos_sigma, cos_2m));
        lambda = east + longitude_correction(sin_alpha, sigma, cos_2m);
    }
    meters
}

#[test]
fn the_check_itself_is_right() {
    // Flinders Peak to Buninyong, the example Geoscience Australia publishes for GRS 80: 54,972.271 m,
    // which WGS 84 shares to a tenth of a millimetre.
    let flinders =
        Place::new(-(37.0 + 57.0 / 60.0 + 3.720_30 / 3_600.0), 144.0 + 25.0 / 60.0 + 29.524_40 / 3_600.0);
    let buninyong =
        Place::new(-(37.0 + 39.0 / 60.0 + 10.156_10 / 3_600.0), 143.0 + 55.0 / 60.0 + 35.383_90 / 3_600.0);
    let bearing = 306.0 + 52.0 / 60.0 + 5.37 / 3_600.0;
    assert!((inverse(flinders, buninyong) - 54_972.271).abs() < MILLIMETER);
    let there = direct(flinders, bearing, 54_972.271);
    // The published bearing is rounded to a hundredth of a second: 2.7 mm over this distance.
    assert!(inverse(there, buninyong) < 0.004, "{}", inverse(there, buninyong));
}

#[test]
fn a_circle_ends_within_a_millimetre_of_its_radius() {
    for latitude in [0.0, 45.0, 75.0, 89.9, -45.0, -89.9] {
        for radius in [10.0, 50.0, 400.0, 3_000.0, 20_000.0, 100_000.0] {
            for longitude in [11.5, 179.99999] {
                let center = at(longitude, latitude);
                let shape = prepared(&circle(longitude, latitude, radius));
                for bearing in (0..720).map(|half| f64::from(half) / 2.0) {
                    let label = format!("{latitude} {radius} {bearing}");
                    assert!(shape.covers(direct(center, bearing, radius - MILLIMETER)), "{label}");
                    assert!(!shape.covers(direct(center, bearing, radius + MILLIMETER)), "{label}");
                    let beyond = |meters: f64| {
                        shape.is_farther_outside_than(direct(center, bearing, radius + meters), 20.0)
                    };
                    assert!(!beyond(20.0 - MILLIMETER) && beyond(20.0 + MILLIMETER), "{label}");
                }
            }
        }
    }
}

#[test]
fn crossings_lie_within_a_millimetre_of_the_circle() {
    let mut dice = Dice(17);
    let mut crossings = 0;
    for latitude in [0.0, 45.0, 75.0, 89.9] {
        for radius in [10.0, 1_000.0, 100_000.0] {
            let center = at(-179.9999, latitude);
            let shape = prepared(&circle(-179.9999, latitude, radius));
            for _ in 0..100 {
                let mut end = || direct(center, dice.between(0.0, 360.0), dice.between(0.0, 2.0) * radius);
                let (from, to) = (end(), end());
                for share in shape.crossings(from, to) {
                    let off = inverse(center, interpolate(from, to, share)) - radius;
                    assert!(off.abs() <= MILLIMETER, "{latitude} {radius} {off}");
                    crossings += 1;
                }
            }
        }
    }
    assert!(crossings > 500, "{crossings}");
}

#[test]
fn both_geodesics_agree_anywhere() {
    let mut dice = Dice(23);
    for _ in 0..20_000 {
        let from = at(dice.between(-180.0, 180.0), dice.between(-90.0, 90.0));
        let to = direct(from, dice.between(0.0, 360.0), 10.0f64.powf(dice.between(0.0, 6.0)));
        let (ours, theirs) = (geodesic_meters(from, to), inverse(from, to));
        assert!((ours - theirs).abs() < 0.2 * MILLIMETER, "{from:?} {to:?} {ours} {theirs}");
    }
}
