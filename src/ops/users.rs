//! Users: the people of organizations, and the platform's operators.
//!
//! Nobody chooses another person's password: a new user gets a link to choose it. An administrator may change
//! everything else about a user; every user may change the details that are their own.

use serde_json::Value;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::change::Change;
use super::error::{OpError, Taken, conflict};
use super::etag::IfMatch;
use super::own_organization::{Counted, held, require_room};
use super::scoped::Scoped;
use super::{letters, request_context, stale_sign_up};
use crate::auth::{AccountScope, Action, AuthError, Caller, writing};
use crate::clock;
use crate::context::Context;
use crate::domain::account::{AccountStatus, Role, email_key};
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::members::any_text;
use crate::domain::organization::OrganizationStatus;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::user::{CreateUser, UpdateUser, User, UserIn, may_become};
use crate::locks::KeyGuard;
use crate::sessions::End;
use crate::store::session::{self, HolderId};
pub use crate::store::user::{Filter, SORT_KEYS};
use crate::store::{account, sign_in_attempt, user};

/// Creates a user, who is invited at once, or when the organization becomes active.
pub async fn create_user(context: &Context, by: &Scoped, body: Params<CreateUser>) -> Result<User, OpError> {
    let scope = by.caller.accounts(&context.db, Action::WriteUsers, by.organization).await?;
    let attributes = body.made()?.user;
    by.caller.may(writing(attributes.role))?;
    match (&scope, attributes.role.is_operator()) {
        (AccountScope::Operators(_), false) => return Err(AuthError::OrganizationRequired.into()),
        (AccountScope::Organization(_), true) => return Err(wrong_role(attributes.role)),
        _ => {}
    }
    let mut held = Held::begin(context, &by.caller, scope).await?;
    let now = held.change.now();
    let user = User {
        id: clock::new_id(),
        organization_id: organization_of(&scope),
        attributes,
        status: AccountStatus::Invited,
        pending_email: None,
        last_login_at: None,
        created_at: now,
        updated_at: now,
    };
    held.require_room().await?;
    stale_sign_up::free_for_user(&mut held.change, &user.attributes.email).await?;
    conflict(user::insert(held.change.tx(), &scope, &user).await, Taken::Email)?;
    held.invite(&user).await?;
    let recorded = held.change.created(&user).await?;
    held.change.commit_created(recorded, user).await
}

