//! Who drove when a record was made of it: asked once per batch, and not at all while nobody ever drove.
//!
//! A record has the driver of its `occurredAt`, as the assignments said when it was written. Later
//! assignments do not rewrite it; a revision asks anew only if it happened at another instant.

use std::collections::HashMap;

use waypost_actors::model::{DriverId, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Effects, Record};

use super::assignment::drivers_at;
use super::sql::{Result, Tx};

/// The drivers of everything that a batch may tell.
#[derive(Default)]
pub(super) struct Drivers(HashMap<(VehicleId, Timestamp), DriverId>);

impl Drivers {
    /// One statement, whatever the batch holds; none if it holds no record and no row of the fuel log.
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

    /// Who drove. `stored`: the record as it was before; who drove at its instant stays known.
    pub(super) fn of(&self, record: &Record, stored: Option<&Record>) -> Option<DriverId> {
        match stored.filter(|stored| stored.occurred_at == record.occurred_at) {
            Some(stored) => stored.driver_id,
            None => self.at(record.vehicle_id, record.occurred_at),
        }
    }

    /// Who drove a vehicle at an instant of the batch.
    pub(super) fn at(&self, vehicle: VehicleId, at: Timestamp) -> Option<DriverId> {
        self.0.get(&(vehicle, at)).copied()
    }
}

/// When somebody may have driven whom a write's records and rows of the fuel log name.
fn instants(effects: &Effects) -> impl Iterator<Item = Timestamp> {
    let (rows, records) = match &effects.correction {
        Some(correction) => (&correction.fuel_rows, &correction.records),
        None => (&effects.fuel_rows, &effects.records),
    };
    let rows = rows.iter().map(|row| row.recorded_at);
    rows.chain(records.iter().map(|record| record.occurred_at))
}
