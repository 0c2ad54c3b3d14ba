//! Nobody keeps an address by signing up with it: until a sign-up is confirmed, the address goes to whoever wants it
//! now, in the transaction that takes it, and remembered there. A slug goes likewise once the link is good no longer.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::audit::Subject;
use super::error::OpError;
use super::own_organization::held;
use super::{letters, organization_lifecycle};
use crate::auth::{self, link};
use crate::domain::audit::{AuditAction, AuditResource};
use crate::domain::organization::OrganizationStep;
use crate::store::sql::Tx;
use crate::store::stale_sign_up;

/// Frees the address of a person and the slug of an organization that is made now. One that nobody asks for stays,
/// so that an operator may still activate it.
pub(super) async fn free_for_organization(
    tx: &mut Tx,
    email: &str,
    slug: &str,
    now: Timestamp,
) -> Result<(), OpError> {
    let made_before = now.plus_seconds(-link::SECONDS).into();
    while let Some(id) = stale_sign_up::organization(tx.on(), email, slug, made_before, now.into()).await? {
        let scope = auth::forgotten_organization(id);
        let current = held(tx, &scope).await?;
        organization_lifecycle::advance(tx, &scope, &current, OrganizationStep::Delete, now).await?;
        gone(AuditResource::Organization, Some(id), id, now).deleted(tx, &current).await?;
    }
    Ok(())
}

/// Frees the address of a person who is made now.
pub(super) async fn free_for_user(tx: &mut Tx, email: &str, now: Timestamp) -> Result<(), OpError> {
    free_for_organization(tx, email, "", now).await
}

/// Frees the address of a system user that is made now.
pub(super) async fn free_for_system_user(tx: &mut Tx, email: &str, now: Timestamp) -> Result<(), OpError> {
    if let Some(id) = stale_sign_up::delete_system_user(tx.on(), email, now.into()).await? {
        letters::forget_verification(tx, id, now).await?;
        gone(AuditResource::SystemUser, None, id, now).noted(tx, AuditAction::Delete).await?;
    }
    Ok(())
}

/// Nobody deletes it: something else takes its place.
fn gone(resource: AuditResource, organization: Option<Uuid>, id: Uuid, at: Timestamp) -> Subject<'static> {
    Subject { caller: None, organization_id: organization.map(Into::into), resource, id, at }
}
