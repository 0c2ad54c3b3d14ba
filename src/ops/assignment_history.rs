//! The history of assignments, and its correction.
//!
//! Records already written are put right by the writer (`store/track/driver_revisions.rs`).

use serde_json::json;
use uuid::Uuid;
use waypost_actors::model::{ChangeKind, DriverId, VehicleId};

use super::change::Change;
use super::error::{Blocked, OpError};
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::assignment::{
    AssignedDriver, AssignedVehicle, Assignment, CorrectionIn, HistoryFilter, Origin, happened_by,
};
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::store::assignment_history as history;
pub use crate::store::assignment_history::SORT_KEYS;
use crate::store::sql::Tx;
use crate::store::{assignment, driver, vehicle};

/// A page of a driver's current and past assignments for the organization, which has, or had, a profile of the
/// driver.
pub async fn list_vehicles_of_driver(
    context: &Context,
    by: &Scoped,
    (id, include_deleted): (DriverId, bool),
    filter: HistoryFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<AssignedVehicle>, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    let found = driver::find(context.db.read(), &scope, id, include_deleted).await?;
    found.ok_or(OpError::NotFound)?;
    Ok(history::of_driver(&context.db, &scope, id, filter, sort, page).await?)
}

/// A page of a vehicle's current and past drivers.
pub async fn list_drivers_of_vehicle(
    context: &Context,
    by: &Scoped,
    (id, include_deleted): (VehicleId, bool),
    filter: HistoryFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<AssignedDriver>, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    let is_there = match include_deleted {
        true => vehicle::existed(context.db.read(), &scope, id).await?,
        false => vehicle::find(context.db.read(), &scope, id).await?.is_some(),
    };
    if !is_there {
        return Err(OpError::NotFound);
    }
    Ok(history::of_vehicle(&context.db, &scope, id, filter, sort, page).await?)
}

/// An assignment.
pub async fn find_assignment(context: &Context, by: &Scoped, id: Uuid) -> Result<Assignment, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    assignment::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)
}

/// Corrects the start and end of a past assignment.
pub async fn correct_assignment(
    context: &Context,
    by: &Scoped,
    pair: (DriverId, VehicleId),
    id: Uuid,
    if_match: &IfMatch,
    body: Params<CorrectionIn>,
) -> Result<Assignment, OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteDrivers).await?;
    let current = hold_past(change.tx(), &scope, pair, id).await?;
    let now = change.now();
    let present = json!({ "startedAt": current.started_at, "endedAt": current.ended_at });
    let attributes = body.changed_if(&current, &present, happened_by(now))?;
    if json!(attributes) == present {
        return Ok(current); // it is as asked already
    }
    let span = (attributes.started_at.min(now), attributes.ended_at.min(now));
    if_match.check(&current)?;
    if let Some((from, to)) = history::overlapping(change.on(), &scope, (pair.1, id), span).await? {
        return Err(OpError::Blocked(Blocked::AnotherAssignment(from, to)));
    }
    let way_until = change.make_way(&scope, pair.1, (span.0, Some(span.1))).await?;
    let corrected =
        Assignment { started_at: span.0, ended_at: Some(span.1), updated_at: now, ..current.clone() };
    history::correct(change.on(), &scope, &corrected).await?;
    change.assigns(&corrected, ChangeKind::Updated);
    let ends = way_until.and_then(|until| current.ended_at.max(corrected.ended_at).map(|end| end.max(until)));
    change.revise_drivers(&corrected, (current.started_at.min(corrected.started_at), ends));
    let recorded = change.done(&pair.0, AuditAction::CorrectAssignment, &current, &corrected).await?;
    change.commit(recorded, corrected).await
}

/// Removes a past assignment that never took place; only the audit remembers it.
pub async fn remove_assignment(
    context: &Context,
    by: &Scoped,
    pair: (DriverId, VehicleId),
    id: Uuid,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteDrivers).await?;
    let current = hold_past(change.tx(), &scope, pair, id).await?;
    if_match.check(&current)?;
    history::remove(change.on(), &scope, id).await?;
    change.assigns(&current, ChangeKind::Deleted);
    change.revise_drivers(&current, (current.started_at, current.ended_at));
    let recorded = change.done(&pair.0, AuditAction::RemoveAssignment, &current, &json!({})).await?;
    change.commit(recorded, ()).await
}

/// Finds a past assignment of the organization and locks its vehicle's row; the driver may have been deleted.
async fn hold_past(
    tx: &mut Tx,
    scope: &OrgScope,
    pair: (DriverId, VehicleId),
    id: Uuid,
) -> Result<Assignment, OpError> {
    vehicle::hold(tx.on(), scope, pair.1).await?;
    let found = history::find(tx.on(), scope, pair, id).await?.ok_or(OpError::NotFound)?;
    if found.origin == Origin::Card {
        return Err(OpError::Blocked(Blocked::AssignedByCard));
    }
    if found.ended_at.is_none() {
        let detail =
            "the assignment is open: end it first with DELETE /v1/drivers/{driverId}/vehicles/{vehicleId}";
        return Err(OpError::Transition(detail.to_owned()));
    }
    Ok(found)
}
