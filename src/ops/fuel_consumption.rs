//! Fuel consumption of vehicles in a period.

use waypost_actors::fuel::{Consumption, FuelEvent, Measured, Meter, Tank};
use waypost_actors::model::{Timestamp, VehicleId};

use super::error::OpError;
use super::fuel_pages::{Period, PeriodRequest};
use super::scoped::Scoped;
use crate::context::Context;
use crate::domain::fuel::{ConsumptionOfPeriod, FuelEntry};
use crate::store::fuel_history::{Tells, newest_before};
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
    // Asked before what is stored: an event that becomes certain meanwhile is in one of both, or in both.
    let live = context.live.vehicle(vehicle).await?.and_then(|view| view.fuel);
    let level = newest_before(db, &period.scope, vehicle, period.from, Tells::Level).await?;
    let has_counter = live.as_ref().is_none_or(|fuel| fuel.now.counter_liters.is_some());
    let counter = if has_counter {
        newest_before(db, &period.scope, vehicle, period.from, Tells::Counter).await?
    } else {
        None
    };
    // A level read soon after an event counts as its plateau, so events just before the period are needed too.
    let opened = level.as_ref().map_or(period.from, |level| level.recorded_at);
    let since = opened.plus_seconds(-tank.window_seconds);
    let stored = period.events(db, since).await?;
    let events = with_provisional(stored, live.and_then(|fuel| fuel.provisional), (since, period.to));
    let mut meter = Meter::new(period.from, period.to);
    // What lies between the two is read with the period.
    let first = level.iter().chain(&counter).min_by_key(|entry| entry.recorded_at);
    if let Some(first) = first {
        meter.observe(&measured(first));
    }
    let mut levels = period.levels(db, Reader::Meter, vehicle, first.map(|first| first.recorded_at));
    while let Some(some) = levels.next().await? {
        some.iter().for_each(|Level { measured, .. }| meter.observe(measured));
    }
    Ok(meter.finish(&events, &tank))
}

/// The stored refuels and drains, in order, and the one that is not certain yet, if it ended since the first of the two
/// instants and began before the other: without it, a level after a refuel would contradict the one before.
fn with_provisional(
    mut stored: Vec<FuelEvent>,
    provisional: Option<FuelEvent>,
    (since, to): (Timestamp, Timestamp),
) -> Vec<FuelEvent> {
    let is_stored = |event: &FuelEvent| stored.iter().any(|other| other.id == event.id);
    let touches = |event: &FuelEvent| event.ended_at >= since && event.started_at < to;
    let missing = provisional.filter(|event| touches(event) && !is_stored(event));
    stored.extend(missing);
    stored
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use waypost_actors::fuel::{FuelEventKind, FuelMotion};
    use waypost_actors::model::EventId;

    use super::*;

    #[test]
    fn what_is_not_certain_yet_counts_once_and_where_it_touches_the_period() {
        let at = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
        let refuel = |number: u128| FuelEvent {
            id: EventId(Uuid::from_u128(number)),
            kind: FuelEventKind::Refuel,
            started_at: at(60),
            ended_at: at(65),
            level_before_liters: 100.0,
            level_after_liters: 180.0,
            volume_liters: 80.0,
            place: None,
            motion: FuelMotion::Stopped,
            confidence: 0.9,
        };
        let told = |stored: &[u128], provisional: Option<u128>, (since, to): (i64, i64)| -> Vec<u128> {
            let stored = stored.iter().map(|number| refuel(*number)).collect();
            let events = with_provisional(stored, provisional.map(refuel), (at(since), at(to)));
            events.iter().map(|event| event.id.0.as_u128()).collect()
        };
        assert_eq!(told(&[1], Some(2), (0, 120)), [1, 2]);
        assert_eq!(told(&[1, 2], Some(2), (0, 120)), [1, 2], "it became certain meanwhile");
        assert_eq!(told(&[1], None, (0, 120)), [1]);
        assert_eq!(told(&[], Some(2), (65, 61)), [2]);
        assert_eq!(told(&[], Some(2), (66, 120)), Vec::<u128>::new());
        assert_eq!(told(&[], Some(2), (0, 60)), Vec::<u128>::new());
    }
}
