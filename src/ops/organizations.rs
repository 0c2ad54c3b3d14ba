//! Organizations.

use serde_json::{Value, json};
use waypost_actors::model::{OrganizationId, Timestamp};

use super::audit::Subject;
use super::error::{OpError, Taken};
use super::etag::IfMatch;
use super::once;
use crate::auth::{Action, AuthError, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::account::{AccountStatus, Role};
use crate::domain::audit::AuditResource;
use crate::domain::field::FieldError;
use crate::domain::fold;
use crate::domain::members::{Members, email, text};
use crate::domain::merge::{all_problems, merged, writable};
use crate::domain::organization::{
    ActivationMethod, Organization, OrganizationIn, OrganizationStatus, is_slug,
};
use crate::domain::organization_settings::{Settings, Usage};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::store::account::{self, NewAccount};
use crate::store::organization;
pub use crate::store::organization::{Filter, SORT_KEYS};
use crate::store::sql::{SqlError, Tx, is_conflict};

/// Members of an organization that a client may send back but not change.
const READ_ONLY: &[&str] =
    &["id", "emailVerifiedAt", "activatedAt", "activationMethod", "createdAt", "updatedAt"];

/// The first orgAdmin of a new organization.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FirstAdmin {
    email: String,
    first_name: String,
    last_name: String,
}

/// What a plan counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Vehicles.
    Vehicles,
    /// Geofences.
    Geofences,
}

/// Makes an organization, not active yet, with its first orgAdmin, invited.
pub async fn create_organization(
    context: &Context,
    caller: &Caller,
    mut body: Value,
) -> Result<Organization, OpError> {
    let operator = caller.operator(Action::CreateOrganization)?;
    let now = context.clock.now();
    let (admin, problems) = take_admin(&mut body);
    let mut starting = json!(OrganizationIn::starting(now));
    for member in ["name", "contactEmail"] {
        starting[member] = Value::Null;
    }
    starting["slug"] = match body.get("name").and_then(Value::as_str).map(fold::slug) {
        Some(slug) if is_slug(&slug) => json!(slug),
        _ => Value::Null,
    };
    let said = all_problems(problems, OrganizationIn::read(&merged(starting, &body, &[])))?;
    let organization = Organization {
        id: OrganizationId(clock::new_id()),
        status: OrganizationStatus::PendingActivation,
        email_verified_at: None,
        activated_at: None,
        activation_method: None,
        said,
        created_at: now,
        updated_at: now,
    };
    let mut tx = context.db.begin().await?;
    conflict(organization::insert(tx.on(), operator, &organization).await, Taken::Slug)?;
    if let Some(admin) = admin {
        let account = NewAccount {
            id: clock::new_id(),
            organization_id: Some(organization.id),
            email: admin.email,
            first_name: admin.first_name,
            last_name: admin.last_name,
            role: Role::OrgAdmin,
            status: AccountStatus::Invited,
            password_hash: None,
            created_at: now.into(),
        };
        conflict(account::insert(tx.on(), &account).await, Taken::Email)?;
    }
    subject(caller, &organization, now).created(&mut tx, &organization).await?;
    once::keep_made(&mut tx, &organization).await?;
    tx.commit().await?;
    Ok(organization)
}

fn subject<'a>(caller: &'a Caller, organization: &Organization, at: Timestamp) -> Subject<'a> {
    let (organization_id, id) = (Some(organization.id), organization.id.into());
    Subject { caller, organization_id, resource: AuditResource::Organization, id, at }
}

/// Takes `admin{email, firstName, lastName}` out of a body.
fn take_admin(body: &mut Value) -> (Option<FirstAdmin>, Vec<FieldError>) {
    let given = body.as_object_mut().and_then(|members| members.remove("admin"));
    let Some(given) = given.filter(|value| !value.is_null()) else {
        return (None, vec![FieldError::new("/admin", "required", "is required: the first orgAdmin")]);
    };
    let mut members = Members::at(&given, "/admin".to_owned());
    let (email, first) = (members.required("email", email), members.required("firstName", text(1..=80)));
    let last = members.required("lastName", text(1..=80));
    match members.finish(|| Some(FirstAdmin { email: email?, first_name: first?, last_name: last? })) {
        Ok(admin) => (Some(admin), Vec::new()),
        Err(problems) => (None, problems),
    }
}

