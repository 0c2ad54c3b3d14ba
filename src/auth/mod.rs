//! Who somebody is and what they may touch: credentials, tokens, sessions, permissions, scopes.
//!
//! Knows the store, not HTTP. The only maker of [`OrgScope`] and [`Operator`].

mod access_token;
mod accounts;
mod caller;
mod error;
mod fleet;
mod holder;
mod jwt_crypto;
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
pub use error::AuthError;
pub use fleet::{Fleet, Named, Reports};
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

use access_token::AccessTokens;

use crate::clock::{self, Clock};
use crate::sessions::Sessions;
use crate::store::signing_key;
use crate::store::sql::{Db, SqlError};

/// Everything that signing in needs.
pub struct Auth {
    db: Db,
    clock: Clock,
    sessions: Sessions,
    hasher: Hasher,
    access_tokens: AccessTokens,
    /// Cursors, sealed.
    pub sealer: Sealer,
    /// One-time tickets of the live feed.
    pub tickets: Tickets,
}

impl Auth {
    /// The hash of a new password, made on the bounded pool.
    pub async fn hash_password(&self, password: String) -> Result<String, AuthError> {
        self.hasher.hash(password).await
    }

    /// Loads the signing keys, making the first one at the first start.
    pub async fn start(db: Db, clock: Clock, sessions: Sessions) -> Result<Self, AuthError> {
        let keys = signing_key::load_or_create(&db, clock::random_bytes(), clock.now().into()).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        Ok(Self {
            db,
            clock,
            sessions,
            hasher: Hasher::new(),
            access_tokens,
            sealer: Sealer::new(&keys),
            tickets: Tickets::default(),
        })
    }
}
