//! Signing up does not reserve an address: until a sign-up is confirmed, another person may take its address, which
//! is then freed and audited in the same transaction. A slug is freed the same way, once the link has expired.

use serde_json::json;

use super::change::Change;
use super::error::OpError;
use super::organization_lifecycle;
use super::own_organization::held;
use crate::auth::{self, link};
use crate::domain::audit::AuditResource;
use crate::domain::organization::{OrganizationStatus, OrganizationStep};
use crate::store::stale_sign_up;

/// Frees the address of a person and the slug of an organization about to be made. A stale sign-up that holds neither
/// stays, so that an operator may still activate it.
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
        let current = match held(change.tx(), &scope).await {
            Ok(found) if found.status == OrganizationStatus::PendingActivation => found,
            // It was activated or went while its row was waited for.
            Ok(_) | Err(OpError::NotFound) => continue,
            Err(error) => return Err(error),
        };
        organization_lifecycle::advance(change, &scope, &current, OrganizationStep::Delete).await?;
        change.displaced(AuditResource::Organization, id, Some(id.into()), Some(json!(current))).await?;
    }
    Ok(())
}

/// Frees the address of a person about to be created.
pub(super) async fn free_for_user(change: &mut Change<'_>, email: &str) -> Result<(), OpError> {
    free_for_organization(change, email, "").await
}

/// Frees the address of a system user about to be created. The link of the sign-up that had it stays good: whichever link is opened
/// first confirms its own sign-up, with the password that was given with it.
pub(super) async fn free_for_system_user(change: &mut Change<'_>, email: &str) -> Result<(), OpError> {
    let now = change.now();
    if let Some(id) = stale_sign_up::delete_system_user(change.on(), email, now.into()).await? {
        change.displaced(AuditResource::SystemUser, id, None, None).await?;
    }
    Ok(())
}
