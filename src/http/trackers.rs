//! `/v1/trackers`.

use actix_web::{HttpRequest, HttpResponse};
use waypost_actors::model::{Timestamp, TrackerId, VehicleId};

use super::answer::{self, Answer, PageOf};
use super::query::{Query, id, word};
use super::request::{InOrganization, Matching, PathId, Shared, SignedCaller};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::domain::tracker::{CreateTracker, Tracker, TrackerStatus, UpdateTracker};
use crate::domain::tracker_report::TrackerReports;
use crate::ops::scoped::Scoped;
use crate::ops::tracker_reports;
use crate::ops::trackers::{self as ops, TrackerWithToken};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// List trackers.
#[utoipa::path(get, path = "/v1/trackers", tag = "trackers",
    params(("q" = Option<String>, Query, description = "Text to find in unique id or model"),
        ("status" = Option<Vec<TrackerStatus>>, Query, description = "Only of these states"),
        ("vehicleId" = Option<Vec<VehicleId>>, Query, description = "Only those in these vehicles now"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "uniqueId, status, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Tracker>, description = "A page")))]
pub async fn list_trackers(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let statuses = query.many("status", word(TrackerStatus::WORDS));
    let filter = ops::Filter {
        q: query.q(),
        statuses,
        vehicle_ids: query.many("vehicleId", id),
        updated_after: query.updated_after(),
    };
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_trackers(&context, &by, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |tracker| tracker))
}

/// Create a tracker. Its token is shown once.
#[utoipa::path(post, path = "/v1/trackers", tag = "trackers", request_body = CreateTracker,
    params(InOrganization),
    responses((status = 201, body = TrackerWithToken, description = "Created; Location names it"),
        (status = 409, description = "uniqueIdTaken")))]
pub async fn create_tracker(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateTracker>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let out = ops::create_tracker(&context, &by, body).await?;
    Ok(answer::created(format!("/v1/trackers/{}", out.tracker.id), &out.tracker, &out))
}

/// Get a tracker. Its token is not shown again.
#[utoipa::path(get, path = "/v1/trackers/{id}", tag = "trackers",
    params(("id" = TrackerId, Path),
        InOrganization),
    responses((status = 200, body = Tracker, description = "The tracker")))]
pub async fn find_tracker(context: Shared, PathId(id): PathId<TrackerId>, by: Scoped) -> Answer {
    let found = ops::find_tracker(&context, &by, id).await?;
    Ok(answer::ok(&found, &found))
}

/// Change a tracker: `vehicleId` moves it now, `status` disables it.
#[utoipa::path(put, path = "/v1/trackers/{id}", tag = "trackers", request_body = UpdateTracker,
    params(("id" = TrackerId, Path),
        InOrganization),
    responses((status = 200, body = Tracker, description = "The tracker as it is now"),
        (status = 409, description = "uniqueIdTaken")))]
pub async fn update_tracker(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<TrackerId>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<UpdateTracker>,
) -> Answer {
    let by = query.scoped(caller)?;
    let found = ops::update_tracker(&context, &by, id, &if_match, body).await?;
    Ok(answer::ok(&found, &found))
}

/// Give a tracker a new token, shown once. The old one is refused from now on.
#[utoipa::path(post, path = "/v1/trackers/{id}/token", tag = "trackers",
    params(("id" = TrackerId, Path),
        InOrganization),
    responses((status = 200, body = TrackerWithToken, description = "The tracker with its new token")))]
pub async fn rotate_tracker_token(context: Shared, PathId(id): PathId<TrackerId>, by: Scoped) -> Answer {
    let out = ops::rotate_token(&context, &by, id).await?;
    Ok(answer::ok(&out.tracker, &out))
}

/// When a tracker was last heard, and what it sent that was refused for good: its client was told that it is stored.
///
/// A system user needs the scope `positions:read` or `events:read`.
#[utoipa::path(get, path = "/v1/trackers/{id}/reports", tag = "trackers",
    params(("id" = TrackerId, Path),
        InOrganization),
    responses((status = 200, body = TrackerReports, description = "The newest hundred refused reports, newest first")))]
pub async fn list_tracker_reports(context: Shared, PathId(id): PathId<TrackerId>, by: Scoped) -> Answer {
    let found = tracker_reports::list_reports(&context, &by, id).await?;
    Ok(HttpResponse::Ok().json(found))
}

/// Delete a tracker. Its token is refused from now on; its fixes stay.
#[utoipa::path(delete, path = "/v1/trackers/{id}", tag = "trackers",
    params(("id" = TrackerId, Path),
        InOrganization),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_tracker(
    context: Shared,
    PathId(id): PathId<TrackerId>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_tracker(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
