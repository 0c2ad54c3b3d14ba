//! A vehicle's fuel on its timeline: a reading counts where its fix does, so that late readings are put right by
//! the same corrections (docs/fuel.md, "On the timeline").

use super::alert;
use super::context::Context;
use super::effects::Effects;
use super::motion::Leg;
use super::record::{Detail, FuelDetail, Record};
use super::state::Phase;
use super::state::VehicleState;
use crate::fuel::{FuelEvent, Gauge, Gauged, Measured, StayFuel};
use crate::model::{Fix, Timestamp};

/// Takes a fix that counts.
pub(super) fn take(
    state: &mut VehicleState,
    way: Option<&(Fix, Leg)>,
    fix: &Fix,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let (versions, vehicle) = (&context.vehicle.calibrations, context.vehicle.id);
    let before = state.fuel.as_ref().map(|gauge| gauge.newest());
    let gauged = match &mut state.fuel {
        Some(gauge) => {
            let meters = |(_, leg): &(Fix, Leg)| if leg.counts { leg.meters } else { 0.0 };
            gauge.take(fix, way.map(meters), versions, vehicle)
        }
        None if fix.has_fuel() => begin(state, fix, context),
        None => return,
    };
    observe(state, before.as_ref(), &gauged, context);
    leave(gauged, fix.recorded_at, context, effects);
}

/// What the vehicle burns where it stays. On its way out it burns it outside, unless it comes back; what becomes certain then may
/// have happened inside all the same.
fn observe(state: &mut VehicleState, before: Option<&Measured>, gauged: &Gauged, context: &Context<'_>) {
    let Some(gauge) = &state.fuel else { return };
    let provisional = gauge.provisional(context.vehicle.id);
    let measured = gauged.row.map(|row| Measured {
        at: row.recorded_at,
        level_liters: row.level_liters,
        counter_liters: row.counter_liters,
        distance_meters: row.distance_meters,
        version: row.calibration_version,
    });
    for stay in &mut state.stays {
        let entered_at = stay.entered_at;
        if let Some(measured) = measured.as_ref().filter(|_| !matches!(stay.phase, Phase::Leaving { .. })) {
            let begin = || Box::new(StayFuel::begin(entered_at, before, gauged.tank));
            stay.fuel.get_or_insert_with(begin).observe(measured, gauged.tank, provisional);
        }
        if let Some(fuel) = &mut stay.fuel {
            fuel.add_certain(gauged.events.iter().map(|(event, _)| *event));
        }
    }
}

/// Judges what another report added to the newest fix. Returns whether that is judged now, or affects no judgement:
/// if not, what was recorded from the fix on awaits a correction.
pub(super) fn repeat(
    state: &mut VehicleState,
    before: &Fix,
    whole: &Fix,
    context: &Context<'_>,
    effects: &mut Effects,
) -> bool {
    if whole.recorded_at <= state.corrected_to {
        return false;
    }
    let waits = state.suspect.as_ref().is_some_and(|suspect| suspect.recorded_at == whole.recorded_at);
    if waits || (state.fuel.is_none() && !whole.has_fuel()) {
        return true;
    }
    let Fix { fuel, fuel_cumulative, altitude_meters, .. } = *before;
    let is_else_the_same = Fix { fuel, fuel_cumulative, altitude_meters, ..*whole } == *before;
    let is_kept = state.unsaved == 0; // what a checkpoint holds must be put right, too
    if !is_else_the_same || before.has_fuel() || !whole.has_fuel() || is_kept {
        return Fix { altitude_meters, ..*whole } == *before;
    }
    let newest = state.fuel.as_ref().map(|gauge| gauge.newest());
    let gauged = match &mut state.fuel {
        Some(gauge) => gauge.fill(whole, &context.vehicle.calibrations, context.vehicle.id),
        None => Some(begin(state, whole, context)),
    };
    let Some(gauged) = gauged else { return false };
    observe(state, newest.as_ref(), &gauged, context);
    leave(gauged, whole.recorded_at, context, effects);
    true
}

fn begin(state: &mut VehicleState, fix: &Fix, context: &Context<'_>) -> Gauged {
    let Some((gauge, gauged)) = Gauge::begin(fix, &context.vehicle.calibrations, context.vehicle.id) else {
        return Gauged::default();
    };
    state.fuel = Some(Box::new(gauge));
    gauged
}

fn leave(gauged: Gauged, confirmed_at: Timestamp, context: &Context<'_>, effects: &mut Effects) {
    effects.fuel_rows.extend(gauged.row);
    for (event, version) in gauged.events {
        let found = Record { confirmed_at, ..record(&event, version, context) };
        let alert = alert::of_drain(&found);
        effects.records.push(found);
        effects.records.extend(alert);
    }
}

fn record(event: &FuelEvent, calibration_version: i64, context: &Context<'_>) -> Record {
    let held = |place| context.fences_holding(place, event.started_at);
    let detail = FuelDetail {
        level_before_liters: event.level_before_liters,
        level_after_liters: event.level_after_liters,
        volume_liters: event.volume_liters,
        motion: event.motion,
        confidence: event.confidence,
        geofence_ids: event.place.map_or_else(Vec::new, held),
        calibration_version,
    };
    let found = Record::found(event.id, event.started_at, Detail::Fuel(event.kind, detail), context);
    Record { ended_at: Some(event.ended_at), location: event.place, ..found }
}
