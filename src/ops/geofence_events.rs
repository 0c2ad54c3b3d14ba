//! The log of geofence events.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::model::{Event, EventId, OrganizationId, Timestamp, VehicleId};

use super::error::OpError;
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::geofence_event::{self, After};
use crate::store::vehicle;

/// What is inside a cursor of the log.
#[derive(Serialize, Deserialize)]
enum Place {
    #[serde(rename = "h")]
    Happened(i64, Uuid),
    #[serde(rename = "s")]
    Sequence(i64),
}

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
    events_in(context, &scope, filter, order, request).await
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
    events_in(context, &scope, &filter, order, request).await
}

/// An event.
pub async fn find_event(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: EventId,
) -> Result<Event, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    geofence_event::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)
}

async fn events_in(
    context: &Context,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let purpose = format!("geofence-events {} {}", order.as_str(), scope.organization_id());
    let after = match &request.after {
        None => None,
        Some(cursor) => Some(opened(context, &purpose, cursor)?),
    };
    // One more than asked for tells whether there is more.
    let mut items = geofence_event::list(&context.db, scope, filter, order, after, request.limit + 1).await?;
    let has_next = items.len() as i64 > request.limit;
    items.truncate(usize::try_from(request.limit).unwrap_or(usize::MAX));
    let end_cursor = match items.last() {
        Some(last) => Some(sealed(context, &purpose, order, last)?),
        None => request.after.clone(),
    };
    Ok(Slice { items, end_cursor, has_next })
}

fn sealed(context: &Context, purpose: &str, order: EventOrder, last: &Event) -> Result<String, OpError> {
    let place = match order {
        EventOrder::Sequence => Place::Sequence(last.sequence),
        _ => Place::Happened(last.occurred_at.as_micros(), last.id.into()),
    };
    let payload = serde_json::to_vec(&place).map_err(|error| OpError::Internal(error.to_string()))?;
    Ok(context.auth.sealer.seal(purpose, &payload))
}

fn opened(context: &Context, purpose: &str, cursor: &str) -> Result<After, OpError> {
    let payload = context.auth.sealer.open(purpose, cursor).ok_or(OpError::Cursor)?;
    Ok(match serde_json::from_slice(&payload).map_err(|_| OpError::Cursor)? {
        Place::Happened(micros, id) => After::Happened(Timestamp::from_micros(micros), id),
        Place::Sequence(sequence) => After::Sequence(sequence),
    })
}
