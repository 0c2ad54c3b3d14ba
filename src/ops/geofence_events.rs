//! The log of geofence events.

use waypost_actors::model::{Event, EventId, VehicleId};
use waypost_actors::tracking::{RecordKind, RecordView};

use super::error::OpError;
use super::events::records_in;
use super::scoped::Scoped;
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::{record_history, vehicle};

/// Events, from a place in the log on.
pub async fn list_events(
    context: &Context,
    by: &Scoped,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    events_in(context, &by.caller, &scope, filter, order, request).await
}

/// Events of one vehicle, even if it was deleted.
pub async fn list_events_of_vehicle(
    context: &Context,
    by: &Scoped,
    vehicle: VehicleId,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    if !vehicle::existed(context.db.read(), &scope, vehicle).await? {
        return Err(OpError::NotFound);
    }
    let filter = EventFilter { vehicle_ids: vec![vehicle.into()], ..filter };
    events_in(context, &by.caller, &scope, filter, order, request).await
}

/// An event.
pub async fn find_event(context: &Context, by: &Scoped, id: EventId) -> Result<Event, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let found = record_history::find(&context.db, &scope, id).await?;
    let found = found.and_then(|record| RecordView::from(&record).geofence());
    let mut found = found.ok_or(OpError::NotFound)?;
    by.caller.sees().narrow(&mut found.analytics);
    Ok(found)
}

async fn events_in(
    context: &Context,
    caller: &Caller,
    scope: &OrgScope,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Event>, OpError> {
    let kinds = if filter.kinds.is_empty() { RecordKind::GEOFENCE.to_vec() } else { filter.kinds };
    let filter = EventFilter { kinds, ..filter };
    let purpose = format!("geofence-events {}", order.as_str());
    let found = records_in(context, scope, &purpose, &filter, order, request).await?;
    let sees = caller.sees();
    Ok(found.filter_map(|record| {
        let mut event = RecordView::from(&record).geofence()?;
        sees.narrow(&mut event.analytics);
        Some(event)
    }))
}
