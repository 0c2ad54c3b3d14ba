//! The fuel log and the refuels and drains found in it, listed.

use serde::{Deserialize, Serialize};
use serde_json::{from_slice, to_vec};
use uuid::Uuid;
use waypost_actors::fuel::FuelRecord;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::OpError;
use crate::auth::{Action, Caller};
use crate::context::Context;
use crate::domain::fuel::{FuelEntry, FuelEventFilter, FuelEventOrder, FuelFilter};
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::geofence_event::After;
use crate::store::{fuel_event_history, fuel_history};

/// What is inside a cursor.
#[derive(Serialize, Deserialize)]
enum Place {
    #[serde(rename = "h")]
    Happened(i64, Uuid),
    #[serde(rename = "s")]
    Sequence(i64),
}

/// Entries of the fuel log, from a place in it on.
pub async fn list_fuel(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &FuelFilter,
    request: &SliceRequest,
) -> Result<Slice<FuelEntry>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadFuel, named).await?;
    let order = if filter.is_oldest_first { "oldest" } else { "newest" };
    let purpose = format!("fuel {order} {}", scope.organization_id());
    let after = match opened(context, &purpose, request)? {
        None => None,
        Some(After::Happened(at, id)) => Some((at, id)),
        Some(After::Sequence(_)) => return Err(OpError::Cursor),
    };
    // One more than asked for tells whether there is more.
    let items = fuel_history::list(&context.db, &scope, filter, after, request.limit + 1).await?;
    let place = |last: &FuelEntry| Place::Happened(last.recorded_at.as_micros(), last.id);
    sliced(context, &purpose, request, items, place)
}

/// An entry of the fuel log.
pub async fn find_fuel(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: Uuid,
) -> Result<FuelEntry, OpError> {
    let scope = caller.scope(&context.db, Action::ReadFuel, named).await?;
    fuel_history::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)
}

/// Refuels and drains, from a place in the list on.
pub async fn list_fuel_events(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &FuelEventFilter,
    order: FuelEventOrder,
    request: &SliceRequest,
) -> Result<Slice<FuelRecord>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadFuel, named).await?;
    let purpose = format!("fuel-events {} {}", order.as_str(), scope.organization_id());
    let after = opened(context, &purpose, request)?;
    let items =
        fuel_event_history::list(&context.db, &scope, filter, order, after, request.limit + 1).await?;
    let place = |last: &FuelRecord| match order {
        FuelEventOrder::Sequence => Place::Sequence(last.sequence),
        _ => Place::Happened(last.event.started_at.as_micros(), last.event.id.into()),
    };
    sliced(context, &purpose, request, items, place)
}

/// What was asked for of `items`, which may hold one more.
fn sliced<T>(
    context: &Context,
    purpose: &str,
    request: &SliceRequest,
    mut items: Vec<T>,
    place: impl Fn(&T) -> Place,
) -> Result<Slice<T>, OpError> {
    let has_next = items.len() as i64 > request.limit;
    items.truncate(usize::try_from(request.limit).unwrap_or(usize::MAX));
    let end_cursor = match items.last() {
        Some(last) => {
            let payload = to_vec(&place(last)).map_err(|error| OpError::Internal(error.to_string()))?;
            Some(context.auth.sealer.seal(purpose, &payload))
        }
        None => request.after.clone(),
    };
    Ok(Slice { items, end_cursor, has_next })
}

fn opened(context: &Context, purpose: &str, request: &SliceRequest) -> Result<Option<After>, OpError> {
    let Some(cursor) = &request.after else { return Ok(None) };
    let payload = context.auth.sealer.open(purpose, cursor).ok_or(OpError::Cursor)?;
    Ok(Some(match from_slice(&payload).map_err(|_| OpError::Cursor)? {
        Place::Happened(micros, id) => After::Happened(Timestamp::from_micros(micros), id),
        Place::Sequence(sequence) => After::Sequence(sequence),
    }))
}
