//! The computation of positions alone, for counting instructions: decode, accept, judge. No socket, no actor, no
//! store, one thread, the same steps in every run.
//!
//! `.ci/instructions` runs it under callgrind, which counts within [`compute_path`] only.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use waypost::ingest::decode::{self, Heard, Item, Positions};
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Fence, FenceVersion, GeofenceId, OrganizationId, Rules, Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::tracking::{Context, Effects, VehicleState, accept, apply};

use crate::load::Slice;
use crate::systems::{Packing, frame_text};
use crate::world::{Drive, Mix, Motion, Transition, World, make_fences};

const BEGIN_MILLIS: i64 = 1_700_000_000_000;

/// Computes positions as the server does, without sockets, actors and a store.
#[derive(Clone, Debug, Parser)]
#[command(name = "waypost-compute", version)]
pub(crate) struct Options {
    /// Positions in a frame
    #[arg(long, default_value_t = 32)]
    items: usize,
    /// Positions of each of 500 vehicles
    #[arg(long, default_value_t = 20)]
    rounds: u32,
}

/// Everything but the steps to count, then those; refuses to end well unless the oracle agrees.
pub(crate) fn compute(options: &Options) -> Result<()> {
    let world =
        World { seed: 11, vehicles: 500, fences: 2_000, vertices: 100, mix: Mix::Poly, motion: Motion::Roam };
    let fences = FenceSet::new(make_fences(&world).iter().zip(0..).map(timeline).collect::<Result<_>>()?);
    let slice = Slice::next(&mut Drive::new(&world), options.rounds);
    let frames: Vec<String> = (0..slice.fixes.len() as u32)
        .collect::<Vec<_>>()
        .chunks(options.items)
        .map(|fixes| {
            let packing = Packing::Fleet { connections: 1, fixes: options.items };
            frame_text(&slice, fixes, i64::from(fixes[0]), BEGIN_MILLIS, packing)
        })
        .collect();
    let vehicles: Vec<Vehicle> = (0..world.vehicles).map(vehicle).collect();
    let mut states = vec![VehicleState::default(); vehicles.len()];
    let mut told = compute_path(&frames, &fences, &vehicles, &mut states)?;
    told.sort_unstable();
    if told != slice.expected {
        bail!("{} transitions told, {} expected", told.len(), slice.expected.len());
    }
    println!("{} positions, {} transitions as the oracle has them", slice.fixes.len(), told.len());
    Ok(())
}

/// What callgrind counts.
#[inline(never)]
fn compute_path(
    frames: &[String],
    fences: &FenceSet,
    vehicles: &[Vehicle],
    states: &mut [VehicleState],
) -> Result<Vec<Transition>> {
    let mut told = Vec::new();
    let now = Timestamp::from_micros(BEGIN_MILLIS * 1_000 + 100_000_000);
    for frame in frames {
        let Heard::Positions(Positions { items, .. }) = decode::frame(black_box(frame))? else {
            bail!("no positions")
        };
        for item in items {
            let item: Item = item.map_err(|bad| anyhow::anyhow!(bad.detail))?;
            let name = item.tracker.context("no name")?;
            let number: usize = name[1..].parse()?;
            let recorded_at = item.recorded_at.map_err(anyhow::Error::msg)?;
            let fix = accept(&item.reported, recorded_at, now, None)?;
            let context = Context { vehicle: &vehicles[number], fences, detected_at: now };
            let mut effects = Effects::default();
            apply(&mut states[number], fix, &context, &mut effects);
            for record in &black_box(&effects).records {
                let Some(event) = record.geofence() else { continue };
                told.push(Transition {
                    vehicle: number as u32,
                    round: u32::try_from((recorded_at.as_millis() - BEGIN_MILLIS) / 1_000)?,
                    is_entry: event.kind == waypost_actors::model::EventKind::Entry,
                    fence: event.geofence_name[1..].parse()?,
                });
            }
        }
    }
    Ok(told)
}

fn timeline((outline, number): (&crate::world::Outline, u128)) -> Result<Arc<FenceTimeline>> {
    let version = FenceVersion {
        version: 1,
        effective_from: None,
        changed_at: Timestamp::FIRST,
        active: true,
        deleted: false,
        shape: serde_json::from_value(outline.to_json())?,
        rules: Rules::EXACT,
    };
    Ok(Arc::new(FenceTimeline::prepare(&Fence {
        id: GeofenceId(uuid::Uuid::from_u128(number)),
        organization_id: OrganizationId(uuid::Uuid::nil()),
        name: format!("f{number}"),
        versions: vec![version],
    })))
}

fn vehicle(number: u32) -> Vehicle {
    Vehicle {
        id: VehicleId(uuid::Uuid::from_u128(u128::from(number))),
        organization_id: OrganizationId(uuid::Uuid::nil()),
        name: format!("v{number}"),
        limits: VehicleLimits { max_speed_kmh: None, max_accuracy_meters: None, overspeed_kmh: None },
        out_of_service: Vec::new(),
        calibrations: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_computation_agrees_with_the_oracle() {
        compute(&Options { items: 7, rounds: 5 }).unwrap();
    }
}
