//! A fix: one position as a tracker recorded it.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// A point on WGS 84, in degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Litres burnt since the device's counter began; beside a level or without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_cumulative: Option<f64>,
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
            fuel_cumulative: None,
        }
    }

    /// Whether it says anything of fuel.
    #[must_use]
    pub const fn has_fuel(&self) -> bool {
        self.fuel.is_some() || self.fuel_cumulative.is_some()
    }

    /// Makes one of two reports of the same fix, whichever came first: a member one of them lacks is
    /// filled in, of two different values the smaller one stays (`false` before `true`, percent before
    /// litres before raw), and the earlier arrival.
    pub fn merge(&mut self, other: &Self) -> Merged {
        let before = *self;
        self.received_at = self.received_at.min(other.received_at);
        smaller(&mut self.speed_kmh, other.speed_kmh, f64::total_cmp);
        smaller(&mut self.heading_degrees, other.heading_degrees, f64::total_cmp);
        smaller(&mut self.altitude_meters, other.altitude_meters, f64::total_cmp);
        smaller(&mut self.accuracy_meters, other.accuracy_meters, f64::total_cmp);
        smaller(&mut self.odometer_km, other.odometer_km, f64::total_cmp);
        smaller(&mut self.ignition, other.ignition, bool::cmp);
        smaller(&mut self.fuel, other.fuel, FuelReading::total_cmp);
        smaller(&mut self.fuel_cumulative, other.fuel_cumulative, f64::total_cmp);
        if self.judged() != before.judged() {
            Merged::Judged
        } else if *self != before {
            Merged::Unjudged
        } else {
            Merged::Same
        }
    }

    /// The members by which a fix is judged, or that a record shows, beside place and instant.
    const fn judged(&self) -> [Option<f64>; 3] {
        [self.speed_kmh, self.heading_degrees, self.accuracy_meters]
    }
}

/// What a second report of a fix added to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Nothing.
    Same,
    /// Members that no record depends on.
    Unjudged,
    /// Members that records depend on: what was recorded from this fix on awaits a correction.
    Judged,
}

impl FuelReading {
    fn total_cmp(&self, other: &Self) -> Ordering {
        let rank = |reading: &Self| match *reading {
            Self::Percent(value) => (0, value),
            Self::Liters(value) => (1, value),
            Self::Raw(value) => (2, value),
        };
        let ((unit, value), (other_unit, other_value)) = (rank(self), rank(other));
        unit.cmp(&other_unit).then(value.total_cmp(&other_value))
    }
}

fn smaller<T: Copy>(member: &mut Option<T>, other: Option<T>, compare: impl Fn(&T, &T) -> Ordering) {
    if let Some(value) = other
        && member.is_none_or(|own| compare(&value, &own) == Ordering::Less)
    {
        *member = Some(value);
    }
}
