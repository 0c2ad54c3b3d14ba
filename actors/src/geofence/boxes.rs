//! Boxes of longitude and latitude that never cross the antimeridian.

use super::place::{canonical_degrees, eastward_degrees};
use crate::model::Place;

/// The longest degree of a meridian, at the poles, in metres (111,693.98 rounded up). No degree
/// of a parallel is longer than this times its cosine.
pub(super) const MOST_METERS_PER_DEGREE: f64 = 111_694.0;
/// A lower bound on the length of a degree of a meridian, and of the equator, in metres.
const METERS_PER_DEGREE: f64 = 110_500.0;

/// A closed box in degrees, always `west <= east`. An area that crosses the antimeridian has two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoBox {
    /// The least longitude, -180 to 180.
    pub west: f64,
    /// The least latitude, -90 to 90.
    pub south: f64,
    /// The greatest longitude, -180 to 180.
    pub east: f64,
    /// The greatest latitude, -90 to 90.
    pub north: f64,
}

impl GeoBox {
    /// What equal boxes have in common, for sets.
    pub(super) fn bits(&self) -> [u64; 4] {
        [self.west, self.south, self.east, self.north].map(f64::to_bits)
    }

    /// Whether the boxes, their rims included, have a point in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.west <= other.east
            && other.west <= self.east
            && self.south <= other.north
            && other.south <= self.north
    }

    /// The least box that holds some places and the ways between each of them and the next; a belt around the world where
    /// one of them may cross the antimeridian. `None` if there is no place.
    #[must_use]
    pub fn around(places: impl IntoIterator<Item = Place>) -> Option<Self> {
        let at = |Place { latitude, longitude }: Place| {
            Self { west: longitude, south: latitude, east: longitude, north: latitude }.or_belt()
        };
        places.into_iter().map(at).reduce(|area, place| area.with(&place))
    }

    /// The least box that holds both and the ways from one to the other; a belt around the world where these may cross the
    /// antimeridian.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let both = Self {
            west: self.west.min(other.west),
            south: self.south.min(other.south),
            east: self.east.max(other.east),
            north: self.north.max(other.north),
        };
        both.or_belt()
    }

    /// A box in which the shorter way between two longitudes may be the one around the back is a belt, and so is one that
    /// touches the antimeridian, which is 180 to some boxes and -180 to others.
    fn or_belt(self) -> Self {
        if self.east - self.west >= 180.0 || self.west <= -180.0 || self.east >= 180.0 {
            Self { west: -180.0, east: 180.0, ..self }
        } else {
            self
        }
    }

    /// The part of it that lies in the world.
    pub(super) fn south_of_the_pole(self) -> Self {
        Self { south: self.south.min(90.0), north: self.north.min(90.0), ..self }
    }

    /// An upper bound, in metres, on how far a place in the box is from its middle.
    pub(super) fn reach_meters(&self) -> f64 {
        // The length of the way there that is straight in longitude and latitude, plus a millimetre for rounding.
        let nearest_equator =
            if self.south * self.north <= 0.0 { 0.0 } else { self.south.abs().min(self.north.abs()) };
        let wide = (self.east - self.west) * nearest_equator.to_radians().cos();
        wide.hypot(self.north - self.south) / 2.0 * MOST_METERS_PER_DEGREE + 0.001
    }

    pub(super) fn middle(&self) -> Place {
        Place::new(f64::midpoint(self.south, self.north), f64::midpoint(self.west, self.east))
    }

    /// Whether the box may come within `meters` of a place; never `false` where it does.
    pub(super) fn is_within(&self, place: Place, meters: f64) -> bool {
        let high = meters / METERS_PER_DEGREE;
        let (south, north) = (place.latitude - high, place.latitude + high);
        // A circle around the place reaches farthest east where it is nearest to a pole.
        let parallel = south.abs().max(north.abs()).min(90.0).to_radians().cos();
        let wide = (high / parallel).min(180.0);
        let west = canonical_degrees(place.longitude - wide);
        Self::spanning(west, 2.0f64.mul_add(wide, west), south, north).iter().any(|area| area.meets(self))
    }

    /// The box or boxes between two longitudes, `west` in [-180, 180) and `east` not less; a full belt from 360
    /// degrees on.
    pub(super) fn spanning(west: f64, east: f64, south: f64, north: f64) -> Vec<Self> {
        if east - west >= 360.0 {
            vec![Self { west: -180.0, south, east: 180.0, north }]
        } else if east > 180.0 {
            vec![
                Self { west, south, east: 180.0, north },
                Self { west: -180.0, south, east: east - 360.0, north },
            ]
        } else {
            vec![Self { west, south, east, north }]
        }
    }

    /// The boxes to search for a way: its own, and a second one if it meets the antimeridian, which is 180 to some
    /// boxes and -180 to others.
    pub(super) fn of_way(from: Place, to: Place) -> (Self, Option<Self>) {
        let end = from.longitude + eastward_degrees(from.longitude, to.longitude);
        let (west, east) = (from.longitude.min(end), from.longitude.max(end));
        let (south, north) = (from.latitude.min(to.latitude), from.latitude.max(to.latitude));
        let piece = |west: f64, east: f64| Self { west, south, east, north };
        if east >= 180.0 {
            (piece(west, 180.0), Some(piece(-180.0, east - 360.0)))
        } else if west <= -180.0 {
            (piece(-180.0, east), Some(piece(west + 360.0, 180.0)))
        } else {
            (piece(west, east), None)
        }
    }
}

