//! The lock of a driver: one organization at a time holds a person of the whole platform.
//!
//! Both changes run in one transaction that holds the driver's row, so that of two organizations that lock at
//! once one gets the driver and the other hears that it is locked.

use serde_json::Value;
use waypost_actors::model::{DriverId, Timestamp};

use super::drivers::{DriverView, hold_kept, view};
use super::error::{Blocked, OpError};
use super::{organizations, take_organization};
use crate::auth::{Action, Caller, OrgScope};
use crate::context::Context;
use crate::domain::assignment::EndReason;
use crate::domain::driver::{Driver, Lock, Seen};
use crate::domain::members::{Members, text};
use crate::store::assignment::{self, Ending, Open};
use crate::store::sql::Tx;
use crate::store::{driver, organization};

/// Gives a driver whom nobody holds to the organization. Who holds them already keeps them as they are.
pub async fn lock_driver(
    context: &Context,
    caller: &Caller,
    id: DriverId,
    mut body: Value,
) -> Result<DriverView, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::LockDrivers, named).await?;
    let mut members = Members::of(&body);
    let reason = members.optional("reason", text(1..=500));
    let reason = members.finish(|| Some(reason))?;
    let own = Some(scope.organization_id());
    let mut tx = context.db.begin().await?;
    // Always in this order, or two requests could wait for each other: organization, driver, vehicle.
    organization::hold(tx.on(), &scope).await?;
    driver::hold(tx.on(), &scope, id).await?;
    match driver::hold_state(tx.on(), &scope, id).await?.ok_or(OpError::NotFound)? {
        (holder, _) if holder == own => {}
        (Some(_), _) => return Err(OpError::Blocked(Blocked::DriverLocked)),
        (None, true) => return Err(OpError::Blocked(Blocked::DriverAssignedElsewhere)),
        (None, false) => {
            let is_kept = matches!(driver::find(tx.on(), &scope, id).await?, Some(Seen::Whole(_)));
            if !is_kept {
                organizations::require_room(&mut tx, &scope, organizations::Counted::Drivers).await?;
            }
            // The row is held, so this is a second look.
            if !driver::lock(tx.on(), &scope, id, reason.as_deref(), context.clock.now().into()).await? {
                return Err(OpError::Blocked(Blocked::DriverLocked));
            }
        }
    }
    let seen = driver::find(tx.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    tx.commit().await?;
    view(context, &scope, seen).await
}

/// Gives a driver whom the organization holds free; what they drive for it ends now. Whoever did not make
/// the driver sees only a stub from then on.
pub async fn unlock_driver(
    context: &Context,
    caller: &Caller,
    id: DriverId,
    mut body: Value,
) -> Result<DriverView, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::LockDrivers, named).await?;
    Members::of(&body).finish(|| Some(()))?;
    let mut tx = context.db.begin().await?;
    let current = hold_kept(&mut tx, &scope, id).await?;
    if !current.lock.locked {
        drop(tx);
        return view(context, &scope, Seen::Whole(Box::new(current))).await;
    }
    let now = context.clock.now();
    let ending = Ending { at: now, by: Some(caller.id), reason: EndReason::DriverUnlocked };
    assignment::end(tx.on(), &scope, Open::OfDriver(id), ending, now).await?;
    driver::unlock(tx.on(), &scope, id, now.into()).await?;
    // Who only held it finds it no more, and sees it as anybody does.
    let freed = Driver { lock: Lock::NONE, ..current };
    let seen = driver::find(tx.on(), &scope, id).await?.unwrap_or_else(|| Seen::Masked(freed.stub()));
    tx.commit().await?;
    view(context, &scope, seen).await
}

/// Gives every driver whom an organization holds free, and ends what it lets anybody drive: it is being
/// deleted, and nobody else could.
pub(super) async fn release_all(tx: &mut Tx, scope: &OrgScope, now: Timestamp) -> Result<(), OpError> {
    driver::unlock_all(tx.on(), scope, now.into()).await?;
    let ending = Ending { at: now, by: None, reason: EndReason::DriverUnlocked };
    assignment::end(tx.on(), scope, Open::OfOrganization, ending, now).await?;
    Ok(())
}
