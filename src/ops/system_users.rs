//! System users: programs that sign in.

use serde_json::{Value, json};
use uuid::Uuid;

use super::change::Change;
use super::error::{OpError, Taken, conflict};
use super::etag::IfMatch;
use super::scoped::Scoped;
use super::{api_keys, letters, request_context, sign_up, stale_sign_up};
use crate::auth::Action;
use crate::clock;
use crate::context::Context;
use crate::domain::account::new_password;
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::members::Members;
use crate::domain::merge::all_problems;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::{
    CreateSystemUser, SystemUser, SystemUserIn, SystemUserStatus, UpdateSystemUser,
};
use crate::sessions::End;
use crate::store::session::{self, HolderId};
use crate::store::sql::is_conflict;
pub use crate::store::system_user::{Filter, SORT_KEYS};
use crate::store::{sign_in_attempt, system_user};

/// Creates a system user whose address must be verified. Without a caller this is a sign-up, which names neither
/// scopes nor an organization.
pub async fn create_system_user(
    context: &Context,
    by: Option<&Scoped>,
    body: Params<CreateSystemUser>,
) -> Result<SystemUser, OpError> {
    let caller = by.map(|by| &by.caller);
    sign_up::permit(context, caller, Action::WriteSystemUsers)?;
    let organization_id = match by {
        Some(by) => Some(by.scope(context, Action::WriteSystemUsers).await?.organization_id()),
        None => None,
    };
    let new = match caller {
        Some(_) => body.made_if(require_scopes),
        None => signing_up(body),
    }?;
    let password_hash = context.auth.hash_password(&request_context::peer().address, new.password).await?;
    let mut change = Change::within(context, caller, None).await?;
    let now = change.now();
    let user = SystemUser {
        id: clock::new_id(),
        organization_id,
        email: new.email,
        attributes: SystemUserIn { name: new.name, scopes: new.scopes.unwrap_or_default() },
        status: SystemUserStatus::PendingVerification,
        email_verified_at: None,
        last_login_at: None,
        created_at: now,
        updated_at: now,
    };
    stale_sign_up::free_for_system_user(&mut change, &user.email).await?;
    match system_user::insert(change.on(), &user, &password_hash).await {
        Err(error) if is_conflict(&error) && caller.is_none() => {
            drop(change);
            letters::sign_up_again(context, &user.email, user.id, &user).await?;
            return Ok(user);
        }
        inserted => conflict(inserted, Taken::Email)?,
    }
    letters::verify_system_user(&mut change, &user).await?;
    let recorded = change.created(&user).await?;
    change.commit_created(recorded, user).await
}

/// Reads a sign-up, which must name neither scopes nor an organization.
fn signing_up(body: Params<CreateSystemUser>) -> Result<CreateSystemUser, Vec<FieldError>> {
    let mut problems = Vec::new();
    let body = body.reworded(|body| {
        for name in ["organizationId", "scopes"] {
            let given = body.as_object_mut().and_then(|members| members.remove(name));
            if given.is_some_and(|value| !value.is_null() && value != json!([])) {
                let detail = "is for orgAdmins and operators to give; sign up without it";
                problems.push(FieldError::new(format!("/{name}"), "notAllowed", detail));
            }
        }
    });
    all_problems(problems, body.made())
}

fn require_scopes(user: &mut Members<'_>) {
    if user.value("scopes").is_none_or(Value::is_null) {
        user.problem("scopes", "required", "is required");
    }
}

