//! Whether a vehicle moves, and how its way between two fixes counts (docs/tracking.md, "Motion").
//!
//! Depends on the fixes of the last ten minutes at most, so that a late fix changes nothing far behind it.

use serde::{Deserialize, Serialize};

use crate::geofence::{is_farther_than, leg_meters};
use crate::model::{Fix, Motion, Place, Timestamp};

/// A vehicle moves from this speed on. km/h.
pub const MOVING_KMH: f64 = 3.0;
/// A way no longer than this may be noise, however accurate the fixes claim to be. Metres.
const LEAST_NOISE_METERS: f64 = 20.0;
/// A longer way is not noise, however inaccurate the fixes. Metres.
const MOST_NOISE_METERS: f64 = 200.0;
/// Fixes without a speed are compared with one this much older: trackers that report each second move less between
/// two fixes than their noise. Seconds.
const LOOK_BACK_SECONDS: f64 = 30.0;
/// The marks to compare with are the last fixes of stretches of the clock of this length. Microseconds.
const STRETCH_MICROS: i64 = 30_000_000;
/// After a longer silence it is unknown whether the vehicle moved. Seconds.
pub(super) const MAX_SILENCE_SECONDS: f64 = 600.0;

/// A fix to compare later ones with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Waymark {
    at: Timestamp,
    #[serde(flatten)]
    place: Place,
    #[serde(rename = "accuracyMeters", default, skip_serializing_if = "Option::is_none")]
    accuracy_meters: Option<f64>,
}

impl From<&Fix> for Waymark {
    fn from(fix: &Fix) -> Self {
        Self { at: fix.recorded_at, place: fix.place, accuracy_meters: fix.accuracy_meters }
    }
}

impl Waymark {
    fn stretch(&self) -> i64 {
        self.at.as_micros().div_euclid(STRETCH_MICROS)
    }
}

/// What the engine remembers to decide whether a vehicle moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trail {
    /// As of the newest evaluated fix.
    pub motion: Motion,
    /// The last fixes of the two half minutes with fixes before the newest fix's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    recent: Option<Waymark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<Waymark>,
}

/// The way from one evaluated fix to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// How long it took.
    pub(super) seconds: f64,
    /// How long it is.
    pub(super) meters: f64,
    /// Whether the vehicle moved.
    pub(super) is_moving: bool,
    /// Whether its length counts as movement, not as noise.
    pub(super) counts: bool,
    /// Its speed: as the later fix reported it, or from length and time. km/h.
    pub(super) speed_kmh: f64,
    /// Its speed from length and time; 0 for noise. km/h.
    pub(super) ground_kmh: f64,
}

impl Trail {
    /// The leg to the next fix. `max_speed_kmh`: the highest speed the vehicle can reach; a reported speed above it
    /// is ignored.
    pub(super) fn leg(&self, before: &Fix, fix: &Fix, max_speed_kmh: Option<f64>) -> Leg {
        let seconds = fix.recorded_at.seconds_since(before.recorded_at);
        let way = Displacement::between(&Waymark::from(before), fix);
        let reported = plausible_speed(fix, max_speed_kmh);
        let is_moving = match reported {
            Some(kmh) => kmh >= MOVING_KMH || way.is_moving(),
            None => self
                .waymark_for(before, fix)
                .map_or(way, |mark| Displacement::between(&mark, fix))
                .is_moving(),
        };
        let counts = is_moving || way.is_beyond_noise;
        let ground_kmh = if counts { way.kmh() } else { 0.0 };
        Leg {
            seconds,
            meters: way.meters,
            is_moving,
            counts,
            speed_kmh: reported.unwrap_or(ground_kmh),
            ground_kmh,
        }
    }

    /// Advances to a fix; returns the previous fix and the leg from it, if there was one.
    pub(super) fn follow(&mut self, way: Option<&(Fix, Leg)>, fix: &Fix, max_speed_kmh: Option<f64>) {
        let known = |is_moving| if is_moving { Motion::Moving } else { Motion::Stopped };
        let reported = plausible_speed(fix, max_speed_kmh).map(|kmh| known(kmh >= MOVING_KMH));
        self.motion = match way {
            Some((_, leg)) if leg.seconds <= MAX_SILENCE_SECONDS => known(leg.is_moving),
            _ => reported.unwrap_or_default(),
        };
        if let Some((before, _)) = way {
            let mark = Waymark::from(before);
            if mark.stretch() < Waymark::from(fix).stretch() {
                self.older = self.recent.replace(mark);
            }
        }
    }

    /// The newest last fix of a half minute that is long enough ago, and not too long.
    fn waymark_for(&self, before: &Fix, fix: &Fix) -> Option<Waymark> {
        let before = Waymark::from(before);
        let ends_stretch = before.stretch() < Waymark::from(fix).stretch();
        let marks = [ends_stretch.then_some(before), self.recent, self.older];
        marks
            .into_iter()
            .flatten()
            .find_map(|mark| {
                let age = fix.recorded_at.seconds_since(mark.at);
                (age >= LOOK_BACK_SECONDS).then_some((mark, age))
            })
            .filter(|(_, age)| *age <= MAX_SILENCE_SECONDS)
            .map(|(mark, _)| mark)
    }
}

/// From a mark to a fix.
#[derive(Clone, Copy)]
struct Displacement {
    meters: f64,
    seconds: f64,
    is_beyond_noise: bool,
}

impl Displacement {
    fn between(mark: &Waymark, fix: &Fix) -> Self {
        let meters = leg_meters(mark.place, fix.place);
        let accuracies = mark.accuracy_meters.unwrap_or(0.0) + fix.accuracy_meters.unwrap_or(0.0);
        let noise = (2.0 * accuracies).clamp(LEAST_NOISE_METERS, MOST_NOISE_METERS);
        let seconds = fix.recorded_at.seconds_since(mark.at);
        Self { meters, seconds, is_beyond_noise: meters > noise }
    }

    fn kmh(&self) -> f64 {
        self.meters / self.seconds * 3.6
    }

    fn is_moving(&self) -> bool {
        self.is_beyond_noise && self.kmh() >= MOVING_KMH
    }
}

/// The speed a fix reports, if the vehicle can go that fast. km/h.
pub(super) fn plausible_speed(fix: &Fix, max_speed_kmh: Option<f64>) -> Option<f64> {
    fix.speed_kmh.filter(|kmh| max_speed_kmh.is_none_or(|most| *kmh <= most))
}

/// Whether the great circle between two fixes takes a higher speed than this, which two places at one instant always
/// do. km/h.
pub(super) fn is_faster_than(from: &Fix, to: &Fix, kmh: f64) -> bool {
    let seconds = to.recorded_at.seconds_since(from.recorded_at).max(0.0);
    is_farther_than(from.place, to.place, kmh / 3.6 * seconds)
}
