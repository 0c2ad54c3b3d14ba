//! What a vehicle did during a visit, as clients see it.

use serde::{Deserialize, Serialize};

/// What a vehicle did between its entry and its exit. Definitions: docs/tracking.md, "Analytics".
/// `movingSeconds + stoppedSeconds + gapSeconds` is `durationSeconds`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Analytics {
    /// From entry to exit, both interpolated.
    pub duration_seconds: f64,
    /// The way from crossing to crossing, parked jitter not counted. Metres.
    pub distance_meters: f64,
    /// Distance by duration, km/h; absent for visits shorter than a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_speed_kmh: Option<f64>,
    /// The highest speed a fix reported, or without any the highest between two fixes, km/h;
    /// absent when there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_speed_kmh: Option<f64>,
    /// In motion.
    pub moving_seconds: f64,
    /// At rest.
    pub stopped_seconds: f64,
    /// Not known: silences longer than the fence's `maxGapSeconds`, and what no fix follows.
    pub gap_seconds: f64,
    /// Evaluated fixes during the visit.
    pub fix_count: i64,
    /// Times at rest for 120 s or longer.
    pub stops: i64,
    /// Faster than the fence's `speedLimitKmh`; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overspeed_seconds: Option<f64>,
    /// Fuel used, litres; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_used_liters: Option<f64>,
}

/// Whether a vehicle moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Motion {
    /// It does.
    Moving,
    /// It does not.
    Stopped,
    /// Its fixes do not tell: there is only one, or a long silence came before the newest.
    #[default]
    Unknown,
}
