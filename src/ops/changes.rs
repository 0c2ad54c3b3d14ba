//! The log of changes of master data, read by number.

use waypost_actors::model::{Change, ChangeKind, ChangedResource};
use waypost_actors::watch::Audience;

use super::error::OpError;
use super::scoped::Scoped;
use crate::auth::{Action, AuthError, Caller};
use crate::context::Context;
use crate::store::change_log;
pub use crate::store::change_log::CURSOR_SECONDS;

/// Whose changes a caller follows: those of its organization, or of the one that an operator names, or all.
pub async fn audience(context: &Context, by: &Scoped) -> Result<Audience, OpError> {
    by.caller.may(Action::ReadChanges)?;
    if by.organization.is_none() && by.caller.own_organization()?.is_none() {
        let everyone = Audience::Everyone;
        return context.serves(everyone).then_some(everyone).ok_or(AuthError::OrganizationRequired.into());
    }
    let scope = by.scope(context, Action::ReadChanges).await?;
    Ok(Audience::Organization(scope.organization_id()))
}

/// The changes of an audience from a number on, at most `limit`.
pub async fn read(
    context: &Context,
    audience: Audience,
    from: i64,
    limit: i64,
) -> Result<Vec<Change>, OpError> {
    Ok(change_log::read(context.db.read(), context.db.shard(), audience, from, limit).await?)
}

/// The next number of the log: whatever is not committed yet gets this one or a later one.
pub async fn next_number(context: &Context) -> Result<i64, OpError> {
    Ok(change_log::next_number(context.db.read(), context.db.shard()).await?)
}

/// Refuses to go on from a number that the log has not come to: the store was restored from a backup made before the
/// cursor, and whatever happened since then would be missed without a word.
pub async fn refuse_ahead(context: &Context, next: i64) -> Result<(), OpError> {
    if next > next_number(context).await? { Err(OpError::CursorExpired) } else { Ok(()) }
}

/// Whether a caller may be told that something is gone: who may see all things of its kind, or was the thing itself.
#[must_use]
pub fn may_hear_of_deletion(caller: &Caller, change: &Change) -> bool {
    let action = match change.resource {
        ChangedResource::Organization => Action::ReadOrganization,
        ChangedResource::Vehicle => Action::ReadVehicles,
        ChangedResource::Tracker => Action::ReadTrackers,
        ChangedResource::Geofence => Action::ReadGeofences,
        ChangedResource::Driver | ChangedResource::Assignment => Action::ReadDrivers,
        ChangedResource::User => Action::ListUsers,
        // Of system users a system user sees only itself.
        ChangedResource::SystemUser => Action::ListSystemUsers,
        ChangedResource::ApiKey => Action::ReadApiKeys,
        ChangedResource::Alert => Action::ReadEvents,
    };
    change.kind == ChangeKind::Deleted
        && (caller.may(action).is_ok() || caller.is_oneself(change.resource_id))
}

/// What a caller may see of a thing that it asked for; `None` instead of a refusal.
pub fn visible<T>(found: Result<T, OpError>) -> Result<Option<T>, OpError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            OpError::NotFound
            | OpError::Auth(
                AuthError::Forbidden(_)
                | AuthError::NotFound
                | AuthError::NoOrganization
                | AuthError::OrganizationRequired,
            ),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
