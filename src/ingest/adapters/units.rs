//! Units in which clients speak, in those of a fix.

use crate::domain::tracker::SpeedUnit;

/// km/h of a knot.
pub const KMH_PER_KNOT: f64 = 1.852;
/// km/h of a metre per second.
pub const KMH_PER_METER_PER_SECOND: f64 = 3.6;

/// km/h of a unit that a tracker may be set to.
#[must_use]
pub const fn kmh_per(unit: SpeedUnit) -> f64 {
    match unit {
        SpeedUnit::KilometersPerHour => 1.0,
        SpeedUnit::MetersPerSecond => KMH_PER_METER_PER_SECOND,
        SpeedUnit::Knots => KMH_PER_KNOT,
    }
}

/// An accuracy in metres; clients send 0 or less when they do not know it, and 0 would be better than every honest one.
#[must_use]
pub fn accuracy_meters(sent: Option<f64>) -> Option<f64> {
    sent.filter(|meters| *meters > 0.0)
}
