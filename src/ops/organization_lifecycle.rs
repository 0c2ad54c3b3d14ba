//! An organization's life: the steps of `domain::organization`, and what follows from each.

use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::OpError;
use super::{driver_lock, letters};
use crate::auth::OrgScope;
use crate::context::Context;
use crate::domain::activation::ActivationStatus;
use crate::domain::organization::{ActivationMethod, Organization, OrganizationStatus, OrganizationStep};
use crate::sessions::End;
use crate::store::sql::Tx;
use crate::store::{activation, founder, organization, user};

/// Takes a step, and writes what follows from it: who waited for an activation is invited, whoever
/// belonged to what is deleted is gone. [`told`] is for after the commit.
pub(super) async fn advance(
    tx: &mut Tx,
    scope: &OrgScope,
    current: &Organization,
    step: OrganizationStep,
    now: Timestamp,
) -> Result<Organization, OpError> {
    let Some(next) = current.status.after(step) else {
        let state = current.status.as_str();
        return Err(OpError::Transition(format!("an organization that is {state} cannot do this")));
    };
    let mut changed = Organization { status: next, ..current.clone() };
    if step == OrganizationStep::VerifyEmail {
        changed.email_verified_at = changed.email_verified_at.or(Some(now));
    }
    let activates = next == OrganizationStatus::Active && current.status != next;
    if activates {
        changed.activated_at = changed.activated_at.or(Some(now));
        changed.activation_method = changed.activation_method.or(method(step));
    }
    if changed == *current {
        return Ok(changed);
    }
    changed.updated_at = now;
    organization::update(tx.on(), scope, &changed).await?;
    match step {
        OrganizationStep::VerifyEmail => {
            activation::settle(tx.on(), scope, ActivationStatus::Verified, now.into()).await?;
        }
        OrganizationStep::Activate => {
            activation::settle(tx.on(), scope, ActivationStatus::ManuallyActivated, now.into()).await?;
        }
        OrganizationStep::Deactivate => {}
        OrganizationStep::Delete => delete_owned(tx, scope, now).await?,
    }
    if activates {
        founder::bind(tx.on(), scope, now.into()).await?;
        for waiting in user::invited(tx.on(), scope, now.into()).await? {
            letters::invite(tx, &waiting, Some(&changed.said.name), now).await?;
        }
    }
    Ok(changed)
}

const fn method(step: OrganizationStep) -> Option<ActivationMethod> {
    match step {
        OrganizationStep::VerifyEmail => Some(ActivationMethod::Email),
        OrganizationStep::Activate => Some(ActivationMethod::Manual),
        OrganizationStep::Deactivate | OrganizationStep::Delete => None,
    }
}

/// Addresses and slug of what is deleted may be used again, and the drivers whom it held are free.
async fn delete_owned(tx: &mut Tx, scope: &OrgScope, now: Timestamp) -> Result<(), OpError> {
    activation::settle(tx.on(), scope, ActivationStatus::Superseded, now.into()).await?;
    letters::forget_activation(tx, scope, now).await?;
    organization::end_sessions(tx.on(), scope, now.into()).await?;
    organization::delete_system_users(tx.on(), scope, now.into()).await?;
    organization::free_slug(tx.on(), scope).await?;
    user::retire_all(tx.on(), scope, now.into()).await?;
    driver_lock::release_all(tx, scope, now).await?;
    Ok(())
}

/// After the commit: the sockets of an organization that is not in use end.
pub(super) fn told(context: &Context, id: OrganizationId, status: OrganizationStatus) {
    if status != OrganizationStatus::Active {
        context.sessions.end_organization(id, End::Disabled);
    }
}
