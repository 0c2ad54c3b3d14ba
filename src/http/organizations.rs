//! `/v1/organizations`.

use actix_web::HttpRequest;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use waypost_actors::model::OrganizationId;

use super::answer::{self, Answer, PageOf};
use super::body::JsonBody;
use super::query::{Query, word};
use super::request::{Matching, PathId, Shared, SignedCaller};
use crate::domain::organization::{Organization, OrganizationIn, OrganizationStatus};
use crate::domain::organization_settings::Usage;
use crate::domain::paging::SortKey;
use crate::ops::organizations as ops;

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// A new organization.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationCreateIn {
    /// What is said of it.
    #[serde(flatten)]
    pub organization: OrganizationIn,
    /// Its first orgAdmin, invited when the organization becomes active.
    pub admin: FirstAdminIn,
}

/// The first orgAdmin of an organization.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstAdminIn {
    /// Unique on the platform.
    #[schema(format = Email, max_length = 254)]
    pub email: String,
    /// Given name.
    #[schema(min_length = 1, max_length = 80)]
    pub first_name: String,
    /// Family name.
    #[schema(min_length = 1, max_length = 80)]
    pub last_name: String,
}

/// The resource with what it uses of its plan, which its ETag leaves out.
fn shown(organization: &Organization, usage: Usage) -> Value {
    let mut shown = json!(organization);
    shown["subscription"]["usage"] = json!(usage);
    shown
}

/// List the organizations that are active: operators see all, others their own.
#[utoipa::path(get, path = "/v1/organizations", tag = "organizations",
    params(("q" = Option<String>, Query, description = "Text to find in name, slug or contact address"),
        ("sort" = Option<String>, Query, description = "name, slug, createdAt, updatedAt; - for descending"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Organization>, description = "A page")))]
pub async fn list_organizations(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = ops::Filter { q: query.q(), ..ops::Filter::default() };
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    query.finish()?;
    let found = ops::list_organizations(&context, &caller, filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |organization| organization))
}

/// List all organizations, of whatever state.
#[utoipa::path(get, path = "/v1/organizations/all", tag = "organizations",
    params(("q" = Option<String>, Query, description = "Text to find in name, slug or contact address"),
        ("status" = Option<Vec<OrganizationStatus>>, Query, description = "Only of these states"),
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
    let filter = ops::Filter { q: query.q(), statuses, only: None };
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    query.finish()?;
    let found = ops::list_all_organizations(&context, &caller, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |organization| organization))
}

/// Create an organization with its first orgAdmin. It is in use once it is activated.
#[utoipa::path(post, path = "/v1/organizations", tag = "organizations", request_body = OrganizationCreateIn,
    responses((status = 201, body = Organization, description = "Created; Location names it")))]
pub async fn create_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    JsonBody(body): JsonBody,
) -> Answer {
    query.finish()?;
    let made = ops::create_organization(&context, &caller, body).await?;
    let location = format!("/v1/organizations/organization/{}", made.id);
    Ok(answer::created(location, &made, &made))
}

/// Activate an organization by hand. One that is active stays as it is.
#[utoipa::path(put, path = "/v1/organizations/activate/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path)),
    responses((status = 200, body = Organization, description = "Active")))]
pub async fn activate_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    query: Query,
) -> Answer {
    query.finish()?;
    let (found, usage) = ops::activate_organization(&context, &caller, id).await?;
    Ok(answer::ok(&found, &shown(&found, usage)))
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
    Ok(answer::ok(&found, &shown(&found, usage)))
}

/// Change an organization. Status and subscription are the operators' to change.
#[utoipa::path(put, path = "/v1/organizations/organization/{id}", tag = "organizations",
    params(("id" = OrganizationId, Path)), request_body = OrganizationIn,
    responses((status = 200, body = Organization, description = "The organization as it is now")))]
pub async fn update_organization(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<OrganizationId>,
    query: Query,
    Matching(if_match): Matching,
    JsonBody(body): JsonBody,
) -> Answer {
    query.finish()?;
    let (found, usage) = ops::update_organization(&context, &caller, id, &if_match, body).await?;
    Ok(answer::ok(&found, &shown(&found, usage)))
}
