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

/// `column = the smaller one that is known`: whichever came first, the outcome is the same.
macro_rules! smaller {
    ($column:literal) => {
        concat!(
            $column, " = case when position.", $column, " <= excluded.", $column, " or excluded.", $column,
            " is null then position.", $column, " else excluded.", $column, " end"
        )
    };
}

/// Whether the other report's value takes the place of the stored one.
macro_rules! changes {
    ($column:literal) => {
        concat!(
            "coalesce(excluded.", $column, " < position.", $column, ", excluded.", $column, " is not null)"
        )
    };
}

/// The stored report was ahead of the clock and this one is not: then the fix counts.
macro_rules! arrived {
    () => {
        "(position.quarantine = 'future' and coalesce(excluded.quarantine, '') <> 'future')"
    };
}

/// Members by which events differ, or whether there are any. What is in a record's `fix` counts too.
macro_rules! judged {
    () => {
        concat!(
            "(", arrived!(), " or ", changes!("accuracy_meters"), " or ", changes!("speed_kmh"), " or ",
            changes!("heading_degrees"), ")"
        )
    };
}

macro_rules! merge_where {
    ($condition:expr, $after:literal) => {
        concat!(
            "on conflict (vehicle_id, recorded_at, latitude, longitude) do update set ",
            smaller!("speed_kmh"), ", ", smaller!("heading_degrees"), ", ", smaller!("altitude_meters"), ", ",
            smaller!("accuracy_meters"), ", ", smaller!("odometer_km"), ", ", smaller!("ignition"), ", ",
            smaller!("fuel_percent"), ", ", smaller!("fuel_liters"), ", ", smaller!("fuel_raw"),
            ", received_at = case when ", arrived!(), " then excluded.received_at \
                when coalesce(excluded.quarantine, '') = 'future' and coalesce(position.quarantine, '') <> 'future' \
                then position.received_at when excluded.received_at < position.received_at \
                then excluded.received_at else position.received_at end, \
            quarantine = case when ", arrived!(), " then excluded.quarantine else position.quarantine end \
            where ", $condition, $after
        )
    };
}

/// Merges further reports of stored fixes into them; each fix once. The outcome is the same whichever
/// report came first: of two values the smaller one stays, and only rows that change are written.
/// Answers those that may be judged otherwise now.
pub(super) async fn merge_positions(tx: &mut Tx, reports: &[Report]) -> Result<Vec<Key>> {
    let judged = merge_where!(judged!(), " returning vehicle_id, recorded_at, latitude, longitude");
    let changed = insert(reports, judged).returning(tx).await?;
    let others = merge_where!(
        concat!(
            changes!("altitude_meters"), " or ", changes!("odometer_km"), " or ", changes!("ignition"), " or ",
            changes!("fuel_percent"), " or ", changes!("fuel_liters"), " or ", changes!("fuel_raw"),
            " or (excluded.received_at < position.received_at and \
                (coalesce(excluded.quarantine, '') = 'future') = (coalesce(position.quarantine, '') = 'future'))"
        ),
        ""
    );
    insert(reports, others).run(tx).await?;
    Ok(changed)
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
