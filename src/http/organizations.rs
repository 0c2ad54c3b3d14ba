//! `/v1/organizations`.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::answer::{self, Answer, PageOf};
use super::body::JsonBody;
use super::query::{Query, flag, word};
use super::request::{Matching, MaybeCaller, PathId, PathToken, Purging, Shared, SignedCaller};
use crate::domain::activation::{ActivationRequest, ActivationStatus};
use crate::domain::body::Params;
use crate::domain::members::{Members, email};
use crate::domain::organization::{CreateOrganization, Organization, OrganizationStatus, UpdateOrganization};
use crate::domain::organization_settings::Usage;
use crate::domain::paging::SortKey;
use crate::ops::error::OpError;
use crate::ops::{activation, organizations as ops};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };
const NEWEST_REQUEST_FIRST: SortKey = SortKey { name: "requestedAt", is_descending: true };

/// What came of a link that was opened.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationVerified {
    /// The organization.
    organization_id: OrganizationId,
    /// Where it stands now.
    status: OrganizationStatus,
    /// Whether the link did its work before.
    already_verified: bool,
}

/// Which link to send once more.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResendActivationIn {
    /// The contact address of an organization that waits for its activation; blanks around it do no harm.
    #[schema(pattern = r"^\s*[^\s@]+@[^\s@]+\s*$", max_length = 1024)]
    pub email: String,
}

/// The resource with its usage of the plan, which its ETag leaves out.
pub(super) fn shown(organization: &Organization, usage: Usage) -> Value {
    let mut shown = json!(organization);
    shown["subscription"]["usage"] = json!(usage);
    shown
}

/// List the organizations that are active: operators see all, others their own.
#[utoipa::path(get, path = "/v1/organizations", tag = "organizations",
    params(("q" = Option<String>, Query, description = "Text to find in name, slug or contact address"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, slug, createdAt, updatedAt; - for descending"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Organization>, description = "A page")))]
pub async fn list_organizations(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = ops::Filter { q: query.q(), updated_after: query.updated_after(), ..ops::Filter::default() };
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    query.finish()?;
    let found = ops::list_organizations(&context, &caller, filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |(organization, usage)| shown(&organization, usage)))
}

/// List all organizations, of whatever state.
#[utoipa::path(get, path = "/v1/organizations/all", tag = "organizations",
    params(("q" = Option<String>, Query, description = "Text to find in name, slug or contact address"),
        ("status" = Option<Vec<OrganizationStatus>>, Query, description = "Only of these states"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, slug, createdAt, updatedAt; - for descending"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Organization>, description = "A page")))]
pub async fn list_all_organizations(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let statuses = query.many("status", word(OrganizationStatus::WORDS));
    let filter = ops::Filter { q: query.q(), statuses, updated_after: query.updated_after(), only: None };
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    query.finish()?;
    let found = ops::list_all_organizations(&context, &caller, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |(organization, usage)| shown(&organization, usage)))
}

/// Create an organization with its first orgAdmin.
///
/// Anybody may while sign-up is open: nobody signed in, or a system user that belongs to no organization
/// yet, which is bound to this one with all scopes once it is active. Operators always may, and may set
/// the subscription. The contact address gets a link that activates the organization; the orgAdmin is
/// invited then.
#[utoipa::path(post, path = "/v1/organizations", tag = "organizations", request_body = CreateOrganization,
    responses((status = 201, body = Organization, description = "Created, pending; Location names it"),
        (status = 403, description = "signUpClosed"),
        (status = 409, description = "slugTaken, emailTaken, invalidTransition")))]
pub async fn create_organization(
    context: Shared,
    MaybeCaller(caller): MaybeCaller,
    query: Query,
    body: Params<CreateOrganization>,
) -> Answer {
    query.finish()?;
    let (made, usage) = ops::create_organization(&context, caller.as_ref(), body).await?;
    let location = format!("/v1/organizations/organization/{}", made.id);
    Ok(answer::created(location, &made, &shown(&made, usage)))
}

/// List the requests for activation by mail.
#[utoipa::path(get, path = "/v1/organizations/email-activation-requests", tag = "organizations",
    params(("q" = Option<String>, Query, description = "Text to find in the organization's name, slug or contact address"),
        ("status" = Option<Vec<ActivationStatus>>, Query, description = "Only of these states"),
        ("sort" = Option<String>, Query,
            description = "requestedAt, expiresAt, organizationName, email; - for descending"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<ActivationRequest>, description = "A page")))]
