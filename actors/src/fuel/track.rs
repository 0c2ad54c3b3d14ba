//! One source of a consumption, the level or the counter, over a period.

use serde::{Deserialize, Serialize};

use super::edges::SILENCE_SECONDS;
use crate::model::Timestamp;

/// Litres an hour: twice what the largest engine of a road vehicle burns at full load. A counter that
/// rises faster was exchanged, or is wrong.
const MAX_COUNTER_LITERS_PER_HOUR: f64 = 200.0;
/// Litres an hour during a silence in one place: what the largest digger, crane or pump burns at work. Of a lorry that
/// is parked over a weekend, a counter that was exchanged or not read would otherwise pass for ten thousand litres.
const MAX_STANDING_LITERS_PER_HOUR: f64 = 50.0;
/// Metres a parked receiver strays: a silence with no more movement than this hides no drive.
const SAME_PLACE_METERS: f64 = 100.0;
/// Counters step by up to this: SAE J1939's by half a litre. Litres.
const COUNTER_STEP_LITERS: f64 = 1.0;

/// One of the two sources: where it began, where it is, and how much of the time it covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Track {
    pub(super) opening: Option<(Timestamp, f64)>,
    pub(super) newest: Option<(Timestamp, f64)>,
    /// Metres since the newest value; `None` once any of them is unknown.
    pub(super) meters: Option<f64>,
    pub(super) covered_seconds: f64,
    /// The value before the counter fell, until it is back there or counts from where it fell to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fell_from: Option<(Timestamp, f64)>,
}

impl Track {
    pub(super) fn proceed(&mut self, meters: Option<f64>) {
        self.meters = self.meters.zip(meters).map(|(so_far, more)| so_far + more);
    }

    /// `tells`: whether the value covers the time since the previous one even if that was long ago.
    pub(super) fn take(&mut self, at: Timestamp, liters: f64, from: Timestamp, tells: bool) {
        if let Some((before, _)) = self.newest {
            let seconds = at.seconds_since(before.max(from)).max(0.0);
            if tells || at.seconds_since(before) <= SILENCE_SECONDS {
                self.covered_seconds += seconds;
            }
        }
        if self.opening.is_none() || at < from {
            self.opening = Some((at, liters));
        }
        self.newest = Some((at, liters));
        self.meters = Some(0.0);
    }

    /// Whether the vehicle is known to have stayed where it was at the newest value.
    pub(super) fn stayed(&self) -> bool {
        self.meters.is_some_and(|meters| meters < SAME_PLACE_METERS)
    }

    /// Litres burnt since the newest value, or, if the counter is back where it fell from, since then: one that is not
    /// read, because the vehicle's bus is asleep, may say 0 meanwhile. `None` if it started over, or jumped.
    pub(super) fn rise_to(&mut self, at: Timestamp, liters: f64) -> Option<f64> {
        let (newest, now) = (self.newest?, (at, liters));
        let stands = at.seconds_since(newest.0) > SILENCE_SECONDS && self.stayed();
        let hourly = if stands { MAX_STANDING_LITERS_PER_HOUR } else { MAX_COUNTER_LITERS_PER_HOUR };
        let since_fall =
            self.fell_from.and_then(|before| believed_rise(before, now, MAX_COUNTER_LITERS_PER_HOUR));
        let rise = since_fall.or_else(|| believed_rise(newest, now, hourly));
        if since_fall.is_some() || rise.is_some_and(|rise| rise > 0.0) {
            self.fell_from = None;
        } else if liters < newest.1 {
            self.fell_from = self.fell_from.or(Some(newest));
        }
        rise
    }
}

/// Litres from one value to another; `None` if they are below 0, or more than can be burnt in that time.
fn believed_rise(
    (before, counted): (Timestamp, f64),
    (at, liters): (Timestamp, f64),
    hourly: f64,
) -> Option<f64> {
    let most = at.seconds_since(before) / 3600.0 * hourly + COUNTER_STEP_LITERS;
    Some(liters - counted).filter(|rise| (0.0..=most).contains(rise))
}
