//! The fuel log, written in the batch's order: reported readings, and corrections of them.

use std::collections::{HashMap, HashSet};

use waypost_actors::fuel::FuelRow;
use waypost_actors::model::{DriverId, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::Correction;

use super::driver_at::Drivers;
use super::fuel_day::FuelDays;
use super::fuel_row::{NewFuelRow, SELECT_FUEL_ROWS, StoredFuelRow, insert_fuel_rows};
use super::sql::{Result, Tx};
use super::time::Time;

/// Instants in one statement.
const TOGETHER: usize = 500;

/// Writes the fuel log of a batch.
pub(super) async fn store_fuel_log(
    tx: &mut Tx,
    writes: &[VehicleWrite],
    drivers: &Drivers,
    days: &mut FuelDays,
) -> Result<()> {
    let is_plain = |write: &VehicleWrite| write.effects.correction.is_none();
    for part in writes.chunk_by(|one, other| is_plain(one) && is_plain(other)) {
        match &part[0].effects.correction {
            Some(correction) => correct(tx, &part[0], correction, drivers, days).await?,
            None => {
                let of = |write| move |row| new_row(write, row, drivers);
                let rows = part.iter().flat_map(|write| write.effects.fuel_rows.iter().map(of(write)));
                let rows: Vec<NewFuelRow> = rows.collect();
                days.unpack(tx, rows.iter().map(|new| (new.vehicle, new.row.recorded_at)).collect()).await?;
                insert_fuel_rows(rows).run(tx).await?;
            }
        }
    }
    Ok(())
}

fn new_row(write: &VehicleWrite, row: &FuelRow, drivers: &Drivers) -> NewFuelRow {
    let driver = drivers.at(write.vehicle_id, row.recorded_at);
    NewFuelRow { vehicle: write.vehicle_id, organization: write.organization_id, row: *row, driver }
}

/// Makes the corrected part of the log equal to what the evaluation found; equal rows are not touched.
async fn correct(
    tx: &mut Tx,
    write: &VehicleWrite,
    correction: &Correction,
    drivers: &Drivers,
    days: &mut FuelDays,
) -> Result<()> {
    let stored = stored_rows(tx, write.vehicle_id, correction).await?;
    let mut found: HashSet<Timestamp> = correction.fuel_rows.iter().map(|row| row.recorded_at).collect();
    let changed = correction.fuel_rows.iter().filter_map(|row| {
        let known = stored.get(&row.recorded_at);
        let new = new_row(write, row, drivers);
        match known {
            Some((known, driver)) if known == row && *driver == new.driver => None,
            _ => Some(new),
        }
    });
    let changed: Vec<NewFuelRow> = changed.collect();
    // Rows of fixes that no longer count, wherever they are, and rows of the part that were not found again.
    let doubted = correction.quarantines.iter().filter(|(_, why)| why.is_some());
    let mut gone: Vec<Timestamp> = doubted.map(|(fix, _)| fix.recorded_at).collect();
    gone.retain(|at| !found.contains(at));
    found.extend(correction.undecided);
    gone.extend(stored.keys().filter(|at| !found.contains(at)));
    let instants = changed.iter().map(|new| new.row.recorded_at).chain(gone.iter().copied());
    days.unpack(tx, instants.map(|at| (write.vehicle_id, at)).collect()).await?;
    insert_fuel_rows(changed).run(tx).await?;
    for some in gone.chunks(TOGETHER) {
        let stmt = tx.on().sql("delete from fuel_log where vehicle_id = ").push_bind(write.vehicle_id.0);
        let stmt = stmt.push(" and recorded_at in (");
        stmt.push_each(some, |stmt, at| stmt.push_bind(Time(*at))).push(")").run().await?;
    }
    Ok(())
}

type StoredRows = HashMap<Timestamp, (FuelRow, Option<DriverId>)>;

async fn stored_rows(tx: &mut Tx, vehicle: VehicleId, correction: &Correction) -> Result<StoredRows> {
    let mut stmt = tx.on().sql(SELECT_FUEL_ROWS).push(" where vehicle_id = ").push_bind(vehicle.0);
    if let Some(after) = correction.after {
        stmt = stmt.push(" and recorded_at > ").push_bind(Time(after));
    }
    if let Some(until) = correction.until {
        stmt = stmt.push(" and recorded_at <= ").push_bind(Time(until));
    }
    let rows: Vec<StoredFuelRow> = stmt.all().await?;
    let known = |row: &StoredFuelRow| {
        let known = FuelRow::try_from(row)?;
        Ok((known.recorded_at, (known, row.driver_id.map(Into::into))))
    };
    rows.iter().map(known).collect()
}
