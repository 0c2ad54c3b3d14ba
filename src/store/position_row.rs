//! A fix as the store keeps it: stored once per (vehicle, recordedAt, latitude, longitude).

use uuid::Uuid;
use waypost_actors::model::{Fix, FuelReading, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::PositionRow;

use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// What makes a stored fix the same fix.
#[derive(sqlx::FromRow)]
pub(super) struct Key {
    vehicle_id: Uuid,
    recorded_at: Time,
    latitude: f64,
    longitude: f64,
}

/// A key that can be hashed: floats by their bits, with one zero.
pub(super) type KeyBits = (Uuid, i64, u64, u64);

impl Key {
    pub(super) fn bits(self) -> KeyBits {
        bits(self.vehicle_id, self.recorded_at.0.as_micros(), self.latitude, self.longitude)
    }
}

pub(super) fn key(vehicle: VehicleId, fix: &Fix) -> KeyBits {
    bits(vehicle.0, fix.recorded_at.as_micros(), fix.place.latitude, fix.place.longitude)
}

fn bits(vehicle: Uuid, micros: i64, latitude: f64, longitude: f64) -> KeyBits {
    // -0.0 and 0.0 are one place, to the database too.
    (vehicle, micros, (latitude + 0.0).to_bits(), (longitude + 0.0).to_bits())
}

fn percent(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Percent(value)) => Some(value),
        _ => None,
    }
}

fn liters(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Liters(value)) => Some(value),
        _ => None,
    }
}

fn raw(fix: &Fix) -> Option<f64> {
    match fix.fuel {
        Some(FuelReading::Raw(value)) => Some(value),
        _ => None,
    }
}

fn insert(rows: &[(VehicleId, Fix, Option<&'static str>)], after: &'static str) -> Insert<'static> {
    macro_rules! column {
        ($kind:ident, $fix:ident => $value:expr) => {
            Column::$kind(rows.iter().map(|(_, $fix, _)| $value).collect())
        };
    }
    Insert {
        into: "insert into position (vehicle_id, recorded_at, latitude, longitude, received_at, speed_kmh, \
            heading_degrees, altitude_meters, accuracy_meters, odometer_km, ignition, fuel_percent, \
            fuel_liters, fuel_raw, quarantine)",
        columns: vec![
            Column::Uuid(rows.iter().map(|(vehicle, ..)| vehicle.0).collect()),
            column!(Time, fix => Time(fix.recorded_at)),
            column!(Float, fix => fix.place.latitude),
            column!(Float, fix => fix.place.longitude),
            column!(Time, fix => Time(fix.received_at)),
            column!(MaybeFloat, fix => fix.speed_kmh),
            column!(MaybeFloat, fix => fix.heading_degrees),
            column!(MaybeFloat, fix => fix.altitude_meters),
            column!(MaybeFloat, fix => fix.accuracy_meters),
            column!(MaybeFloat, fix => fix.odometer_km),
            column!(MaybeBool, fix => fix.ignition),
            column!(MaybeFloat, fix => percent(fix)),
            column!(MaybeFloat, fix => liters(fix)),
            column!(MaybeFloat, fix => raw(fix)),
            Column::MaybeText(rows.iter().map(|(.., quarantine)| *quarantine).collect()),
        ],
        after,
    }
}

/// The insert of many fixes; one that is stored already is left alone.
pub(super) fn insert_positions<'a>(
    rows: impl Iterator<Item = (VehicleId, &'a PositionRow)>,
) -> Insert<'static> {
    insert(&with_quarantine(rows), "on conflict do nothing")
}

/// The same, answering the keys of those that were not stored before.
pub(super) async fn insert_new_positions<'a>(
    tx: &mut Tx,
    rows: impl Iterator<Item = (VehicleId, &'a PositionRow)>,
) -> Result<Vec<Key>> {
    let after = "on conflict do nothing returning vehicle_id, recorded_at, latitude, longitude";
    insert(&with_quarantine(rows), after).returning(tx).await
}

fn with_quarantine<'a>(
    rows: impl Iterator<Item = (VehicleId, &'a PositionRow)>,
) -> Vec<(VehicleId, Fix, Option<&'static str>)> {
    rows.map(|(vehicle, row)| (vehicle, row.fix, row.quarantine.map(|why| why.as_str()))).collect()
}

/// Fills in the members that stored fixes lack; each fix once.
pub(super) async fn fill_positions(tx: &mut Tx, rows: Vec<(VehicleId, Fix)>) -> Result<()> {
    let has_members = |fix: &Fix| *fix != Fix::new(fix.recorded_at, fix.received_at, fix.place);
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|(_, fix)| has_members(fix))
        .map(|(vehicle, fix)| (vehicle, fix, None))
        .collect();
    let fill = "on conflict (vehicle_id, recorded_at, latitude, longitude) do update set \
        speed_kmh = coalesce(position.speed_kmh, excluded.speed_kmh), \
        heading_degrees = coalesce(position.heading_degrees, excluded.heading_degrees), \
        altitude_meters = coalesce(position.altitude_meters, excluded.altitude_meters), \
        accuracy_meters = coalesce(position.accuracy_meters, excluded.accuracy_meters), \
        odometer_km = coalesce(position.odometer_km, excluded.odometer_km), \
        ignition = coalesce(position.ignition, excluded.ignition), \
        fuel_percent = coalesce(position.fuel_percent, excluded.fuel_percent), \
        fuel_liters = coalesce(position.fuel_liters, excluded.fuel_liters), \
        fuel_raw = coalesce(position.fuel_raw, excluded.fuel_raw)";
    insert(&rows, fill).run(tx).await?;
    Ok(())
}

/// Lifts the quarantine of fixes that a later one confirmed.
pub(super) async fn lift_quarantine(tx: &mut Tx, writes: &[VehicleWrite]) -> Result<()> {
    let mut rows: Vec<_> = writes
        .iter()
        .flat_map(|write| write.effects.confirmed.iter().map(|fix| (write.vehicle_id, *fix, None)))
        .collect();
    rows.dedup_by_key(|(vehicle, fix, _)| key(*vehicle, fix));
    let lift = "on conflict (vehicle_id, recorded_at, latitude, longitude) do update set quarantine = null";
    insert(&rows, lift).run(tx).await?;
    Ok(())
}
