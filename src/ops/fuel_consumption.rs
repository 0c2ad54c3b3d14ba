//! Fuel consumption of vehicles in a period.

use waypost_actors::fuel::{Consumption, Measured, Meter, Tank};
use waypost_actors::model::VehicleId;

use super::error::OpError;
use super::fuel_pages::{Period, PeriodRequest};
use super::scoped::Scoped;
use crate::context::Context;
use crate::domain::fuel::{ConsumptionOfPeriod, FuelEntry};
use crate::store::fuel_history;
use crate::store::fuel_levels::{Level, Reader};

/// The longest period for one vehicle, in days.
const MAX_DAYS: usize = 366;
/// The longest sum of periods for several vehicles, in days: ten years of readings are added up in a minute.
const MAX_VEHICLE_DAYS: usize = 3_660;

/// Without a known tank there are no refuels and drains, and a gain of up to a litre counts as sensor error.
const UNKNOWN_TANK: Tank = Tank { capacity_liters: 0.0, window_seconds: 0.0, version: 0 };

/// The consumption of some vehicles in a period, by vehicle.
pub async fn fuel_consumption(
    context: &Context,
    by: &Scoped,
    asked: PeriodRequest,
) -> Result<Vec<ConsumptionOfPeriod>, OpError> {
    let max_days = (MAX_VEHICLE_DAYS / asked.vehicle_ids.len().max(1)).min(MAX_DAYS);
    let period = asked.check(context, by, max_days).await?;
    let mut found = Vec::with_capacity(period.vehicle_ids.len());
    for vehicle_id in &period.vehicle_ids {
        let one = Period { vehicle_ids: vec![*vehicle_id], ..period.clone() };
        let consumption = of_vehicle(context, *vehicle_id, one).await?;
        let (from, to) = (period.from, period.to);
        found.push(ConsumptionOfPeriod { vehicle_id: *vehicle_id, from, to, consumption });
    }
    Ok(found)
}

async fn of_vehicle(context: &Context, vehicle: VehicleId, period: Period) -> Result<Consumption, OpError> {
    let db = &context.db;
    let calibration = period.calibration_of(db, vehicle).await?;
    let tank = calibration.and_then(|known| Some(Tank::of(known.sensor.as_ref()?, known.version)));
    let tank = tank.unwrap_or(UNKNOWN_TANK);
    let opening = fuel_history::newest_before(db, &period.scope, vehicle, period.from).await?;
    // A level read soon after an event counts as its plateau, so events just before the period are needed too.
    let opened = opening.as_ref().map_or(period.from, |opening| opening.recorded_at);
    let events = period.events(db, opened.plus_seconds(-tank.window_seconds)).await?;
    let mut meter = Meter::new(period.from, period.to);
    opening.iter().for_each(|opening| meter.observe(&measured(opening)));
    let mut levels = period.levels(db, Reader::Meter, vehicle, opening.map(|opening| opening.recorded_at));
    while let Some(some) = levels.next().await? {
        some.iter().for_each(|Level { measured, .. }| meter.observe(measured));
    }
    Ok(meter.finish(&events, &tank))
}

/// An entry with an implausible level still counts for the distance.
const fn measured(entry: &FuelEntry) -> Measured {
    Measured {
        at: entry.recorded_at,
        level_liters: entry.level_liters,
        counter_liters: entry.counter_liters,
        distance_meters: entry.distance_meters,
        version: entry.calibration_version,
    }
}
