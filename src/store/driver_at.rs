//! Who drove at the time of a record: looked up once per batch, and not at all if there was never an assignment.
//!
//! A record names the driver of its `occurredAt`, according to the assignments. Those that are made, corrected or ended for the
//! past later put it right (`track/driver_revisions.rs`).

use std::collections::HashMap;

use waypost_actors::model::{DriverId, EventStatus, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Effects, Record};

use super::assignment::drivers_at;
use super::sql::{Result, Tx};

/// The drivers for all records and fuel log rows of a batch.
#[derive(Default)]
pub(super) struct Drivers(HashMap<(VehicleId, Timestamp), DriverId>);

impl Drivers {
    /// Looks up the drivers of a batch in one statement; in none, if it has no records and no fuel log rows.
    pub(super) async fn of_batch(tx: &mut Tx, writes: &[VehicleWrite]) -> Result<Self> {
        let asked_of = |write: &VehicleWrite| -> Vec<(VehicleId, Timestamp)> {
            instants(&write.effects).map(|at| (write.vehicle_id, at)).collect()
        };
        let asked: Vec<_> = writes.iter().flat_map(asked_of).collect();
        if asked.is_empty() {
            return Ok(Self::default());
        }
        let drivers = drivers_at(tx, &asked).await?;
        let known = asked.into_iter().zip(drivers).filter_map(|(asked, driver)| Some((asked, driver?)));
        Ok(Self(known.collect()))
    }

    /// The driver of a record. `stored`: its previous version; one that is taken back keeps that one's driver.
    pub(super) fn of(&self, record: &Record, stored: Option<&Record>) -> Option<DriverId> {
        match stored.filter(|_| record.status == EventStatus::Retracted) {
            Some(stored) => stored.driver_id,
            None => self.at(record.vehicle_id, record.occurred_at),
        }
    }

    /// The driver of a vehicle at an instant of the batch.
    pub(super) fn at(&self, vehicle: VehicleId, at: Timestamp) -> Option<DriverId> {
        self.0.get(&(vehicle, at)).copied()
    }
}

/// The instants at which a driver may have to be named in a write's records and fuel log rows.
fn instants(effects: &Effects) -> impl Iterator<Item = Timestamp> {
    let (rows, records) = match &effects.correction {
        Some(correction) => (&correction.fuel_rows, &correction.records),
        None => (&effects.fuel_rows, &effects.records),
    };
    let rows = rows.iter().map(|row| row.recorded_at);
    rows.chain(records.iter().map(|record| record.occurred_at))
}
