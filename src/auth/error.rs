//! Why access is refused.

use waypost_actors::model::Timestamp;

use super::keys::KeyError;
use super::permission::Action;
use crate::store::sql::SqlError;

/// Why access is refused.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// No access token, or one that is expired, revoked or not ours.
    #[error("not signed in")]
    Unauthenticated,
    /// A key that is unknown or revoked, or whose system user is disabled.
    #[error("unknown key")]
    UnknownKey,
    /// A key that was refused from this instant on.
    #[error("the key expired at {0}")]
    KeyExpired(Timestamp),
    /// A credential that may do more than report, sent where others may see it.
    #[error("not a credential for a path")]
    NotInPublic,
    /// No active account has this e-mail and password.
    #[error("wrong e-mail or password")]
    InvalidCredentials,
    /// A refresh token, link or ticket that is unknown, expired, used or revoked.
    #[error("token not accepted")]
    InvalidToken,
    /// Role or scopes do not allow this.
    #[error("role or scopes do not allow this")]
    Forbidden(Action),
    /// The caller's organization is not active.
    #[error("the organization is not active")]
    OrganizationInactive,
    /// The subscription of the caller's organization has ended: it may read, but change nothing.
    #[error("the subscription has ended")]
    SubscriptionInactive,
    /// A system user that belongs to no organization yet.
    #[error("belongs to no organization")]
    NoOrganization,
    /// The address of a system user is not verified yet.
    #[error("the e-mail address is not verified")]
    EmailNotVerified,
    /// An operator named no organization where one is needed.
    #[error("name an organization")]
    OrganizationRequired,
    /// It does not exist, or is not the caller's.
    #[error("not found")]
    NotFound,
    /// A link of ours that is too old, or that a newer one replaced.
    #[error("the link is too old")]
    LinkExpired,
    /// A link of ours that was used already.
    #[error("the link was used")]
    LinkUsed,
    /// Another account has taken this address.
    #[error("the address is taken")]
    EmailTaken,
    /// Too many failed sign-ins; the number is the seconds to wait before the next try.
    #[error("too many failed sign-ins")]
    TooManyAttempts(u64),
    /// Too many passwords wait to be checked, or tickets to be used.
    #[error("too many passwords wait to be checked, or tickets to be used")]
    Busy,
    /// The signing keys cannot be used.
    #[error(transparent)]
    Keys(KeyError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] SqlError),
}

impl From<KeyError> for AuthError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Store(error) => Self::Store(error),
            error => Self::Keys(error),
        }
    }
}
