//! Visits: the stored ones, and from the live core what the open ones did so far.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::live::RunningVisit;
use waypost_actors::model::{OrganizationId, Timestamp, VisitId};

use super::error::OpError;
use crate::auth::{Action, Caller};
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::visit::{Visit, VisitFilter, VisitOrder};
use crate::store::visit;

/// What is inside a cursor of the list.
#[derive(Serialize, Deserialize)]
struct Place(i64, Uuid);

/// Visits, from a place in the list on.
pub async fn list_visits(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &VisitFilter,
    order: VisitOrder,
    request: &SliceRequest,
) -> Result<Slice<Visit>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    let purpose = format!("visits {} {}", order.as_str(), scope.organization_id());
    let after = match &request.after {
        None => None,
        Some(cursor) => Some(opened(context, &purpose, cursor)?),
    };
    let now = context.clock.now();
    // One more than asked for tells whether there is more.
    let mut items = visit::list(&context.db, &scope, filter, order, after, request.limit + 1, now).await?;
    let has_next = items.len() as i64 > request.limit;
    items.truncate(usize::try_from(request.limit).unwrap_or(usize::MAX));
    let end_cursor = match items.last() {
        Some(last) => Some(sealed(context, &purpose, last)?),
        None => request.after.clone(),
    };
    go_on(context, &mut items).await?;
    Ok(Slice { items, end_cursor, has_next })
}

/// A visit.
pub async fn find_visit(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: VisitId,
) -> Result<Visit, OpError> {
    let scope = caller.scope(&context.db, Action::ReadEvents, named).await?;
    let mut found = visit::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)?;
    go_on(context, std::slice::from_mut(&mut found)).await?;
    Ok(found)
}

/// Says of open visits what they did so far. One that ended since it was read says nothing.
async fn go_on(context: &Context, visits: &mut [Visit]) -> Result<(), OpError> {
    let mut vehicles: Vec<_> =
        visits.iter().filter(|visit| visit.open).map(|visit| visit.vehicle_id).collect();
    vehicles.sort_unstable();
    vehicles.dedup();
    if vehicles.is_empty() {
        return Ok(());
    }
    let running = context.live.running_visits(vehicles).await?;
    let running: HashMap<VisitId, RunningVisit> =
        running.into_iter().map(|running| (running.visit_id, running)).collect();
    for visit in visits.iter_mut().filter(|visit| visit.open) {
        if let Some(running) = running.get(&visit.id) {
            (visit.as_of, visit.analytics) = (Some(running.as_of), Some(running.analytics));
        }
    }
    Ok(())
}

fn sealed(context: &Context, purpose: &str, last: &Visit) -> Result<String, OpError> {
    let place = Place(last.entered_at.as_micros(), last.id.into());
    let payload = serde_json::to_vec(&place).map_err(|error| OpError::Internal(error.to_string()))?;
    Ok(context.auth.sealer.seal(purpose, &payload))
}

fn opened(context: &Context, purpose: &str, cursor: &str) -> Result<(Timestamp, Uuid), OpError> {
    let payload = context.auth.sealer.open(purpose, cursor).ok_or(OpError::Cursor)?;
    let Place(micros, id) = serde_json::from_slice(&payload).map_err(|_| OpError::Cursor)?;
    Ok((Timestamp::from_micros(micros), id))
}
