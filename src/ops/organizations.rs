//! Organizations.

use serde_json::{Value, json};
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::change::Change;
use super::error::{OpError, Taken, conflict};
use super::etag::IfMatch;
use super::own_organization::held;
use super::{letters, organization_lifecycle, sign_up, stale_sign_up};
use crate::auth::{self, AccountScope, Action, AuthError, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::account::{AccountStatus, Role, email_key};
use crate::domain::activation::ActivationStatus;
use crate::domain::body::Params;
use crate::domain::organization::{
    CreateOrganization, FirstAdminIn, Organization, OrganizationIn, OrganizationStatus, OrganizationStep,
    UpdateOrganization,
};
use crate::domain::organization_settings::Usage;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::user::{User, UserIn};
pub use crate::store::organization::{Filter, SORT_KEYS};
use crate::store::sql::is_conflict;
use crate::store::{activation, creator, driver_purge, organization, purge, user};

/// The creator of an organization.
enum Creator {
    /// An operator.
    Operator,
    /// A system user that signed up on its own.
    SystemUser(Uuid),
    /// A caller who is not signed in.
    Anybody,
}

impl Creator {
    fn of(context: &Context, caller: Option<&Caller>) -> Result<Self, OpError> {
        sign_up::permit(context, caller, Action::CreateOrganization)?;
        Ok(match caller {
            None => Self::Anybody,
            Some(caller) if caller.is_operator() => Self::Operator,
            Some(caller) => Self::SystemUser(caller.id),
        })
    }
}

/// Creates an organization with its first orgAdmin, who is invited when it becomes active; sends the activation link
/// to its contact address.
pub async fn create_organization(
    context: &Context,
    caller: Option<&Caller>,
    body: Params<CreateOrganization>,
) -> Result<(Organization, Usage), OpError> {
    let creator = Creator::of(context, caller)?;
    let now = context.clock.now();
    let sets_subscription = body.sent("subscription").is_some();
    let CreateOrganization { organization: attributes, admin } = body.starting(now).made()?;
    if sets_subscription && !matches!(creator, Creator::Operator) {
        return Err(AuthError::Forbidden(Action::ManageSubscription).into());
    }
    let scope = auth::new_organization();
    let mut organization = Organization {
        id: scope.organization_id(),
        status: OrganizationStatus::PendingActivation,
        founder_email: None,
        email_verified_at: None,
        activated_at: None,
        activation_method: None,
        attributes,
        created_at: now,
        updated_at: now,
    };
    let mut change = Change::within(context, caller, Some(scope)).await?.at(now);
    stale_sign_up::free_for_organization(&mut change, &admin.email, &organization.attributes.slug).await?;
    conflict(organization::insert(change.on(), &scope, &organization).await, Taken::Slug)?;
    // Asked before the first admin's address, so that no answer tells whether that has an account.
    if let Creator::SystemUser(id) = creator {
        if !creator::found(change.on(), &scope, id, now.into()).await? {
            let detail = "this system user has made an organization before, which waits for its activation: \
                 whoever activates it decides whether this one is bound to it";
            return Err(OpError::Transition(detail.to_owned()));
        }
        organization.founder_email = creator::address(change.on(), organization.id.0).await?;
    }
    let admin = first_admin(admin, &scope, now);
    match user::insert(change.tx(), &AccountScope::Organization(scope), &admin).await {
        Err(error) if is_conflict(&error) && !matches!(creator, Creator::Operator) => {
            drop(change);
            letters::sign_up_again(context, &admin.attributes.email, admin.id, &organization).await?;
            return Ok((organization, Usage { vehicles: 0, drivers: 0, users: 1, geofences: 0 }));
        }
        inserted => conflict(inserted, Taken::Email)?,
    }
    letters::activate(&mut change, &scope, &organization).await?;
    let usage = organization::usage(change.on(), &scope).await?;
    change.created(&organization).await?;
    let recorded = change.created(&admin).await?;
    Ok((change.commit_created(recorded, organization).await?, usage))
}

fn first_admin(admin: FirstAdminIn, scope: &OrgScope, now: Timestamp) -> User {
    let FirstAdminIn { email, first_name, last_name } = admin;
    User {
        id: clock::new_id(),
        organization_id: Some(scope.organization_id()),
        attributes: UserIn {
            email,
            first_name,
            last_name,
            phone: None,
            role: Role::OrgAdmin,
            locale: None,
            timezone: None,
        },
        status: AccountStatus::Invited,
        pending_email: None,
        last_login_at: None,
        created_at: now,
        updated_at: now,
    }
}

/// A page of the active organizations: all of them for operators, their own for others.
pub async fn list_organizations(
    context: &Context,
    caller: &Caller,
    filter: Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<(Organization, Usage)>, OpError> {
    caller.may(Action::ReadOrganization)?;
    let statuses = vec![OrganizationStatus::Active];
    let filter = Filter { only: caller.own_organization()?, statuses, ..filter };
    Ok(organization::list(&context.db, &filter, sort, page).await?)
}

/// A page of all organizations, whatever their status.
pub async fn list_all_organizations(
    context: &Context,
    caller: &Caller,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<(Organization, Usage)>, OpError> {
    caller.operator(Action::ListAllOrganizations)?;
    Ok(organization::list(&context.db, filter, sort, page).await?)
}

/// An organization with its usage of the plan.
pub async fn find_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
) -> Result<(Organization, Usage), OpError> {
    let scope = caller.scope(&context.db, Action::ReadOrganization, Some(id)).await?;
    let found = organization::find(context.db.read(), &scope).await?.ok_or(OpError::NotFound)?;
    Ok((found, organization::usage(context.db.read(), &scope).await?))
}

/// Activates an organization by hand; if it is active already, nothing changes. Its founder is let in only if the operator says so.
pub async fn activate_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
    lets_founder_in: bool,
) -> Result<(Organization, Usage), OpError> {
    caller.operator(Action::ActivateOrganization)?;
    let scope = caller.scope(&context.db, Action::ActivateOrganization, Some(id)).await?;
    let mut change = Change::within(context, Some(caller), Some(scope)).await?;
    let current = held(change.tx(), &scope).await?;
    let activate = OrganizationStep::Activate { lets_founder_in };
    let found = organization_lifecycle::advance(&mut change, &scope, &current, activate).await?;
    let usage = organization::usage(change.on(), &scope).await?;
    let recorded = match found.status == current.status {
        true => change.as_before(),
        false => change.updated(&current, &found).await?,
    };
    Ok((change.commit(recorded, found).await?, usage))
}

/// Changes an organization. Only operators may change its status and subscription.
pub async fn update_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
    if_match: &IfMatch,
    body: Params<UpdateOrganization>,
) -> Result<(Organization, Usage), OpError> {
    let scope = caller.scope(&context.db, Action::UpdateOrganization, Some(id)).await?;
    let mut change = Change::within(context, Some(caller), Some(scope)).await?;
    let current = held(change.tx(), &scope).await?;
    let UpdateOrganization { organization: attributes, status } =
        body.changed(&current, &current.attributes)?;
    let status = status.unwrap_or(current.status);
    if status != current.status || attributes.subscription != current.attributes.subscription {
        caller.may(Action::ManageSubscription)?;
    }
    let step = (status != current.status).then(|| wanted_step(current.status, status)).transpose()?;
    if step.is_some() || attributes != current.attributes {
        if_match.check(&current)?;
    }
    let before = current.clone();
    let mut changed = with_attributes(&mut change, &scope, current, attributes).await?;
    if let Some(step) = step {
        changed = organization_lifecycle::advance(&mut change, &scope, &changed, step).await?;
    }
    let recorded = match changed == before {
        true => change.as_before(),
        false => change.updated(&before, &changed).await?,
    };
    if changed.attributes.settings != before.attributes.settings {
        let days = changed.attributes.settings.retention.positions_days;
        change.tell_sessions(move |sessions| sessions.keep_positions(id, days));
    }
    let usage = organization::usage(change.on(), &scope).await?;
    Ok((change.commit(recorded, changed).await?, usage))
}

