//! `/v1/system-users/{id}/keys`: what a program signs in with for long.

use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::answer::{self, Answer, PageOf};
use super::query::Query;
use super::request::{Matching, PathId, PathIds, Shared, SignedCaller};
use crate::domain::api_key::{ApiKey, CreateApiKey};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::ops::api_keys::{self as ops, ApiKeyWithToken};
use crate::ops::scoped::Scoped;

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// List the keys of a system user, without their tokens.
#[utoipa::path(get, path = "/v1/system-users/{id}/keys", tag = "system users",
    params(("id" = Uuid, Path),
        ("sort" = Option<String>, Query, description = "name, createdAt; - for descending"),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<ApiKey>, description = "A page")))]
pub async fn list_api_keys(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    request: HttpRequest,
    query: Query,
) -> Answer {
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_api_keys(&context, &by, id, &sort, page).await?;
    Ok(answer::page(&request, page, found, |key| key))
}

/// Create a key of a system user. Its token is shown once and is good wherever an access token is, until the key
/// expires or is deleted; a new password leaves it as it is. A key can do what its own scopes say, at most what its
/// system user can, and makes no keys. A system user has ten at most.
#[utoipa::path(post, path = "/v1/system-users/{id}/keys", tag = "system users", request_body = CreateApiKey,
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization")),
    responses((status = 201, body = ApiKeyWithToken, description = "Created; Location names it"),
        (status = 409, description = "keyLimitReached")))]
pub async fn create_api_key(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    query: Query,
    body: Params<CreateApiKey>,
) -> Answer {
    let by = query.scoped(caller)?;
    let out = ops::create_api_key(&context, &by, id, body).await?;
    Ok(answer::created(format!("/v1/system-users/{id}/keys/{}", out.key.id), &out.key.tagged(), &out))
}

/// Revoke a key. It is refused from now on, and the sockets opened with it end.
#[utoipa::path(delete, path = "/v1/system-users/{id}/keys/{keyId}", tag = "system users",
    params(("id" = Uuid, Path), ("keyId" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization")),
    responses((status = 204, description = "Revoked")))]
pub async fn delete_api_key(
    context: Shared,
    PathIds(user, key): PathIds<Uuid, Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_api_key(&context, &by, (user, key), &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
