//! `/v1/drivers/{driverId}/vehicles`: who drives what, now and before.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{DriverId, OrganizationId, VehicleId};

use super::answer::{self, Answer, PageOf};
use super::body::JsonBody;
use super::query::{Query, word};
use super::request::{Matching, PathId, PathIds, Shared, SignedCaller};
use crate::domain::assignment::{AssignIn, AssignedVehicle, Assignment, AssignmentState};
use crate::domain::paging::SortKey;
use crate::ops::assignments as ops;

const NEWEST_FIRST: SortKey = SortKey { name: "startedAt", is_descending: true };

/// A wish to give a driver a vehicle.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignVehicleIn {
    /// Whose; operators name it.
    pub organization_id: Option<OrganizationId>,
    /// Which vehicle, since when.
    #[serde(flatten)]
    pub wish: AssignIn,
}

/// Give a driver a vehicle. One that they drive already stays as it is; one that another drives is taken
/// from them only with `force`.
#[utoipa::path(post, path = "/v1/drivers/{driverId}/assign-vehicle", tag = "drivers",
    request_body = AssignVehicleIn, params(("driverId" = DriverId, Path)),
    responses((status = 200, body = Assignment, description = "The open assignment"),
        (status = 409, description = "driverLocked, driverNotActive, licenseExpired, openVehicleLimitReached, vehicleNotActive, vehicleAlreadyAssigned, assignmentOverlaps")))]
pub async fn assign_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    query: Query,
    JsonBody(body): JsonBody,
) -> Answer {
    query.finish()?;
    let assignment = ops::assign_vehicle(&context, &caller, id, body).await?;
    Ok(answer::ok(&assignment, &assignment))
}

/// Take a vehicle from a driver; the assignment stays in the history.
#[utoipa::path(delete, path = "/v1/drivers/{driverId}/vehicles/{vehicleId}", tag = "drivers",
    params(("driverId" = DriverId, Path), ("vehicleId" = VehicleId, Path),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators name the organization")),
    responses((status = 204, description = "Ended"),
        (status = 409, description = "driverLocked, assignmentOverlaps")))]
pub async fn unassign_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathIds(driver, vehicle): PathIds<DriverId, VehicleId>,
    mut query: Query,
    Matching(if_match): Matching,
) -> Answer {
    let named = query.organization();
    query.finish()?;
    ops::unassign_vehicle(&context, &caller, named, (driver, vehicle), &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// List what a driver drives and drove for the organization.
#[utoipa::path(get, path = "/v1/drivers/{driverId}/vehicles", tag = "drivers",
    params(("driverId" = DriverId, Path),
        ("state" = Option<AssignmentState>, Query, description = "current, past or all (default)"),
        ("sort" = Option<String>, Query, description = "-startedAt (default) or startedAt"),
        ("organizationId" = Option<OrganizationId>, Query, description = "Operators name the organization"),
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<AssignedVehicle>, description = "A page")))]
pub async fn list_vehicles_of_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let state = query.one("state", word(AssignmentState::WORDS)).unwrap_or(AssignmentState::All);
    let named = query.organization();
    let (sort, page) = (query.sort(ops::SORT_KEYS, NEWEST_FIRST), query.page());
    query.finish()?;
    let found = ops::list_vehicles_of_driver(&context, &caller, named, id, state, &sort, page).await?;
    Ok(answer::page(&request, page, found, |item| item))
}
