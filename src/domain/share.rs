//! Links that show where some vehicles are, without an account, for a while.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{GeofenceId, Motion, OrganizationId, Place, Timestamp, VehicleId};

use super::body::body;
use super::members::{Members, Read, id, instant};

/// Links of one organization at most that have not ended.
pub const MAX_SHARES: i64 = 200;
/// Vehicles of one link at most.
const MAX_VEHICLES: usize = 20;
/// How long a link can last. Seconds: 90 days.
const MAX_SECONDS: f64 = 90.0 * 86_400.0;
/// How long a link that ended is kept in the list. Seconds: 30 days.
pub const KEPT_SECONDS: f64 = 30.0 * 86_400.0;

body!(
    /// A new link.
    pub struct CreateShare {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// What it is for, 1 to 120 characters. Whoever opens the link does not see it.
        name "name": optional String, text(1..=120);
        /// The vehicles that it shows, each once.
        vehicle_ids "vehicleIds": required Vec<VehicleId>, by(vehicles, min_items = 1, max_items = 20);
        /// From then on it shows nothing; at most 90 days ahead.
        ends_at "endsAt": required Timestamp, by(instant);
        /// A vehicle that enters this geofence is not shown from then on. One that is inside already is shown until it enters anew.
        geofence_id "geofenceId": optional GeofenceId, by(id);
    }
);

/// A vehicle of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedVehicle {
    /// Which. Deleted ones are left out.
    pub vehicle_id: VehicleId,
    /// When it entered the link's geofence; from then on it is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_at: Option<Timestamp>,
}

/// A link that shows where some vehicles are, without its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Which.
    pub id: Uuid,
    /// Whose.
    pub organization_id: OrganizationId,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The vehicles that it shows.
    pub vehicles: Vec<SharedVehicle>,
    /// From then on it shows nothing.
    pub ends_at: Timestamp,
    /// The geofence on whose entry a vehicle is not shown any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geofence_id: Option<GeofenceId>,
    /// Who made it.
    pub created_by: Uuid,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether it shows anything: its time is not over, and one of its vehicles has not arrived.
    pub open: bool,
}

/// A vehicle as a link shows it, and nothing else of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownVehicle {
    /// Its name.
    pub name: String,
    /// Where it was last; absent for one that never reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Place>,
    /// Whether it moves.
    pub motion: Motion,
    /// When the server last had a position of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heard_at: Option<Timestamp>,
}

/// What a link shows.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownVehicles {
    /// The instant of the answer.
    pub as_of: Timestamp,
    /// Until when the link shows anything.
    pub ends_at: Timestamp,
    /// The vehicles, by name; those that have arrived and those that were deleted are left out.
    pub vehicles: Vec<ShownVehicle>,
}

/// Filters links. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShareFilter {
    /// With one of these vehicles.
    pub vehicle_ids: Vec<VehicleId>,
    /// Whether they show anything as of an instant.
    pub open: Option<(bool, Timestamp)>,
}

impl CreateShare {
    /// Notes what is wrong with the end of a new link.
    pub fn check(members: &mut Members<'_>, now: Timestamp) {
        let ends_at = members.value("endsAt").and_then(|value| instant(value).ok());
        let seconds = ends_at.map(|ends_at| ends_at.seconds_since(now));
        if seconds.is_some_and(|seconds| seconds <= 0.0 || seconds > MAX_SECONDS) {
            members.problem("endsAt", "range", "must be in the future, at most 90 days ahead");
        }
    }
}

impl Share {
    /// What `If-Match` guards.
    #[must_use]
    pub fn tagged(&self) -> Self {
        let vehicles = self.vehicles.iter().map(|one| SharedVehicle { arrived_at: None, ..one.clone() });
        Self { vehicles: vehicles.collect(), open: true, ..self.clone() }
    }
}

fn vehicles(value: &Value) -> Read<Vec<VehicleId>> {
    let wrong = || ("length", format!("a list of 1 to {MAX_VEHICLES} ids, each once"));
    let items = value.as_array().filter(|items| (1..=MAX_VEHICLES).contains(&items.len()));
    let ids: Vec<VehicleId> = items.ok_or_else(wrong)?.iter().map(id).collect::<Read<_>>()?;
    let is_repeated = |(at, one): (usize, &VehicleId)| ids[..at].contains(one);
    if ids.iter().enumerate().any(is_repeated) { Err(wrong()) } else { Ok(ids) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_has_one_to_twenty_vehicles_each_once() {
        let ids = |number: u128| (0..number).map(|n| Uuid::from_u128(n).to_string()).collect::<Vec<_>>();
        assert_eq!(vehicles(&json!(ids(20))).unwrap().len(), 20);
        for wrong in [json!([]), json!(ids(21)), json!("all"), json!([ids(1), ids(1)].concat())] {
            assert_eq!(vehicles(&wrong).unwrap_err().0, "length", "{wrong}");
        }
        assert_eq!(vehicles(&json!(["x"])).unwrap_err().0, "format");
    }
}
