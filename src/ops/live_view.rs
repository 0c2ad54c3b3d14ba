//! A client's view of a vehicle's current state, answered by the live core and never by a query.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::{HeldFence, LiveFuel, VehicleView};
use waypost_actors::model::{Attributes, Connection, GeofenceId, Motion, Place, Timestamp, VisitId};
use waypost_actors::ports::StoredFix;
use waypost_actors::tracking::MOVING_KMH;

use crate::auth::Sees;
use crate::domain::organization_settings::Settings;
use crate::store::past::Held;

/// A geofence a vehicle is in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveGeofence {
    /// Which.
    pub geofence_id: GeofenceId,
    /// The stay.
    pub visit_id: VisitId,
    /// Since when.
    pub entered_at: Timestamp,
}

/// Where a vehicle is now.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveVehicle {
    /// Where it was last.
    pub position: Option<Place>,
    /// How fast, where its tracker says so.
    pub speed_kmh: Option<f64>,
    /// Which way, degrees clockwise from north, where its tracker says so.
    pub heading_degrees: Option<f64>,
    /// Height above the ellipsoid or the sea in metres, where its tracker says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altitude_meters: Option<f64>,
    /// Horizontal accuracy (68 %) in metres, where its tracker says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_meters: Option<f64>,
    /// Odometer in kilometres, where its tracker says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odometer_km: Option<f64>,
    /// Whether the ignition is on, where its tracker says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition: Option<bool>,
    /// What the newest fix carries beside it, where its tracker says anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Attributes>,
    /// The geofences it is in, by entry. Absent for a system user without the scope `events:read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofences: Option<Vec<LiveGeofence>>,
    /// The device's clock at the newest fix.
    pub last_fix_at: Option<Timestamp>,
    /// The server's clock when that fix arrived.
    pub received_at: Option<Timestamp>,
    /// Everything recorded up to then is judged, and no correction waits: what is in the log by then changes no more,
    /// unless more data of that time arrives. Goes back when it does. Null while there is no position.
    pub settled_through: Option<Timestamp>,
    /// Whether it is heard of, as the records of its connection tell.
    pub state: Connection,
    /// Whether it moves, as of its newest fix.
    pub motion: Motion,
    /// Its fuel; absent for one that never reported any, and for a system user without the scope `fuel:read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<LiveFuel>,
}

impl LiveVehicle {
    /// The live core's view in the client's form; a vehicle it knows nothing of is offline.
    #[must_use]
    pub fn of(view: Option<VehicleView>, sees: Sees) -> Self {
        let view = view.unwrap_or_else(VehicleView::never);
        let fix = view.fix;
        Self {
            position: fix.map(|fix| fix.place),
            speed_kmh: fix.and_then(|fix| fix.speed_kmh),
            heading_degrees: fix.and_then(|fix| fix.heading_degrees),
            altitude_meters: fix.and_then(|fix| fix.altitude_meters),
            accuracy_meters: fix.and_then(|fix| fix.accuracy_meters),
            odometer_km: fix.and_then(|fix| fix.odometer_km),
            ignition: fix.and_then(|fix| fix.ignition),
            attributes: view.attributes,
            geofences: sees.occupancy.then(|| view.geofences.iter().map(LiveGeofence::from).collect()),
            last_fix_at: fix.map(|fix| fix.recorded_at),
            received_at: fix.map(|fix| fix.received_at),
            settled_through: view.settled_through,
            state: view.connection,
            motion: view.motion,
            fuel: view.fuel.filter(|_| sees.fuel),
        }
    }

    /// Where a vehicle was at a past instant. `stored`: its newest then. How long it had been silent is told by the device's
    /// clock, because what is late today was missing then.
    #[must_use]
    pub fn past(
        stored: Option<StoredFix>,
        geofences: Vec<LiveGeofence>,
        sees: Sees,
        settings: &Settings,
        at: Timestamp,
    ) -> Self {
        let (fix, attributes) = stored.map_or((None, None), |it| (Some(it.fix), it.attributes));
        let motion = match fix.and_then(|fix| fix.speed_kmh) {
            Some(kmh) if kmh >= MOVING_KMH => Motion::Moving,
            Some(_) => Motion::Stopped,
            None => Motion::Unknown,
        };
        let view = VehicleView { fix, attributes, motion, ..VehicleView::never() };
        Self {
            geofences: sees.occupancy.then_some(geofences),
            state: fix.map_or(Connection::Offline, |fix| {
                settings.silence().makes(at.seconds_since(fix.recorded_at))
            }),
            ..Self::of(Some(view), sees)
        }
    }
}

impl From<&Held> for LiveGeofence {
    fn from(held: &Held) -> Self {
        Self { geofence_id: held.geofence_id, visit_id: held.visit_id, entered_at: held.entered_at }
    }
}

impl From<&HeldFence> for LiveGeofence {
    fn from(held: &HeldFence) -> Self {
        Self { geofence_id: held.geofence_id, visit_id: held.visit_id, entered_at: held.entered_at }
    }
}