/// Where the shortest stretch of longitudes begins that holds all the given ones (`west` in [-180, 180), `east` not
/// less). The rest of the circle is the widest gap between them.
pub(super) fn stretch_west(stretches: &[(f64, f64)]) -> f64 {
    let mut sorted = stretches.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(first, _)) = sorted.first() else { return -180.0 };
    let mut reach = sorted.iter().map(|s| s.1 - 360.0).fold(f64::NEG_INFINITY, f64::max);
    let (mut best, mut widest) = (first, f64::NEG_INFINITY);
    for (west, east) in sorted {
        if west - reach > widest {
            (best, widest) = (west, west - reach);
        }
        reach = reach.max(east);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::place::geodesic_meters;
    use super::*;

    #[test]
    fn the_widest_gap_is_left_out() {
        assert_eq!(stretch_west(&[(-10.0, 5.0), (20.0, 30.0)]), -10.0);
        assert_eq!(stretch_west(&[(-180.0, -170.0), (170.0, 180.0)]), 170.0);
        assert_eq!(stretch_west(&[(175.0, 185.0), (-178.0, -176.0)]), 175.0);
    }

    #[test]
    fn a_box_is_near_on_either_side_of_the_antimeridian_and_at_a_pole() {
        let fiji = GeoBox { west: 179.9, south: -17.0, east: 180.0, north: -16.9 };
        assert!(fiji.is_within(Place::new(-17.0, -179.9), 11_000.0));
        assert!(!fiji.is_within(Place::new(-17.0, -179.9), 10_000.0));
        assert!(fiji.is_within(Place::new(-17.1, 179.95), 11_200.0));
        let arctic = GeoBox { west: 10.0, south: 89.99, east: 11.0, north: 90.0 };
        assert!(arctic.is_within(Place::new(89.99, -170.0), 3_000.0));
    }

    #[test]
    fn a_box_around_places_is_a_belt_where_a_way_may_cross_the_antimeridian() {
        let austin =
            GeoBox::around([Place::new(30.0, -97.5), Place::new(30.5, -97.9), Place::new(30.2, -97.0)]);
        assert_eq!(austin, Some(GeoBox { west: -97.9, south: 30.0, east: -97.0, north: 30.5 }));
        let fiji = GeoBox::around([Place::new(-17.0, 179.9), Place::new(-16.0, -179.9)]);
        assert_eq!(fiji, Some(GeoBox { west: -180.0, south: -17.0, east: 180.0, north: -16.0 }));
        let rim = GeoBox::around([Place::new(-17.0, 180.0)]);
        assert_eq!(rim, Some(GeoBox { west: -180.0, south: -17.0, east: 180.0, north: -17.0 }));
        assert_eq!(GeoBox::around([]), None);
    }

    #[test]
    fn each_bound_of_a_belt_counts_by_itself() {
        let boxed = |west: f64, east: f64| GeoBox { west, south: 1.0, east, north: 2.0 };
        let belt = boxed(-180.0, 180.0);
        for (west, east, expected) in [
            (-90.0, 89.9, boxed(-90.0, 89.9)),
            (-90.0, 90.0, belt),
            (-180.0, -170.0, belt),
            (-179.9, -170.0, boxed(-179.9, -170.0)),
            (170.0, 180.0, belt),
            (170.0, 179.9, boxed(170.0, 179.9)),
        ] {
            assert_eq!(boxed(west, east).or_belt(), expected, "{west} {east}");
        }
        assert_eq!(
            boxed(-10.0, 0.0).with(&GeoBox { south: 0.0, north: 1.5, ..boxed(5.0, 6.0) }),
            GeoBox { west: -10.0, south: 0.0, east: 6.0, north: 2.0 }
        );
    }

    /// The index takes whole cells for inside by this bound; a loose one would leave too many to the fences' edges.
    #[test]
    fn no_place_of_a_box_is_farther_from_its_middle_than_its_reach_and_hardly_nearer() {
        for (west, south, east, north) in [
            (10.0, 48.0, 10.1, 48.2),
            (10.0, -48.2, 10.3, -48.0),
            (10.0, 70.0, 14.0, 71.0),
            (-20.0, -0.1, -19.8, 0.3),
            (5.0, 0.0, 6.0, 0.5),
        ] {
            let area = GeoBox { west, south, east, north };
            let reach = area.reach_meters();
            let corners = [(west, south), (west, north), (east, south), (east, north)];
            let meters = |(x, y): (f64, f64)| geodesic_meters(area.middle(), Place::new(y, x));
            let farthest = corners.map(meters).into_iter().fold(0.0, f64::max);
            assert!(farthest <= reach && reach <= farthest * 1.02, "{area:?}: {farthest} {reach}");
        }
        let place = GeoBox { west: 10.0, south: 48.0, east: 10.0, north: 48.0 };
        assert!(place.reach_meters() > 0.0, "rounding counts");
    }

    #[test]
    fn what_lies_beyond_the_pole_is_cut_off() {
        let cell = GeoBox { west: 0.0, south: 89.0, east: 1.0, north: 91.0 };
        assert_eq!(cell.south_of_the_pole(), GeoBox { north: 90.0, ..cell });
        let beyond = GeoBox { south: 90.5, ..cell };
        assert_eq!(beyond.south_of_the_pole(), GeoBox { south: 90.0, north: 90.0, ..cell });
    }

    #[test]
    fn a_way_across_the_antimeridian_is_searched_on_both_sides() {
        let (plain, none) = GeoBox::of_way(Place::new(1.0, 12.0), Place::new(2.0, 11.0));
        assert_eq!((plain, none), (GeoBox { west: 11.0, south: 1.0, east: 12.0, north: 2.0 }, None));
        let (a, b) = GeoBox::of_way(Place::new(1.0, 179.0), Place::new(2.0, -178.0));
        assert_eq!((a.west, a.east), (179.0, 180.0));
        assert_eq!(b.map(|b| (b.west, b.east)), Some((-180.0, -178.0)));
        let (a, b) = GeoBox::of_way(Place::new(1.0, -180.0), Place::new(1.0, -180.0));
        assert_eq!((a.west, a.east, b.map(|b| (b.west, b.east))), (-180.0, -180.0, Some((180.0, 180.0))));
    }
}
