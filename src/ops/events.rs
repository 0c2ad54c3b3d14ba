//! The log of records of every kind.

use waypost_actors::tracking::{Record, RecordKind, RecordView};

use super::changes;
use super::error::OpError;
use super::listing::Listing;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{After, Slice, SliceRequest};
use crate::store::record_history;

/// The records of the requested kinds that the caller may read, from a place in the log on.
pub async fn list_events(
    context: &Context,
    by: &Scoped,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<RecordView>, OpError> {
    let mut scope = by.scope(context, Action::ReadEvents).await?;
    let sees = by.caller.sees();
    let mut kinds = filter.kinds;
    if kinds.iter().any(|kind| kind.is_fuel()) {
        scope = by.scope(context, Action::ReadFuel).await?;
    } else if kinds.is_empty() && !sees.fuel {
        kinds = RecordKind::WORDS.iter().map(|(_, kind)| *kind).filter(|kind| !kind.is_fuel()).collect();
    }
    let filter = EventFilter { kinds, without_fuel: !sees.fuel, ..filter };
    let purpose = format!("events {} {}", order.as_str(), if sees.fuel { "all" } else { "withoutFuel" });
    let found = records_in(context, &scope, &purpose, &filter, order, request).await?;
    Ok(found.filter_map(|record| {
        let mut view = RecordView::from(&record);
        if let RecordView::Geofence(event) = &mut view {
            sees.narrow(&mut event.analytics);
        }
        Some(view)
    }))
}

/// A slice of an organization's records. `purpose`: what its cursors are valid for.
pub(super) async fn records_in(
    context: &Context,
    scope: &OrgScope,
    purpose: &str,
    filter: &EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Record>, OpError> {
    let purpose = format!("{purpose} {}", scope.organization_id());
    let listing = Listing::new(context, purpose, request);
    let (after, limit) = (listing.after()?, listing.limit());
    let items = record_history::list(&context.db, scope, filter, order, after, limit).await?;
    if let (Some(After::Sequence(last)), true) = (after, items.is_empty()) {
        changes::refuse_ahead(context, last + 1).await?;
    }
    listing.slice(items, |last| match order {
        EventOrder::Sequence => After::Sequence(last.sequence),
        _ => After::Happened(last.occurred_at, last.id.into()),
    })
}
