//! Dry runs: what a geofence that is not made yet would have recorded.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Rules, ShapeSpec, Timestamp, VehicleId};

use super::body::body;
use super::geofence::shape;
use super::members::{id, instant};
use super::rules::read_rules;
use super::webhook::ids;

/// The longest time a dry run covers. Seconds.
pub const MAX_DRY_RUN_SECONDS: f64 = 31.0 * 86_400.0;
/// Most visits that a dry run shows.
pub const MAX_DRY_RUN_VISITS: usize = 200;

body!(
    /// A geofence to try out.
    pub struct DryRunGeofence {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// The shape.
        shape "shape": required ShapeSpec, deep(shape);
        /// The rules; those left out come from the organization's defaults.
        rules "rules": required Rules, part(read_rules, required = false);
        /// Fixes recorded from here on, inclusive: at most 31 days before `to`.
        from "from": required Timestamp, by(instant);
        /// Fixes recorded up to here, exclusive.
        to "to": required Timestamp, by(instant);
        /// Only of these vehicles; empty: of all.
        vehicle_ids "vehicleIds": required Vec<VehicleId>, by(ids, max_items = 200), or Vec::<VehicleId>::new();
    }
    WHOLE: &["shape"];
);

/// A visit that a geofence would have made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunVisit {
    /// Whose.
    pub vehicle_id: VehicleId,
    /// Its name today.
    pub vehicle_name: String,
    /// From when. Of a vehicle that was inside at its first fix: that fix.
    pub entered_at: Timestamp,
    /// Until when; absent: it was still inside at `readThrough`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exited_at: Option<Timestamp>,
}

/// What a geofence would have made of what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunResult {
    /// How many visits.
    pub visit_count: usize,
    /// Of how many vehicles.
    pub vehicle_count: usize,
    /// The first of them, at most 200, by entry.
    pub visits: Vec<DryRunVisit>,
    /// Every fix recorded before this instant was judged, and none from it on: `to` (or now, if that is earlier), unless there was too
    /// much to read.
    pub read_through: Timestamp,
    /// Whether all that was asked for was read.
    pub is_complete: bool,
}
