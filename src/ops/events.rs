//! The log of records, whatever they tell, from a place in it on.

use waypost_actors::tracking::Record;

use super::error::OpError;
use super::listing::Listing;
use crate::auth::OrgScope;
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{After, Slice, SliceRequest};
use crate::store::record_history;

/// A slice of an organization's records. `purpose`: what its cursors are good for.
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
    listing.slice(items, |last| match order {
        EventOrder::Sequence => After::Sequence(last.sequence),
        _ => After::Happened(last.occurred_at, last.id.into()),
    })
}
