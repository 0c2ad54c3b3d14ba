//! A fix: one position as a tracker recorded it.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// A point on WGS 84, in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Place {
    /// Degrees north, -90 to 90.
    #[cfg_attr(feature = "schema", schema(minimum = -90, maximum = 90))]
    pub latitude: f64,
    /// Degrees east, -180 to 180.
    #[cfg_attr(feature = "schema", schema(minimum = -180, maximum = 180))]
    pub longitude: f64,
}

impl Place {
    /// A point from degrees north and degrees east.
    #[must_use]
    pub const fn new(latitude: f64, longitude: f64) -> Self {
        Self { latitude, longitude }
    }
}

/// What a fuel sensor said at a fix, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum FuelReading {
    /// Share of the tank, in percent.
    Percent(f64),
    /// Level in litres.
    Liters(f64),
    /// The sensor's own unit; a calibration gives litres.
    Raw(f64),
}

/// One accepted position report: numbers are finite and in range, sentinels are gone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// The device's clock at the fix.
    pub recorded_at: Timestamp,
    /// The server's clock when the fix arrived.
    pub received_at: Timestamp,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Speed over ground in km/h, 0 to 400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_kmh: Option<f64>,
    /// Course over ground in degrees clockwise from north, 0 to 360.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading_degrees: Option<f64>,
    /// Height above the ellipsoid or the sea in metres, as the device has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altitude_meters: Option<f64>,
    /// Horizontal accuracy (68 %) in metres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy_meters: Option<f64>,
    /// Odometer in kilometres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odometer_km: Option<f64>,
    /// Whether the ignition was on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition: Option<bool>,
    /// What the fuel sensor said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<FuelReading>,
}

impl Fix {
    /// A fix with nothing but its time and place.
    #[must_use]
    pub const fn new(recorded_at: Timestamp, received_at: Timestamp, place: Place) -> Self {
        Self {
            recorded_at,
            received_at,
            place,
            speed_kmh: None,
            heading_degrees: None,
            altitude_meters: None,
            accuracy_meters: None,
            odometer_km: None,
            ignition: None,
            fuel: None,
        }
    }

    /// Takes over the members this fix lacks from another report of the same fix.
    /// Returns whether there were any.
    pub fn fill_from(&mut self, other: &Self) -> bool {
        let before = *self;
        self.speed_kmh = self.speed_kmh.or(other.speed_kmh);
        self.heading_degrees = self.heading_degrees.or(other.heading_degrees);
        self.altitude_meters = self.altitude_meters.or(other.altitude_meters);
        self.accuracy_meters = self.accuracy_meters.or(other.accuracy_meters);
        self.odometer_km = self.odometer_km.or(other.odometer_km);
        self.ignition = self.ignition.or(other.ignition);
        self.fuel = self.fuel.or(other.fuel);
        *self != before
    }
}
