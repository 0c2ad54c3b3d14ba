//! What a vehicle does during a stay, counted fix by fix (docs/tracking.md, "Analytics").
//!
//! A tally is a plain value: the one at the crossing of a stay that may be ending is kept beside
//! the one that goes on.

use serde::{Deserialize, Serialize};

use super::motion::{Leg, plausible_speed};
use super::state::Crossing;
use crate::geofence::leg_meters;
use crate::model::{Analytics, Fix, Place, Rules, Timestamp};

/// At rest for so long is a stop. Microseconds.
const STOP_MICROS: i64 = 120_000_000;
/// The speed over a shorter leg is mostly noise. Seconds.
const LEAST_SPEED_SECONDS: f64 = 5.0;

/// A stay so far. What is neither moving nor stopped is gap, so that the parts always add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    moving_micros: i64,
    stopped_micros: i64,
    /// The part of `stopped_micros` since the vehicle came to rest.
    rest_micros: i64,
    stops: i64,
    distance_meters: f64,
    fix_count: i64,
    /// The highest speed reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_kmh: Option<f64>,
    /// The highest speed over a leg.
    #[serde(skip_serializing_if = "Option::is_none")]
    ground_kmh: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overspeed_micros: Option<i64>,
}

/// The piece of a leg that lies within the stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    from: (Timestamp, Place),
    to: (Timestamp, Place),
}

impl Piece {
    pub(super) const fn new(from: (Timestamp, Place), to: (Timestamp, Place)) -> Self {
        Self { from, to }
    }

    /// From a crossing on, up to a fix.
    pub(super) const fn from_entry(entry: &Crossing, fix: &Fix) -> Self {
        Self::new((entry.at, entry.place), (fix.recorded_at, fix.place))
    }

    /// From the fix before, or from the entry if that came later, where the vehicle was last seen.
    pub(super) fn since(before: &Fix, entered_at: Timestamp, to: (Timestamp, Place)) -> Self {
        Self::new((before.recorded_at.max(entered_at), before.place), to)
    }
}

impl Tally {
    /// Goes on over a piece of a leg, by the rules of the fence.
    pub(super) fn travel(&mut self, leg: &Leg, piece: Piece, rules: &Rules) {
        let micros = (piece.to.0.as_micros() - piece.from.0.as_micros()).max(0);
        if leg.counts {
            self.distance_meters += leg_meters(piece.from.1, piece.to.1);
        }
        let is_gap = leg.seconds > rules.max_gap_seconds;
        if let Some(limit) = rules.speed_limit_kmh {
            let is_over = !is_gap && leg.speed_kmh > limit;
            *self.overspeed_micros.get_or_insert(0) += if is_over { micros } else { 0 };
        }
        if !is_gap && leg.seconds >= LEAST_SPEED_SECONDS {
            self.ground_kmh = higher(self.ground_kmh, leg.ground_kmh);
        }
        if is_gap || leg.is_moving {
            self.rest_micros = 0;
            self.moving_micros += if is_gap { 0 } else { micros };
        } else {
            self.rest(micros);
        }
    }

    fn rest(&mut self, micros: i64) {
        let before = self.rest_micros;
        self.stopped_micros += micros;
        self.rest_micros += micros;
        if before < STOP_MICROS && self.rest_micros >= STOP_MICROS {
            self.stops += 1;
        }
    }

    /// Counts a fix of the stay. `max_speed_kmh`: what the vehicle can do.
    pub(super) fn count(&mut self, fix: &Fix, max_speed_kmh: Option<f64>) {
        self.fix_count += 1;
        if let Some(kmh) = plausible_speed(fix, max_speed_kmh) {
            self.reported_kmh = higher(self.reported_kmh, kmh);
        }
    }

    /// The stay up to an instant, not before its newest counted piece.
    #[must_use]
    pub fn analytics(&self, entered_at: Timestamp, until: Timestamp) -> Analytics {
        let micros = (until.as_micros() - entered_at.as_micros()).max(0);
        let gap_micros = (micros - self.moving_micros - self.stopped_micros).max(0);
        let average = self.distance_meters / seconds(micros) * 3.6;
        Analytics {
            duration_seconds: seconds(micros),
            distance_meters: to_thousandths(self.distance_meters),
            avg_speed_kmh: (micros >= 1_000_000).then(|| to_thousandths(average)),
            max_speed_kmh: self.reported_kmh.or(self.ground_kmh).map(to_thousandths),
            moving_seconds: seconds(self.moving_micros),
            stopped_seconds: seconds(self.stopped_micros),
            gap_seconds: seconds(gap_micros),
            fix_count: self.fix_count,
            stops: self.stops,
            overspeed_seconds: self.overspeed_micros.map(seconds),
            fuel_used_liters: None,
        }
    }
}

fn higher(known: Option<f64>, value: f64) -> Option<f64> {
    Some(known.map_or(value, |known| known.max(value)))
}

fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// Finer digits of metres and km/h would be noise, and cost room in every event.
fn to_thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
