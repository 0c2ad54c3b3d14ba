//! Who a request comes from, and the way from there to a scope.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::error::AuthError;
use super::permission::Action;
use super::scope::{Operator, OrgScope};
use crate::domain::account::Role;
use crate::store::account::Account;
use crate::store::sql::Db;
use crate::store::{account, organization};

/// A signed-in caller, as of this request: role and organization are looked up, not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account; nil for the console.
    pub account_id: Uuid,
    /// The session: the family of refresh tokens.
    pub session_id: Uuid,
    /// What the account may do.
    pub role: Role,
    /// The account's organization; operators have none.
    pub organization_id: Option<OrganizationId>,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Principal {
    /// The account.
    pub id: Uuid,
    /// Its address.
    pub email: String,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// What it may do.
    pub role: Role,
    /// Its organization; platform operators have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Its organization's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
}

impl From<Account> for Principal {
    fn from(account: Account) -> Self {
        Self {
            id: account.id,
            organization_id: account.organization_id(),
            email: account.email,
            first_name: account.first_name,
            last_name: account.last_name,
            role: account.role,
            organization_name: account.organization_name,
        }
    }
}

impl Caller {
    pub(super) fn of(account: &Account, session_id: Uuid) -> Self {
        Self {
            account_id: account.id,
            session_id,
            role: account.role,
            organization_id: account.organization_id(),
        }
    }

    /// Whoever runs a command on the server's own machine and data: may do everything.
    #[must_use]
    pub const fn console() -> Self {
        Self {
            account_id: Uuid::nil(),
            session_id: Uuid::nil(),
            role: Role::SuperAdmin,
            organization_id: None,
        }
    }

    /// Whether the caller's role may do something.
    pub fn may(&self, action: Action) -> Result<(), AuthError> {
        if action.allows(self.role) { Ok(()) } else { Err(AuthError::Forbidden(action)) }
    }

    /// The scope in which the caller may do something. Operators name the organization; others may
    /// name only their own.
    pub async fn scope(
        &self,
        db: &Db,
        action: Action,
        named: Option<OrganizationId>,
    ) -> Result<OrgScope, AuthError> {
        self.may(action)?;
        match (self.organization_id, named) {
            (Some(own), None) => Ok(OrgScope::new(own)),
            (Some(own), Some(named)) if own == named => Ok(OrgScope::new(own)),
            (Some(_), Some(_)) => Err(AuthError::NotFound),
            (None, None) => Err(AuthError::OrganizationRequired),
            (None, Some(named)) => {
                let there = organization::exists(db.read(), Operator::new(), named).await?;
                if there { Ok(OrgScope::new(named)) } else { Err(AuthError::NotFound) }
            }
        }
    }

    /// The platform scope, for something only operators may do.
    pub fn operator(&self, action: Action) -> Result<Operator, AuthError> {
        self.may(action)?;
        if self.role.is_operator() { Ok(Operator::new()) } else { Err(AuthError::Forbidden(action)) }
    }

    /// What a client is told about itself.
    pub async fn principal(&self, db: &Db) -> Result<Principal, AuthError> {
        let account = account::find(db.read(), self.account_id).await?.ok_or(AuthError::Unauthenticated)?;
        Ok(account.into())
    }
}

impl super::Auth {
    /// Whether a caller's session and account still hold; sockets ask this from time to time.
    pub async fn still_holds(&self, caller: &Caller) -> Result<bool, AuthError> {
        match super::session::signed_in_account(&self.db, caller.account_id, caller.session_id).await {
            Ok(account) => Ok(account.role == caller.role),
            Err(AuthError::Store(error)) => Err(AuthError::Store(error)),
            Err(_) => Ok(false),
        }
    }
}
