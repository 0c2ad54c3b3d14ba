//! Whether a vehicle stands, and where (docs/tracking.md, "Standing").
//!
//! Noise moves every fix of a parked vehicle, but hardly the middle of many. So a vehicle stands until a fix is too
//! far from that middle, or several stay away from it. The middle covers ten to twenty minutes of the clock, so
//! that a late fix changes nothing far behind it.

use serde::{Deserialize, Serialize};

use super::motion::{MOVING_KMH, plausible_speed};
use crate::geofence::{canonical_degrees, eastward_degrees, leg_meters};
use crate::model::{Fix, Place, Timestamp};

/// A fix's accuracy counts as no better than this, whatever it reports. Metres.
const LEAST_ACCURACY_METERS: f64 = 17.5;
/// A fix's accuracy counts as no worse than this. Metres.
const MOST_ACCURACY_METERS: f64 = 200.0;
/// A single fix this many times its accuracy from the middle is not noise: the vehicle moved.
pub(super) const FAR: f64 = 4.0;
/// Several fixes in a row, each this many times its accuracy from the middle, are not noise.
const AWAY: f64 = 2.3;
/// The number of fixes in a row, over [`TRUSTED_AFTER_SECONDS`], that count as several; a middle of as many can be
/// trusted.
const SEVERAL: u32 = 3;
/// GPS errors last about a minute; what has lasted longer than this is no error. Seconds.
const TRUSTED_AFTER_SECONDS: f64 = 120.0;
/// The length of a stretch of the clock. The middle is that of this stretch and the previous one with fixes.
/// Microseconds.
const STRETCH_MICROS: i64 = 600_000_000;
/// A vehicle that reports no speed is checked once per stretch of the clock of this length. Microseconds.
const GLANCE_MICROS: i64 = 30_000_000;
/// Two fixes closer in time than this do not show whether it moves. Seconds.
const LEAST_GLANCE_SECONDS: f64 = 15.0;

/// Fixes of one stretch of the clock. Stored as a tuple, to be short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
struct Cluster {
    /// When the first one was recorded.
    at: Timestamp,
    /// Where the first one was.
    base: Place,
    /// The sum of their offsets from `base`, in degrees.
    north: f64,
    east: f64,
    fixes: u32,
}

type Written = (i64, [f64; 4], u32);

impl From<Cluster> for Written {
    fn from(Cluster { at, base, north, east, fixes }: Cluster) -> Self {
        (at.as_micros(), [base.latitude, base.longitude, north, east], fixes)
    }
}

impl From<Written> for Cluster {
    fn from((at, [latitude, longitude, north, east], fixes): Written) -> Self {
        Self { at: Timestamp::from_micros(at), base: Place::new(latitude, longitude), north, east, fixes }
    }
}

impl Cluster {
    const fn of(fix: &Fix) -> Self {
        Self { at: fix.recorded_at, base: fix.place, north: 0.0, east: 0.0, fixes: 1 }
    }

    fn add(&mut self, fix: &Fix) {
        self.north += fix.place.latitude - self.base.latitude;
        self.east += eastward_degrees(self.base.longitude, fix.place.longitude);
        self.fixes += 1;
    }
}

/// Consecutive fixes away from the middle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Away {
    since: Timestamp,
    fixes: u32,
}

/// Where a vehicle stands, or may have come to stand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standstill {
    /// It moved, and reports no speed that would show whether it still does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    may_move: bool,
    latest: Cluster,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<Cluster>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    away: Option<Away>,
    /// Whether the newest fix was held back only as a precaution: few fixes preceded it, or it was away from the
    /// middle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_open: bool,
}

/// How far a fix is believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stance {
    /// On its own.
    Moves {
        /// Whether the fixes held back while it stood are believed too: it may have been on its way then.
        believes_held: bool,
    },
    /// Not if it contradicts the stop.
    Stands {
        /// The middle of the stop's fixes, once there are enough.
        middle: Option<Place>,
    },
}

impl Stance {
    /// Believed on its own, with nothing held back before it.
    pub(super) const FREE: Self = Self::Moves { believes_held: false };
}

