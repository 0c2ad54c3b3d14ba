//! Visits: the stored ones, with the analytics of open ones from the live core.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::live::{Running, RunningVisit};
use waypost_actors::model::{Timestamp, VehicleId, VisitId};

use super::error::OpError;
use super::listing::Listing;
use super::scoped::Scoped;
use crate::auth::{Action, Caller};
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::visit::{Visit, VisitFilter, VisitOrder};
use crate::store::visit;

/// Visits, from a place in the list on.
pub async fn list_visits(
    context: &Context,
    by: &Scoped,
    filter: &VisitFilter,
    order: VisitOrder,
    request: &SliceRequest,
) -> Result<Slice<Visit>, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let purpose = format!("visits {} {}", order.as_str(), scope.organization_id());
    let listing = Listing::new(context, purpose, request);
    let (after, now) = (listing.after()?, context.clock.now());
    let items = visit::list(&context.db, &scope, filter, order, after, listing.limit(), now).await?;
    let mut slice = listing.slice(items, |last| (last.entered_at, Uuid::from(last.id)))?;
    go_on(context, &by.caller, &mut slice.items).await?;
    Ok(slice)
}

/// A visit.
pub async fn find_visit(context: &Context, by: &Scoped, id: VisitId) -> Result<Visit, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let mut found = visit::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)?;
    go_on(context, &by.caller, std::slice::from_mut(&mut found)).await?;
    Ok(found)
}

/// Fills in the analytics of open visits so far, and up to when each stands; removes from all what the caller may not see. A visit that ended
/// since it was read gets none.
async fn go_on(context: &Context, caller: &Caller, visits: &mut [Visit]) -> Result<(), OpError> {
    let mut vehicles: Vec<_> = visits.iter().map(|visit| visit.vehicle_id).collect();
    vehicles.sort_unstable();
    vehicles.dedup();
    let Running { visits: running, settled } =
        if vehicles.is_empty() { Running::default() } else { context.live.running_visits(vehicles).await? };
    let running: HashMap<VisitId, RunningVisit> =
        running.into_iter().map(|running| (running.visit_id, running)).collect();
    let settled: HashMap<VehicleId, Timestamp> = settled.into_iter().collect();
    let sees = caller.sees();
    for visit in visits {
        if let Some(running) = running.get(&visit.id).filter(|_| visit.open) {
            (visit.as_of, visit.analytics) = (Some(running.as_of), Some(running.analytics));
        }
        visit.settled_through = settled.get(&visit.vehicle_id).copied();
        sees.narrow(&mut visit.analytics);
    }
    Ok(())
}
