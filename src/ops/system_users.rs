//! System users: programs that sign in.

use serde_json::{Value, json};
use uuid::Uuid;

use super::change::Change;
use super::error::{OpError, Taken};
use super::etag::IfMatch;
use super::scoped::Scoped;
use super::{letters, request_context, stale_sign_up, take_organization};
use crate::auth::{Action, Caller};
use crate::clock;
use crate::config::SignUp;
use crate::context::Context;
use crate::domain::account::new_password;
use crate::domain::field::FieldError;
use crate::domain::members::{Members, email, one_of};
use crate::domain::merge::{all_problems, merged, writable};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::{SystemUser, SystemUserIn, SystemUserStatus};
use crate::sessions::End;
use crate::store::session::{self, HolderId};
use crate::store::sql::is_conflict;
pub use crate::store::system_user::{Filter, SORT_KEYS};
use crate::store::{sign_in_attempt, system_user};

/// Members of a system user that a client may send back but not change.
const READ_ONLY: &[&str] =
    &["id", "organizationId", "email", "emailVerifiedAt", "lastLoginAt", "createdAt", "updatedAt"];

/// What a body says of a new system user.
struct New {
    email: String,
    password: String,
    said: SystemUserIn,
}

/// Makes a system user that waits for the verification of its address. Without a caller it is a sign-up,
/// which names neither scopes nor an organization.
pub async fn create_system_user(
    context: &Context,
    caller: Option<&Caller>,
    mut body: Value,
) -> Result<SystemUser, OpError> {
    let organization_id = match caller {
        Some(caller) => {
            caller.may(Action::WriteSystemUsers)?;
            let named = take_organization(&mut body)?;
            let scope = caller.scope(&context.db, Action::WriteSystemUsers, named).await?;
            Some(scope.organization_id())
        }
        None if context.settings.sign_up == SignUp::Closed => return Err(OpError::SignUpClosed),
        None => None,
    };
    let new = read_new(&mut body, caller.is_none())?;
    let password_hash = context.auth.hash_password(&request_context::peer().address, new.password).await?;
    let mut change = Change::within(context, caller, None).await?;
    let now = change.now();
    let user = SystemUser {
        id: clock::new_id(),
        organization_id,
        email: new.email,
        said: new.said,
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
        Err(error) if is_conflict(&error) => return Err(OpError::Taken(Taken::Email)),
        inserted => inserted?,
    }
    letters::verify_system_user(&mut change, &user).await?;
    let recorded = change.created(&user).await?;
    change.commit_created(recorded, user).await
}

fn read_new(body: &mut Value, is_sign_up: bool) -> Result<New, OpError> {
    let mut problems = Vec::new();
    if let Some(members) = body.as_object_mut().filter(|_| is_sign_up) {
        for name in ["organizationId", "scopes"] {
            if members.remove(name).is_some_and(|value| !value.is_null() && value != json!([])) {
                let detail = "is for orgAdmins and operators to give; sign up without it";
                problems.push(FieldError::new(format!("/{name}"), "notAllowed", detail));
            }
        }
        members.insert("scopes".to_owned(), json!([]));
    }
    let mut own = json!({});
    if let (Some(members), Some(own)) = (body.as_object_mut(), own.as_object_mut()) {
        for name in ["email", "password"] {
            members.remove(name).map(|value| own.insert(name.to_owned(), value));
        }
    }
    let mut members = Members::of(&own);
    let (address, password) = (members.required("email", email), members.required("password", new_password));
    let credentials = members.finish(|| Some((address?, password?)));
    let credentials = credentials.map_err(|more| problems.extend(more)).ok();
    let said = all_problems(problems, SystemUserIn::read(body))?;
    let (email, password) = credentials.ok_or_else(|| OpError::Internal("no credentials".to_owned()))?;
    Ok(New { email, password, said })
}

/// A page of system users: an organization's; all of them for operators who name none.
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

/// Changes a system user. A new password, or being disabled, ends its sessions.
pub async fn update_system_user(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
    body: Value,
) -> Result<SystemUser, OpError> {
    let scope = by.caller.system_users(&context.db, Action::WriteSystemUsers, by.organization).await?;
    let (mut body, new_password) = take_password(body);
    let new_hash = match new_password {
        Some(Ok(password)) => {
            Some(Ok(context.auth.hash_password(&request_context::peer().address, password).await?))
        }
        Some(Err(problem)) => Some(Err(problem)),
        None => None,
    };
    let mut change = Change::within(context, Some(&by.caller), None).await?;
    system_user::hold(change.on(), id).await?;
    let now = change.now();
    let current = system_user::find(change.on(), &scope, id, now.into()).await?.ok_or(OpError::NotFound)?;
    let (written, mut problems) = writable(body.take(), &json!(current), READ_ONLY, &[]);
    body = written;
    let new_hash = new_hash.and_then(|hash| hash.map_err(|problem| problems.push(problem)).ok());
    let status = take_status(&mut body, &mut problems);
    let said = SystemUserIn::read(&merged(json!(current.said), &body, &["scopes"]));
    let said = all_problems(problems, said)?;
    let status = next_status(&current, status)?;
    if said == current.said && status == current.status && new_hash.is_none() {
        return Ok(current);
    }
    if_match.check(&current.tagged())?;
    let stored = if status == SystemUserStatus::Locked { SystemUserStatus::Active } else { status };
    let changed = SystemUser { said, status: stored, updated_at: now, ..current.clone() };
    system_user::update(change.on(), &scope, &changed).await?;
    let recorded = change.updated(&current, &changed).await?;
    if current.status == SystemUserStatus::Locked && status == SystemUserStatus::Active {
        sign_in_attempt::forget(change.on(), &system_user::attempts_key(&changed.email)).await?;
    }
    if let Some(hash) = &new_hash {
        system_user::set_password(change.on(), id, hash, now.into()).await?;
    }
    if new_hash.is_some() || status == SystemUserStatus::Disabled {
        session::revoke_all(change.on(), HolderId::System(id), now.into()).await?;
    }
    if changed != current {
        // It may watch again, with what it may now.
        change.tell_sessions(move |sessions| sessions.end_of(id, End::Credential));
    }
    change.commit(recorded, SystemUser { status, ..changed }).await
}

fn take_password(mut body: Value) -> (Value, Option<Result<String, FieldError>>) {
    let given = body.as_object_mut().and_then(|members| members.remove("password"));
    let read = given.map(|value| {
        new_password(&value)
            .map_err(|(code, must)| FieldError::new("/password", code, format!("must be {must}")))
    });
    (body, read)
}

fn take_status(body: &mut Value, problems: &mut Vec<FieldError>) -> Option<SystemUserStatus> {
    let given = body.as_object_mut().and_then(|members| members.remove("status"))?;
    one_of(SystemUserStatus::WORDS)(&given)
        .map_err(|(code, must)| problems.push(FieldError::new("/status", code, format!("must be {must}"))))
        .ok()
}

/// What a system user becomes: active once its address is verified, or disabled. The rest happens to it.
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

/// Deletes a system user, with its sessions.
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
    system_user::delete(change.on(), &scope, id, now.into()).await?;
    session::revoke_all(change.on(), HolderId::System(id), now.into()).await?;
    let recorded = change.deleted(&current).await?;
    change.tell_sessions(move |sessions| sessions.end_of(id, End::Credential));
    change.commit(recorded, ()).await
}
