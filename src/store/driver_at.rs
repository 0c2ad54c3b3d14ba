//! Who drove when a record was made of it: asked once per batch, and not at all while nobody ever drove.
//!
//! A record has the driver of its `occurredAt`, as the assignments said when it was written. Later
//! assignments do not rewrite it; a revision asks anew only if it happened at another instant.

use std::collections::HashMap;

use waypost_actors::model::{DriverId, Event, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;

use super::assignment::drivers_at;
use super::sql::{Result, Tx};

/// The drivers of everything that a batch may tell.
#[derive(Default)]
pub(super) struct Drivers(HashMap<(VehicleId, Timestamp), DriverId>);

impl Drivers {
    /// One statement, whatever the batch holds; none if it holds no record and no row of the fuel log.
    pub(super) async fn of_batch(tx: &mut Tx, writes: &[VehicleWrite]) -> Result<Self> {
        let corrected = |write: &VehicleWrite| write.effects.correction.is_some();
        let told = writes.iter().filter(|write| !corrected(write)).flat_map(|write| &write.effects.events);
        let found = writes.iter().filter_map(|write| write.effects.correction.as_ref());
        let events = told.chain(found.flat_map(|correction| &correction.events));
        let mut asked: Vec<_> = events.map(|event| (event.vehicle_id, event.occurred_at)).collect();
        for write in writes {
            asked.extend(instants_of_fuel(write).map(|at| (write.vehicle_id, at)));
        }
        if asked.is_empty() {
            return Ok(Self::default());
        }
        let drivers = drivers_at(tx, &asked).await?;
        let known = asked.into_iter().zip(drivers).filter_map(|(asked, driver)| Some((asked, driver?)));
        Ok(Self(known.collect()))
    }

    /// Who drove. `stored`: the record as it was before; who drove at its instant stays known.
    pub(super) fn of(&self, event: &Event, stored: Option<&Event>) -> Option<DriverId> {
        match stored.filter(|stored| stored.occurred_at == event.occurred_at) {
            Some(stored) => stored.driver_id,
            None => self.at(event.vehicle_id, event.occurred_at),
        }
    }

    /// Who drove a vehicle at an instant of the batch.
    pub(super) fn at(&self, vehicle: VehicleId, at: Timestamp) -> Option<DriverId> {
        self.0.get(&(vehicle, at)).copied()
    }
}

/// When somebody may have driven whom a write's rows of the fuel log, refuels and drains name.
fn instants_of_fuel(write: &VehicleWrite) -> impl Iterator<Item = Timestamp> {
    let effects = &write.effects;
    let (rows, records) = match &effects.correction {
        Some(correction) => (&correction.fuel_rows, &correction.fuel_events),
        None => (&effects.fuel_rows, &effects.fuel_events),
    };
    let rows = rows.iter().map(|row| row.recorded_at);
    rows.chain(records.iter().map(|record| record.event.started_at))
}
