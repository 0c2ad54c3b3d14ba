//! The fuel log and the refuels and drains found in it, listed.

use uuid::Uuid;
use waypost_actors::fuel::FuelRecord;
use waypost_actors::model::OrganizationId;

use super::error::OpError;
use super::listing::Listing;
use crate::auth::{Action, Caller};
use crate::context::Context;
use crate::domain::fuel::{FuelEntry, FuelEventFilter, FuelEventOrder, FuelFilter};
use crate::domain::paging::{After, Slice, SliceRequest};
use crate::store::{fuel_event_history, fuel_history};

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
    let listing = Listing::new(context, format!("fuel {order} {}", scope.organization_id()), request);
    let items = fuel_history::list(&context.db, &scope, filter, listing.after()?, listing.limit()).await?;
    listing.slice(items, |last| (last.recorded_at, last.id))
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
    let listing = Listing::new(context, purpose, request);
    let items =
        fuel_event_history::list(&context.db, &scope, filter, order, listing.after()?, listing.limit())
            .await?;
    listing.slice(items, |last| match order {
        FuelEventOrder::Sequence => After::Sequence(last.sequence),
        _ => After::Happened(last.event.started_at, last.event.id.into()),
    })
}
