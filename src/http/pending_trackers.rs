//! `/v1/pending-trackers`.

use actix_web::HttpRequest;

use super::answer::{self, Answer, PageOf};
use super::query::Query;
use super::request::{InOrganization, Shared, SignedCaller};
use crate::domain::paging::SortKey;
use crate::domain::pending_tracker::PendingTracker;
use crate::ops::pending_trackers as ops;

const NEWEST_FIRST: SortKey = SortKey { name: "lastSeenAt", is_descending: true };

/// List the devices that reported for the organization and are no trackers of it yet: by a key of a system user, at a listener
/// for hardware, or through a broker.
///
/// `POST /v1/trackers` with the `uniqueId` of one and a `vehicleId` makes it a tracker, and within seconds the vehicle has
/// the fixes that were kept. Of an organization the 200 that were heard last are kept.
#[utoipa::path(get, path = "/v1/pending-trackers", tag = "trackers",
    params(("sort" = Option<String>, Query, description = "uniqueId, firstSeenAt, lastSeenAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<PendingTracker>, description = "A page")))]
pub async fn list_pending_trackers(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    let by = query.scoped(caller)?;
    let found = ops::list_pending_trackers(&context, &by, &sort, page).await?;
    Ok(answer::page(&request, page, found, |device| device))
}
