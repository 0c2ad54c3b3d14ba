//! Assignments: giving a driver a vehicle, and taking it away.

use serde_json::json;
use waypost_actors::model::{ChangeKind, DriverId, Timestamp, VehicleId};

use super::change::Change;
use super::drivers::{hold_own, require_kept};
use super::error::{Blocked, OpError};
use super::etag::IfMatch;
use super::own_organization::settings_of;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::assignment::{AssignVehicle, Assignment, EndReason, Origin, happened_by, past};
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::day::Day;
use crate::domain::driver::{Driver, DriverStatus};
use crate::domain::field::FieldError;
use crate::domain::license::LicenseStatus;
use crate::domain::organization_settings::Settings;
use crate::domain::vehicle::VehicleStatus;
use crate::store::assignment::{self, Ending, Open};
use crate::store::sql::{SqlError, Tx, is_conflict};
use crate::store::vehicle;

/// Assigns a vehicle to a driver; if they drive it already, nothing changes. With `force` it is taken from another
/// driver at the instant the new assignment starts.
pub async fn assign_vehicle(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    body: Params<AssignVehicle>,
) -> Result<Assignment, OpError> {
    let scope = by.scope(context, Action::AssignDrivers).await?;
    let now = context.clock.now();
    let wish = body.made_if(happened_by(now))?;
    let settings = settings_of(context, &scope).await?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    let driver = hold_own(change.tx(), &scope, id).await?;
    require_kept(&driver)?;
    vehicle::hold(change.on(), &scope, wish.vehicle_id).await?;
    let vehicle = vehicle::find(change.on(), &scope, wish.vehicle_id).await?.ok_or(OpError::NotFound)?;
    let present = assignment::find_open(change.on(), &scope, Open::OfVehicle(vehicle.id)).await?;
    let present = present.filter(|present| present.origin == Origin::Manual);
    if let Some(present) = present.as_ref().filter(|present| present.driver_id == id) {
        let recorded = change.as_before();
        return change.commit(recorded, present.clone()).await;
    }
    if vehicle.attributes.status != VehicleStatus::Active {
        return Err(OpError::Blocked(Blocked::VehicleNotActive));
    }
    refuse_unfit(change.tx(), &scope, &driver, &settings, now).await?;
    if let Some(present) = present.as_ref().filter(|_| wish.force != Some(true)) {
        return Err(OpError::Blocked(Blocked::VehicleAlreadyAssigned(Some(present.driver_id))));
    }
    let free_since = assignment::last_end(change.on(), &scope, vehicle.id).await?;
    let started_at = start(&wish, now, free_since.max(present.as_ref().map(|present| present.started_at)))?;
    if present.is_some() {
        let ending = Ending { at: started_at, by: Some(by.caller.id), reason: EndReason::Reassigned };
        change.end_assignments(&scope, Open::OfVehicle(vehicle.id), ending).await?;
    }
    change.make_way(&scope, vehicle.id, (started_at, None)).await?;
    let assignment = Assignment {
        id: clock::new_id(),
        organization_id: scope.organization_id(),
        driver_id: id,
        vehicle_id: vehicle.id,
        started_at,
        ended_at: None,
        origin: Origin::Manual,
        assigned_by: Some(by.caller.id),
        ended_by: None,
        end_reason: None,
        created_at: now,
        updated_at: now,
    };
    // The rows are locked, so this only confirms the check above: the table itself refuses a second driver.
    conflict(assignment::insert(change.on(), &scope, &assignment).await)?;
    change.assigns(&assignment, ChangeKind::Created);
    change.revise_drivers(&assignment, (started_at, None));
    let recorded = change.done(&id, AuditAction::Assign, &json!({}), &assignment).await?;
    change.commit(recorded, assignment).await
}

/// Refuses a driver who may not drive another vehicle now.
async fn refuse_unfit(
    tx: &mut Tx,
    scope: &OrgScope,
    driver: &Driver,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), OpError> {
    if driver.attributes.profile.status != DriverStatus::Active {
        return Err(OpError::Blocked(Blocked::DriverNotActive));
    }
    let (rules, today) = (&settings.assignment, Day::of(now, &settings.timezone));
    if rules.block_on_expired_license
        && driver.attributes.person.license_status(today) == LicenseStatus::Expired
    {
        return Err(OpError::Blocked(Blocked::LicenseExpired));
    }
    if let Some(limit) = rules.max_open_vehicles_per_driver
        && assignment::count_open(tx.on(), scope, Open::OfDriver(driver.id)).await? >= limit
    {
        return Err(OpError::Blocked(Blocked::OpenVehicleLimit(limit)));
    }
    Ok(())
}

/// The start of an assignment: the requested one, unless it lies before the end of the vehicle's history, which is
/// not changed. Without a request it is now, or the end of the history if the clock was set back.
fn start(
    wish: &AssignVehicle,
    now: Timestamp,
    history_ends: Option<Timestamp>,
) -> Result<Timestamp, OpError> {
    match (wish.started_by(now), history_ends) {
        (Some(start), Some(end)) if start < end => Err(OpError::Blocked(Blocked::AssignmentOverlaps(end))),
        (Some(start), _) => Ok(start),
        (None, end) => Ok(end.map_or(now, |end| end.max(now))),
    }
}

/// Ends the assignment of a vehicle to a driver, now or at `ended_at`. Without an open assignment of the two it fails
/// as not found.
pub async fn unassign_vehicle(
    context: &Context,
    by: &Scoped,
    (id, vehicle): (DriverId, VehicleId),
    ended_at: Option<Timestamp>,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::AssignDrivers).await?;
    hold_own(change.tx(), &scope, id).await?;
    vehicle::hold(change.on(), &scope, vehicle).await?;
    let which = Open::Of(id, vehicle);
    let present = assignment::find_open(change.on(), &scope, which).await?.ok_or(OpError::NotFound)?;
    if present.origin == Origin::Card {
        return Err(OpError::Blocked(Blocked::AssignedByCard));
    }
    if_match.check(&present)?;
    let now = change.now();
    let at = ended_at.map(|at| end(at, now, present.started_at)).transpose()?.unwrap_or(now);
    let ending = Ending { at, by: Some(by.caller.id), reason: EndReason::Unassigned };
    change.end_assignments(&scope, which, ending).await?;
    let recorded = change.done(&id, AuditAction::Unassign, &present, &json!({})).await?;
    change.commit(recorded, ()).await
}

/// Checks the time at which a user ends an assignment.
fn end(at: Timestamp, now: Timestamp, started_at: Timestamp) -> Result<Timestamp, OpError> {
    let refused = |detail: String| OpError::Invalid(vec![FieldError::new("?endedAt", "range", detail)]);
    let at = past(now)(&json!(at)).map_err(|(_, must)| refused(format!("must be {must}")))?;
    if at < started_at {
        Err(refused(format!("must not be before {started_at}, where it began")))
    } else {
        Ok(at)
    }
}

fn conflict<T>(written: Result<T, SqlError>) -> Result<T, OpError> {
    written.map_err(|error| match is_conflict(&error) {
        true => OpError::Blocked(Blocked::VehicleAlreadyAssigned(None)),
        false => error.into(),
    })
}