/// A page of organizations that are active: all of them for operators, their own for others.
pub async fn list_organizations(
    context: &Context,
    caller: &Caller,
    filter: Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Organization>, OpError> {
    caller.may(Action::ReadOrganization)?;
    let statuses = vec![OrganizationStatus::Active];
    let filter = Filter { only: caller.own_organization()?, statuses, ..filter };
    Ok(organization::list(&context.db, &filter, sort, page).await?)
}

/// A page of all organizations, of whatever state.
pub async fn list_all_organizations(
    context: &Context,
    caller: &Caller,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Organization>, OpError> {
    caller.operator(Action::ListAllOrganizations)?;
    Ok(organization::list(&context.db, filter, sort, page).await?)
}

/// An organization, and how much it uses of its plan.
pub async fn find_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
) -> Result<(Organization, Usage), OpError> {
    let scope = caller.scope(&context.db, Action::ReadOrganization, Some(id)).await?;
    let found = organization::find(context.db.read(), &scope).await?.ok_or(OpError::NotFound)?;
    Ok((found, organization::usage(context.db.read(), &scope).await?))
}

/// Activates an organization by hand; one that is active stays as it is.
pub async fn activate_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
) -> Result<(Organization, Usage), OpError> {
    caller.operator(Action::ActivateOrganization)?;
    let scope = caller.scope(&context.db, Action::ActivateOrganization, Some(id)).await?;
    let mut tx = context.db.begin().await?;
    organization::hold(tx.on(), &scope).await?;
    let mut found = organization::find(tx.on(), &scope).await?.ok_or(OpError::NotFound)?;
    let usage = organization::usage(tx.on(), &scope).await?;
    if found.status != OrganizationStatus::Active {
        let (now, before) = (context.clock.now(), found.clone());
        found.status = OrganizationStatus::Active;
        found.activated_at = found.activated_at.or(Some(now));
        found.activation_method = found.activation_method.or(Some(ActivationMethod::Manual));
        found.updated_at = now;
        organization::update(tx.on(), &scope, &found).await?;
        subject(caller, &found, now).updated(&mut tx, &before, &found).await?;
        tx.commit().await?;
    }
    Ok((found, usage))
}

/// Changes an organization. Its status and subscription are the operators' to change.
pub async fn update_organization(
    context: &Context,
    caller: &Caller,
    id: OrganizationId,
    if_match: &IfMatch,
    body: Value,
) -> Result<(Organization, Usage), OpError> {
    let scope = caller.scope(&context.db, Action::UpdateOrganization, Some(id)).await?;
    let mut tx = context.db.begin().await?;
    organization::hold(tx.on(), &scope).await?;
    let current = organization::find(tx.on(), &scope).await?.ok_or(OpError::NotFound)?;
    let usage = organization::usage(tx.on(), &scope).await?;
    let (mut body, mut problems) = writable(body, &json!(current), READ_ONLY, &[]);
    let status = take_status(&mut body, &mut problems);
    let said = all_problems(problems, OrganizationIn::read(&merged(json!(current.said), &body, &[])))?;
    let status = status.unwrap_or(current.status);
    let is_operators_business = status != current.status || said.subscription != current.said.subscription;
    if is_operators_business {
        caller.may(Action::ManageSubscription)?;
    }
    if !current.status.may_become(status) {
        let (from, to) = (current.status.as_str(), status.as_str());
        return Err(OpError::Transition(format!("an organization that is {from} cannot become {to}")));
    }
    if said == current.said && status == current.status {
        return Ok((current, usage));
    }
    if_match.check(&current)?;
    let changed = Organization { said, status, updated_at: context.clock.now(), ..current.clone() };
    conflict(organization::update(tx.on(), &scope, &changed).await, Taken::Slug)?;
    subject(caller, &changed, changed.updated_at).updated(&mut tx, &current, &changed).await?;
    tx.commit().await?;
    Ok((changed, usage))
}

fn take_status(body: &mut Value, problems: &mut Vec<FieldError>) -> Option<OrganizationStatus> {
    let given = body.as_object_mut().and_then(|members| members.remove("status"))?;
    let read = crate::domain::members::one_of(OrganizationStatus::WORDS)(&given);
    read.map_err(|(code, must)| problems.push(FieldError::new("/status", code, format!("must be {must}"))))
        .ok()
}

/// The settings of a scope's organization.
pub(super) async fn settings_of(context: &Context, scope: &OrgScope) -> Result<Settings, OpError> {
    let found = organization::find(context.db.read(), scope).await?.ok_or(AuthError::NotFound)?;
    Ok(found.said.settings)
}

/// Refuses one more than the plan allows.
pub(super) async fn require_room(tx: &mut Tx, scope: &OrgScope, what: Counted) -> Result<(), OpError> {
    organization::hold(tx.on(), scope).await?; // so that two at once count each other
    let found = organization::find(tx.on(), scope).await?.ok_or(OpError::NotFound)?;
    let limits = &found.said.subscription.limits;
    let (limit, name) = match what {
        Counted::Vehicles => (limits.vehicles, "vehicles"),
        Counted::Geofences => (limits.geofences, "geofences"),
    };
    let Some(limit) = limit else { return Ok(()) };
    let usage = organization::usage(tx.on(), scope).await?;
    let used = match what {
        Counted::Vehicles => usage.vehicles,
        Counted::Geofences => usage.geofences,
    };
    if used < limit { Ok(()) } else { Err(OpError::PlanLimit { what: name, limit }) }
}

fn conflict<T>(written: Result<T, SqlError>, taken: Taken) -> Result<T, OpError> {
    written.map_err(|error| if is_conflict(&error) { OpError::Taken(taken) } else { error.into() })
}
