//! What the live core answers about a vehicle or a fence now. Plain values; knows no actor.

use std::sync::Arc;

use serde::Serialize;

use crate::fuel::{FuelEvent, FuelNow};
use crate::model::{
    Analytics, Attributes, Cause, Connection, Fix, GeofenceId, Motion, Timestamp, VehicleId, VisitId,
};
use crate::tracking::{Stay, VehicleState};

/// A geofence a vehicle is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldFence {
    /// The geofence.
    pub geofence_id: GeofenceId,
    /// The visit to it.
    pub visit_id: VisitId,
    /// When the vehicle entered it.
    pub entered_at: Timestamp,
    /// Why the stay began.
    pub cause: Cause,
}

impl From<&Stay> for HeldFence {
    fn from(stay: &Stay) -> Self {
        Self {
            geofence_id: stay.geofence_id,
            visit_id: stay.visit_id,
            entered_at: stay.entered_at,
            cause: stay.cause,
        }
    }
}

/// A vehicle as it is committed.
#[derive(Clone, Debug)]
pub struct VehicleNow {
    /// Its state.
    pub state: Arc<VehicleState>,
    /// Up to where its timeline stands ([`VehicleState::settled_through`]).
    pub settled_through: Option<Timestamp>,
    /// Whether it is heard of, as the log tells.
    pub connection: Connection,
}

/// What the live core knows of a vehicle now.
#[derive(Clone, Debug, PartialEq)]
pub struct VehicleView {
    /// Its newest fix, if it ever had one.
    pub fix: Option<Fix>,
    /// What that fix carries beside where the vehicle is.
    pub attributes: Option<Attributes>,
    /// The fences it is in, by entry.
    pub geofences: Vec<HeldFence>,
    /// Whether it moves, as of its newest fix.
    pub motion: Motion,
    /// Its fuel, if it ever reported any.
    pub fuel: Option<LiveFuel>,
    /// Up to where its timeline stands ([`VehicleState::settled_through`]).
    pub settled_through: Option<Timestamp>,
    /// Whether it is heard of, as the log tells.
    pub connection: Connection,
}

impl VehicleNow {
    /// A vehicle that never reported.
    #[must_use]
    pub fn never() -> Self {
        Self { state: Arc::default(), settled_through: None, connection: Connection::Offline }
    }
}

impl VehicleView {
    /// A vehicle that never reported.
    #[must_use]
    pub const fn never() -> Self {
        Self {
            fix: None,
            attributes: None,
            geofences: Vec::new(),
            motion: Motion::Unknown,
            fuel: None,
            settled_through: None,
            connection: Connection::Offline,
        }
    }

    /// What a vehicle's state knows.
    #[must_use]
    pub fn of(vehicle: VehicleId, VehicleNow { state, settled_through, connection }: &VehicleNow) -> Self {
        let mut geofences: Vec<HeldFence> = state.open_stays().map(HeldFence::from).collect();
        geofences.sort_by_key(|held| (held.entered_at, held.geofence_id));
        let fuel = LiveFuel::of(vehicle, state);
        let (fix, motion) = (state.last, state.trail.motion);
        let (settled_through, connection) = (*settled_through, *connection);
        let attributes = state.attributes.clone();
        Self { fix, attributes, geofences, motion, fuel, settled_through, connection }
    }
}

/// What is known of a vehicle's fuel now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LiveFuel {
    /// The level and the newest reading.
    #[serde(flatten)]
    pub now: FuelNow,
    /// A refuel or drain that is found but not certain yet: what happens within the next quarter of an hour may
    /// make it larger, or nothing. A warning, no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisional: Option<FuelEvent>,
}

impl LiveFuel {
    /// What a vehicle's state knows.
    #[must_use]
    pub fn of(vehicle: VehicleId, state: &VehicleState) -> Option<Self> {
        let gauge = state.fuel.as_ref()?;
        Some(Self { now: gauge.now(), provisional: gauge.provisional(vehicle) })
    }
}

/// What a vehicle has done so far in a fence it is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningVisit {
    /// The stay.
    pub visit_id: VisitId,
    /// Its newest fix, or the entry if that is later.
    pub as_of: Timestamp,
    /// What it did up to then.
    pub analytics: Analytics,
}

/// How far some vehicles have come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    /// Their open visits.
    pub visits: Vec<RunningVisit>,
    /// Up to where the timeline of each stands ([`VehicleState::settled_through`]).
    pub settled: Vec<(VehicleId, Timestamp)>,
}

/// A vehicle inside a fence now.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideView {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The stay.
    pub held: HeldFence,
    /// Its newest fix.
    pub fix: Fix,
    /// Whether it is heard of, as the log tells.
    pub connection: Connection,
}
