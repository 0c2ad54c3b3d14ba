//! Data through the pure engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Event, EventKind, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Rules, Timestamp, Vehicle,
    VehicleId, VehicleLimits,
};
use waypost_actors::tracking::{self, Context, Effects, RecordKind, RecordView, VehicleState};

use crate::data::{Data, Line};

const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(1));
/// Limits by which no fix is too inaccurate or too fast.
pub(crate) const NO_LIMITS: VehicleLimits =
    VehicleLimits { max_speed_kmh: None, max_accuracy_meters: None, overspeed_kmh: None };

/// The result of the engine.
pub(crate) struct Replay {
    pub(crate) fences: FenceSet,
    /// What it left, vehicle by vehicle.
    pub(crate) effects: Vec<(String, Effects)>,
}

/// All of the data under the same rules for every fence.
pub(crate) fn replay(data: &Data, rules: Rules, limits: VehicleLimits) -> Replay {
    let fences = fence_set(data, rules);
    let now = Timestamp::from_micros(1_900_000_000_000_000);
    let mut replay = Replay { fences, effects: Vec::new() };
    for of_vehicle in data.fixes.chunk_by(|(a, _), (b, _)| a == b) {
        let name = of_vehicle[0].0.clone();
        let id = VehicleId(Uuid::from_u128(replay.effects.len() as u128));
        let vehicle = Vehicle {
            id,
            organization_id: ORGANIZATION,
            name: name.clone(),
            limits,
            out_of_service: Vec::new(),
            calibrations: vec![],
        };
        let (mut state, mut effects) = (VehicleState::default(), Effects::default());
        for (_, fix) in of_vehicle {
            let context = Context { vehicle: &vehicle, fences: &replay.fences, detected_at: now };
            tracking::apply(&mut state, *fix, &context, &mut effects);
        }
        replay.effects.push((name, effects));
    }
    replay
}

fn fence_set(data: &Data, rules: Rules) -> FenceSet {
    let timeline = |(number, named): (usize, &waypost_client::trace::fences::NamedShape)| {
        let version = FenceVersion {
            version: 1,
            effective_from: None,
            changed_at: Timestamp::from_micros(0),
            active: true,
            deleted: false,
            shape: named.shape.clone(),
            rules,
        };
        Arc::new(FenceTimeline::prepare(&Fence {
            id: GeofenceId(Uuid::from_u128(number as u128)),
            organization_id: ORGANIZATION,
            name: named.id.clone(),
            versions: vec![version],
        }))
    };
    FenceSet::new(data.fences.iter().enumerate().map(timeline).collect())
}

impl Replay {
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> {
        self.effects.iter().flat_map(|(_, effects)| events(effects))
    }

    /// A line for each stop: vehicle, from and to. One that goes on ends with the vehicle's last fix.
    pub(crate) fn stops(&self, data: &Data) -> String {
        let mut lines = String::new();
        for (name, effects) in &self.effects {
            let last = data.fixes.iter().filter(|(of, _)| of == name).map(|(_, fix)| fix.recorded_at).max();
            let stops = effects.records.iter().filter(|record| record.kind() == RecordKind::Stop);
            let mut newest: BTreeMap<Timestamp, Option<Timestamp>> = BTreeMap::new();
            newest.extend(stops.map(|stop| (stop.occurred_at, stop.ended_at)));
            for (from, to) in newest {
                let to = to.or(last).unwrap_or(from);
                let line = format!("{name},{},{}\n", from.as_micros() / 1_000, to.as_micros() / 1_000);
                lines.push_str(&line);
            }
        }
        lines
    }

    /// In the form of the reference, sorted.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let line = |event: Event| {
            let entered = event.kind == EventKind::Entry;
            (event.vehicle_name, event.geofence_name, entered, event.fix.recorded_at)
        };
        let mut lines: Vec<Line> = self.events().map(line).collect();
        lines.sort();
        lines
    }
}

/// The entries, exits and dwells of a replay.
pub(crate) fn events(effects: &Effects) -> Vec<Event> {
    effects.records.iter().filter_map(|record| RecordView::from(record).geofence()).collect()
}

/// The fixes that were judged, in order: neither quarantined for good nor a worse place of an instant.
pub(crate) fn judged(effects: &Effects) -> Vec<Fix> {
    let counts = |row: &&tracking::PositionRow| {
        row.freshness == tracking::Freshness::Fresh
            && (row.quarantine.is_none()
                || effects.confirmed.iter().any(|fix| fix.recorded_at == row.fix.recorded_at))
    };
    effects.rows.iter().filter(counts).map(|row| row.fix).collect()
}
