//! The configuration of a vehicle's fuel sensor, and its versions.

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// What the sensor's number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum SensorKind {
    /// Share of the tank in percent.
    Percent,
    /// Litres in the tank.
    Liters,
    /// The sensor's own unit; only a calibration makes litres of it.
    Raw,
    /// Litres burnt since the counter began. It says nothing of the tank.
    Cumulative,
}

/// A point of the calibration: so much in the tank when the sensor says `raw`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CalibrationPoint {
    /// In the sensor's unit.
    pub raw: f64,
    /// Litres in the tank.
    pub liters: f64,
}

/// A vehicle's fuel sensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sensor {
    /// What its number is.
    pub kind: SensorKind,
    /// What the tank holds, in litres. It may be said here; it is kept and shown beside the sensor, for a tank
    /// without one has it too. 0 where it is kept elsewhere.
    #[serde(default, skip_serializing_if = "is_elsewhere")]
    pub tank_capacity_liters: f64,
    /// 2 to 200 points, or none. `raw` rises strictly; `liters` all rise or all fall (an inverse
    /// sensor). Between two points the level is on the straight line.
    #[serde(default)]
    pub calibration: Vec<CalibrationPoint>,
    /// The sensor's number is invalid below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_valid: Option<f64>,
    /// The sensor's number is invalid above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_valid: Option<f64>,
    /// Numbers with which the sensor says that it is broken.
    #[serde(default)]
    pub error_codes: Vec<f64>,
    /// Over how many seconds levels are smoothed, 60 to 1800.
    #[serde(default = "default_window_seconds")]
    pub window_seconds: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_elsewhere(capacity_liters: &f64) -> bool {
    *capacity_liters == 0.0
}

/// Seconds: longer than waves in a tank live, shorter than any consumption shows.
const fn default_window_seconds() -> f64 {
    300.0
}

impl Sensor {
    /// A sensor without calibration, limits or codes of errors, smoothed over five minutes.
    #[must_use]
    pub const fn new(kind: SensorKind, tank_capacity_liters: f64) -> Self {
        Self {
            kind,
            tank_capacity_liters,
            calibration: Vec::new(),
            min_valid: None,
            max_valid: None,
            error_codes: Vec::new(),
            window_seconds: default_window_seconds(),
        }
    }
}

/// A version of what is known of a vehicle's tank and sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// 1 for the first, then one more with each change.
    pub version: i64,
    /// In force for readings recorded from this instant on; `None` = always.
    pub effective_from: Option<Timestamp>,
    /// The sensor with its tank. `None` without a tank: readings in litres have a level, others have none,
    /// and no refuels and drains are looked for.
    pub sensor: Option<Sensor>,
}

impl Calibration {
    /// A version. Of a tank without a described sensor is read what the device's units say.
    #[must_use]
    pub fn new(
        version: i64,
        effective_from: Option<Timestamp>,
        tank_capacity_liters: Option<f64>,
        described: Option<Sensor>,
    ) -> Self {
        let sensor = tank_capacity_liters.map(|capacity| match described {
            Some(sensor) => Sensor { tank_capacity_liters: capacity, ..sensor },
            None => Sensor::new(SensorKind::Raw, capacity),
        });
        Self { version, effective_from, sensor }
    }

    /// The version that counts at an instant: of those in force by then, the one of the highest number.
    /// `None` before the first.
    #[must_use]
    pub fn in_force_at(versions: &[Self], at: Timestamp) -> Option<&Self> {
        let in_force = |known: &&Self| known.effective_from.is_none_or(|from| from <= at);
        versions.iter().filter(in_force).max_by_key(|known| known.version)
    }
}
