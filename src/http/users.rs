//! `/v1/users`.

use actix_web::HttpRequest;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::answer::{self, Answer, PageOf};
use super::query::{Query, word};
use super::request::{InOrganization, Matching, PathId, Shared, SignedCaller};
use crate::domain::account::{AccountStatus, Role};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::domain::user::{CreateUser, UpdateUser, User};
use crate::ops::scoped::Scoped;
use crate::ops::users as ops;

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// List the users of an organization; an operator who names none sees the platform's operators.
#[utoipa::path(get, path = "/v1/users", tag = "users",
    params(("organizationId" = Option<OrganizationId>, Query, description = "For operators: whose users"),
        ("q" = Option<String>, Query, description = "Text to find in names or address"),
        ("role" = Option<Vec<Role>>, Query, description = "Only with these roles"),
        ("status" = Option<Vec<AccountStatus>>, Query, description = "Only of these states"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query,
            description = "lastName, firstName, email, createdAt, updatedAt; - for descending"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<User>, description = "A page")))]
pub async fn list_users(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = ops::Filter {
        q: query.q(),
        roles: query.many("role", word(Role::WORDS)),
        statuses: query.many("status", word(AccountStatus::WORDS)),
        updated_after: query.updated_after(),
    };
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_users(&context, &by, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |user| user))
}

/// Create a user, who is sent a link to choose a password: at once, or when the organization becomes active.
///
/// An orgAdmin makes users of the own organization. An operator names an organization, or makes an operator,
/// which only a superAdmin may.
#[utoipa::path(post, path = "/v1/users", tag = "users", request_body = CreateUser,
    params(InOrganization),
    responses((status = 201, body = User, description = "Created, invited; Location names them"),
        (status = 403, description = "planLimitReached"),
        (status = 409, description = "emailTaken")))]
pub async fn create_user(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateUser>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let made = ops::create_user(&context, &by, body).await?;
    Ok(answer::created(format!("/v1/users/{}", made.id), &made.etag_basis(), &made))
}

/// Get a user. Everybody may get themselves.
#[utoipa::path(get, path = "/v1/users/{id}", tag = "users",
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "For operators; may be left out")),
    responses((status = 200, body = User, description = "The user")))]
pub async fn find_user(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let found = ops::find_user(&context, &by, id).await?;
    Ok(answer::with_derived(&found.etag_basis(), &found))
}

/// Change a user.
///
/// Everybody changes their own names, phone, language and time zone; an administrator also address, role
/// and status. Nobody raises themselves, and the last orgAdmin stays one. A new address is `pendingEmail` until the link
/// that is sent there is opened, which ends sessions and older links; until then the old one counts, and is told. One's
/// own is changed with `currentPassword`. Of a user who was never there it changes at once, and the invitation goes
/// there. Who is disabled is signed out at once.
#[utoipa::path(put, path = "/v1/users/{id}", tag = "users",
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "For operators; may be left out")),
    request_body = UpdateUser,
    responses((status = 200, body = User, description = "The user as they are now"),
        (status = 403, description = "planLimitReached"),
        (status = 409, description = "emailTaken, lastOrgAdmin, lastSuperAdmin, invalidTransition")))]
pub async fn update_user(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<UpdateUser>,
) -> Answer {
    let by = query.scoped(caller)?;
    let changed = ops::update_user(&context, &by, id, &if_match, body).await?;
    Ok(answer::with_derived(&changed.etag_basis(), &changed))
}

/// Send an invitation once more. The link sent before is good no longer.
#[utoipa::path(post, path = "/v1/users/{id}/invitation", tag = "users",
    params(("id" = Uuid, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "For operators; may be left out")),
    responses((status = 200, body = User, description = "It is on its way"),
        (status = 409, description = "invalidTransition")))]
pub async fn invite_user_again(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let found = ops::invite_again(&context, &by, id).await?;
    Ok(answer::with_derived(&found.etag_basis(), &found))
}
