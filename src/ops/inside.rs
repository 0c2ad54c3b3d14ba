//! Who is inside a geofence now, from the live core's memory.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::live::InsideView;
use waypost_actors::model::{Cause, GeofenceId, OrganizationId, Place, Timestamp, VehicleId};

use super::error::OpError;
use super::live_view::{Connection, connection};
use super::{geofences, organizations, vehicles};
use crate::auth::Caller;
use crate::context::Context;
use crate::domain::assignment::CurrentDriver;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::vehicle::{Vehicle, VehicleStub};
use crate::store::vehicle;

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
    /// Who drives it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<CurrentDriver>,
}

/// Who is inside.
pub struct Inside {
    /// The instant of the answer.
    pub as_of: Timestamp,
    /// The vehicles, by entry.
    pub slice: Slice<VehicleInside>,
}

/// The vehicles inside a geofence now, by entry, then id.
pub async fn vehicles_inside(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    geofence: GeofenceId,
    request: &SliceRequest,
) -> Result<Inside, OpError> {
    let scope = geofences::require_geofence(context, caller, named, geofence).await?;
    let purpose = format!("inside {geofence} {}", scope.organization_id());
    let after = match &request.after {
        None => None,
        Some(cursor) => Some(opened(context, &purpose, cursor)?),
    };
    let settings = organizations::settings_of(context, &scope).await?;
    let mut inside = context.live.inside(geofence).await?;
    let as_of = context.clock.now();
    inside.sort_by_key(place);
    inside.retain(|view| after.is_none_or(|after| place(view) > after));
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let has_next = inside.len() > limit;
    inside.truncate(limit);
    let end_cursor = match inside.last() {
        Some(last) => Some(sealed(context, &purpose, last)),
        None => request.after.clone(),
    };
    let ids: Vec<VehicleId> = inside.iter().map(|view| view.vehicle_id).collect();
    let found = vehicle::find_each(context.db.read(), &scope, &ids).await?;
    let found: HashMap<VehicleId, Vehicle> = found.into_iter().map(|vehicle| (vehicle.id, vehicle)).collect();
    let mut drivers = vehicles::drivers_of(context, &scope, &ids).await?;
    let shown = |view: &InsideView| {
        let vehicle = found.get(&view.vehicle_id)?;
        Some(VehicleInside {
            vehicle: VehicleStub {
                id: vehicle.id,
                name: vehicle.said.name.clone(),
                plate: vehicle.said.plate.clone(),
            },
            entered_at: view.held.entered_at,
            duration_seconds: as_of.seconds_since(view.held.entered_at).max(0.0),
            position: view.fix.place,
            state: connection(&view.fix, &settings, as_of),
            cause: view.held.cause,
            driver: drivers.remove(&view.vehicle_id),
        })
    };
    let items = inside.iter().filter_map(shown).collect();
    Ok(Inside { as_of, slice: Slice { items, end_cursor, has_next } })
}

/// Where a vehicle stands in the list.
fn place(view: &InsideView) -> (Timestamp, VehicleId) {
    (view.held.entered_at, view.vehicle_id)
}

fn sealed(context: &Context, purpose: &str, last: &InsideView) -> String {
    let (entered_at, vehicle) = place(last);
    let mut payload = entered_at.as_micros().to_be_bytes().to_vec();
    payload.extend_from_slice(Uuid::from(vehicle).as_bytes());
    context.auth.sealer.seal(purpose, &payload)
}

fn opened(context: &Context, purpose: &str, cursor: &str) -> Result<(Timestamp, VehicleId), OpError> {
    let payload = context.auth.sealer.open(purpose, cursor).ok_or(OpError::Cursor)?;
    let (micros, id) = payload.split_first_chunk::<8>().ok_or(OpError::Cursor)?;
    let id = Uuid::from_slice(id).map_err(|_| OpError::Cursor)?;
    Ok((Timestamp::from_micros(i64::from_be_bytes(*micros)), VehicleId(id)))
}
