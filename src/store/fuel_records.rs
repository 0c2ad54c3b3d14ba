//! Fuel, written in the batch's order: rows of the log, refuels and drains, and what corrections put right of
//! both. Numbers come from the row that numbers geofence events.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::fuel::{FuelRecord, FuelRow};
use waypost_actors::model::{EventId, EventStatus, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Correction, compare};

use super::driver_at::Drivers;
use super::fuel_event_row::{FuelEventRow, SELECT_FUEL_EVENTS, put_fuel_events};
use super::fuel_row::{NewFuelRow, SELECT_FUEL_ROWS, StoredFuelRow, insert_fuel_rows};
use super::sql::{On, Result, Stmt, Tx};
use super::time::Time;

/// Ids or instants in one statement.
const TOGETHER: usize = 500;

/// Writes the fuel of a batch. `next`: the number of the next record; it is moved on. Answers for each write the
/// refuels and drains that are new or changed, as they are stored.
pub(super) async fn store_fuel(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<Vec<FuelRecord>>> {
    let is_plain = |write: &VehicleWrite| write.effects.correction.is_none();
    let mut told = Vec::with_capacity(writes.len());
    for part in writes.chunk_by(|one, other| is_plain(one) && is_plain(other)) {
        match &part[0].effects.correction {
            Some(correction) => told.push(correct(tx, &part[0], correction, drivers, next).await?),
            None => told.extend(go_on(tx, part, drivers, next).await?),
        }
    }
    Ok(told)
}

fn new_row(write: &VehicleWrite, row: &FuelRow, drivers: &Drivers) -> NewFuelRow {
    let driver = drivers.at(write.vehicle_id, row.recorded_at);
    NewFuelRow { vehicle: write.vehicle_id, organization: write.organization_id, row: *row, driver }
}

/// What vehicles reported since, in order.
async fn go_on(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<Vec<FuelRecord>>> {
    let rows = writes
        .iter()
        .flat_map(|write| write.effects.fuel_rows.iter().map(move |row| new_row(write, row, drivers)));
    insert_fuel_rows(rows).run(tx).await?;
    let mut told = vec![Vec::new(); writes.len()];
    let ids: Vec<EventId> =
        writes.iter().flat_map(|write| &write.effects.fuel_events).map(|record| record.event.id).collect();
    let mut stored = with_ids(tx, &ids).await?;
    for (write, told) in writes.iter().zip(&mut told) {
        for record in &write.effects.fuel_events {
            let known = stored.get(&record.event.id);
            // What was recorded before stands: a correction may know better.
            if known.is_some_and(|known| known.status == EventStatus::Active) {
                continue;
            }
            let record = FuelRecord {
                sequence: *next,
                revision: known.map_or(1, |known| known.revision + 1),
                driver_id: driver(record, known, drivers),
                ..record.clone()
            };
            *next += 1;
            stored.insert(record.event.id, record.clone());
            told.push(record);
        }
    }
    put_fuel_events(&told.iter().flatten().collect::<Vec<_>>()).run(tx).await?;
    Ok(told)
}

/// Who drove; who drove at the record's instant before stays known.
fn driver(
    record: &FuelRecord,
    stored: Option<&FuelRecord>,
    drivers: &Drivers,
) -> Option<waypost_actors::model::DriverId> {
    match stored.filter(|stored| stored.event.started_at == record.event.started_at) {
        Some(stored) => stored.driver_id,
        None => drivers.at(record.vehicle_id, record.event.started_at),
    }
}

/// Puts right what a new evaluation of a part of one vehicle's timeline found otherwise.
async fn correct(
    tx: &mut Tx,
    write: &VehicleWrite,
    correction: &Correction,
    drivers: &Drivers,
    next: &mut i64,
) -> Result<Vec<FuelRecord>> {
    correct_rows(tx, write, correction, drivers).await?;
    let in_part: Vec<FuelEventRow> =
        part(tx.on().sql(SELECT_FUEL_EVENTS), "f.confirmed_at", write.vehicle_id, correction)
            .push(" and f.status = 'active'")
            .all()
            .await?;
    let in_part: Vec<FuelRecord> = in_part.into_iter().map(FuelRecord::try_from).collect::<Result<_>>()?;
    let mut stored: HashMap<EventId, FuelRecord> =
        in_part.into_iter().map(|record| (record.event.id, record)).collect();
    let ids = correction.fuel_events.iter().map(|record| record.event.id);
    let others: Vec<EventId> = ids.filter(|id| !stored.contains_key(id)).collect();
    stored.extend(with_ids(tx, &others).await?);
    let known: Vec<FuelRecord> = stored.values().cloned().collect();
    let (mut told, moved) = compare(&known, &correction.fuel_events, correction);
    for record in &mut told {
        record.driver_id = driver(record, stored.get(&record.event.id), drivers);
        record.sequence = *next;
        *next += 1;
    }
    put_fuel_events(&told.iter().chain(&moved).collect::<Vec<_>>()).run(tx).await?;
    Ok(told)
}

/// The log of the part is what the evaluation found; rows that say the same stay untouched.
async fn correct_rows(
    tx: &mut Tx,
    write: &VehicleWrite,
    correction: &Correction,
    drivers: &Drivers,
) -> Result<()> {
    let stored = stored_rows(tx, write.vehicle_id, correction).await?;
    let mut found: HashSet<Timestamp> = correction.fuel_rows.iter().map(|row| row.recorded_at).collect();
    let changed = correction.fuel_rows.iter().filter_map(|row| {
        let known = stored.get(&row.recorded_at);
        let new = new_row(write, row, drivers);
        match known {
            Some((known, _)) if known == row => None,
            Some((_, driver)) => Some(NewFuelRow { driver: *driver, ..new }),
            None => Some(new),
        }
    });
    insert_fuel_rows(changed).run(tx).await?;
    // Of fixes that do not count any more, wherever they are, and what the part has and was not found.
    let doubted = correction.quarantines.iter().filter(|(_, why)| why.is_some());
    let mut gone: Vec<Timestamp> = doubted.map(|(fix, _)| fix.recorded_at).collect();
    gone.retain(|at| !found.contains(at));
    found.extend(correction.undecided);
    gone.extend(stored.into_keys().filter(|at| !found.contains(at)));
    for some in gone.chunks(TOGETHER) {
        let stmt = tx.on().sql("delete from fuel_log where vehicle_id = ").push_bind(write.vehicle_id.0);
        let stmt = stmt.push(" and recorded_at in (");
        stmt.push_each(some, |stmt, at| stmt.push_bind(Time(*at))).push(")").run().await?;
    }
    Ok(())
}

type StoredRows = HashMap<Timestamp, (FuelRow, Option<waypost_actors::model::DriverId>)>;

async fn stored_rows(tx: &mut Tx, vehicle: VehicleId, correction: &Correction) -> Result<StoredRows> {
    let stmt = part(tx.on().sql(SELECT_FUEL_ROWS), "recorded_at", vehicle, correction);
    let rows: Vec<StoredFuelRow> = stmt.all().await?;
    let known = |row: &StoredFuelRow| {
        let known = FuelRow::try_from(row)?;
        Ok((known.recorded_at, (known, row.driver_id.map(Into::into))))
    };
    rows.iter().map(known).collect()
}

/// Narrows to a correction's part, by a column.
fn part<'c>(stmt: Stmt<'c>, column: &'static str, vehicle: VehicleId, correction: &Correction) -> Stmt<'c> {
    let mut stmt = stmt.push(" where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = correction.after {
        stmt = stmt.push(" and ").push(column).push(" > ").push_bind(Time(after));
    }
    if let Some(until) = correction.until {
        stmt = stmt.push(" and ").push(column).push(" <= ").push_bind(Time(until));
    }
    stmt
}

/// The records with some ids, whatever their status.
async fn with_ids(tx: &mut Tx, ids: &[EventId]) -> Result<HashMap<EventId, FuelRecord>> {
    let mut found = HashMap::new();
    for some in ids.chunks(TOGETHER) {
        let rows: Vec<FuelEventRow> = selected(tx.on(), some).all().await?;
        for row in rows {
            let record = FuelRecord::try_from(row)?;
            found.insert(record.event.id, record);
        }
    }
    Ok(found)
}

fn selected<'c>(on: On<'c>, ids: &[EventId]) -> Stmt<'c> {
    let stmt = on.sql(SELECT_FUEL_EVENTS).push(" where f.id in (");
    stmt.push_each(ids, |stmt, id| stmt.push_bind(Uuid::from(*id))).push(")")
}
