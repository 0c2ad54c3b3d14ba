//! Packed days of the fuel log: which there may be, and how a transaction that changes a reading deletes them.

use std::collections::{BTreeSet, HashMap};

use waypost_actors::model::{Timestamp, VehicleId};

use super::sql::{Result, Tx};
use super::time::Time;

/// Days in one statement.
const TOGETHER: usize = 500;
const DAY_MICROS: i64 = 86_400_000_000;

/// The beginning of an instant's day, in UTC.
#[must_use]
pub const fn day_of(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros() - at.as_micros().rem_euclid(DAY_MICROS))
}

/// The beginning of the day after one.
pub(super) const fn day_after(day: Timestamp) -> Timestamp {
    Timestamp::from_micros(day.as_micros().saturating_add(DAY_MICROS))
}

/// What the writer knows of packed days, so that a reading newer than all of them costs no statement.
#[derive(Debug)]
pub(super) struct FuelDays {
    /// No day from here on is packed or claimed, once that was asked.
    until: Timestamp,
    is_asked: bool,
    /// Before these, the days of these vehicles that have readings are packed.
    packed: HashMap<VehicleId, Timestamp>,
}

impl Default for FuelDays {
    fn default() -> Self {
        Self { until: Timestamp::FIRST, is_asked: false, packed: HashMap::new() }
    }
}

impl FuelDays {
    /// A vehicle's days up to an instant are about to be claimed and packed; returns from where on they may not be packed yet,
    /// `None` if all are.
    pub(super) fn begin(&mut self, vehicle: VehicleId, until: Timestamp) -> Option<Timestamp> {
        self.until = self.until.max(until);
        let from = self.packed.insert(vehicle, until).unwrap_or(Timestamp::FIRST);
        (from < until).then_some(from)
    }

    /// A vehicle's days are not packed from an instant on.
    pub(super) fn stop(&mut self, vehicle: VehicleId, at: Timestamp) {
        self.packed.entry(vehicle).and_modify(|until| *until = at.min(*until));
    }

    /// Deletes the days of readings that the transaction is about to write or delete.
    pub(super) async fn unpack(&mut self, tx: &mut Tx, readings: Vec<(VehicleId, Timestamp)>) -> Result<()> {
        if readings.is_empty() {
            return Ok(());
        }
        if !self.is_asked {
            let newest: Option<Time> = tx.on().sql("select max(day) from fuel_day").scalar().await?;
            self.until = newest.map_or(self.until, |Time(day)| self.until.max(day_after(day)));
            self.is_asked = true;
        }
        let past = readings.into_iter().filter(|(_, at)| *at < self.until);
        let days: BTreeSet<(VehicleId, Timestamp)> =
            past.map(|(vehicle, at)| (vehicle, day_of(at))).collect();
        let days: Vec<_> = days.into_iter().collect();
        for some in days.chunks(TOGETHER) {
            let stmt = tx.on().sql("delete from fuel_day where (vehicle_id, day) in (values ");
            let stmt = stmt.push_each(some, |stmt, (vehicle, day)| {
                stmt.push("(").push_bind(vehicle.0).push(", ").push_bind(Time(*day)).push(")")
            });
            stmt.push(")").run().await?;
        }
        for (vehicle, day) in days {
            self.stop(vehicle, day);
        }
        Ok(())
    }
}

/// Deletes a vehicle's days that began by an instant, in the transaction that deletes its readings up to there.
pub(super) async fn delete_until(tx: &mut Tx, vehicle: VehicleId, until: Timestamp) -> Result<()> {
    let delete = "delete from fuel_day where vehicle_id = $1 and day <= $2";
    tx.on().sql(delete).bind(vehicle.0).bind(Time(until)).run().await?;
    Ok(())
}
