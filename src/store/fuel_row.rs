//! Rows of the fuel log in the store.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::fuel::{FuelRow, FuelUnit, Quality, log_id};
use waypost_actors::model::{DriverId, OrganizationId, Place, VehicleId};

use super::record_row::unknown;
use super::rows::{Column, Insert};
use super::time::Time;

/// The columns that every read of the log selects.
pub(super) const SELECT_FUEL_ROWS: &str = "select recorded_at, received_at, latitude, longitude, speed_kmh, \
    odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, level_percent, \
    counter_liters, quality, calibration_version, driver_id from fuel_log";

/// A row of [`SELECT_FUEL_ROWS`].
#[derive(sqlx::FromRow)]
pub(super) struct StoredFuelRow {
    recorded_at: Time,
    received_at: Time,
    latitude: f64,
    longitude: f64,
    speed_kmh: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    distance_meters: Option<f64>,
    unit: String,
    raw_value: f64,
    level_raw_liters: Option<f64>,
    level_liters: Option<f64>,
    level_percent: Option<f64>,
    counter_liters: Option<f64>,
    quality: String,
    calibration_version: Option<i64>,
    pub(super) driver_id: Option<Uuid>,
}

impl TryFrom<&StoredFuelRow> for FuelRow {
    type Error = sqlx::Error;

    fn try_from(row: &StoredFuelRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            recorded_at: row.recorded_at.into(),
            received_at: row.received_at.into(),
            place: Place::new(row.latitude, row.longitude),
            speed_kmh: row.speed_kmh,
            odometer_km: row.odometer_km,
            ignition: row.ignition,
            distance_meters: row.distance_meters,
            unit: FuelUnit::from_word(&row.unit).ok_or_else(|| unknown("unit", &row.unit))?,
            raw_value: row.raw_value,
            level_raw_liters: row.level_raw_liters,
            level_liters: row.level_liters,
            level_percent: row.level_percent,
            counter_liters: row.counter_liters,
            quality: Quality::from_word(&row.quality).ok_or_else(|| unknown("quality", &row.quality))?,
            calibration_version: row.calibration_version,
        })
    }
}

/// A row to write, with its vehicle, organization and driver.
#[derive(Clone, Copy)]
pub(super) struct NewFuelRow {
    pub(super) vehicle: VehicleId,
    pub(super) organization: OrganizationId,
    pub(super) row: FuelRow,
    pub(super) driver: Option<DriverId>,
}

/// The insert of rows, each replacing one of the same instant; of two new ones, the later one wins.
pub(super) fn insert_fuel_rows(rows: impl IntoIterator<Item = NewFuelRow>) -> Insert<'static> {
    let newest: HashMap<_, _> =
        rows.into_iter().map(|new| ((new.vehicle, new.row.recorded_at), new)).collect();
    let rows: Vec<NewFuelRow> = newest.into_values().collect();
    macro_rules! column {
        ($kind:ident, $row:ident => $value:expr) => {
            Column::$kind(rows.iter().map(|NewFuelRow { row: $row, .. }| $value).collect())
        };
    }
    Insert {
        into: "insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, \
            longitude, speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, \
            level_liters, level_percent, counter_liters, quality, driver_id, calibration_version)",
        columns: vec![
            Column::Uuid(rows.iter().map(|new| new.vehicle.0).collect()),
            column!(Time, row => Time(row.recorded_at)),
            Column::Uuid(rows.iter().map(|new| log_id(new.vehicle, new.row.recorded_at)).collect()),
            Column::Uuid(rows.iter().map(|new| new.organization.0).collect()),
            column!(Time, row => Time(row.received_at)),
            column!(Float, row => row.place.latitude),
            column!(Float, row => row.place.longitude),
            column!(MaybeFloat, row => row.speed_kmh),
            column!(MaybeFloat, row => row.odometer_km),
            column!(MaybeBool, row => row.ignition),
            column!(MaybeFloat, row => row.distance_meters),
            column!(Text, row => row.unit.as_str()),
            column!(Float, row => row.raw_value),
            column!(MaybeFloat, row => row.level_raw_liters),
            column!(MaybeFloat, row => row.level_liters),
            column!(MaybeFloat, row => row.level_percent),
            column!(MaybeFloat, row => row.counter_liters),
            column!(Text, row => row.quality.as_str()),
            Column::MaybeUuid(rows.iter().map(|new| new.driver.map(|id| id.0)).collect()),
            Column::MaybeInt(rows.iter().map(|new| new.row.calibration_version).collect()),
        ],
        after: "on conflict (vehicle_id, recorded_at) do update set received_at = excluded.received_at, \
            latitude = excluded.latitude, longitude = excluded.longitude, speed_kmh = excluded.speed_kmh, \
            odometer_km = excluded.odometer_km, ignition = excluded.ignition, \
            distance_meters = excluded.distance_meters, unit = excluded.unit, raw_value = excluded.raw_value, \
            level_raw_liters = excluded.level_raw_liters, level_liters = excluded.level_liters, \
            level_percent = excluded.level_percent, counter_liters = excluded.counter_liters, \
            quality = excluded.quality, driver_id = excluded.driver_id, \
            calibration_version = excluded.calibration_version",
    }
}
