//! One source of a consumption, the level or the counter, over a period.

use serde::{Deserialize, Serialize};

use super::edges::SILENCE_SECONDS;
use crate::model::Timestamp;

/// Litres an hour: twice what the largest engine of a road vehicle burns at full load. A counter that
/// rises faster was exchanged, or is wrong.
const MAX_COUNTER_LITERS_PER_HOUR: f64 = 200.0;
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

    /// Litres burnt since the newest value; `None` if the counter started over, or jumped.
    pub(super) fn rise_to(&self, at: Timestamp, liters: f64) -> Option<f64> {
        let (before, counted) = self.newest?;
        let most = at.seconds_since(before) / 3600.0 * MAX_COUNTER_LITERS_PER_HOUR + COUNTER_STEP_LITERS;
        Some(liters - counted).filter(|rise| (0.0..=most).contains(rise))
    }
}
