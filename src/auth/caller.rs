//! The caller of a request, and the scopes it can obtain.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::AuthError;
use super::holder::Holder;
use super::permission::{Action, Effect, Program};
use super::principal::Principal;
use super::scope::{Operator, OrgScope};
use crate::domain::account::Role;
use crate::domain::system_user::{Scope, Scopes};
use crate::store::organization;
use crate::store::session::HolderId;
use crate::store::sql::Db;

/// A signed-in caller as of this request: its rights and its organization are looked up, not taken from the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account or system user; nil for the console.
    pub id: Uuid,
    /// What it signed in with.
    pub credential: Credential,
    /// The caller's kind and rights.
    pub grant: Grant,
    /// The caller's organization. Operators have none, and neither has a system user that is not bound to one yet:
    /// [`Caller::own_organization`] tells the two apart.
    pub organization_id: Option<OrganizationId>,
    /// Whether its organization's subscription allows changes; operators need none.
    pub is_subscribed: bool,
}

/// What a caller signed in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A session: the family of refresh tokens.
    Session(Uuid),
    /// A system user's long-lived key.
    Key(Uuid),
}

impl Credential {
    /// The id of the session or of the key, under which sockets are registered.
    #[must_use]
    pub const fn id(self) -> Uuid {
        match self {
            Self::Session(id) | Self::Key(id) => id,
        }
    }
}

/// The kind of a caller, which determines its rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A person, with a role.
    Person(Role),
    /// A system user, with scopes.
    Program(Scopes),
}

impl Caller {
    pub(super) fn of(holder: &Holder, credential: Credential, now: Timestamp) -> Self {
        let (id, grant) = match holder {
            Holder::Account(account) => (account.id, Grant::Person(account.role)),
            Holder::System(user) => (user.id, Grant::Program(user.scopes.0.clone())),
        };
        let is_subscribed = holder.is_subscribed(now);
        Self { id, credential, grant, organization_id: holder.organization_id(), is_subscribed }
    }

    /// The user of a command on the server's own machine and data, who may do everything.
    #[must_use]
    pub const fn console() -> Self {
        Self {
            id: Uuid::nil(),
            credential: Credential::Session(Uuid::nil()),
            grant: Grant::Person(Role::SuperAdmin),
            organization_id: None,
            is_subscribed: true,
        }
    }

    /// Who a webhook sends to: by the rights of an orgAdmin, or of a system user with these scopes.
    #[must_use]
    pub fn webhook(organization: OrganizationId, scopes: Option<Scopes>) -> Self {
        let grant = match scopes {
            Some(scopes) => Grant::Program(scopes),
            None => Grant::Person(Role::OrgAdmin),
        };
        Self { grant, organization_id: Some(organization), ..Self::console() }
    }

    /// The role of a person; a system user has none.
    #[must_use]
    pub const fn role(&self) -> Option<Role> {
        match self.grant {
            Grant::Person(role) => Some(role),
            Grant::Program(_) => None,
        }
    }

    /// Whether it may do what one scope opens, and nothing that another does.
    pub(super) fn has_only(&self, scope: Scope) -> bool {
        matches!(&self.grant, Grant::Program(scopes) if *scopes == Scopes::from(vec![scope]))
    }

