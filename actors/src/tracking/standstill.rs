//! Whether a vehicle stands, and where (docs/tracking.md, "Standing").
//!
//! Noise moves every fix of a parked vehicle, but hardly the middle of many. So a vehicle stands until its fixes
//! are too far from that middle, or stay away from it. The middle is that of ten to twenty minutes by the clock:
//! a late fix changes nothing far behind it.

use serde::{Deserialize, Serialize};

use super::motion::{MOVING_KMH, plausible_speed};
use crate::geofence::{canonical_degrees, eastward_degrees, leg_meters};
use crate::model::{Fix, Place, Timestamp};

/// A fix is taken for no better than this, whatever it says of its accuracy. Metres.
const LEAST_ACCURACY_METERS: f64 = 17.5;
/// Nor for worse than this. Metres.
const MOST_ACCURACY_METERS: f64 = 200.0;
/// A single fix so many times its accuracy from the middle is not noise: the vehicle moved.
const FAR: f64 = 4.0;
/// So many times its accuracy from the middle, several fixes in a row are not noise.
const AWAY: f64 = 2.3;
/// So many in a row, over [`SETTLED_SECONDS`]; as many make a middle that can be trusted.
const SEVERAL: u32 = 3;
/// GPS errors last for a minute or so; what has lasted longer is no error. Seconds.
const SETTLED_SECONDS: f64 = 120.0;
/// The middle is that of the fixes of this stretch of the clock and the one with fixes before it. Microseconds.
const STRETCH_MICROS: i64 = 600_000_000;
/// A vehicle that reports no speed is looked at in stretches of the clock so long. Microseconds.
const GLANCE_MICROS: i64 = 30_000_000;
/// Two fixes closer in time than this do not tell whether it moves. Seconds.
const LEAST_GLANCE_SECONDS: f64 = 15.0;

/// Fixes of one stretch of the clock. Written as a list, for its length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
struct Cluster {
    /// When the first one was recorded.
    at: Timestamp,
    /// Where.
    base: Place,
    /// How far they are from it together, in degrees.
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

/// Fixes in a row that are away from the middle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Away {
    since: Timestamp,
    fixes: u32,
}

/// Where a vehicle stands, or may have come to stand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standstill {
    /// It moved, and reports no speed that would tell whether it goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    may_move: bool,
    latest: Cluster,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<Cluster>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    away: Option<Away>,
    /// Whether the newest fix was held back for caution only: there were few before it, or it was away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_open: bool,
}

/// How far a fix is believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stance {
    /// By itself.
    Moves {
        /// So is what was held back while it stood: it may have been on its way then.
        believes_held: bool,
    },
    /// Not against the stop.
    Stands {
        /// The middle of its fixes, once there are enough.
        middle: Option<Place>,
    },
}

impl Stance {
    /// Nothing was held back.
    pub(super) const FREE: Self = Self::Moves { believes_held: false };
}

/// Goes on to a fix. `before`: the evaluated fix before it; `max_speed_kmh`: what the vehicle can do.
pub(super) fn follow(
    standstill: &mut Option<Standstill>,
    before: Option<&Fix>,
    fix: &Fix,
    max_speed_kmh: Option<f64>,
) -> Stance {
    let reported = plausible_speed(fix, max_speed_kmh);
    let (Some(known), Some(before)) = (standstill.as_mut(), before) else {
        *standstill = Standstill::begin(fix, reported, before.is_some());
        return Stance::FREE;
    };
    let is_settled = known.is_settled(before.recorded_at);
    let stands = match reported {
        Some(kmh) if kmh >= MOVING_KMH => false,
        Some(_) if known.may_move => false,
        None if known.may_move => known.settles(fix),
        _ => known.holds(fix, is_settled),
    };
    if stands {
        return Stance::Stands { middle: is_settled.then(|| known.middle()) };
    }
    let believes_held = known.is_open;
    let passes_on =
        known.may_move && reported.is_none() && glance(known.latest.at) == glance(fix.recorded_at);
    if !passes_on {
        *standstill = Standstill::begin(fix, reported, true);
    }
    Stance::Moves { believes_held }
}

/// How far the newest fix is believed by itself where something else changed: not against a settled stop.
pub(super) fn stance(standstill: Option<&Standstill>, newest: &Fix) -> Stance {
    let settled = standstill.filter(|known| !known.may_move && known.is_settled(newest.recorded_at));
    settled.map_or(Stance::FREE, |known| Stance::Stands { middle: Some(known.middle()) })
}

impl Standstill {
    /// What is known from a fix that is believed. `came`: there was one before it.
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
    fn is_settled(&self, newest: Timestamp) -> bool {
        let first = self.earlier.as_ref().unwrap_or(&self.latest);
        let fixes = self.latest.fixes + self.earlier.map_or(0, |earlier| earlier.fixes);
        fixes >= SEVERAL && newest.seconds_since(first.at) >= SETTLED_SECONDS
    }

    /// Whether a vehicle that reports no speed came no farther since the last half minute with fixes.
    fn settles(&mut self, fix: &Fix) -> bool {
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

    /// Whether a vehicle that stood stands on.
    fn holds(&mut self, fix: &Fix, is_settled: bool) -> bool {
        let (meters, accuracy) = (leg_meters(self.middle(), fix.place), accuracy_meters(fix));
        if meters > FAR * accuracy {
            return false;
        }
        let is_away = is_settled && meters > AWAY * accuracy;
        self.is_open = is_away || !is_settled;
        if !is_away {
            self.away = None;
            self.add(fix);
            return true;
        }
        let away = self.away.get_or_insert(Away { since: fix.recorded_at, fixes: 0 });
        away.fixes += 1;
        away.fixes < SEVERAL || fix.recorded_at.seconds_since(away.since) < SETTLED_SECONDS
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

/// Which half minute of the clock.
fn glance(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(GLANCE_MICROS)
}

fn accuracy_meters(fix: &Fix) -> f64 {
    fix.accuracy_meters.unwrap_or(0.0).clamp(LEAST_ACCURACY_METERS, MOST_ACCURACY_METERS)
}