/// Advances to a fix. `before`: the evaluated fix before it; `max_speed_kmh`: the highest speed the vehicle can
/// reach.
pub(super) fn follow(
    standstill: &mut Option<Box<Standstill>>,
    before: Option<&Fix>,
    fix: &Fix,
    max_speed_kmh: Option<f64>,
) -> Stance {
    let reported = plausible_speed(fix, max_speed_kmh);
    let (Some(known), Some(before)) = (standstill.as_mut(), before) else {
        *standstill = Standstill::begin(fix, reported, before.is_some()).map(Box::new);
        return Stance::FREE;
    };
    let is_trusted = known.is_trusted(before.recorded_at);
    let stands = match reported {
        Some(kmh) if kmh >= MOVING_KMH => false,
        Some(_) if known.may_move => false,
        None if known.may_move => known.has_stopped(fix),
        _ => known.holds(fix, is_trusted),
    };
    if stands {
        return Stance::Stands { middle: is_trusted.then(|| known.middle()) };
    }
    let believes_held = known.is_open;
    let passes_on =
        known.may_move && reported.is_none() && glance(known.latest.at) == glance(fix.recorded_at);
    if !passes_on {
        *standstill = Standstill::begin(fix, reported, true).map(Box::new);
    }
    Stance::Moves { believes_held }
}

/// How far the newest fix is believed where something other than a fix changed: not if it contradicts a trusted
/// stop.
pub(super) fn stance(standstill: Option<&Standstill>, newest: &Fix) -> Stance {
    let trusted = standstill.filter(|known| known.is_trusted(newest.recorded_at));
    trusted.map_or(Stance::FREE, |known| Stance::Stands { middle: Some(known.middle()) })
}

/// Whether a fix is farther from a place than `times` its uncertainty.
pub(super) fn is_beyond(place: Place, fix: &Fix, times: f64) -> bool {
    leg_meters(place, fix.place) > times * accuracy_meters(fix)
}

impl Standstill {
    /// Whether it stands, as far as is known; if not, it may still be moving.
    pub(super) const fn stands(&self) -> bool {
        !self.may_move
    }

    /// Whether this fix is the first one of it.
    pub(super) fn begins_with(&self, fix: &Fix) -> bool {
        self.earlier.is_none() && self.latest.at == fix.recorded_at
    }

    /// The state after a fix that is believed. `came`: whether there was a fix before it.
    fn begin(fix: &Fix, reported: Option<f64>, came: bool) -> Option<Self> {
        if reported.is_some_and(|kmh| kmh >= MOVING_KMH) {
            return None;
        }
        Some(Self {
            may_move: came && reported.is_none(),
            latest: Cluster::of(fix),
            earlier: None,
            away: None,
            is_open: false,
        })
    }

    /// Whether its middle can be trusted. `newest`: when the newest fix was recorded.
    fn is_trusted(&self, newest: Timestamp) -> bool {
        let first = self.earlier.as_ref().unwrap_or(&self.latest);
        let fixes = self.latest.fixes + self.earlier.map_or(0, |earlier| earlier.fixes);
        fixes >= SEVERAL && newest.seconds_since(first.at) >= TRUSTED_AFTER_SECONDS
    }

    /// Whether a vehicle that reports no speed has not moved since the last half minute with fixes.
    fn has_stopped(&mut self, fix: &Fix) -> bool {
        let seconds = fix.recorded_at.seconds_since(self.latest.at);
        let stands = glance(self.latest.at) < glance(fix.recorded_at)
            && seconds >= LEAST_GLANCE_SECONDS
            && leg_meters(self.latest.base, fix.place) <= FAR * accuracy_meters(fix);
        if stands {
            (self.may_move, self.is_open) = (false, true);
            self.add(fix);
        }
        stands
    }

    /// Whether a standing vehicle still stands.
    fn holds(&mut self, fix: &Fix, is_trusted: bool) -> bool {
        let (meters, accuracy) = (leg_meters(self.middle(), fix.place), accuracy_meters(fix));
        if meters > FAR * accuracy {
            return false;
        }
        let is_away = is_trusted && meters > AWAY * accuracy;
        self.is_open = is_away || !is_trusted;
        if !is_away {
            self.away = None;
            self.add(fix);
            return true;
        }
        let away = self.away.get_or_insert(Away { since: fix.recorded_at, fixes: 0 });
        away.fixes += 1;
        away.fixes < SEVERAL || fix.recorded_at.seconds_since(away.since) < TRUSTED_AFTER_SECONDS
    }

