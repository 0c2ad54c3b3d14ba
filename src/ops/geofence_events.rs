//! The log of geofence events.

use waypost_actors::model::{Event, EventId, OrganizationId, VehicleId};

use super::error::OpError;
use super::listing::Listing;
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{After, Slice, SliceRequest};
use crate::store::{geofence_event, vehicle};

/// Events, from a place in the log on.
pub async fn list_events(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    events_in(context, caller, &scope, filter, order, request).await
}

/// Events of one vehicle, which may be deleted by now.
pub async fn list_events_of_vehicle(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    vehicle: VehicleId,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    if !vehicle::existed(context.db.read(), &scope, vehicle).await? {
        return Err(OpError::NotFound);
    }
    let filter = EventFilter { vehicle_ids: vec![vehicle.into()], ..filter };
    events_in(context, caller, &scope, &filter, order, request).await
}

/// An event.
pub async fn find_event(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: EventId,
) -> Result<Event, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    let mut found = geofence_event::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)?;
    caller.sees().narrow(&mut found.analytics);
    Ok(found)
}

async fn events_in(
    context: &Context,
    caller: &Caller,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let purpose = format!("geofence-events {} {}", order.as_str(), scope.organization_id());
    let listing = Listing::new(context, purpose, request);
    let mut items =
        geofence_event::list(&context.db, scope, filter, order, listing.after()?, listing.limit()).await?;
    let sees = caller.sees();
    items.iter_mut().for_each(|event| sees.narrow(&mut event.analytics));
    listing.slice(items, |last| match order {
        EventOrder::Sequence => After::Sequence(last.sequence),
        _ => After::Happened(last.occurred_at, last.id.into()),
    })
}