/// Writes the changed members of an organization. A new contact address is unverified. If the organization waits for
/// its activation, the new address gets a link, and the previous link becomes invalid.
async fn with_attributes(
    change: &mut Change<'_>,
    scope: &OrgScope,
    current: Organization,
    attributes: OrganizationIn,
) -> Result<Organization, OpError> {
    let now = change.now();
    if attributes == current.attributes {
        return Ok(current);
    }
    let is_new_address = email_key(&attributes.contact_email) != email_key(&current.attributes.contact_email);
    let mut changed = Organization { attributes, updated_at: now, ..current };
    if is_new_address {
        changed.email_verified_at = None;
        letters::forget_activation(change, scope).await?;
        activation::close_pending(change.on(), scope, ActivationStatus::Superseded, now.into()).await?;
    }
    conflict(organization::update(change.on(), scope, &changed).await, Taken::Slug)?;
    if is_new_address && changed.status == OrganizationStatus::PendingActivation {
        letters::activate(change, scope, &changed).await?;
    }
    Ok(changed)
}

/// Deletes an organization, softly: its users and system users can no longer sign in and its trackers are refused;
/// what it recorded is kept. `purges`: it goes soon after, also if the organization was deleted before.
pub async fn delete_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
    if_match: &IfMatch,
    purges: bool,
) -> Result<(), OpError> {
    caller.operator(Action::DeleteOrganization)?;
    let scope = match caller.scope(&context.db, Action::DeleteOrganization, Some(id)).await {
        Err(AuthError::NotFound) if purges => {
            caller.deleted_scope(&context.db, Action::DeleteOrganization, id).await?
        }
        scope => scope?,
    };
    let mut change = Change::within(context, Some(caller), Some(scope)).await?;
    organization::hold(change.on(), &scope).await?;
    let Some(current) = organization::find(change.on(), &scope).await? else {
        if !purges {
            return Err(OpError::NotFound);
        }
        if_match.check_gone()?;
        return purge_all(change, &scope, None).await;
    };
    if_match.check(&current)?;
    organization_lifecycle::advance(&mut change, &scope, &current, OrganizationStep::Delete).await?;
    if purges {
        return purge_all(change, &scope, Some(json!(current))).await;
    }
    let recorded = change.deleted(&current).await?;
    change.commit(recorded, ()).await
}

/// Has all go that was recorded of the vehicles and known of the drivers of an organization that is deleted now, or was before.
async fn purge_all(mut change: Change<'_>, scope: &OrgScope, before: Option<Value>) -> Result<(), OpError> {
    let now = change.now();
    driver_purge::purge(change.tx(), scope, None, now.into()).await?;
    purge::mark_organization(change.tx(), scope, now.into()).await?;
    let recorded = change.purged(&scope.organization_id(), before).await?;
    change.commit(recorded, ()).await
}

/// The step from one status to another, for an operator who sets it.
fn wanted_step(from: OrganizationStatus, to: OrganizationStatus) -> Result<OrganizationStep, OpError> {
    let step = to.wanted().filter(|step| from.after(*step) == Some(to));
    let (from, to) = (from.as_str(), to.as_str());
    step.ok_or_else(|| OpError::Transition(format!("an organization that is {from} cannot become {to}")))
}
