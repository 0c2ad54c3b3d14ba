//! Who somebody is and what they may touch: credentials, tokens, sessions, permissions, scopes.
//!
//! Knows the store, not HTTP. The only maker of [`OrgScope`] and [`Operator`].

mod access_token;
mod accounts;
mod caller;
mod entry;
mod error;
mod fleet;
mod holder;
mod jwt_crypto;
pub mod keys;
pub mod link;
pub mod locked;
mod password;
pub mod permission;
mod principal;
mod redeem;
pub mod scope;
mod seal;
pub mod secret;
mod sees;
mod session;
mod setup;
mod system_users;
mod ticket;
mod tracker;

pub use accounts::{forgotten_organization, linked_organization, new_organization, writing};
pub use caller::{Caller, Grant};
pub use entry::Peer;
pub use error::AuthError;
pub use fleet::{Configured, Fleet, Named, Reports};
pub use keys::{KeyError, MasterKey};
pub use password::Hasher;
pub use permission::{Action, Program};
pub use principal::{PersonPrincipal, Principal, SystemPrincipal, SystemRole};
pub use scope::{AccountScope, Operator, OrgScope, SystemUserScope};
pub use seal::Sealer;
pub use sees::Sees;
pub use session::SignedIn;
pub use setup::{FirstStart, SetupError};
pub use ticket::{LIFETIME_SECONDS as TICKET_SECONDS, Tickets};
pub use tracker::{Installation, TrackerCredential, TrackerRefused, find_tracker};

use std::sync::{Arc, PoisonError, RwLock};

use access_token::AccessTokens;

use crate::clock::Clock;
use crate::config::Settings;
use crate::sessions::Sessions;
use crate::store::sql::{Db, SqlError};

/// Everything that signing in needs.
pub struct Auth {
    db: Db,
    clock: Clock,
    sessions: Sessions,
    hasher: Hasher,
    master: MasterKey,
    /// Replaced as a whole when keys are rotated.
    access_tokens: RwLock<Arc<AccessTokens>>,
    /// Cursors, sealed.
    pub sealer: Sealer,
    /// One-time tickets of the live feed.
    pub tickets: Tickets,
}

impl Auth {
    /// The hash of a new password, made on the bounded pool for a client at an address.
    pub async fn hash_password(&self, address: &str, password: String) -> Result<String, AuthError> {
        self.hasher.hash(address, password).await
    }

    /// Loads the signing keys, making the first one at the first start.
    pub async fn start(
        db: Db,
        clock: Clock,
        sessions: Sessions,
        settings: &Settings,
    ) -> Result<Self, AuthError> {
        let master = MasterKey::of(settings)?;
        let keys = keys::start(&db, &master, clock.now()).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        Ok(Self {
            db,
            clock,
            sessions,
            hasher: Hasher::new(),
            master,
            access_tokens: RwLock::new(Arc::new(access_tokens)),
            sealer: Sealer::new(&keys),
            tickets: Tickets::default(),
        })
    }

    /// Looks which keys the store has now. What cannot be read changes nothing.
    pub async fn renew_keys(&self) -> Result<(), AuthError> {
        let keys = keys::load(&self.db, &self.master).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        *self.access_tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access_tokens);
        self.sealer.renew(&keys);
        Ok(())
    }

    fn access_tokens(&self) -> Arc<AccessTokens> {
        Arc::clone(&self.access_tokens.read().unwrap_or_else(PoisonError::into_inner))
    }
}