/// A page of users: of an organization, or of the platform's operators.
pub async fn list_users(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<User>, OpError> {
    let scope = by.caller.accounts(&context.db, Action::ListUsers, by.organization).await?;
    Ok(user::list(&context.db, &scope, filter, sort, page, context.clock.now().into()).await?)
}

/// Finds a user; users may always find themselves.
pub async fn find_user(context: &Context, by: &Scoped, id: Uuid) -> Result<User, OpError> {
    find_for(Action::ReadUsers, context, by, id).await
}

/// Finds a user for a caller who may list users, or is this one.
pub async fn find_listed_user(context: &Context, by: &Scoped, id: Uuid) -> Result<User, OpError> {
    find_for(Action::ListUsers, context, by, id).await
}

async fn find_for(action: Action, context: &Context, by: &Scoped, id: Uuid) -> Result<User, OpError> {
    let scope = by.caller.account(&context.db, action, by.organization, id).await?;
    let found = user::find(context.db.read(), &scope, id, context.clock.now().into()).await?;
    found.ok_or(OpError::NotFound)
}

/// What is said of a password that is not the caller's, or not any more.
const NOT_YOURS: &str = "is not yours";

/// Changes a user.
pub async fn update_user(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
    body: Params<UpdateUser>,
) -> Result<User, OpError> {
    let scope = by.caller.account(&context.db, Action::WriteUsers, by.organization, id).await?;
    let is_oneself = by.caller.is_oneself(id);
    let proven =
        if is_oneself { proves(context, &by.caller, body.sent("currentPassword")).await? } else { None };
    let mut held = Held::begin(context, &by.caller, scope).await?;
    let current = held.find(id).await?;
    if let Some(hash) = &proven
        && !account::has_hash(held.change.on(), id, hash).await?
    {
        return Err(not_proven("value", NOT_YOURS));
    }
    if !is_oneself {
        by.caller.may(writing(current.attributes.role))?;
    }
    let UpdateUser { user: attributes, status, .. } =
        body.changed_if(&current, &current.attributes, |user| {
            if !is_oneself && user.value("currentPassword").is_some() {
                user.problem("currentPassword", "unknown", "is not known: it is for one's own address");
            }
        })?;
    let status = status.unwrap_or(current.status);
    if attributes == current.attributes && status == current.status {
        return Ok(current);
    }
    refuse_beyond_rights(&by.caller, &current, &attributes, status)?;
    if_match.check(&current.etag_basis())?;
    let mut changed = User { attributes, status, updated_at: held.change.now(), ..current.clone() };
    held.put_off_address(&current, &mut changed, is_oneself && proven.is_none()).await?;
    held.refuse_transition(&current, &changed).await?;
    held.keep_an_administrator(&current, &changed).await?;
    if current.status == AccountStatus::Disabled && status != AccountStatus::Disabled {
        held.require_room().await?;
    }
    if email_key(&current.attributes.email) != email_key(&changed.attributes.email) {
        stale_sign_up::free_for_user(&mut held.change, &changed.attributes.email).await?;
    }
    conflict(user::update(held.change.on(), &scope, &changed).await, Taken::Email)?;
    let is_signed_out = held.follow(&current, &changed).await?;
    if is_signed_out || current.attributes.role != changed.attributes.role {
        held.change.tell_sessions(move |sessions| sessions.end_of(id, End::Credential));
    }
    let recorded = held.change.updated(&current, &changed).await?;
    held.change.commit(recorded, changed).await
}

/// The hash of the caller's password, if a body contains it. A wrong one is refused.
async fn proves(
    context: &Context,
    caller: &Caller,
    given: Option<&Value>,
) -> Result<Option<String>, OpError> {
    let Some(given) = given else { return Ok(None) };
    let password = any_text(given).map_err(|(_, must)| not_proven("type", &format!("must be {must}")))?;
    let hash = context.auth.proves(caller.id, password, &request_context::peer()).await?;
    Ok(Some(hash.ok_or_else(|| not_proven("value", NOT_YOURS))?))
}

fn not_proven(code: &'static str, detail: &str) -> OpError {
    OpError::Invalid(vec![FieldError::new("/currentPassword", code, detail)])
}

/// Sends another invitation; the previous link becomes invalid.
pub async fn invite_again(context: &Context, by: &Scoped, id: Uuid) -> Result<User, OpError> {
    let scope = by.caller.account(&context.db, Action::WriteUsers, by.organization, id).await?;
    let mut held = Held::begin(context, &by.caller, scope).await?;
    let found = held.find(id).await?;
    by.caller.may(writing(found.attributes.role))?;
    if found.status != AccountStatus::Invited {
        let status = found.status.as_str();
        return Err(OpError::Transition(format!("a user who is {status} cannot be invited")));
    }
    if !held.invite(&found).await? {
        return Err(OpError::Transition("the organization is not active: it invites once it is".to_owned()));
    }
    let recorded = held.change.noted(&found, AuditAction::Invite).await?;
    held.change.commit(recorded, found).await
}

/// Changing more than one's own names, phone, language and time zone takes an administrator, and making operators
/// takes an administrator of operators. So no user can raise their own role.
fn refuse_beyond_rights(
    caller: &Caller,
    current: &User,
    attributes: &UserIn,
    status: AccountStatus,
) -> Result<(), OpError> {
    if !current.attributes.is_own_business(attributes) || status != current.status {
        caller.may(writing(current.attributes.role))?;
        caller.may(writing(attributes.role))?;
    }
    if attributes.role.is_operator() == current.attributes.role.is_operator() {
        Ok(())
    } else {
        Err(wrong_role(attributes.role))
    }
}

fn wrong_role(role: Role) -> OpError {
    let must = if role.is_operator() {
        "must be orgAdmin, dispatcher or viewer: operators belong to no organization"
    } else {
        "must be superAdmin or admin: the others belong to an organization"
    };
    OpError::Invalid(vec![FieldError::new("/role", "value", must)])
}

fn organization_of(scope: &AccountScope) -> Option<OrganizationId> {
    match scope {
        AccountScope::Organization(scope) => Some(scope.organization_id()),
        AccountScope::Operators(_) | AccountScope::Oneself(_) => None,
    }
}

/// A change that holds off other changes to users of the scope.
struct Held<'a> {
    change: Change<'a>,
    scope: AccountScope,
    /// The users' organization: its name, and whether it is active. Operators have none.
    organization: Option<(String, bool)>,
    _operators: Option<KeyGuard>,
}

impl<'a> Held<'a> {
    /// Locks the organization's row. Operators have no such row; for them a lock in this process suffices, because it
    /// is the only server.
    async fn begin(context: &'a Context, caller: &'a Caller, scope: AccountScope) -> Result<Self, OpError> {
        let operators = match scope {
            AccountScope::Operators(_) => Some(context.keyed_lock.lock(Uuid::nil()).await),
            AccountScope::Organization(_) | AccountScope::Oneself(_) => None,
        };
        let mut change = Change::within(context, Some(caller), None).await?;
        let organization = match &scope {
            AccountScope::Organization(scope) => {
                let found = held(change.tx(), scope).await?;
                Some((found.attributes.name, found.status == OrganizationStatus::Active))
            }
            AccountScope::Operators(_) | AccountScope::Oneself(_) => None,
        };
        Ok(Self { change, scope, organization, _operators: operators })
    }