    /// Whether this is a platform operator, who names the organization to act in.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.role().is_some_and(Role::is_operator)
    }

    /// Checks that the caller may do something and that its organization's subscription allows it.
    pub fn may(&self, action: Action) -> Result<(), AuthError> {
        let allowed = match (&self.grant, action.program()) {
            (Grant::Person(role), _) => action.allows(*role),
            (Grant::Program(_), Program::Never) => false,
            (Grant::Program(_), Program::Any) => true,
            (Grant::Program(scopes), Program::With(any)) => any.iter().any(|scope| scopes.contains(*scope)),
        };
        match (allowed, action.effect()) {
            (false, _) => Err(AuthError::Forbidden(action)),
            (true, Effect::Write) if !self.is_subscribed => Err(AuthError::SubscriptionInactive),
            (true, _) => Ok(()),
        }
    }

    /// The organization the caller is bound to; `None` = all of them, for operators only.
    pub fn own_organization(&self) -> Result<Option<OrganizationId>, AuthError> {
        match self.organization_id {
            Some(own) => Ok(Some(own)),
            None if self.is_operator() => Ok(None),
            None => Err(AuthError::NoOrganization),
        }
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
        let organization = match (self.own_organization()?, named) {
            (Some(own), None) => own,
            (Some(own), Some(named)) if own == named => own,
            (Some(_), Some(_)) => return Err(AuthError::NotFound),
            (None, None) => return Err(AuthError::OrganizationRequired),
            (None, Some(named)) => {
                let there = organization::exists(db.read(), Operator::new(), named).await?;
                there.then_some(named).ok_or(AuthError::NotFound)?
            }
        };
        // A node hands a request on by the organization in its address; in a long body it does not look for one.
        if db.shard().holds(organization) {
            Ok(OrgScope::new(organization))
        } else {
            Err(AuthError::OrganizationRequired)
        }
    }

    /// The scope of an organization that is deleted, for an operator who has what is left of it deleted.
    pub async fn deleted_scope(
        &self,
        db: &Db,
        action: Action,
        organization: OrganizationId,
    ) -> Result<OrgScope, AuthError> {
        let operator = self.operator(action)?;
        if organization::existed(db.read(), operator, organization).await? && db.shard().holds(organization) {
            Ok(OrgScope::new(organization))
        } else {
            Err(AuthError::NotFound)
        }
    }

    /// The platform scope, for something only operators may do.
    pub fn operator(&self, action: Action) -> Result<Operator, AuthError> {
        self.may(action)?;
        if self.is_operator() { Ok(Operator::new()) } else { Err(AuthError::Forbidden(action)) }
    }

    /// The caller as shown to the client itself.
    pub async fn principal(&self, db: &Db) -> Result<Principal, AuthError> {
        let holder = Holder::find(db.read(), self.holder_id()).await?;
        let mut holder = holder.ok_or(AuthError::Unauthenticated)?;
        if let (Holder::System(user), Grant::Program(scopes)) = (&mut holder, &self.grant) {
            user.scopes.0 = scopes.clone(); // a key's own
        }
        Ok(holder.into())
    }

    /// The holder of the caller's session.
    pub(super) const fn holder_id(&self) -> HolderId {
        match self.grant {
            Grant::Person(_) => HolderId::Account(self.id),
            Grant::Program(_) => HolderId::System(self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(scopes: Vec<Scope>, organization_id: Option<OrganizationId>) -> Caller {
        Caller { grant: Grant::Program(scopes.into()), organization_id, ..Caller::console() }
    }

    #[test]
    fn a_system_user_may_what_its_scopes_say() {
        let caller = program(vec![Scope::VehiclesRead], None);
        assert!(caller.may(Action::ReadVehicles).is_ok() && caller.may(Action::ReadTrackers).is_ok());
        assert!(matches!(caller.may(Action::WriteVehicles), Err(AuthError::Forbidden(_))));
        assert!(
            caller.may(Action::DeleteOrganization).is_err() && caller.may(Action::ReadOrganization).is_ok()
        );
    }

    #[test]
    fn without_a_subscription_one_reads_and_reports_and_changes_nothing() {
        let person = Caller {
            grant: Grant::Person(Role::OrgAdmin),
            organization_id: Some(OrganizationId(Uuid::nil())),
            is_subscribed: false,
            ..Caller::console()
        };
        let program = Caller {
            grant: Grant::Program(Scope::WORDS.iter().map(|(_, scope)| *scope).collect::<Vec<_>>().into()),
            ..person.clone()
        };
        for caller in [&person, &program] {
            for action in Action::ALL {
                let subscribed = Caller { is_subscribed: true, ..caller.clone() };
                match (subscribed.may(*action), caller.may(*action)) {
                    (Ok(()), Err(AuthError::SubscriptionInactive)) => {
                        assert_eq!(action.effect(), Effect::Write)
                    }
                    (Ok(()), Ok(())) => assert_ne!(action.effect(), Effect::Write),
                    (Err(_), Err(AuthError::Forbidden(_))) => {}
                    answer => panic!("{action:?}: {answer:?}"),
                }
            }
        }
    }

    #[test]
    fn without_an_organization_only_an_operator_reaches_all_of_them() {
        assert!(matches!(Caller::console().own_organization(), Ok(None)));
        assert!(matches!(program(vec![], None).own_organization(), Err(AuthError::NoOrganization)));
    }
}
