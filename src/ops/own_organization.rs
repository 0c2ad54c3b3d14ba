//! The organization of a scope, for operations on what it owns: its locked row, its settings, and the room that its
//! plan leaves.

use super::error::OpError;
use crate::auth::{AuthError, OrgScope};
use crate::context::Context;
use crate::domain::organization::Organization;
use crate::domain::organization_settings::Settings;
use crate::store::organization;
use crate::store::sql::Tx;

/// What a plan limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Vehicles.
    Vehicles,
    /// Drivers.
    Drivers,
    /// Geofences.
    Geofences,
    /// Users who are not disabled.
    Users,
}

/// Finds an organization and locks its row for this transaction.
pub(super) async fn held(tx: &mut Tx, scope: &OrgScope) -> Result<Organization, OpError> {
    organization::hold(tx.on(), scope).await?;
    organization::find(tx.on(), scope).await?.ok_or(OpError::NotFound)
}

/// The settings of a scope's organization.
pub(super) async fn settings_of(context: &Context, scope: &OrgScope) -> Result<Settings, OpError> {
    let found = organization::find(context.db.read(), scope).await?.ok_or(AuthError::NotFound)?;
    Ok(found.attributes.settings)
}

/// Refuses to add one more if the plan's limit is reached.
pub(super) async fn require_room(tx: &mut Tx, scope: &OrgScope, what: Counted) -> Result<(), OpError> {
    organization::hold(tx.on(), scope).await?; // so that two at once count each other
    let found = organization::find(tx.on(), scope).await?.ok_or(OpError::NotFound)?;
    let limits = &found.attributes.subscription.limits;
    let (limit, name) = match what {
        Counted::Vehicles => (limits.vehicles, "vehicles"),
        Counted::Drivers => (limits.drivers, "drivers"),
        Counted::Geofences => (limits.geofences, "geofences"),
        Counted::Users => (limits.users, "users"),
    };
    let Some(limit) = limit else { return Ok(()) };
    let usage = organization::usage(tx.on(), scope).await?;
    let used = match what {
        Counted::Vehicles => usage.vehicles,
        Counted::Drivers => usage.drivers,
        Counted::Geofences => usage.geofences,
        Counted::Users => usage.users,
    };
    if used < limit { Ok(()) } else { Err(OpError::PlanLimit { what: name, limit }) }
}
