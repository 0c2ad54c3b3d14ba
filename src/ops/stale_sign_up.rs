//! Nobody keeps an address by signing up with it: until a sign-up is confirmed, the address goes to whoever wants it
//! now, in the transaction that takes it, and remembered there. A slug goes likewise once the link is good no longer.

use serde_json::json;

use super::change::Change;
use super::error::OpError;
use super::own_organization::held;
use super::{letters, organization_lifecycle};
use crate::auth::{self, link};
use crate::domain::audit::AuditResource;
use crate::domain::organization::OrganizationStep;
use crate::store::stale_sign_up;

/// Frees the address of a person and the slug of an organization that is made now. One that nobody asks for stays,
/// so that an operator may still activate it.
pub(super) async fn free_for_organization(
    change: &mut Change<'_>,
    email: &str,
    slug: &str,
) -> Result<(), OpError> {
    let now = change.now();
    let made_before = now.plus_seconds(-link::SECONDS).into();
    while let Some(id) =
        stale_sign_up::organization(change.on(), email, slug, made_before, now.into()).await?
    {
        let scope = auth::forgotten_organization(id);
        let current = held(change.tx(), &scope).await?;
        organization_lifecycle::advance(change, &scope, &current, OrganizationStep::Delete).await?;
        change.displaced(AuditResource::Organization, id, Some(id.into()), Some(json!(current))).await?;
    }
    Ok(())
}

/// Frees the address of a person who is made now.
pub(super) async fn free_for_user(change: &mut Change<'_>, email: &str) -> Result<(), OpError> {
    free_for_organization(change, email, "").await
}

/// Frees the address of a system user that is made now.
pub(super) async fn free_for_system_user(change: &mut Change<'_>, email: &str) -> Result<(), OpError> {
    let now = change.now();
    if let Some(id) = stale_sign_up::delete_system_user(change.on(), email, now.into()).await? {
        letters::forget_verification(change, id).await?;
        change.displaced(AuditResource::SystemUser, id, None, None).await?;
    }
    Ok(())
}