/// A page of system users: an organization's, or all of them for operators who name none.
pub async fn list_system_users(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<SystemUser>, OpError> {
    let scope = by.caller.system_users(&context.db, Action::ListSystemUsers, by.organization).await?;
    Ok(system_user::list(&context.db, &scope, filter, context.clock.now().into(), sort, page).await?)
}

/// A system user.
pub async fn find_system_user(context: &Context, by: &Scoped, id: Uuid) -> Result<SystemUser, OpError> {
    let scope = by.caller.system_users(&context.db, Action::ReadSystemUser, by.organization).await?;
    let found = system_user::find(context.db.read(), &scope, id, context.clock.now().into()).await?;
    found.ok_or(OpError::NotFound)
}

/// Changes a system user. A new password, or being disabled, ends its sessions; its keys are refused while it is
/// disabled, and keep no scope that it loses.
pub async fn update_system_user(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
    body: Params<UpdateSystemUser>,
) -> Result<SystemUser, OpError> {
    let scope = by.caller.system_users(&context.db, Action::WriteSystemUsers, by.organization).await?;
    // Hashed before the transaction, which holds locks. A password that is not a text is reported with other
    // problems.
    let (mut new_hash, mut weak) = (None, None);
    match body.sent("password").filter(|password| password.is_string()).map(new_password) {
        Some(Ok(password)) => {
            new_hash = Some(context.auth.hash_password(&request_context::peer().address, password).await?);
        }
        Some(Err(problem)) => weak = Some(problem),
        None => {}
    }
    let mut change = Change::within(context, Some(&by.caller), None).await?;
    system_user::hold(change.on(), id).await?;
    let now = change.now();
    let current = system_user::find(change.on(), &scope, id, now.into()).await?.ok_or(OpError::NotFound)?;
    let UpdateSystemUser { attributes, status, .. } =
        body.changed_if(&current, &current.attributes, |user| {
            if let Some((code, must)) = weak {
                user.problem("password", code, format!("must be {must}"));
            }
        })?;
    let status = next_status(&current, status)?;
    if attributes == current.attributes && status == current.status && new_hash.is_none() {
        return Ok(current);
    }
    if_match.check(&current.tagged())?;
    let stored = if status == SystemUserStatus::Locked { SystemUserStatus::Active } else { status };
    let changed = SystemUser { attributes, status: stored, updated_at: now, ..current.clone() };
    system_user::update(change.on(), &scope, &changed).await?;
    let recorded = change.updated(&current, &changed).await?;
    if current.status == SystemUserStatus::Locked && status == SystemUserStatus::Active {
        sign_in_attempt::forget(change.on(), &system_user::attempts_key(&changed.email)).await?;
    }
    if let Some(hash) = &new_hash {
        system_user::set_password(change.on(), id, hash, now.into()).await?;
    }
    if new_hash.is_some() || status == SystemUserStatus::Disabled {
        session::revoke_all(change.tx(), HolderId::System(id), now.into()).await?;
    }
    if changed.attributes.scopes != current.attributes.scopes {
        api_keys::shrink(&mut change, &scope, &changed).await?;
        change.tell_webhooks();
    }
    if changed != current {
        end_sockets(&mut change, &changed);
    }
    change.commit(recorded, SystemUser { status, ..changed }).await
}

/// The requested status, if a client may set it: only a verified address makes a system user active, and only failed
/// sign-ins lock one.
fn next_status(current: &SystemUser, asked: Option<SystemUserStatus>) -> Result<SystemUserStatus, OpError> {
    use SystemUserStatus::{Active, Disabled, Locked, PendingVerification};
    let next = asked.unwrap_or(current.status);
    let is_possible = match next {
        _ if next == current.status => true,
        Disabled => true,
        Active => current.email_verified_at.is_some(),
        PendingVerification => current.status == Disabled && current.email_verified_at.is_none(),
        Locked => false,
    };
    if is_possible {
        return Ok(next);
    }
    let (from, to) = (current.status.as_str(), next.as_str());
    Err(OpError::Transition(format!("a system user that is {from} cannot be made {to}")))
}

/// Deletes a system user, with its sessions and keys.
pub async fn delete_system_user(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let scope = by.caller.system_users(&context.db, Action::WriteSystemUsers, by.organization).await?;
    let mut change = Change::within(context, Some(&by.caller), None).await?;
    system_user::hold(change.on(), id).await?;
    let now = change.now();
    let current = system_user::find(change.on(), &scope, id, now.into()).await?.ok_or(OpError::NotFound)?;
    if_match.check(&current.tagged())?;
    api_keys::revoke_all(&mut change, &scope, &current).await?;
    change.tell_webhooks();
    system_user::delete(change.on(), &scope, id, now.into()).await?;
    letters::forget_verification(&mut change, id).await?;
    session::revoke_all(change.tx(), HolderId::System(id), now.into()).await?;
    let recorded = change.deleted(&current).await?;
    end_sockets(&mut change, &current);
    change.commit(recorded, ()).await
}

/// Ends a system user's sockets after the commit. It may reconnect, with its new rights.
fn end_sockets(change: &mut Change<'_>, user: &SystemUser) {
    let (id, organization) = (user.id, user.organization_id);
    change.tell_sessions(move |sessions| {
        sessions.end_of(id, End::Credential);
        sessions.keys_changed(organization);
    });
}
