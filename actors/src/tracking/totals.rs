//! What a vehicle did during a trip or a stop, in whole numbers: a sum of pieces is the same in whatever order they are
//! added, so that a correction can put right a sum by the difference over its own part.

use serde::{Deserialize, Serialize};

use super::analytics::to_millionths;
use super::motion::{Leg, MAX_SILENCE_SECONDS, plausible_speed};
use crate::model::Fix;

/// Over a shorter leg, the speed is mostly noise. Seconds.
const LEAST_SPEED_SECONDS: f64 = 5.0;

/// The sum over consecutive legs. Stored as a tuple, to be short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Totals {
    /// The way, parked jitter not counted. Millimetres.
    distance_mm: i64,
    /// Legs on which the vehicle moved. Microseconds.
    moving_micros: i64,
    /// Legs on which it did not, without silences. Microseconds.
    stopped_micros: i64,
    /// The part of `stopped_micros` with the ignition on. Microseconds.
    idling_micros: i64,
    /// Legs to a fix over a limit of speed. Microseconds.
    overspeed_micros: i64,
    /// Fixes after the first one.
    fixes: i64,
    /// The highest speed, km/h; 0 if none is known.
    fastest_kmh: f64,
}

type Written = ([i64; 6], f64);

impl From<Totals> for Written {
    fn from(totals: Totals) -> Self {
        let Totals {
            distance_mm, moving_micros, stopped_micros, idling_micros, overspeed_micros, fixes, ..
        } = totals;
        let sums = [distance_mm, moving_micros, stopped_micros, idling_micros, overspeed_micros, fixes];
        (sums, totals.fastest_kmh)
    }
}

impl From<Written> for Totals {
    fn from((sums, fastest_kmh): Written) -> Self {
        let [distance_mm, moving_micros, stopped_micros, idling_micros, overspeed_micros, fixes] = sums;
        Self {
            distance_mm,
            moving_micros,
            stopped_micros,
            idling_micros,
            overspeed_micros,
            fixes,
            fastest_kmh,
        }
    }
}

impl Totals {
    /// One leg. `is_over`: whether the vehicle is over its limit of speed at the fix.
    pub(super) fn of(
        (before, leg): &(Fix, Leg),
        fix: &Fix,
        is_over: bool,
        max_speed_kmh: Option<f64>,
    ) -> Self {
        let micros = (leg.seconds * 1e6) as i64;
        let is_gap = leg.seconds > MAX_SILENCE_SECONDS;
        let when = |is_so: bool| if is_so && !is_gap { micros } else { 0 };
        let is_idling = !leg.is_moving && before.ignition == Some(true);
        let ground_kmh = if is_gap || leg.seconds < LEAST_SPEED_SECONDS { 0.0 } else { leg.ground_kmh };
        Self {
            distance_mm: if leg.counts { (leg.meters * 1e3).round() as i64 } else { 0 },
            moving_micros: when(leg.is_moving),
            stopped_micros: when(!leg.is_moving),
            idling_micros: when(is_idling),
            overspeed_micros: when(is_over),
            fixes: 1,
            fastest_kmh: to_millionths(plausible_speed(fix, max_speed_kmh).unwrap_or(ground_kmh)),
        }
    }

    /// A leg of which nothing is known but the fix that ends it.
    pub(super) fn unknown() -> Self {
        Self { fixes: 1, ..Self::default() }
    }

    /// Adds what came after.
    pub(super) fn add(&mut self, more: &Self) {
        self.distance_mm += more.distance_mm;
        self.moving_micros += more.moving_micros;
        self.stopped_micros += more.stopped_micros;
        self.idling_micros += more.idling_micros;
        self.overspeed_micros += more.overspeed_micros;
        self.fixes += more.fixes;
        self.fastest_kmh = self.fastest_kmh.max(more.fastest_kmh);
    }

    /// What to [`add`](Self::add) to `other`, and to whatever it has become since, to have started from these. `None` if only what
    /// came since can tell: the highest speed may have been one that is none any more.
    pub(super) fn beyond(&self, other: &Self) -> Option<Self> {
        (self.fastest_kmh >= other.fastest_kmh).then(|| Self {
            distance_mm: self.distance_mm - other.distance_mm,
            moving_micros: self.moving_micros - other.moving_micros,
            stopped_micros: self.stopped_micros - other.stopped_micros,
            idling_micros: self.idling_micros - other.idling_micros,
            overspeed_micros: self.overspeed_micros - other.overspeed_micros,
            fixes: self.fixes - other.fixes,
            fastest_kmh: self.fastest_kmh,
        })
    }

    /// Metres.
    #[must_use]
    pub fn distance_meters(&self) -> f64 {
        self.distance_mm as f64 / 1e3
    }

    /// Seconds in motion.
    #[must_use]
    pub fn moving_seconds(&self) -> f64 {
        seconds(self.moving_micros)
    }

    /// Seconds at rest.
    #[must_use]
    pub fn stopped_seconds(&self) -> f64 {
        seconds(self.stopped_micros)
    }

    /// Seconds at rest with the ignition on.
    #[must_use]
    pub fn idling_seconds(&self) -> f64 {
        seconds(self.idling_micros)
    }

    /// Seconds over a limit of speed.
    #[must_use]
    pub fn overspeed_seconds(&self) -> f64 {
        seconds(self.overspeed_micros)
    }

    /// Evaluated fixes, the first and the last one included.
    #[must_use]
    pub const fn fix_count(&self) -> i64 {
        self.fixes + 1
    }

    /// The highest speed, km/h.
    #[must_use]
    pub const fn max_speed_kmh(&self) -> f64 {
        self.fastest_kmh
    }
}

fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
