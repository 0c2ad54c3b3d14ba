//! Areas on WGS 84.

use super::place::{ECCENTRICITY_SQUARED, EQUATOR_METERS, meters_per_degree};
use super::plane::Point;
use crate::model::Circle;

/// Five-point Gauss-Legendre rule on 0..=1: `(share, weight)`.
const GAUSS: [(f64, f64); 5] = [
    (0.046_910_077_030_668, 0.118_463_442_528_095),
    (0.230_765_344_947_158, 0.239_314_335_249_683),
    (0.5, 0.284_444_444_444_444),
    (0.769_234_655_052_842, 0.239_314_335_249_683),
    (0.953_089_922_969_332, 0.118_463_442_528_095),
];

/// Square metres within a ring whose edges are straight in longitude and latitude.
///
/// By Green's theorem the area is the integral of the authalic strip below the ring; along an
/// edge latitude is linear in longitude, which five points integrate far below a part in 10⁹.
pub(super) fn ring_square_meters(ring: &[Point]) -> f64 {
    let edges = ring.iter().zip(ring.iter().cycle().skip(1));
    edges.map(|(a, b)| (b.x - a.x).to_radians() * mean_strip(a.y, b.y)).sum::<f64>().abs()
}

fn mean_strip(from: f64, to: f64) -> f64 {
    GAUSS.iter().map(|(share, weight)| weight * strip_per_radian(from + share * (to - from))).sum()
}

/// Square metres between the equator and a latitude, per radian of longitude (J. P. Snyder, Map
/// Projections, 1987, eq. 3-12: a² q / 2).
fn strip_per_radian(latitude: f64) -> f64 {
    let sin = latitude.to_radians().sin();
    let eccentricity = ECCENTRICITY_SQUARED.sqrt();
    let semi_minor_squared = EQUATOR_METERS * EQUATOR_METERS * (1.0 - ECCENTRICITY_SQUARED);
    semi_minor_squared / 2.0
        * (sin / (1.0 - ECCENTRICITY_SQUARED * sin * sin) + (eccentricity * sin).atanh() / eccentricity)
}

/// Square metres within a geodesic circle: the cap of a sphere with the centre's Gaussian
/// curvature, good to a part in 10⁵ up to 100 km.
pub(super) fn circle_square_meters(circle: &Circle) -> f64 {
    let (prime_vertical, meridian) = curvature_radii(circle.center.latitude);
    let gauss = (prime_vertical * meridian).sqrt();
    let half = (circle.radius_meters / gauss / 2.0).sin();
    4.0 * std::f64::consts::PI * gauss * gauss * half * half
}

fn curvature_radii(latitude: f64) -> (f64, f64) {
    let (_, north) = meters_per_degree(latitude);
    let sin = latitude.to_radians().sin();
    (EQUATOR_METERS / (1.0 - ECCENTRICITY_SQUARED * sin * sin).sqrt(), north.to_degrees())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Place;

    #[test]
    fn an_octant_is_an_eighth_of_the_ellipsoid() {
        let (low, high) = (Point { x: 0.0, y: 0.0 }, Point { x: 90.0, y: 90.0 });
        let ring = [low, Point { x: 90.0, y: 0.0 }, high, Point { x: 0.0, y: 90.0 }];
        let ellipsoid = 510_065_621_724_088.4; // GeographicLib's EllipsoidArea of WGS 84
        assert!((ring_square_meters(&ring) * 8.0 / ellipsoid - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_small_circle_is_flat() {
        let circle = Circle { center: Place::new(51.0, 7.0), radius_meters: 100.0 };
        assert!((circle_square_meters(&circle) - 31_415.926_5).abs() < 1e-3);
    }
}
