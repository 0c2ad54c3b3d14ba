//! What a vehicle does during a stay, counted fix by fix (docs/tracking.md, "Analytics").
//!
//! A tally is a plain value: the one at the crossing of a stay that may be ending is kept beside
//! the one that goes on.

use serde::{Deserialize, Serialize};

use super::motion::{Leg, plausible_speed};
use crate::geofence::{interpolate, leg_meters};
use crate::model::{Analytics, Fix, Place, Rules, Timestamp};

/// Being at rest for this long is a stop. Microseconds.
const STOP_MICROS: i64 = 120_000_000;
/// Over a shorter leg, the speed is mostly noise. Seconds.
const LEAST_SPEED_SECONDS: f64 = 5.0;

/// A stay so far. Time neither moving nor stopped counts as gap, so that the parts always add up.
///
/// Stored as a tuple, since every stay of every vehicle carries one through every commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Tally {
    moving_micros: i64,
    stopped_micros: i64,
    /// The part of `stopped_micros` since the vehicle came to rest.
    rest_micros: i64,
    stops: i64,
    fix_count: i64,
    distance_meters: f64,
    /// The highest speed reported.
    reported_kmh: Option<f64>,
    /// The highest speed over a leg.
    ground_kmh: Option<f64>,
    overspeed_micros: Option<i64>,
}

type Written = ([i64; 5], f64, [Option<f64>; 2], Option<i64>);

impl From<Tally> for Written {
    fn from(tally: Tally) -> Self {
        let Tally { moving_micros, stopped_micros, rest_micros, stops, fix_count, .. } = tally;
        let counts = [moving_micros, stopped_micros, rest_micros, stops, fix_count];
        (counts, tally.distance_meters, [tally.reported_kmh, tally.ground_kmh], tally.overspeed_micros)
    }
}

impl From<Written> for Tally {
    fn from((counts, distance_meters, speeds, overspeed_micros): Written) -> Self {
        let [moving_micros, stopped_micros, rest_micros, stops, fix_count] = counts;
        let [reported_kmh, ground_kmh] = speeds;
        Self {
            moving_micros,
            stopped_micros,
            rest_micros,
            stops,
            fix_count,
            distance_meters,
            reported_kmh,
            ground_kmh,
            overspeed_micros,
        }
    }
}

/// The piece of a leg that lies within the stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    from: (Timestamp, Place),
    to: (Timestamp, Place),
    /// Whether it is the whole leg, whose length is known.
    is_whole: bool,
}

impl Piece {
    pub(super) const fn new(from: (Timestamp, Place), to: (Timestamp, Place)) -> Self {
        Self { from, to, is_whole: false }
    }

    /// What of the leg between two fixes is within a stay that goes on: all of it, unless the stay began on the way.
    pub(super) fn between(before: &Fix, entered_at: Timestamp, fix: &Fix) -> Self {
        let is_whole = entered_at.seconds_since(before.recorded_at) <= 0.0;
        Self { is_whole, ..Self::since(before, entered_at, (fix.recorded_at, fix.place)) }
    }

    /// From the previous fix; if the stay began later (through an edit of the fence), from where the vehicle was on
    /// its way at that time.
    pub(super) fn since(before: &Fix, entered_at: Timestamp, to: (Timestamp, Place)) -> Self {
        let gone = entered_at.seconds_since(before.recorded_at);
        if gone <= 0.0 {
            return Self::new((before.recorded_at, before.place), to);
        }
        let share = gone / to.0.seconds_since(before.recorded_at).max(gone);
        Self::new((entered_at, interpolate(before.place, to.1, share)), to)
    }

    /// How long it is, as a piece of this leg. Metres.
    fn meters(&self, leg: &Leg) -> f64 {
        if self.is_whole { leg.meters } else { leg_meters(self.from.1, self.to.1) }
    }
}

impl Tally {
    /// Advances over a piece of a leg, by the rules of the fence.
    pub(super) fn travel(&mut self, leg: &Leg, piece: Piece, rules: &Rules) {
        let micros = (piece.to.0.as_micros() - piece.from.0.as_micros()).max(0);
        if leg.counts {
            self.distance_meters += piece.meters(leg);
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

    /// Counts a fix of the stay. `max_speed_kmh`: the highest speed the vehicle can reach.
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
            distance_meters: to_millionths(self.distance_meters),
            avg_speed_kmh: (micros >= 1_000_000).then(|| to_millionths(average)),
            max_speed_kmh: self.reported_kmh.or(self.ground_kmh).map(to_millionths),
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

/// Finer digits of metres and km/h would be noise, and would take room in every event.
pub(super) fn to_millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
