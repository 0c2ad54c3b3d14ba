//! The lock of a driver: one organization at a time holds a person who belongs to the whole platform.
//!
//! Both changes run in one transaction that locks the driver's row, so that of two organizations locking at once one
//! gets the driver and the other learns that it is locked.

use serde_json::json;
use waypost_actors::model::DriverId;

use super::change::{Change, Recorded};
use super::drivers::{OwnDriver, hold_own, require_kept, shown, tell_others, today};
use super::error::{Blocked, OpError};
use super::own_organization::{Counted, require_room};
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::assignment::EndReason;
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::day::Day;
use crate::domain::driver::{LockIn, Profile, UnlockIn};
use crate::store::assignment::{Ending, Open};
use crate::store::driver_card::{self, Of};
use crate::store::{driver, driver_file, driver_lock, driver_profile, organization};

/// Locks a driver for the organization. If it holds the driver already, nothing changes.
pub async fn lock_driver(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    body: Params<LockIn>,
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::LockDrivers).await?;
    let LockIn { reason, .. } = body.made()?;
    let own = Some(scope.organization_id());
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    // Two requests could deadlock unless all take row locks in this order: organization, driver, vehicle.
    organization::hold(change.on(), &scope).await?;
    driver::hold(change.on(), &scope, id).await?;
    let recorded = match driver_lock::hold_state(change.on(), &scope, id).await?.ok_or(OpError::NotFound)? {
        (holder, _) if holder == own => change.as_before(),
        (Some(_), _) => return Err(OpError::Blocked(Blocked::DriverLocked)),
        (None, true) => return Err(OpError::Blocked(Blocked::DriverAssignedElsewhere)),
        (None, false) => {
            let known = driver::find(change.on(), &scope, id, false).await?;
            if !known.is_some_and(|driver| driver.kept) {
                require_room(change.tx(), &scope, Counted::Drivers).await?;
            }
            // The row is locked, so this only confirms the check above.
            if !driver_lock::lock(change.on(), &scope, id, reason.as_deref(), now.into()).await? {
                return Err(OpError::Blocked(Blocked::DriverLocked));
            }
            driver_profile::insert(change.on(), &scope, id, &Profile::default(), now.into()).await?;
            driver_card::settle(change.tx(), &scope, Of::Driver(id), now.into()).await?;
            tell_others(&mut change, &scope, id, AuditAction::Lock, (json!({}), json!({}))).await?;
            change.done(&id, AuditAction::Lock, &json!({}), &json!({ "reason": reason })).await?
        }
    };
    answer(change, recorded, &scope, id, today).await
}

/// Releases a driver that the organization holds and ends their assignments in it. The profile stays.
pub async fn unlock_driver(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    body: Params<UnlockIn>,
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::LockDrivers).await?;
    body.made()?;
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    let current = hold_own(change.tx(), &scope, id).await?;
    if !current.lock.locked {
        let recorded = change.as_before();
        return answer(change, recorded, &scope, id, today).await;
    }
    require_kept(&current)?;
    let ending = Ending { at: now, by: Some(by.caller.id), reason: EndReason::DriverUnlocked };
    change.end_assignments(&scope, Open::OfDriver(id), ending).await?;
    driver_lock::unlock(change.on(), &scope, Some(id), now.into()).await?;
    driver_card::settle(change.tx(), &scope, Of::Driver(id), now.into()).await?;
    tell_others(&mut change, &scope, id, AuditAction::Unlock, (json!({}), json!({}))).await?;
    let lock = json!({ "reason": current.lock.reason });
    let recorded = change.done(&id, AuditAction::Unlock, &lock, &json!({})).await?;
    answer(change, recorded, &scope, id, today).await
}

/// Commits, and answers with the driver's new state.
async fn answer(
    mut change: Change<'_>,
    recorded: Recorded,
    scope: &OrgScope,
    id: DriverId,
    today: Day,
) -> Result<OwnDriver, OpError> {
    let driver = driver::find(change.on(), scope, id, false).await?.ok_or(OpError::NotFound)?;
    let shown = shown(change.on(), scope, driver, today).await?;
    change.commit(recorded, shown).await
}

/// Releases every driver an organization holds, ends its drivers' assignments, and deletes its profiles: the
/// organization is being deleted, and no one else could do this.
pub(super) async fn release_all(change: &mut Change<'_>, scope: &OrgScope) -> Result<(), OpError> {
    let (now, nothing) = (change.now(), json!({}));
    for (id, other) in driver_profile::others(change.on(), scope, None).await? {
        change.done_elsewhere(&id, other, AuditAction::Delete, (&nothing, &nothing)).await?;
    }
    driver_lock::unlock(change.on(), scope, None, now.into()).await?;
    let ending = Ending { at: now, by: None, reason: EndReason::DriverUnlocked };
    change.end_assignments(scope, Open::OfOrganization, ending).await?;
    driver_profile::delete(change.on(), scope, None, now.into()).await?;
    driver_file::delete_of_organization(change.on(), scope).await?;
    driver_card::delete(change.tx(), scope, Of::Organization).await?;
    driver_card::settle(change.tx(), scope, Of::Organization, now.into()).await?;
    driver::delete_unknown(change.on(), scope, None, now.into()).await?;
    Ok(())
}
