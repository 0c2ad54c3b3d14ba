//! `/v1/drivers/{driverId}/vehicles` and `/v1/vehicles/{id}/drivers`: assignments, current and past.

use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;
use waypost_actors::model::{DriverId, Timestamp, VehicleId};

use super::answer::{self, Answer, PageOf};
use super::query::{Query, flag, instant, word};
use super::request::{InOrganization, Matching, PathId, PathIds, Shared, SignedCaller};
use crate::domain::assignment::{
    AssignVehicle, AssignedDriver, AssignedVehicle, Assignment, AssignmentState, CorrectionIn, HistoryFilter,
};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::ops::scoped::Scoped;
use crate::ops::{assignment_history, assignments as ops};

const NEWEST_FIRST: SortKey = SortKey { name: "startedAt", is_descending: true };

/// Give a driver a vehicle. One that they drive already stays as it is; one that another drives is taken
/// from them only with `force`.
#[utoipa::path(post, path = "/v1/drivers/{driverId}/assign-vehicle", tag = "drivers",
    request_body = AssignVehicle, params(("driverId" = DriverId, Path), InOrganization),
    responses((status = 200, body = Assignment, description = "The open assignment"),
        (status = 409, description = "driverLocked, driverNotHeld, driverNotActive, licenseExpired, openVehicleLimitReached, vehicleNotActive, vehicleAlreadyAssigned, assignmentOverlaps")))]
pub async fn assign_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    query: Query,
    body: Params<AssignVehicle>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let assignment = ops::assign_vehicle(&context, &by, id, body).await?;
    Ok(answer::ok(&assignment, &assignment))
}

/// Take a vehicle from a driver; the assignment stays in the history.
#[utoipa::path(delete, path = "/v1/drivers/{driverId}/vehicles/{vehicleId}", tag = "drivers",
    params(("driverId" = DriverId, Path), ("vehicleId" = VehicleId, Path),
        ("endedAt" = Option<Timestamp>, Query, description = "Since when they do not drive it any more; absent = now"),
        InOrganization),
    responses((status = 204, description = "Ended"), (status = 409, description = "assignedByCard"),
        (status = 422, description = "validationFailed")))]
pub async fn unassign_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathIds(driver, vehicle): PathIds<DriverId, VehicleId>,
    mut query: Query,
    Matching(if_match): Matching,
) -> Answer {
    let ended_at = query.one("endedAt", instant);
    let by = query.scoped(caller)?;
    ops::unassign_vehicle(&context, &by, (driver, vehicle), ended_at, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Reads which part of a history is requested.
fn history(query: &mut Query) -> (HistoryFilter, bool) {
    let state = query.one("state", word(AssignmentState::WORDS)).unwrap_or(AssignmentState::All);
    let filter = HistoryFilter { state, from: query.one("from", instant), to: query.one("to", instant) };
    (filter, query.one("includeDeleted", flag).unwrap_or(false))
}

/// List what a driver drives and drove for the organization.
#[utoipa::path(get, path = "/v1/drivers/{driverId}/vehicles", tag = "drivers",
    params(("driverId" = DriverId, Path),
        ("state" = Option<AssignmentState>, Query, description = "current, past or all (default)"),
        ("from" = Option<Timestamp>, Query, description = "Those that had not ended by then"),
        ("to" = Option<Timestamp>, Query, description = "Those that had begun before"),
        ("includeDeleted" = Option<bool>, Query, description = "true: of a driver whom the organization deleted, too"),
        ("sort" = Option<String>, Query, description = "-startedAt (default) or startedAt"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<AssignedVehicle>, description = "A page")))]
pub async fn list_vehicles_of_driver(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<DriverId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let (filter, deleted) = history(&mut query);
    let (by, sort, page) = query.listed(caller, assignment_history::SORT_KEYS, NEWEST_FIRST)?;
    let of = (id, deleted);
    let found = assignment_history::list_vehicles_of_driver(&context, &by, of, filter, &sort, page);
    Ok(answer::page(&request, page, found.await?, |item| item))
}

/// List who drives and drove a vehicle, drivers who were deleted since too.
#[utoipa::path(get, path = "/v1/vehicles/{id}/drivers", tag = "vehicles",
    params(("id" = VehicleId, Path),
        ("state" = Option<AssignmentState>, Query, description = "current, past or all (default)"),
        ("from" = Option<Timestamp>, Query, description = "Those that had not ended by then"),
        ("to" = Option<Timestamp>, Query, description = "Those that had begun before"),
        ("includeDeleted" = Option<bool>, Query, description = "true: of a vehicle that was deleted, too"),
        ("sort" = Option<String>, Query, description = "-startedAt (default) or startedAt"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<AssignedDriver>, description = "A page")))]
pub async fn list_drivers_of_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<VehicleId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let (filter, deleted) = history(&mut query);
    let (by, sort, page) = query.listed(caller, assignment_history::SORT_KEYS, NEWEST_FIRST)?;
    let of = (id, deleted);
    let found = assignment_history::list_drivers_of_vehicle(&context, &by, of, filter, &sort, page);
    Ok(answer::page(&request, page, found.await?, |item| item))
}

/// Correct when a past assignment began and ended: members left out stay. Records that are written already are
/// given the driver that follows.
#[utoipa::path(put, path = "/v1/drivers/{driverId}/vehicles/{vehicleId}/assignments/{assignmentId}", tag = "drivers",
    request_body = CorrectionIn,
    params(("driverId" = DriverId, Path), ("vehicleId" = VehicleId, Path), ("assignmentId" = Uuid, Path),
        InOrganization),
    responses((status = 200, body = Assignment, description = "The assignment as it is now"),
        (status = 409, description = "assignmentOverlaps, assignedByCard, invalidTransition")))]
pub async fn correct_assignment(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathIds(driver, vehicle): PathIds<DriverId, VehicleId>,
    PathId(id): PathId<Uuid>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<CorrectionIn>,
) -> Answer {
    let by = query.scoped(caller)?;
    let pair = (driver, vehicle);
    let corrected = assignment_history::correct_assignment(&context, &by, pair, id, &if_match, body).await?;
    Ok(answer::ok(&corrected, &corrected))
}

/// Remove a past assignment that never was. Records that are written already are given the driver that follows.
#[utoipa::path(delete, path = "/v1/drivers/{driverId}/vehicles/{vehicleId}/assignments/{assignmentId}",
    tag = "drivers",
    params(("driverId" = DriverId, Path), ("vehicleId" = VehicleId, Path), ("assignmentId" = Uuid, Path),
        InOrganization),
    responses((status = 204, description = "Removed"),
        (status = 409, description = "assignedByCard, invalidTransition")))]
pub async fn remove_assignment(
    context: Shared,
    PathIds(driver, vehicle): PathIds<DriverId, VehicleId>,
    PathId(id): PathId<Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    let pair = (driver, vehicle);
    assignment_history::remove_assignment(&context, &by, pair, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
