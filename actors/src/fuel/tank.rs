//! The tank that readings are of.

use serde::{Deserialize, Serialize};

use crate::model::Sensor;

/// Of a vehicle, as one version of its sensor is configured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tank {
    /// What it holds, in litres.
    pub capacity_liters: f64,
    /// Over how many seconds levels are smoothed.
    pub window_seconds: f64,
    /// The version of the sensor's configuration. Levels of two versions are never compared: a new
    /// calibration is no refuel.
    pub version: i64,
}

impl Tank {
    /// One of which nothing is known: only a counter tells what was burnt.
    pub(super) const UNKNOWN: Self = Self { capacity_liters: 0.0, window_seconds: 0.0, version: 0 };

    /// The tank of a sensor in this version of its configuration.
    #[must_use]
    pub const fn of(sensor: &Sensor, version: i64) -> Self {
        Self { capacity_liters: sensor.tank_capacity_liters, window_seconds: sensor.window_seconds, version }
    }
}
