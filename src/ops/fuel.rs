//! Lists of the fuel log and of the refuels and drains found in it.

use uuid::Uuid;
use waypost_actors::tracking::{RecordKind, RecordView};

use super::error::OpError;
use super::events::records_in;
use super::fuel_verdict::judged;
use super::listing::Listing;
use super::scoped::Scoped;
use crate::auth::Action;
use crate::context::Context;
use crate::domain::event::EventFilter;
use crate::domain::fuel::{FuelEntry, FuelEventOrder, FuelFilter};
use crate::domain::fuel_verdict::JudgedFuelEvent;
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::fuel_history;

/// Entries of the fuel log, from a place in it on.
pub async fn list_fuel(
    context: &Context,
    by: &Scoped,
    filter: &FuelFilter,
    request: &SliceRequest,
) -> Result<Slice<FuelEntry>, OpError> {
    let scope = by.scope(context, Action::ReadFuel).await?;
    let order = if filter.is_oldest_first { "oldest" } else { "newest" };
    let listing = Listing::new(context, format!("fuel {order} {}", scope.organization_id()), request);
    let items = fuel_history::list(&context.db, &scope, filter, listing.after()?, listing.limit()).await?;
    listing.slice(items, |last| (last.recorded_at, last.id))
}

/// An entry of the fuel log.
pub async fn find_fuel(context: &Context, by: &Scoped, id: Uuid) -> Result<FuelEntry, OpError> {
    let scope = by.scope(context, Action::ReadFuel).await?;
    fuel_history::find(&context.db, &scope, id).await?.ok_or(OpError::NotFound)
}

/// Refuels and drains, from a place in the list on.
pub async fn list_fuel_events(
    context: &Context,
    by: &Scoped,
    filter: EventFilter,
    order: FuelEventOrder,
    request: &SliceRequest,
) -> Result<Slice<JudgedFuelEvent>, OpError> {
    let scope = by.scope(context, Action::ReadFuel).await?;
    let kinds = if filter.kinds.is_empty() { RecordKind::FUEL.to_vec() } else { filter.kinds };
    let filter = EventFilter { kinds, ..filter };
    let purpose = format!("fuel-events {}", order.as_str());
    let found = records_in(context, &scope, &purpose, &filter, order.into(), request).await?;
    let events = found.filter_map(|record| RecordView::from(&record).fuel());
    let items = judged(context, &scope, &events.items).await?;
    Ok(Slice { items, end_cursor: events.end_cursor, has_next: events.has_next })
}
