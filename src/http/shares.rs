//! `/v1/shares`: links that show where some vehicles are, without an account; and what they show.

use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;
use waypost_actors::model::VehicleId;

use super::answer::{self, Answer, PageOf};
use super::query::{Query, flag, id};
use super::request::{InOrganization, Matching, PathId, PathToken, Shared, SignedCaller};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::domain::share::{CreateShare, Share, ShownVehicles};
use crate::ops::scoped::Scoped;
use crate::ops::shares::{self as ops, ShareWithToken};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// List links that show vehicles without an account, without their tokens. Those that ended stay in the list for 30 days.
#[utoipa::path(get, path = "/v1/shares", tag = "shares",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query, description = "With one of these vehicles"),
        ("open" = Option<bool>, Query, description = "true: shows anything now; false: does not any more"),
        ("sort" = Option<String>, Query, description = "endsAt, createdAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Share>, description = "A page")))]
pub async fn list_shares(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = (query.many("vehicleId", id), query.one("open", flag));
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_shares(&context, &by, filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |share| share))
}

/// Make a link that shows where up to 20 vehicles are to whoever has it, without an account. Its token is shown once. It shows
/// their names, places, whether they move and when they were last heard of, until its time is over (at most 90 days) or
/// until each has entered the geofence, if there is one. An organization has 200 at most whose time is not over.
#[utoipa::path(post, path = "/v1/shares", tag = "shares", request_body = CreateShare,
    params(InOrganization),
    responses((status = 201, body = ShareWithToken, description = "Created; Location names it"),
        (status = 409, description = "shareLimitReached")))]
pub async fn create_share(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateShare>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let out = ops::create_share(&context, &by, body).await?;
    Ok(answer::created(format!("/v1/shares/{}", out.share.id), &out.share.tagged(), &out))
}

/// Revoke a link. Whoever has it sees nothing more, and is told that it is unknown.
#[utoipa::path(delete, path = "/v1/shares/{id}", tag = "shares",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 204, description = "Revoked")))]
pub async fn delete_share(
    context: Shared,
    PathId(id): PathId<Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_share(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// What a link shows now; the token is the right to it. `/s/{token}` is the page for people, which asks this every few seconds.
#[utoipa::path(get, path = "/s/{token}/vehicles", tag = "shares",
    params(("token" = String, Path)),
    responses((status = 200, body = ShownVehicles, description = "The vehicles that have not arrived"),
        (status = 404, description = "notFound"), (status = 410, description = "shareOver")))]
pub async fn list_shown_vehicles(context: Shared, PathToken(token): PathToken, query: Query) -> Answer {
    query.finish()?;
    Ok(HttpResponse::Ok().json(ops::shown_vehicles(&context, &token).await?))
}
