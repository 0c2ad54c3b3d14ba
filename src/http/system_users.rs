//! `/v1/system-users`: programs that sign in.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::answer::{self, Answer, PageOf};
use super::body::JsonBody;
use super::credentials::{EmailIn, LoginIn, address, credentials};
use super::query::{Query, word};
use super::request::{InOrganization, Matching, MaybeCaller, PathId, PathToken, Shared, SignedCaller};
use crate::auth::SignedIn;
use crate::auth::link::Redeemed;
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::domain::system_user::{CreateSystemUser, SystemUser, SystemUserStatus, UpdateSystemUser};
use crate::ops::scoped::Scoped;
use crate::ops::{request_context, sign_in, system_users as ops};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// What became of a verification.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verified {
    /// `verified`, or `alreadyVerified` when the link did it before.
    #[schema(pattern = "^(verified|alreadyVerified)$")]
    status: &'static str,
}

impl From<Redeemed> for Verified {
    fn from(redeemed: Redeemed) -> Self {
        match redeemed {
            Redeemed::Now(_) => Self { status: "verified" },
            Redeemed::Before(_) => Self { status: "alreadyVerified" },
        }
    }
}

/// Create a system user. Anybody may sign up, without scopes and organization; orgAdmins and operators
/// make one of an organization, with its scopes. Either way its address has to be verified. A sign-up with an address
/// that has a system user is answered alike; nothing is made, and a letter tells the owner of the address.
#[utoipa::path(post, path = "/v1/system-users", tag = "system users", request_body = CreateSystemUser,
    params(InOrganization),
    responses((status = 201, body = SystemUser, description = "Created; Location names it. A letter is on its way"),
        (status = 403, description = "signUpClosed"),
        (status = 409, description = "emailTaken")))]
pub async fn create_system_user(
    context: Shared,
    MaybeCaller(caller): MaybeCaller,
    query: Query,
    body: Params<CreateSystemUser>,
) -> Answer {
    let by = match caller {
        Some(caller) => Some(query.scoped_or_by(caller, &body)?),
        None => query.finish().map(|()| None)?,
    };
    let made = ops::create_system_user(&context, by.as_ref(), body).await?;
    Ok(answer::created(format!("/v1/system-users/{}", made.id), &made.tagged(), &made))
}

/// Verify the address of a system user by the link of a letter. If several signed up with it, the one whose link comes first has it,
/// with the password that was given with that sign-up; the letter names its id.
#[utoipa::path(post, path = "/v1/system-users/verify-email/{token}", tag = "system users",
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 200, body = Verified, description = "Verified, now or before"),
        (status = 404, description = "notFound"),
        (status = 410, description = "linkExpired")))]
pub async fn verify_system_user(context: Shared, PathToken(token): PathToken, query: Query) -> Answer {
    query.finish()?;
    let verified =
        Verified::from(context.auth.verify_system_user(&token, request_context::request_id()).await?);
    context.live.number_changes();
    Ok(HttpResponse::Ok().json(verified))
}

/// Ask for another letter of verification. The answer is the same whether the address is known or not. Less than a
/// minute after the last letter, it is sent when that minute is over; an address gets five in a day.
#[utoipa::path(post, path = "/v1/system-users/resend-verification", tag = "system users", request_body = EmailIn,
    responses((status = 202, description = "If there is a reason for a letter, it is on its way")))]
pub async fn resend_verification(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    sign_in::resend_verification(&context, &address(&body)?).await?;
    Ok(HttpResponse::Accepted().finish())
}

/// Sign a system user in.
#[utoipa::path(post, path = "/v1/system-users/login", tag = "system users", request_body = LoginIn,
    responses((status = 200, body = SignedIn, description = "Signed in"),
        (status = 401, description = "invalidCredentials"),
        (status = 403, description = "emailNotVerified, organizationInactive"),
        (status = 429, description = "tooManyAttempts")))]
pub async fn login_system_user(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    let (email, password) = credentials(&body)?;
    Ok(HttpResponse::Ok()
        .json(context.auth.login_system_user(&email, password, &request_context::peer()).await?))
}

/// List system users. Operators who name no organization see all of them.
#[utoipa::path(get, path = "/v1/system-users", tag = "system users",
    params(("q" = Option<String>, Query, description = "Text to find in name or address"),
        ("status" = Option<Vec<SystemUserStatus>>, Query, description = "Only of these states"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, email, createdAt, updatedAt; - for descending"),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<SystemUser>, description = "A page")))]
pub async fn list_system_users(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = ops::Filter {
        q: query.q(),
        statuses: query.many("status", word(SystemUserStatus::WORDS)),
        updated_after: query.updated_after(),
    };
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_system_users(&context, &by, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |user| user))
}

/// Get a system user. A system user gets itself.
#[utoipa::path(get, path = "/v1/system-users/{id}", tag = "system users",
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization")),
    responses((status = 200, body = SystemUser, description = "The system user")))]
pub async fn find_system_user(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let found = ops::find_system_user(&context, &by, id).await?;
    Ok(answer::with_derived(&found.tagged(), &found))
}

/// Change a system user. Being disabled or given a new password ends its sessions.
#[utoipa::path(put, path = "/v1/system-users/{id}", tag = "system users", request_body = UpdateSystemUser,
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization")),
    responses((status = 200, body = SystemUser, description = "The system user as it is now"),
        (status = 409, description = "emailTaken, invalidTransition")))]
pub async fn update_system_user(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<UpdateSystemUser>,
) -> Answer {
    let by = query.scoped(caller)?;
    let changed = ops::update_system_user(&context, &by, id, &if_match, body).await?;
    Ok(answer::with_derived(&changed.tagged(), &changed))
}

/// Delete a system user, with its sessions and sockets.
#[utoipa::path(delete, path = "/v1/system-users/{id}", tag = "system users",
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators may name the organization")),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_system_user(
    context: Shared,
    PathId(id): PathId<Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_system_user(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
