//! The holder of a session: a person's account or a system user. The one place that knows how the two differ
//! in signing in.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::error::AuthError;
use crate::domain::account::AccountStatus;
use crate::domain::system_user::SystemUserStatus;
use crate::store::account::{self, Account};
use crate::store::session::HolderId;
use crate::store::sql::{Db, On, SqlError};
use crate::store::system_user::{self, SystemSignIn};
use crate::store::time::Time;

/// The holder of a session, as stored.
#[derive(Clone)]
pub(super) enum Holder {
    /// A person.
    Account(Account),
    /// A system user.
    System(SystemSignIn),
}

impl Holder {
    /// Finds a holder by id.
    pub(super) async fn find(on: On<'_>, id: HolderId) -> Result<Option<Self>, SqlError> {
        Ok(match id {
            HolderId::Account(id) => account::find(on, id).await?.map(Self::Account),
            HolderId::System(id) => system_user::find_sign_in(on, id).await?.map(Self::System),
        })
    }

    /// Finds the holder of a session; fails unless session, holder and organization are all active.
    pub(super) async fn signed_in(
        db: &Db,
        id: HolderId,
        session: Uuid,
        now: Timestamp,
    ) -> Result<Self, AuthError> {
        let now = now.into();
        let found = match id {
            HolderId::Account(id) => {
                account::find_with_session(db, id, session, now).await?.map(Self::Account)
            }
            HolderId::System(id) => {
                system_user::find_with_session(db, id, session, now).await?.map(Self::System)
            }
        };
        let holder = found.filter(Self::is_active).ok_or(AuthError::Unauthenticated)?;
        holder.require_active_organization()?;
        Ok(holder)
    }

    /// The holder's id.
    pub(super) const fn id(&self) -> HolderId {
        match self {
            Self::Account(account) => HolderId::Account(account.id),
            Self::System(user) => HolderId::System(user.id),
        }
    }

    /// The organization it is bound to.
    pub(super) fn organization_id(&self) -> Option<OrganizationId> {
        match self {
            Self::Account(account) => account.organization_id,
            Self::System(user) => user.organization_id,
        }
        .map(OrganizationId)
    }

    /// The holder's role, as the audit names it.
    pub(super) fn role(&self) -> &'static str {
        match self {
            Self::Account(account) => account.role.as_str(),
            Self::System(_) => "system",
        }
    }

    /// The hash of its password.
    pub(super) fn password_hash(&self) -> Option<String> {
        match self {
            Self::Account(account) => account.password_hash.clone(),
            Self::System(user) => Some(user.password_hash.clone()),
        }
    }

    /// Its address.
    pub(super) fn email(&self) -> &str {
        match self {
            Self::Account(account) => &account.email,
            Self::System(user) => &user.email,
        }
    }

    /// Whether it may sign in.
    pub(super) fn is_active(&self) -> bool {
        match self {
            Self::Account(account) => account.status == AccountStatus::Active,
            Self::System(user) => user.status == SystemUserStatus::Active,
        }
    }

    /// Whether its address is not verified yet.
    pub(super) fn is_unverified(&self) -> bool {
        matches!(self, Self::System(user) if user.status == SystemUserStatus::PendingVerification)
    }

    /// Refuses a holder whose organization is not active.
    pub(super) fn require_active_organization(&self) -> Result<(), AuthError> {
        let status = match self {
            Self::Account(account) => &account.organization_status,
            Self::System(user) => &user.organization_status,
        };
        match status.as_deref() {
            None | Some("active") => Ok(()),
            Some(_) => Err(AuthError::OrganizationInactive),
        }
    }

    /// Whether its organization's subscription allows changes; operators need none.
    pub(super) fn is_subscribed(&self, now: Timestamp) -> bool {
        let subscription = match self {
            Self::Account(account) => &account.organization_subscription,
            Self::System(user) => &user.organization_subscription,
        };
        subscription.as_ref().is_none_or(|subscription| subscription.is_running(now))
    }

    /// Records a sign-in; `false` if the holder was given another password since it was found, or may not sign in any more.
    pub(super) async fn note_sign_in(&self, on: On<'_>, now: Time) -> Result<bool, SqlError> {
        let hash = self.password_hash().unwrap_or_default();
        match self.id() {
            HolderId::Account(id) => account::signed_in(on, id, hash, now).await,
            HolderId::System(id) => system_user::signed_in(on, id, hash, now).await,
        }
    }
}