    async fn find(&mut self, id: Uuid) -> Result<User, OpError> {
        user::hold(self.change.on(), &self.scope, id).await?;
        let now = self.change.now().into();
        let found = user::find(self.change.on(), &self.scope, id, now).await?;
        found.ok_or(OpError::NotFound)
    }

    async fn require_room(&mut self) -> Result<(), OpError> {
        match self.scope {
            AccountScope::Organization(scope) => require_room(self.change.tx(), &scope, Counted::Users).await,
            AccountScope::Operators(_) | AccountScope::Oneself(_) => Ok(()),
        }
    }

    async fn refuse_transition(&mut self, current: &User, changed: &User) -> Result<(), OpError> {
        let has_password = user::has_password(self.change.on(), &self.scope, current.id).await?;
        if may_become(current.status, changed.status, has_password) {
            return Ok(());
        }
        let (from, to) = (current.status.as_str(), changed.status.as_str());
        let why = if has_password { "" } else { " before the invitation is accepted" };
        Err(OpError::Transition(format!("a user who is {from} cannot become {to}{why}")))
    }

    /// Refuses a change that would leave the scope without an administrator of this role.
    async fn keep_an_administrator(&mut self, current: &User, changed: &User) -> Result<(), OpError> {
        let role = current.attributes.role;
        let administers = matches!(role, Role::OrgAdmin | Role::SuperAdmin);
        let stays = changed.attributes.role == role && changed.status != AccountStatus::Disabled;
        if !administers || stays || current.status == AccountStatus::Disabled {
            return Ok(());
        }
        let is_invited = current.status == AccountStatus::Invited;
        let others = user::count_others(self.change.on(), &self.scope, role, current.id, is_invited).await?;
        if others > 0 { Ok(()) } else { Err(OpError::LastAdministrator(role)) }
    }

    /// Keeps the current address until the link sent to the new one is opened. An invited user has no address to
    /// keep, so theirs changes at once. `is_unproven`: users change their own address without giving their password.
    async fn put_off_address(
        &mut self,
        current: &User,
        changed: &mut User,
        is_unproven: bool,
    ) -> Result<(), OpError> {
        if changed.status == AccountStatus::Disabled {
            changed.pending_email = None;
        }
        let is_new = email_key(&current.attributes.email) != email_key(&changed.attributes.email);
        if !is_new || current.status == AccountStatus::Invited {
            return Ok(());
        }
        if is_unproven {
            return Err(not_proven("value", "is required: your password, to change your own address"));
        }
        stale_sign_up::free_for_user(&mut self.change, &changed.attributes.email).await?;
        if account::find_by_email(self.change.on(), &changed.attributes.email).await?.is_some() {
            return Err(OpError::Taken(Taken::Email));
        }
        let asked = std::mem::replace(&mut changed.attributes.email, current.attributes.email.clone());
        letters::confirm_address(&mut self.change, current, &asked).await?;
        changed.pending_email = Some(asked);
        Ok(())
    }

    /// Applies the consequences of a change: ends sessions and links of the user's former state, and sends an
    /// invitation to a new address. Returns whether sessions ended.
    async fn follow(&mut self, current: &User, changed: &User) -> Result<bool, OpError> {
        let now = changed.updated_at;
        let is_new_address = email_key(&current.attributes.email) != email_key(&changed.attributes.email);
        let is_disabled = changed.status == AccountStatus::Disabled;
        if is_new_address || is_disabled {
            letters::forget_personal(&mut self.change, changed.id).await?;
        }
        if is_disabled {
            session::revoke_all(self.change.tx(), HolderId::Account(changed.id), now.into()).await?;
        }
        if current.status == AccountStatus::Locked {
            let key = email_key(&current.attributes.email);
            sign_in_attempt::forget(self.change.on(), &key).await?;
        }
        let waits_anew = current.status == AccountStatus::Disabled || is_new_address;
        if changed.status == AccountStatus::Invited && waits_anew {
            self.invite(changed).await?;
        }
        Ok(is_disabled)
    }

    /// Sends an invitation, unless the organization is inactive. Returns whether it was sent.
    async fn invite(&mut self, user: &User) -> Result<bool, OpError> {
        let about = match &self.organization {
            Some((_, false)) => return Ok(false),
            Some((name, true)) => Some(name.as_str()),
            None => None,
        };
        letters::invite(&mut self.change, user, about).await?;
        Ok(true)
    }
}