pub async fn list_activation_requests(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter =
        activation::Filter { q: query.q(), statuses: query.many("status", word(ActivationStatus::WORDS)) };
    let (sort, page) = (query.sort(activation::SORT_KEYS, NEWEST_REQUEST_FIRST), query.page());
    query.finish()?;
    let found = activation::list_requests(&context, &caller, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |request| request))
}

/// Verify an organization's contact address with the link of a mail; one that waits for that is active now.
///
/// The system user that made it, which the letter names, is bound to it. The page behind the link also activates it
/// without that one. A link that was used answers alike, with `alreadyVerified`; one that is older than 24 hours or replaced
/// by a newer one is 410.
#[utoipa::path(post, path = "/v1/organizations/verify-email/{token}", tag = "organizations",
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 200, body = OrganizationVerified, description = "Verified"),
        (status = 404, description = "notFound"),
        (status = 410, description = "linkExpired")))]
pub async fn verify_organization_email(context: Shared, PathToken(token): PathToken, query: Query) -> Answer {
    query.finish()?;
    let verified = activation::verify_email(&context, &token, true).await?;
    Ok(HttpResponse::Ok().json(OrganizationVerified {
        organization_id: verified.organization.id,
        status: verified.organization.status,
        already_verified: verified.already_verified,
    }))
}

/// Send the link that activates an organization once more; the link before is good no longer.
///
/// The answer is the same whether an organization waits for one at this address or not.
#[utoipa::path(post, path = "/v1/organizations/resend-activation", tag = "organizations",
    request_body = ResendActivationIn, responses((status = 202, description = "Noted")))]
pub async fn resend_activation(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    let mut members = Members::of(&body);
    let email = members.required("email", email);
    let email = members.finish(|| email).map_err(OpError::from)?;
    activation::resend(&context, &email).await?;
    Ok(HttpResponse::Accepted().finish())
}

/// Activate an organization by hand. One that is active stays as it is.
///
/// The system user that made it, `founderEmail`, is let in only with `letFounderIn=true`: it may read and change everything there from
/// then on. Otherwise it is left out for good.
#[utoipa::path(put, path = "/v1/organizations/activate/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path),
        ("letFounderIn" = Option<bool>, Query, description = "true: the system user that made it is bound to it, with all scopes")),
    responses((status = 200, body = Organization, description = "Active"),
        (status = 409, description = "invalidTransition")))]
pub async fn activate_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    mut query: Query,
) -> Answer {
    let lets_founder_in = query.one("letFounderIn", flag).unwrap_or(false);
    query.finish()?;
    let (found, usage) = ops::activate_organization(&context, &caller, id, lets_founder_in).await?;
    Ok(answer::with_derived(&found, &shown(&found, usage)))
}

/// Get an organization, with what it uses of its plan.
#[utoipa::path(get, path = "/v1/organizations/organization/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path)),
    responses((status = 200, body = Organization, description = "The organization")))]
pub async fn find_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    query: Query,
) -> Answer {
    query.finish()?;
    let (found, usage) = ops::find_organization(&context, &caller, id).await?;
    Ok(answer::with_derived(&found, &shown(&found, usage)))
}

/// Change an organization. Status and subscription are the operators' to change. Activated by its status it is without its founder.
#[utoipa::path(put, path = "/v1/organizations/organization/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path)), request_body = UpdateOrganization,
    responses((status = 200, body = Organization, description = "The organization as it is now"),
        (status = 409, description = "slugTaken, invalidTransition")))]
pub async fn update_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<UpdateOrganization>,
) -> Answer {
    query.finish()?;
    let (found, usage) = ops::update_organization(&context, &caller, id, &if_match, body).await?;
    Ok(answer::with_derived(&found, &shown(&found, usage)))
}

/// Delete an organization. Its people and system users cannot sign in any more, its trackers are refused.
///
/// What it recorded is kept, or goes with `purge=true`. Its slug and its people's addresses may be used again.
#[utoipa::path(delete, path = "/v1/organizations/organization/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path), Purging), responses((status = 204, description = "Deleted")))]
pub async fn delete_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    mut query: Query,
    Matching(if_match): Matching,
) -> Answer {
    let purges = query.purges();
    query.finish()?;
    ops::delete_organization(&context, &caller, id, &if_match, purges).await?;
    Ok(HttpResponse::NoContent().finish())
}
