//! A script: one vehicle, some fences, fixes and fence changes in, records out.
//!
//! The fence of most scripts is a square of 0.01° around (0.005, 0.005); the vehicle drives along
//! the parallel of 0.005°, whose thousandths of a degree are 111.3 m.

use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Event, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Polygon, Rules, ShapeSpec, Timestamp,
    Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::tracking::{
    self, Context, Effects, Freshness, NearSpan, Quarantine, VehicleState, settle_change,
};

use crate::ledger::geofence_events;

const T0: i64 = 1_700_000_000_000_000;

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::from_micros(T0).plus_seconds(seconds)
}

pub(crate) fn square(west: f64, south: f64, side: f64) -> ShapeSpec {
    let corner = |dx: f64, dy: f64| Place::new(south + dy * side, west + dx * side);
    let vertices = vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
    ShapeSpec::Polygon(Polygon { vertices, holes: vec![] })
}

pub(crate) fn version(number: i64, rules: Rules) -> FenceVersion {
    FenceVersion {
        version: number,
        effective_from: None,
        changed_at: at(-1000.0),
        active: true,
        deleted: false,
        shape: square(0.0, 0.0, 0.01),
        rules,
    }
}

/// One vehicle, some fences, and everything recorded so far.
pub(crate) struct Script {
    pub(crate) vehicle: Vehicle,
    pub(crate) fences: Vec<Fence>,
    pub(crate) state: VehicleState,
    pub(crate) effects: Effects,
    pub(crate) now: Timestamp,
}

impl Script {
    pub(crate) fn new(rules: Rules) -> Self {
        Self::with(vec![version(1, rules)])
    }

    pub(crate) fn with(versions: Vec<FenceVersion>) -> Self {
        let organization_id = OrganizationId(uuid::Uuid::from_u128(1));
        Self {
            vehicle: Vehicle {
                id: VehicleId(uuid::Uuid::from_u128(2)),
                organization_id,
                name: "V".into(),
                limits: VehicleLimits { max_speed_kmh: None, max_accuracy_meters: None, overspeed_kmh: None },
                out_of_service: vec![],
                calibrations: vec![],
            },
            fences: vec![Fence {
                id: GeofenceId(uuid::Uuid::from_u128(3)),
                organization_id,
                name: "F".into(),
                versions,
            }],
            state: VehicleState::default(),
            effects: Effects::default(),
            now: at(1_000_000.0),
        }
    }

    pub(crate) fn run(&mut self, step: impl FnOnce(&mut VehicleState, &Context<'_>, &mut Effects)) {
        let timelines = self.fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect();
        let fences = FenceSet::new(timelines);
        let context = Context { vehicle: &self.vehicle, fences: &fences, detected_at: self.now };
        step(&mut self.state, &context, &mut self.effects);
    }

    pub(crate) fn fix(&mut self, fix: Fix) {
        self.run(|state, context, effects| tracking::apply(state, fix, context, effects));
    }

    /// Fixes on the parallel of 0.005°: (seconds, thousandths of a degree east).
    pub(crate) fn drive(&mut self, track: &[(f64, f64)]) -> &mut Self {
        for (seconds, east) in track {
            self.fix(Fix::new(at(*seconds), self.now, Place::new(0.005, east / 1000.0)));
        }
        self
    }

    pub(crate) fn change(&mut self, change: FenceVersion) -> &mut Self {
        let from = change.effective_from.unwrap_or(Timestamp::FIRST);
        self.fences[0].versions.push(change);
        self.run(|state, context, effects| settle_change(state, NearSpan::since(from), context, effects));
        self
    }

    /// `kind@second`, `i` behind it when inferred.
    pub(crate) fn events(&self) -> Vec<String> {
        let word = |event: &Event| {
            let inferred = if event.inferred { "i" } else { "" };
            format!("{}@{}{inferred}", event.kind.as_str(), event.occurred_at.seconds_since(at(0.0)))
        };
        self.geofence_events().iter().map(word).collect()
    }

    /// Every entry, exit and dwell.
    pub(crate) fn geofence_events(&self) -> Vec<Event> {
        geofence_events(&self.effects.records)
    }

    pub(crate) fn standings(&self) -> Vec<(Option<Quarantine>, Freshness)> {
        self.effects.rows.iter().map(|row| (row.quarantine, row.freshness)).collect()
    }
}

/// Numbers that look random and are the same in every run (G. Marsaglia, Xorshift RNGs, 2003).
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normally distributed, of variance 1 (twelve uniform ones, less six).
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
