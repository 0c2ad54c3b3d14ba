//! A fix as it is read from the table `position`, or made from one that was packed.

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};
use waypost_actors::model::{Attributes, Fix, FuelReading, Place};
use waypost_actors::ports::StoredFix;
use waypost_actors::tracking::Quarantine;

use super::packed_chunk::ChunkFix;
use super::record_row::unknown;
use super::sql::Result;
use super::time::Time;

/// The columns that every read of fixes selects.
pub(super) const SELECT_FIXES: &str = "select recorded_at, latitude, longitude, received_at, speed_kmh, \
    heading_degrees, altitude_meters, accuracy_meters, odometer_km, ignition, fuel_percent, fuel_liters, \
    fuel_raw, fuel_cumulative, quarantine, attributes from position p";

/// Attributes as their column has them: JSON as text.
#[derive(Debug)]
pub(super) struct StoredAttributes(pub(super) Attributes);

impl<DB: Database> Type<DB> for StoredAttributes
where
    str: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <str as Type<DB>>::type_info()
    }

    fn compatible(ty: &DB::TypeInfo) -> bool {
        <str as Type<DB>>::compatible(ty)
    }
}

impl<'r, DB: Database> Decode<'r, DB> for StoredAttributes
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> std::result::Result<Self, BoxDynError> {
        Ok(Self(Attributes::from_json(<&str as Decode<'r, DB>>::decode(value)?)?))
    }
}

/// A row of [`SELECT_FIXES`].
#[derive(sqlx::FromRow)]
pub(super) struct FixRow {
    pub(super) recorded_at: Time,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) received_at: Time,
    pub(super) speed_kmh: Option<f64>,
    pub(super) heading_degrees: Option<f64>,
    pub(super) altitude_meters: Option<f64>,
    pub(super) accuracy_meters: Option<f64>,
    pub(super) odometer_km: Option<f64>,
    pub(super) ignition: Option<bool>,
    pub(super) fuel_percent: Option<f64>,
    pub(super) fuel_liters: Option<f64>,
    pub(super) fuel_raw: Option<f64>,
    pub(super) fuel_cumulative: Option<f64>,
    quarantine: Option<String>,
    attributes: Option<StoredAttributes>,
}

impl FixRow {
    /// Whether it is not evaluated because it was recorded ahead of the server's clock.
    pub(super) fn is_of_future(&self) -> bool {
        self.quarantine.as_deref() == Some(Quarantine::Future.as_str())
    }

    /// Whether it is evaluated.
    pub(super) const fn is_evaluated(&self) -> bool {
        self.quarantine.is_none()
    }

    /// What its reports said beside it.
    pub(super) fn attributes(&self) -> Option<Attributes> {
        self.attributes.as_ref().map(|StoredAttributes(attributes)| attributes.clone())
    }

    /// Why it is not evaluated, if it is not.
    pub(super) fn quarantine(&self) -> Result<Option<Quarantine>> {
        let Some(word) = &self.quarantine else { return Ok(None) };
        Quarantine::from_word(word).map(Some).ok_or_else(|| unknown("quarantine", word))
    }
}

impl From<&ChunkFix> for FixRow {
    fn from(StoredFix { fix, quarantine, attributes }: &ChunkFix) -> Self {
        Self {
            recorded_at: fix.recorded_at.into(),
            latitude: fix.place.latitude,
            longitude: fix.place.longitude,
            received_at: fix.received_at.into(),
            speed_kmh: fix.speed_kmh,
            heading_degrees: fix.heading_degrees,
            altitude_meters: fix.altitude_meters,
            accuracy_meters: fix.accuracy_meters,
            odometer_km: fix.odometer_km,
            ignition: fix.ignition,
            fuel_percent: percent(fix),
            fuel_liters: liters(fix),
            fuel_raw: raw(fix),
            fuel_cumulative: fix.fuel_cumulative,
            quarantine: quarantine.map(|why| why.as_str().to_owned()),
            attributes: attributes.clone().map(StoredAttributes),
        }
    }
}

impl TryFrom<FixRow> for StoredFix {
    type Error = sqlx::Error;

    fn try_from(row: FixRow) -> Result<Self> {
        let quarantine = row.quarantine()?;
        let fuel = row.fuel_percent.map(FuelReading::Percent);
        let fuel = fuel.or(row.fuel_liters.map(FuelReading::Liters));
        Ok(Self {
            fix: Fix {
                recorded_at: row.recorded_at.into(),
                received_at: row.received_at.into(),
                place: Place::new(row.latitude, row.longitude),
                speed_kmh: row.speed_kmh,
                heading_degrees: row.heading_degrees,
                altitude_meters: row.altitude_meters,
                accuracy_meters: row.accuracy_meters,
                odometer_km: row.odometer_km,
                ignition: row.ignition,
                fuel: fuel.or(row.fuel_raw.map(FuelReading::Raw)),
                fuel_cumulative: row.fuel_cumulative,
            },
            quarantine,
            attributes: row.attributes.map(|StoredAttributes(attributes)| attributes),
        })
    }
}

pub(super) fn percent(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Percent(value)) => Some(value),
        _ => None,
    }
}

pub(super) fn liters(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Liters(value)) => Some(value),
        _ => None,
    }
}

pub(super) fn raw(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Raw(value)) => Some(value),
        _ => None,
    }
}
