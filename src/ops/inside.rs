//! The vehicles inside a geofence: now, from the live core's memory; at a past instant, from the visits.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::InsideView;
use waypost_actors::model::{Cause, Connection, GeofenceId, Place, Timestamp, VehicleId};

use super::error::OpError;
use super::listing::Listing;
use super::own_organization::settings_of;
use super::scoped::Scoped;
use super::{geofences, vehicles};
use crate::auth::OrgScope;
use crate::context::Context;
use crate::domain::assignment::CurrentDriver;
use crate::domain::field::FieldError;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::vehicle::{Vehicle, VehicleStub};
use crate::store::past::WasInside;
use crate::store::{past, vehicle};

/// A vehicle inside a geofence.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleInside {
    /// Which.
    pub vehicle: VehicleStub,
    /// Since when.
    pub entered_at: Timestamp,
    /// For how long, up to `asOf`.
    pub duration_seconds: f64,
    /// Where it was last.
    pub position: Place,
    /// Whether it is heard of.
    pub state: Connection,
    /// Why its stay began.
    pub cause: Cause,
    /// Who drove it then, for system users with the scope `drivers:read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<CurrentDriver>,
}

/// A slice of the vehicles inside.
pub struct Inside {
    /// The instant of the answer.
    pub as_of: Timestamp,
    /// The vehicles, by entry.
    pub slice: Slice<VehicleInside>,
}

/// The vehicles inside a geofence now, by entry, then id.
pub async fn vehicles_inside(
    context: &Context,
    by: &Scoped,
    geofence: GeofenceId,
    request: &SliceRequest,
) -> Result<Inside, OpError> {
    let scope = geofences::require_geofence(context, by, geofence).await?;
    let purpose = format!("inside {geofence} {}", scope.organization_id());
    let listing = Listing::new(context, purpose, request);
    let after = listing.after()?;
    let mut inside = context.live.inside(geofence).await?;
    let as_of = context.clock.now();
    inside.sort_by_key(place);
    inside.retain(|view| after.is_none_or(|after| place(view) > after));
    let slice = listing.slice(inside, place)?;
    let ids: Vec<VehicleId> = slice.items.iter().map(|view| view.vehicle_id).collect();
    let stubs = stubs(context, &scope, &ids).await?;
    let mut drivers = vehicles::drivers_of(context, &by.caller, &scope, &ids, None).await?;
    let shown = |view: InsideView| {
        Some(VehicleInside {
            vehicle: stubs.get(&view.vehicle_id)?.clone(),
            entered_at: view.held.entered_at,
            duration_seconds: as_of.seconds_since(view.held.entered_at).max(0.0),
            position: view.fix.place,
            state: view.connection,
            cause: view.held.cause,
            driver: drivers.remove(&view.vehicle_id),
        })
    };
    Ok(Inside { as_of, slice: slice.filter_map(shown) })
}

/// The vehicles that were inside a geofence at a past instant, by entry, then id, according to the visits as stored
/// today, so late data counts. State and position are those of the newest fix recorded up to then.
pub async fn vehicles_inside_at(
    context: &Context,
    by: &Scoped,
    geofence: GeofenceId,
    at: Timestamp,
    request: &SliceRequest,
) -> Result<Inside, OpError> {
    let scope = geofences::require_geofence(context, by, geofence).await?;
    if at > context.clock.now() {
        let problem = FieldError::new("?asOf", "value", "must not be in the future");
        return Err(OpError::Invalid(vec![problem]));
    }
    let purpose = format!("inside {geofence} {} {}", at.as_micros(), scope.organization_id());
    let listing = Listing::new(context, purpose, request);
    let after = listing.after()?;
    let silence = settings_of(context, &scope).await?.silence();
    let inside = past::inside_at(&context.db, &scope, geofence, at, after, listing.limit()).await?;
    let slice = listing.slice(inside, |was| (was.entered_at, was.vehicle_id))?;
    let ids: Vec<VehicleId> = slice.items.iter().map(|was| was.vehicle_id).collect();
    let (stubs, fixes) =
        (stubs(context, &scope, &ids).await?, past::fixes_at(&context.db, &context.track, &ids, at).await?);
    let mut drivers = vehicles::drivers_of(context, &by.caller, &scope, &ids, Some(at)).await?;
    let shown = |was: WasInside| {
        // Retention may have deleted the fixes; the visit still has its entry.
        let newest = fixes.get(&was.vehicle_id).map(|stored| (stored.fix.recorded_at, stored.fix.place));
        let (seen_at, position) = newest.unwrap_or((was.entered_at, was.entry));
        Some(VehicleInside {
            vehicle: stubs.get(&was.vehicle_id)?.clone(),
            entered_at: was.entered_at,
            duration_seconds: at.seconds_since(was.entered_at),
            position,
            state: silence.makes(at.seconds_since(seen_at)),
            cause: was.cause,
            driver: drivers.remove(&was.vehicle_id),
        })
    };
    Ok(Inside { as_of: at, slice: slice.filter_map(shown) })
}

/// Short forms of some vehicles, including deleted ones.
async fn stubs(
    context: &Context,
    scope: &OrgScope,
    ids: &[VehicleId],
) -> Result<HashMap<VehicleId, VehicleStub>, OpError> {
    let stub = |Vehicle { id, attributes, .. }: Vehicle| VehicleStub {
        id,
        name: attributes.name,
        plate: attributes.plate,
    };
    let found = vehicle::find_each(context.db.read(), scope, ids).await?;
    Ok(found.into_iter().map(|vehicle| (vehicle.id, stub(vehicle))).collect())
}

/// A vehicle's place in the list.
fn place(view: &InsideView) -> (Timestamp, VehicleId) {
    (view.held.entered_at, view.vehicle_id)
}