    fn add(&mut self, fix: &Fix) {
        let stretch = |at: Timestamp| at.as_micros().div_euclid(STRETCH_MICROS);
        if stretch(self.latest.at) < stretch(fix.recorded_at) {
            self.earlier = Some(std::mem::replace(&mut self.latest, Cluster::of(fix)));
        } else {
            self.latest.add(fix);
        }
    }

    fn middle(&self) -> Place {
        let Cluster { base, mut north, mut east, mut fixes, .. } = self.latest;
        if let Some(earlier) = &self.earlier {
            let count = f64::from(earlier.fixes);
            north += earlier.north + count * (earlier.base.latitude - base.latitude);
            east += earlier.east + count * eastward_degrees(base.longitude, earlier.base.longitude);
            fixes += earlier.fixes;
        }
        let count = f64::from(fixes);
        Place::new(base.latitude + north / count, canonical_degrees(base.longitude + east / count))
    }
}

/// The half minute of the clock that an instant is in.
fn glance(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(GLANCE_MICROS)
}

fn accuracy_meters(fix: &Fix) -> f64 {
    fix.accuracy_meters.unwrap_or(0.0).clamp(LEAST_ACCURACY_METERS, MOST_ACCURACY_METERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (seconds since a stretch of the clock began, metres east and north, km/h).
    type FixSpec = (i32, f64, Option<f64>);

    fn fix((seconds, meters, speed_kmh): FixSpec) -> Fix {
        let at = Timestamp::from_micros(1_700_000_400_000_000).plus_seconds(f64::from(seconds));
        let degrees = meters / 111_195.0;
        Fix { speed_kmh, ..Fix::new(at, at, Place::new(degrees, degrees)) }
    }

    /// A letter per fix: `m`oves, `M`oves and the fixes held back are believed, `s`tands, `S`tands at a trusted
    /// middle.
    fn stances(fixes: &[Fix]) -> (String, Option<Place>) {
        let (mut standstill, mut before, mut middle_at) = (None, None, None);
        let letter = |fix: &Fix| {
            let stance = follow(&mut standstill, before.as_ref(), fix, Some(250.0));
            before = Some(*fix);
            match stance {
                Stance::Moves { believes_held } => {
                    if believes_held {
                        'M'
                    } else {
                        'm'
                    }
                }
                Stance::Stands { middle: None } => 's',
                Stance::Stands { middle } => {
                    middle_at = middle;
                    'S'
                }
            }
        };
        (fixes.iter().map(letter).collect(), middle_at)
    }

    fn letters(specs: &[FixSpec]) -> String {
        stances(&specs.iter().copied().map(fix).collect::<Vec<_>>()).0
    }

    #[test]
    fn a_reported_speed_tells_at_once() {
        let (none, slow, drives) = (Some(0.0), Some(2.9), Some(3.0));
        assert_eq!(letters(&[(0, 0.0, none), (10, 0.0, slow), (20, 0.0, drives)]), "msM");
        assert_eq!(letters(&[(0, 0.0, drives), (10, 0.0, none), (20, 0.0, none)]), "mms");
        // It moved, and then reports that it stands: a stop begins, even if no speed was reported before.
        let moved = [(0, 0.0, None), (10, 100.0, None), (20, 100.0, none), (25, 100.0, none)];
        assert_eq!(letters(&moved), "mmms");
    }

    #[test]
    fn without_speeds_it_is_looked_at_each_half_minute() {
        for (then, expected) in [
            (&[(5, 0.0), (10, 0.0)][..], "mss"),
            (&[(10, 100.0), (15, 100.0)], "mmm"),
            // 15 s or more, and the next half minute.
            (&[(10, 100.0), (28, 100.0), (31, 100.0)], "mmms"),
            (&[(15, 100.0), (30, 100.0)], "mms"),
            (&[(16, 100.0), (30, 100.0)], "mmm"),
            (&[(10, 100.0), (31, 149.0)], "mms"),
            (&[(10, 100.0), (31, 150.0)], "mmm"),
            // The check starts over where the vehicle moved on.
            (&[(10, 100.0), (31, 300.0), (62, 310.0)], "mmms"),
            // The fix held back in between was held back only as a precaution.
            (&[(10, 100.0), (31, 100.0), (40, 300.0)], "mmsM"),
        ] {
            let all: Vec<FixSpec> =
                [(0, 0.0)].iter().chain(then).map(|(at, meters)| (*at, *meters, None)).collect();
            assert_eq!(letters(&all), expected, "{then:?}");
        }
    }

    /// Stands at 0 with three fixes over two minutes, and reports no speed.
    fn stood(then: &[(i32, f64)]) -> String {
        let all = [(0, 0.0), (60, 0.0), (120, 0.0)];
        letters(&all.iter().chain(then).map(|(at, meters)| (*at, *meters, Some(0.0))).collect::<Vec<_>>())
    }

    #[test]
    fn a_stop_is_trusted_and_ends_by_a_far_fix_or_by_several_away() {
        assert_eq!(stood(&[(130, 0.0)]), "mssS");
        // Three fixes in less than two minutes are not enough, nor are two minutes with less than three fixes.
        assert_eq!(letters(&[0, 1, 2, 119, 300, 310].map(|at| (at, 0.0, Some(0.0)))), "mssssS");
        assert_eq!(letters(&[0, 200, 210].map(|at| (at, 0.0, Some(0.0)))), "mss");
        // Too few fixes give no middle to be away from.
        assert_eq!(
            letters(&[(0, 0.0), (60, 32.0), (120, 32.0), (180, 32.0)].map(|(at, m)| (at, m, Some(0.0)))),
            "mssS"
        );
        // 70 m from the middle, here along both axes.
        assert_eq!(stood(&[(130, 49.0), (140, 400.0)]), "mssSM");
        assert_eq!(stood(&[(130, 50.0)]), "mssM");
        // 40 m, three times, over two minutes.
        assert_eq!(stood(&[(200, 29.0), (260, 29.0), (320, 29.0), (330, 29.0)]), "mssSSMs");
        assert_eq!(stood(&[(200, 29.0), (330, 29.0)]), "mssSS");
        assert_eq!(stood(&[(200, 29.0), (210, 29.0), (319, 29.0)]), "mssSSS");
        assert_eq!(stood(&[(200, 29.0), (260, 0.0), (320, 29.0), (330, 29.0)]), "mssSSSS");
        // Nearer than that, it was noise.
        assert_eq!(stood(&[(200, 28.0), (210, 400.0)]), "mssSm");
    }

    #[test]
    fn the_middle_is_that_of_two_stretches() {
        let fixes =
            |told: &[(i32, f64)]| told.iter().map(|(at, m)| fix((*at, *m, Some(0.0)))).collect::<Vec<_>>();
        let middle = |told: &[(i32, f64)]| {
            let (letters, middle) = stances(&fixes(told));
            let middle = middle.unwrap_or(Place::new(f64::NAN, f64::NAN));
            (letters, [middle.latitude, middle.longitude].map(|degrees| (degrees * 111_195.0).round()))
        };
        let first = [(540, 0.0), (560, 10.0), (580, 20.0)];
        let second = [(605, 20.0), (670, 20.0)];
        let two = [&first[..], &second].concat();
        assert_eq!(middle(&two).0, "mssss");
        assert_eq!(middle(&[&two[..], &[(700, 20.0)]].concat()), ("mssssS".to_owned(), [15.0, 15.0]));
        // The first stretch is forgotten with the third; the one before that counts however long ago it was.
        let third = [(1_805, 20.0), (1_810, 20.0)];
        assert_eq!(middle(&[&two[..], &third].concat()).1, [20.0, 20.0]);
    }

    #[test]
    fn an_accuracy_counts_from_17_5_to_200_metres() {
        for (accuracy, meters, expected) in [
            (1.0, 49.0, "ms"),
            (1.0, 50.0, "mm"),
            (100.0, 282.0, "ms"),
            (100.0, 284.0, "mm"),
            (400.0, 565.0, "ms"),
            (400.0, 567.0, "mm"),
        ] {
            let poor = |told| Fix { accuracy_meters: Some(accuracy), ..fix(told) };
            let fixes = [poor((0, 0.0, Some(0.0))), poor((10, meters, Some(0.0)))];
            assert_eq!(stances(&fixes).0, expected, "{accuracy} {meters}");
        }
    }
}
