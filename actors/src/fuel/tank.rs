//! The tank that readings come from.

use serde::{Deserialize, Serialize};

use crate::model::Sensor;

/// A vehicle's tank, as configured by one version of its sensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tank {
    /// Its capacity in litres.
    pub capacity_liters: f64,
    /// The time over which levels are smoothed, in seconds.
    pub window_seconds: f64,
    /// The version of the sensor's configuration. Levels of two versions are never compared: a new
    /// calibration is no refuel.
    pub version: i64,
}

impl Tank {
    /// An unknown tank: only a counter shows what was burnt.
    pub(super) const UNKNOWN: Self = Self { capacity_liters: 0.0, window_seconds: 0.0, version: 0 };

    /// The tank of a sensor in this version of its configuration.
    #[must_use]
    pub const fn of(sensor: &Sensor, version: i64) -> Self {
        Self { capacity_liters: sensor.tank_capacity_liters, window_seconds: sensor.window_seconds, version }
    }
}
