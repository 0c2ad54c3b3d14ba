//! The accounts of people that a caller may access.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::caller::{Caller, Grant};
use super::error::AuthError;
use super::link::{self, Purpose};
use super::permission::Action;
use super::scope::{AccountScope, Operator, OrgScope};
use crate::clock;
use crate::domain::account::Role;
use crate::store::sql::Db;
use crate::store::user;

impl Caller {
    /// The accounts on which the caller may do something. For an operator who names no organization, these are the
    /// operators.
    pub async fn accounts(
        &self,
        db: &Db,
        action: Action,
        named: Option<OrganizationId>,
    ) -> Result<AccountScope, AuthError> {
        self.may(action)?;
        if self.is_operator() && named.is_none() {
            return Ok(AccountScope::Operators(Operator::new()));
        }
        Ok(AccountScope::Organization(self.scope(db, action, named).await?))
    }

    /// The scope in which to find an account, for a caller who may do something with it. One's own account is always
    /// accessible. An operator need not name the account's organization.
    pub async fn account(
        &self,
        db: &Db,
        action: Action,
        named: Option<OrganizationId>,
        id: Uuid,
    ) -> Result<AccountScope, AuthError> {
        if self.is_oneself(id) && self.may(action).is_err() {
            let is_own = named.is_none_or(|named| self.organization_id == Some(named));
            return if is_own { Ok(AccountScope::Oneself(id)) } else { Err(AuthError::NotFound) };
        }
        self.may(action)?;
        let named = match named {
            None if self.is_operator() => {
                let found = user::organization_of(db.read(), Operator::new(), id).await?;
                found.ok_or(AuthError::NotFound)?.map(OrganizationId)
            }
            named => named,
        };
        self.accounts(db, action, named).await
    }

    /// Whether an account is the caller's own.
    #[must_use]
    pub fn is_oneself(&self, id: Uuid) -> bool {
        self.id == id && matches!(self.grant, Grant::Person(_))
    }
}

/// The scope of an organization about to be created, with a new id.
#[must_use]
pub fn new_organization() -> OrgScope {
    OrgScope::new(OrganizationId(clock::new_id()))
}

/// The scope of an organization whose sign-up was forgotten, for which no caller can act any more.
#[must_use]
pub const fn forgotten_organization(id: Uuid) -> OrgScope {
    OrgScope::new(OrganizationId(id))
}

/// The organization that a link in a letter is about, whether the link is valid or used; does not use it up.
pub async fn linked_organization(db: &Db, token: &str, now: Timestamp) -> Result<OrgScope, AuthError> {
    let id = link::subject(db, token, Purpose::ActivateOrganization, now).await?;
    Ok(OrgScope::new(OrganizationId(id)))
}

/// The action required to change people of a role.
#[must_use]
pub const fn writing(role: Role) -> Action {
    if role.is_operator() { Action::WriteOperators } else { Action::WriteUsers }
}
