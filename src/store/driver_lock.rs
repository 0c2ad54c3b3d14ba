//! The lock of a driver: which organization holds them.
//!
//! A change to it first locks the driver's row with [`driver::hold`](super::driver::hold).

use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId};

use super::sql::{On, Result};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// The organization that holds a driver, and whether an organization other than the scope's has assigned the driver a
/// vehicle. For locking, which is the one thing an organization without a profile may do.
pub async fn hold_state(
    on: On<'_>,
    scope: &OrgScope,
    id: DriverId,
) -> Result<Option<(Option<OrganizationId>, bool)>> {
    let row: Option<(Option<Uuid>, bool)> = on
        .sql(
            "select lock_organization_id, exists (select 1 from assignment where driver_id = $1 \
             and ended_at is null and organization_id <> $2) as elsewhere \
             from driver where id = $1 and deleted_at is null",
        )
        .bind(Uuid::from(id))
        .bind(Uuid::from(scope.organization_id()))
        .optional()
        .await?;
    Ok(row.map(|(holder, elsewhere)| (holder.map(OrganizationId), elsewhere)))
}

/// Locks a driver for the organization; `false` if the driver is locked already.
pub async fn lock(
    on: On<'_>,
    scope: &OrgScope,
    id: DriverId,
    reason: Option<&str>,
    now: Time,
) -> Result<bool> {
    let locked = on
        .sql(
            "update driver set lock_organization_id = $1, locked_at = $3, lock_reason = $4, updated_at = $3 \
             where id = $2 and lock_organization_id is null and deleted_at is null",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(id))
        .bind(now)
        .bind(reason.map(str::to_owned))
        .run()
        .await?;
    Ok(locked > 0)
}

/// Releases a driver that the organization holds, or all of them.
pub async fn unlock(on: On<'_>, scope: &OrgScope, id: Option<DriverId>, now: Time) -> Result<()> {
    let stmt = on.sql(
        "update driver set lock_organization_id = null, locked_at = null, lock_reason = null, updated_at = ",
    );
    let stmt = stmt.push_bind(now).push(" where lock_organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    match id {
        Some(id) => stmt.push(" and id = ").push_bind(Uuid::from(id)),
        None => stmt,
    }
    .run()
    .await?;
    Ok(())
}
