//! Which system users a caller may touch.

use waypost_actors::model::OrganizationId;

use super::caller::{Caller, Grant};
use super::error::AuthError;
use super::permission::Action;
use super::scope::{Operator, SystemUserScope};
use crate::store::sql::Db;

impl Caller {
    /// The system users among which the caller may do something: an operator who names no organization
    /// reaches all of them, a system user itself.
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
