//! The system users that a caller may access.

use waypost_actors::model::OrganizationId;

use super::caller::{Caller, Grant};
use super::error::AuthError;
use super::permission::Action;
use super::scope::{Operator, SystemUserScope};
use crate::store::sql::Db;

impl Caller {
    /// The system users on which the caller may do something: those of an organization; all of them, for an operator
    /// who names none; or itself, for a system user.
    pub async fn system_users(
        &self,
        db: &Db,
        action: Action,
        named: Option<OrganizationId>,
    ) -> Result<SystemUserScope, AuthError> {
        self.may(action)?;
        match self.grant {
            Grant::Program(_) if named.is_none_or(|named| self.organization_id == Some(named)) => {
                Ok(SystemUserScope::Oneself(self.id))
            }
            Grant::Program(_) => Err(AuthError::NotFound),
            Grant::Person(role) if role.is_operator() && named.is_none() => {
                Ok(SystemUserScope::Platform(Operator::new()))
            }
            Grant::Person(_) => Ok(SystemUserScope::Organization(self.scope(db, action, named).await?)),
        }
    }
}
