//! The lock of a driver: one organization at a time holds a person of the whole platform.
//!
//! Both changes run in one transaction that holds the driver's row, so that of two organizations that lock at
//! once one gets the driver and the other hears that it is locked.

use serde_json::{Value, json};
use waypost_actors::model::{DriverId, Timestamp};

use super::audit::Subject;
use super::drivers::{OwnDriver, hold_own, require_kept, shown, subject, tell_others, today};
use super::error::{Blocked, OpError};
use super::own_organization::{Counted, require_room};
use super::{idempotency, take_organization};
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::assignment::EndReason;
use crate::domain::audit::{AuditAction, AuditResource};
use crate::domain::day::Day;
use crate::domain::driver::Profile;
use crate::domain::members::{Members, text};
use crate::store::assignment::{self, Ending, Open};
use crate::store::sql::Tx;
use crate::store::{driver, driver_lock, driver_profile, organization};

/// Gives a driver whom nobody holds to the organization. Who holds them already keeps them as they are.
pub async fn lock_driver(
    context: &Context,
    caller: &Caller,
    id: DriverId,
    mut body: Value,
) -> Result<OwnDriver, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::LockDrivers, named).await?;
    let mut members = Members::of(&body);
    let reason = members.optional("reason", text(1..=500));
    let reason = members.finish(|| Some(reason))?;
    let own = Some(scope.organization_id());
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let mut tx = context.db.begin().await?;
    // Always in this order, or two requests could wait for each other: organization, driver, vehicle.
    organization::hold(tx.on(), &scope).await?;
    driver::hold(tx.on(), &scope, id).await?;
    match driver_lock::hold_state(tx.on(), &scope, id).await?.ok_or(OpError::NotFound)? {
        (holder, _) if holder == own => {}
        (Some(_), _) => return Err(OpError::Blocked(Blocked::DriverLocked)),
        (None, true) => return Err(OpError::Blocked(Blocked::DriverAssignedElsewhere)),
        (None, false) => {
            let known = driver::find(tx.on(), &scope, id, false).await?;
            if !known.is_some_and(|driver| driver.kept) {
                require_room(&mut tx, &scope, Counted::Drivers).await?;
            }
            // The row is held, so this is a second look.
            if !driver_lock::lock(tx.on(), &scope, id, reason.as_deref(), now.into()).await? {
                return Err(OpError::Blocked(Blocked::DriverLocked));
            }
            driver_profile::insert(tx.on(), &scope, id, &Profile::default(), now.into()).await?;
            let (subject, lock) = (subject(caller, &scope, id, now), json!({ "reason": reason }));
            subject.done(&mut tx, AuditAction::Lock, &json!({}), &lock).await?;
            tell_others(&mut tx, &scope, &subject, AuditAction::Lock, &json!({}), &json!({})).await?;
        }
    }
    answer(tx, &scope, id, today).await
}

/// Gives a driver whom the organization holds free; what they drive for it ends now. Its profile stays.
pub async fn unlock_driver(
    context: &Context,
    caller: &Caller,
    id: DriverId,
    mut body: Value,
) -> Result<OwnDriver, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::LockDrivers, named).await?;
    Members::of(&body).finish(|| Some(()))?;
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let mut tx = context.db.begin().await?;
    let current = hold_own(&mut tx, &scope, id).await?;
    if !current.lock.locked {
        return answer(tx, &scope, id, today).await;
    }
    require_kept(&current)?;
    let ending = Ending { at: now, by: Some(caller.id), reason: EndReason::DriverUnlocked };
    assignment::end(tx.on(), &scope, Open::OfDriver(id), ending, now).await?;
    driver_lock::unlock(tx.on(), &scope, Some(id), now.into()).await?;
    let (subject, lock) = (subject(caller, &scope, id, now), json!({ "reason": current.lock.reason }));
    subject.done(&mut tx, AuditAction::Unlock, &lock, &json!({})).await?;
    tell_others(&mut tx, &scope, &subject, AuditAction::Unlock, &json!({}), &json!({})).await?;
    answer(tx, &scope, id, today).await
}

/// Commits, and answers with the driver as it is now.
async fn answer(mut tx: Tx, scope: &OrgScope, id: DriverId, today: Day) -> Result<OwnDriver, OpError> {
    let driver = driver::find(tx.on(), scope, id, false).await?.ok_or(OpError::NotFound)?;
    let shown = shown(tx.on(), scope, driver, today).await?;
    idempotency::keep_done(&mut tx, &shown).await?;
    tx.commit().await?;
    Ok(shown)
}

/// Gives every driver free whom an organization holds, ends what it lets anybody drive, and deletes its profiles: it is
/// being deleted, and nobody else could.
pub(super) async fn release_all(tx: &mut Tx, scope: &OrgScope, now: Timestamp) -> Result<(), OpError> {
    for (id, other) in driver_profile::others(tx.on(), scope, None).await? {
        let resource = AuditResource::Driver;
        let subject = Subject { caller: None, organization_id: None, resource, id: id.into(), at: now };
        subject.elsewhere(tx, other, AuditAction::Delete, &json!({}), &json!({})).await?;
    }
    driver_lock::unlock(tx.on(), scope, None, now.into()).await?;
    let ending = Ending { at: now, by: None, reason: EndReason::DriverUnlocked };
    assignment::end(tx.on(), scope, Open::OfOrganization, ending, now).await?;
    driver_profile::delete(tx.on(), scope, None, now.into()).await?;
    driver::delete_unknown(tx.on(), scope, None, now.into()).await?;
    Ok(())
}
