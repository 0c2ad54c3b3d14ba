//! An organization's life: the steps of `domain::organization` and their consequences.

use super::change::Change;
use super::error::OpError;
use super::{driver_lock, letters};
use crate::auth::{OrgScope, SystemUserScope};
use crate::domain::activation::ActivationStatus;
use crate::domain::organization::{ActivationMethod, Organization, OrganizationStatus, OrganizationStep};
use crate::domain::system_user::{SystemUser, SystemUserIn};
use crate::sessions::End;
use crate::store::{
    activation, alert, api_key, creator, driver, fuel_verdict, mqtt_cursor, organization, out_of_service,
    pending_tracker, share, system_user, tracker, user, vehicle, webhook,
};

/// Takes a step and writes its consequences: activation invites the users that wait for it, and lets the founder in or leaves it out
/// for good; deletion ends everything the organization owns. After the commit, sockets of an organization that is not active end.
pub(super) async fn advance(
    change: &mut Change<'_>,
    scope: &OrgScope,
    current: &Organization,
    step: OrganizationStep,
) -> Result<Organization, OpError> {
    let now = change.now();
    let Some(next) = current.status.after(step) else {
        let state = current.status.as_str();
        return Err(OpError::Transition(format!("an organization that is {state} cannot do this")));
    };
    let mut changed = Organization { status: next, ..current.clone() };
    if matches!(step, OrganizationStep::VerifyEmail { .. }) {
        changed.email_verified_at = changed.email_verified_at.or(Some(now));
    }
    let activates = next == OrganizationStatus::Active && current.status != next;
    if activates {
        changed.activated_at = changed.activated_at.or(Some(now));
        changed.activation_method = changed.activation_method.or(method(step));
        changed.founder_email = None;
    }
    if changed == *current {
        return Ok(changed);
    }
    changed.updated_at = now;
    organization::update(change.on(), scope, &changed).await?;
    match step {
        OrganizationStep::VerifyEmail { .. } => {
            activation::close_pending(change.on(), scope, ActivationStatus::Verified, now.into()).await?;
        }
        OrganizationStep::Activate { .. } => {
            activation::close_pending(change.on(), scope, ActivationStatus::ManuallyActivated, now.into())
                .await?;
        }
        OrganizationStep::Deactivate => {}
        OrganizationStep::Delete => delete_owned(change, scope).await?,
    }
    if activates {
        match step {
            OrganizationStep::VerifyEmail { lets_founder_in: true }
            | OrganizationStep::Activate { lets_founder_in: true } => bind_creator(change, scope).await?,
            _ => creator::leave_out(change.on(), scope, now.into()).await?,
        }
        for waiting in user::invited(change.on(), scope, now.into()).await? {
            letters::invite(change, &waiting, Some(&changed.attributes.name)).await?;
        }
    }
    if next != OrganizationStatus::Active {
        let id = scope.organization_id();
        change.tell_sessions(move |sessions| sessions.end_organization(id, End::Disabled));
    }
    change.tell_webhooks();
    Ok(changed)
}

/// Binds the system user that created the organization to it, with an entry in the audit: it may do everything there from now on.
async fn bind_creator(change: &mut Change<'_>, scope: &OrgScope) -> Result<(), OpError> {
    let now = change.now().into();
    let Some((id, scopes)) = creator::bind(change.tx(), scope, now).await? else { return Ok(()) };
    let within = SystemUserScope::Organization(*scope);
    if let Some(bound) = system_user::find(change.on(), &within, id, now).await? {
        let attributes = SystemUserIn { scopes, ..bound.attributes.clone() };
        let before = SystemUser { organization_id: None, attributes, ..bound.clone() };
        change.updated(&before, &bound).await?;
    }
    Ok(())
}

const fn method(step: OrganizationStep) -> Option<ActivationMethod> {
    match step {
        OrganizationStep::VerifyEmail { .. } => Some(ActivationMethod::Email),
        OrganizationStep::Activate { .. } => Some(ActivationMethod::Manual),
        OrganizationStep::Deactivate | OrganizationStep::Delete => None,
    }
}

/// Ends what a deleted organization owns: its addresses, its slug and the
/// unique ids of its trackers may be used again, its vehicles leave the live core, and its drivers are released.
async fn delete_owned(change: &mut Change<'_>, scope: &OrgScope) -> Result<(), OpError> {
    let now = change.now();
    // Edits of drivers lock the driver before its vehicles, so that is the order here, too.
    driver::hold_all(change.on(), scope).await?;
    // The post takes locks in this order, too.
    letters::forget_activation(change, scope).await?;
    activation::close_pending(change.on(), scope, ActivationStatus::Superseded, now.into()).await?;
    // The holders' rows come before their sessions: a refresh locks them in this order too.
    organization::delete_system_users(change.on(), scope, now.into()).await?;
    user::retire_all(change.on(), scope, now.into()).await?;
    organization::end_sessions(change.on(), scope, now.into()).await?;
    for key in api_key::of_organization(change.on(), scope).await? {
        change.deleted(&key).await?;
    }
    api_key::delete_of_organization(change.on(), scope).await?;
    webhook::delete_of_organization(change.tx(), scope).await?;
    mqtt_cursor::delete_of_organization(change.tx(), scope).await?;
    alert::delete_of_organization(change.on(), scope).await?;
    fuel_verdict::delete_of_organization(change.on(), scope).await?;
    pending_tracker::forget_all(change.on(), scope).await?;
    share::delete_of_organization(change.on(), scope).await?;
    tracker::delete_of_organization(change.tx(), scope, now.into()).await?;
    out_of_service::begin_all(change.on(), scope, now.into()).await?;
    for vehicle in vehicle::delete_of_organization(change.on(), scope, now.into()).await? {
        change.retires(scope, vehicle);
    }
    organization::free_slug(change.on(), scope).await?;
    driver_lock::release_all(change, scope).await?;
    Ok(())
}
