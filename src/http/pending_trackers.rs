//! `/v1/pending-trackers`.

use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;

use super::answer::{self, Answer, PageOf};
use super::query::Query;
use super::request::{InOrganization, Matching, PathId, Shared, SignedCaller};
use crate::domain::paging::SortKey;
use crate::domain::pending_tracker::PendingTracker;
use crate::ops::pending_trackers as ops;
use crate::ops::scoped::Scoped;

const NEWEST_FIRST: SortKey = SortKey { name: "lastSeenAt", is_descending: true };

/// List the devices that reported for the organization and are no trackers of it yet: by a key of a system user, at a listener
/// for hardware, or through a broker.
///
/// `POST /v1/trackers` with the `uniqueId` of one and a `vehicleId` makes it a tracker, and within seconds the vehicle has
/// the fixes that were kept. Of an organization 200 are kept: those heard over ten minutes or more, then those heard last.
#[utoipa::path(get, path = "/v1/pending-trackers", tag = "trackers",
    params(("sort" = Option<String>, Query, description = "uniqueId, firstSeenAt, lastSeenAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<PendingTracker>, description = "A page")))]
pub async fn list_pending_trackers(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    query: Query,
) -> Answer {
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_pending_trackers(&context, &by, &sort, page).await?;
    Ok(answer::page(&request, page, found, |device| device))
}

/// Dismiss a device that is not wanted: it is not listed any more, however often it reports, and of what it sends nothing is kept.
/// `POST /v1/trackers` with its `uniqueId` makes it a tracker all the same.
#[utoipa::path(delete, path = "/v1/pending-trackers/{id}", tag = "trackers",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 204, description = "Dismissed")))]
pub async fn dismiss_pending_tracker(
    context: Shared,
    PathId(id): PathId<Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::dismiss_pending_tracker(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
