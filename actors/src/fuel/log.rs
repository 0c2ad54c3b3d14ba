//! The fuel log: what a reading reported and meant, one row per vehicle and instant, and the row's id.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::level::{Interpreted, Quality, interpret};
use crate::model::{Fix, FuelReading, Place, Sensor, Timestamp, VehicleId};

words!(
    /// In which unit a device reported.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    FuelUnit {
        /// Share of the tank in percent.
        Percent = "percent",
        /// Litres.
        Liters = "liters",
        /// The sensor's own unit.
        Raw = "raw",
        /// Litres burnt since the counter began.
        Cumulative = "cumulative",
    }
);

/// A row of the fuel log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FuelRow {
    /// The device's clock.
    pub recorded_at: Timestamp,
    /// The server's clock when it arrived.
    pub received_at: Timestamp,
    /// Where the vehicle was.
    pub place: Place,
    /// Speed over ground in km/h.
    pub speed_kmh: Option<f64>,
    /// Odometer in kilometres.
    pub odometer_km: Option<f64>,
    /// Whether the ignition was on.
    pub ignition: Option<bool>,
    /// How far the vehicle went since the previous row, in metres; `None` for the first row, and if unknown.
    pub distance_meters: Option<f64>,
    /// The unit of `raw_value`.
    pub unit: FuelUnit,
    /// The number as reported; if a device reports both level and counter, the level's.
    pub raw_value: f64,
    /// Litres in the tank by this reading alone.
    pub level_raw_liters: Option<f64>,
    /// Litres in the tank, smoothed up to this reading.
    pub level_liters: Option<f64>,
    /// The smoothed level as a share of the tank, in percent.
    pub level_percent: Option<f64>,
    /// Litres burnt since the counter began.
    pub counter_liters: Option<f64>,
    /// Whether the reading can be believed.
    pub quality: Quality,
    /// The version of the calibration by which it was read.
    pub calibration_version: Option<i64>,
}

/// What a fix reports about fuel; `None` if nothing. It may report a counter beside a level.
pub(super) fn read(fix: &Fix, sensor: Option<&Sensor>) -> Option<(FuelUnit, Interpreted)> {
    let counter = fix.fuel_cumulative;
    let Some(reading) = fix.fuel else {
        return counter.map(|liters| (FuelUnit::Cumulative, counted(liters)));
    };
    let unit = match reading {
        FuelReading::Percent(_) => FuelUnit::Percent,
        FuelReading::Liters(_) => FuelUnit::Liters,
        FuelReading::Raw(_) => FuelUnit::Raw,
    };
    let found = interpret(sensor, reading);
    Some((unit, Interpreted { counter_liters: counter.or(found.counter_liters), ..found }))
}

const fn counted(liters: f64) -> Interpreted {
    Interpreted { raw_value: liters, level_liters: None, counter_liters: Some(liters), quality: Quality::Ok }
}

/// The id of the row of a vehicle and instant: the instant in milliseconds, then a hash of the vehicle. So ids sort
/// by time, and an id shows where to look ([`instant_of`]).
#[must_use]
pub fn log_id(vehicle: VehicleId, recorded_at: Timestamp) -> Uuid {
    let digest = Sha256::new().chain_update(b"fuel log").chain_update(vehicle.0.as_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&recorded_at.as_millis().to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&digest[..10]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The instant of the row that has this id, if there is one.
#[must_use]
pub fn instant_of(id: Uuid) -> Option<Timestamp> {
    let mut millis = [0; 8];
    millis[2..].copy_from_slice(&id.as_bytes()[..6]);
    // Negative before 1970.
    let millis = i64::from_be_bytes(millis) << 16 >> 16;
    Timestamp::from_millis(millis).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_the_instant_and_tells_it() {
        let (one, other) = (VehicleId(Uuid::from_u128(1)), VehicleId(Uuid::from_u128(2)));
        for millis in [-1, 0, 1, 1_767_225_600_123] {
            let at = Timestamp::from_millis(millis).unwrap();
            assert_eq!(instant_of(log_id(one, at)), Some(at));
            assert_ne!(log_id(one, at), log_id(other, at));
            assert_eq!(log_id(one, at), log_id(one, at));
        }
        let later = Timestamp::from_millis(1_767_225_600_124).unwrap();
        assert!(log_id(one, later) > log_id(other, later.plus_seconds(-0.001)));
    }
}
