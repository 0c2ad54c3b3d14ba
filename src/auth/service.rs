//! Holds everything that signing in needs; its operations are in the files beside this one.

use std::sync::{Arc, PoisonError, RwLock};

use super::access_token::AccessTokens;
use super::error::AuthError;
use super::keys::{self, MasterKey};
use super::password::Hasher;
use super::signed_cursor::CursorSigner;
use super::ticket::Tickets;
use super::tracker::{TrackerCredential, TrackerRefused};
use super::tracker_tokens::TrackerTokens;
use crate::clock::Clock;
use crate::config::Settings;
use crate::sessions::Sessions;
use crate::store::sql::{Db, SqlError};

/// Everything that signing in needs.
pub struct Auth {
    pub(super) db: Db,
    pub(super) clock: Clock,
    pub(super) sessions: Sessions,
    pub(super) hasher: Hasher,
    master: MasterKey,
    /// Replaced as a whole when keys are rotated.
    access_tokens: RwLock<Arc<AccessTokens>>,
    /// Signs the cursors of lists and of the feed.
    pub cursor_signer: CursorSigner,
    /// One-time tickets of the live feed.
    pub tickets: Tickets,
    tracker_tokens: TrackerTokens,
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
            cursor_signer: CursorSigner::new(&keys),
            tickets: Tickets::default(),
            tracker_tokens: TrackerTokens::default(),
        })
    }

    /// The tracker a token belongs to, from memory if it was looked up before; `None` for an unknown or revoked
    /// token.
    pub async fn tracker(&self, token: &str) -> Result<Option<Arc<TrackerCredential>>, TrackerRefused> {
        self.tracker_tokens.find(&self.db, &self.sessions, token).await
    }

    /// Reloads the keys from the store. After an error the current ones stay in use.
    pub async fn renew_keys(&self) -> Result<(), AuthError> {
        let keys = keys::load(&self.db, &self.master).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        *self.access_tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access_tokens);
        self.cursor_signer.renew(&keys);
        Ok(())
    }

    pub(super) fn access_tokens(&self) -> Arc<AccessTokens> {
        Arc::clone(&self.access_tokens.read().unwrap_or_else(PoisonError::into_inner))
    }
}
