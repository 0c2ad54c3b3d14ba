//! `/v1/drivers`.

use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use waypost_actors::model::{DriverId, Timestamp};

use super::answer::{self, Answer, PageOf};
use super::body::OptionalBody;
use super::code::Code;
use super::problem::Problem;
use super::query::{Query, flag, word};
use super::request::{InOrganization, Matching, PathId, Purging, Shared, SignedCaller};
use crate::domain::body::Params;
use crate::domain::driver::{CreateDriver, DriverIn, DriverStatus, LockIn, UnlockIn};
use crate::domain::field::FieldError;
use crate::domain::license::{LicenseStatus, license_number};
use crate::domain::members::country;
use crate::domain::paging::SortKey;
use crate::ops::driver_lock;
use crate::ops::drivers::{self as ops, DriverView, OwnDriver};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

pub(super) fn shown(own: &OwnDriver) -> HttpResponse {
    answer::with_derived(&own.driver, own)
}

/// List the drivers of whom the organization has a profile.
#[utoipa::path(get, path = "/v1/drivers", tag = "drivers",
    params(("q" = Option<String>, Query,
            description = "Text to find in names, e-mail, phone or employee code, or the licence number of a kept one"),
        ("status" = Option<Vec<DriverStatus>>, Query, description = "Only of these states"),
        ("licenseStatus" = Option<Vec<LicenseStatus>>, Query, description = "Only kept ones with licences that stand so"),
        ("kept" = Option<bool>, Query, description = "Only those whom the organization keeps, or only others"),
        ("locked" = Option<bool>, Query, description = "Only locked ones, or only others"),
        ("assigned" = Option<bool>, Query, description = "Only those that drive something now, or only others"),
        ("includeDeleted" = Option<bool>, Query, description = "true: those that the organization deleted, too"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description =
            "lastName, firstName, status, licenseExpiresAt, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<OwnDriver>, description = "A page")))]
pub async fn list_drivers(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let filter = ops::Filter {
        q: query.q(),
        statuses: query.many("status", word(DriverStatus::WORDS)),
        license_statuses: query.many("licenseStatus", word(LicenseStatus::WORDS)),
        kept: query.one("kept", flag),
        locked: query.one("locked", flag),
        assigned: query.one("assigned", flag),
        include_deleted: query.one("includeDeleted", flag).unwrap_or(false),
        updated_after: query.updated_after(),
    };
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_drivers(&context, &by, &filter, &sort, page).await?;
    Ok(answer::page(&request, page, found, |item| item))
}

/// Create a driver, held by the organization. A licence that another driver of the platform has is refused.
#[utoipa::path(post, path = "/v1/drivers", tag = "drivers", request_body = CreateDriver,
    params(InOrganization),
    responses((status = 201, body = OwnDriver, description = "Created; Location names it"),
        (status = 403, description = "planLimitReached"),
        (status = 409, description = "licenseTaken, cardTaken")))]
pub async fn create_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateDriver>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let own = ops::create_driver(&context, &by, body).await?;
    Ok(answer::created(format!("/v1/drivers/{}", own.driver.id), &own.driver, &own))
}

/// Find drivers by their whole licence number. Those of whom the organization has a profile are shown with it, others
/// that no organization holds as a masked stub; all others are not found.
#[utoipa::path(get, path = "/v1/drivers/search", tag = "drivers",
    params(("licenseNumber" = String, Query, description = "Compared in capitals, without separators"),
        ("country" = Option<String>, Query, description = "ISO 3166-1 alpha-2; absent = of every country"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<DriverView>, description = "Those with this licence, one per country")))]
pub async fn search_drivers(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let number = query.one("licenseNumber", |text| license_number(&json!(text)).map_err(|(_, must)| must));
    let of = query.one("country", |text| country(&json!(text.to_uppercase())).map_err(|(_, must)| must));
    let asked = query.page();
    let by = query.scoped(caller)?;
    let Some(number) = number else {
        let errors = vec![FieldError::new("?licenseNumber", "required", "is required")];
        let problem = Problem::new(Code::InvalidParameter);
        return Err(problem
            .detail("licenseNumber is required: the whole number, as on the licence")
            .errors(errors));
    };
    let found = ops::search_drivers(&context, &by, &number, of.as_deref(), asked).await?;
    Ok(answer::page(&request, asked, found, |item| item))
}

/// Get a driver of whom the organization has a profile.
#[utoipa::path(get, path = "/v1/drivers/{id}", tag = "drivers",
    params(("id" = DriverId, Path),
        ("includeDeleted" = Option<bool>, Query, description = "true: one that the organization deleted, too"),
        InOrganization),
    responses((status = 200, body = OwnDriver, description = "The driver")))]
pub async fn find_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    mut query: Query,
) -> Answer {
    let include_deleted = query.one("includeDeleted", flag).unwrap_or(false);
    let by = query.scoped(caller)?;
    Ok(shown(&ops::find_driver(&context, &by, id, include_deleted).await?))
}

/// Change a driver: members left out stay, null clears. Names, date of birth and licence are the keeper's to change.
#[utoipa::path(put, path = "/v1/drivers/{id}", tag = "drivers", request_body = DriverIn,
    params(("id" = DriverId, Path),
        InOrganization),
    responses((status = 200, body = OwnDriver, description = "The driver as it is now"),
        (status = 409, description = "licenseTaken, cardTaken, driverLocked, driverNotHeld")))]
pub async fn update_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<DriverIn>,
) -> Answer {
    let by = query.scoped(caller)?;
    Ok(shown(&ops::update_driver(&context, &by, id, &if_match, body).await?))
}

/// Delete the organization's profile of a driver, and its lock. What they drive for it ends now; their history is kept.
/// With the last organization's profile the person goes too, and the licence may be entered anew. With `purge=true` what the
/// profile says is deleted, and with the last profile the person's name and licence; that there was a driver stays.
#[utoipa::path(delete, path = "/v1/drivers/{id}", tag = "drivers",
    params(("id" = DriverId, Path),
        Purging,
        InOrganization),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    mut query: Query,
    Matching(if_match): Matching,
) -> Answer {
    let purges = query.purges();
    let by = query.scoped(caller)?;
    ops::delete_driver(&context, &by, id, &if_match, purges).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lock a driver: one organization at a time holds them, and only it assigns them and changes who they are. One that had
/// no profile of the driver begins with an empty one.
#[utoipa::path(post, path = "/v1/drivers/{id}/lock", tag = "drivers", request_body = Option<LockIn>,
    params(("id" = DriverId, Path), InOrganization),
    responses((status = 200, body = OwnDriver, description = "The driver, held; held already is as good"),
        (status = 409, description = "driverLocked, driverAssignedElsewhere"),
        (status = 403, description = "planLimitReached")))]
pub async fn lock_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> Answer {
    let body = Params::<LockIn>::from(body);
    let by = query.scoped_or_by(caller, &body)?;
    Ok(shown(&driver_lock::lock_driver(&context, &by, id, body).await?))
}

/// Unlock a driver: any organization may lock them. What they drive for this one ends now; its profile stays.
#[utoipa::path(post, path = "/v1/drivers/{id}/unlock", tag = "drivers", request_body = Option<UnlockIn>,
    params(("id" = DriverId, Path), InOrganization),
    responses((status = 200, body = OwnDriver, description = "The driver, free; free already is as good"),
        (status = 409, description = "driverLocked")))]
pub async fn unlock_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> Answer {
    let body = Params::<UnlockIn>::from(body);
    let by = query.scoped_or_by(caller, &body)?;
    Ok(shown(&driver_lock::unlock_driver(&context, &by, id, body).await?))
}
