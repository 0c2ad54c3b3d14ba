//! A vehicle that reports, judged by the engine.

use std::sync::Arc;

use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{Fix, Place, Vehicle, VehicleId, VehicleLimits};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Context, Effects, VehicleState, apply, catch_up};

use crate::fleet::{ORGANIZATION, fix};

/// A vehicle as the live core has it.
pub(crate) struct Driven {
    pub(crate) vehicle: Vehicle,
    pub(crate) state: VehicleState,
}

impl Driven {
    pub(crate) fn new(id: VehicleId) -> Self {
        let vehicle = Vehicle {
            id,
            organization_id: ORGANIZATION,
            name: "Bus".into(),
            limits: VehicleLimits::default(),
            out_of_service: vec![],
            calibrations: vec![],
        };
        Self { vehicle, state: VehicleState::default() }
    }

    /// Reports fixes; what is to be committed.
    pub(crate) fn report(&mut self, fixes: &[Fix]) -> VehicleWrite {
        let fences = FenceSet::new(vec![]);
        let judged_at = fixes.iter().map(|fix| fix.received_at).max().expect("some");
        let context = Context { vehicle: &self.vehicle, fences: &fences, detected_at: judged_at };
        let mut effects = Effects::default();
        for fix in fixes {
            apply(&mut self.state, *fix, &context, &mut effects);
        }
        catch_up(&mut self.state, &context, &mut effects);
        VehicleWrite {
            vehicle_id: self.vehicle.id,
            organization_id: ORGANIZATION,
            effects: Box::new(effects),
            state: Arc::new(self.state.clone()),
            judged_at,
        }
    }
}

/// On its way north, with everything a tracker may report.
pub(crate) fn driving(seconds: i64) -> Fix {
    let mut fix = fix(seconds);
    fix.place = Place::new(30.25 + seconds as f64 / 1e4, -97.75);
    (fix.speed_kmh, fix.heading_degrees) = (Some(40.123_456), Some(0.0));
    (fix.accuracy_meters, fix.odometer_km) = (Some(20.0), Some(seconds as f64 / 90.0));
    fix
}
