//! Long-lived keys of system users. One that reports positions is looked up once, then found in memory until
//! something about it, its system user or its organization changes.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::cache::Cache;
use super::caller::{Caller, Credential};
use super::error::AuthError;
use super::holder::Holder;
use super::secret;
use crate::domain::system_user::Scope;
use crate::sessions::Sessions;
use crate::store::sql::Db;
use crate::store::system_user::{self, KeyName, KeySignIn};

/// Prefix of keys, by which leak scanners recognize them.
pub const PREFIX: &str = "wpk_";
/// Most keys kept, at some 500 bytes each; beyond that, the cache is emptied.
const MOST_KEYS: usize = 50_000;

/// Keys that were looked up, by the hash of their tokens, and when each was last accepted.
pub(super) struct ApiKeys {
    known: Cache<secret::Hash, (Caller, Option<Timestamp>)>,
    /// Not yet stored: at most one entry for each key there is.
    used: Mutex<HashMap<Uuid, Timestamp>>,
}

impl Default for ApiKeys {
    fn default() -> Self {
        Self { known: Cache::of(MOST_KEYS), used: Mutex::default() }
    }
}

/// Whether a token is a key.
pub(super) fn is_key(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// The caller whom a key signs in, as stored; fails unless key, system user and organization are all usable.
pub(super) async fn look_up(
    db: &Db,
    key: KeyName<'_>,
    now: Timestamp,
) -> Result<(Caller, Option<Timestamp>), AuthError> {
    let KeySignIn { key_id, key_scopes, key_expires_at, mut user } =
        system_user::find_with_key(db, key).await?.ok_or(AuthError::UnknownKey)?;
    let expires_at = key_expires_at.map(Timestamp::from);
    require_unexpired(expires_at, now)?;
    user.scopes = key_scopes;
    let holder = Holder::System(user);
    if holder.is_unverified() {
        return Err(AuthError::EmailNotVerified);
    }
    if !holder.is_active() {
        return Err(AuthError::UnknownKey);
    }
    holder.require_active_organization()?;
    Ok((Caller::of(&holder, Credential::Key(key_id), now), expires_at))
}

fn require_unexpired(expires_at: Option<Timestamp>, now: Timestamp) -> Result<(), AuthError> {
    expires_at
        .filter(|ends_at| *ends_at <= now)
        .map_or(Ok(()), |expired_at| Err(AuthError::KeyExpired(expired_at)))
}

impl ApiKeys {
    /// As [`look_up`], from memory if the key was looked up before. Whether its organization's subscription allows
    /// changes may be outdated, so this is only for what does not change with it.
    pub(super) async fn find(
        &self,
        db: &Db,
        sessions: &Sessions,
        token: &str,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        let hash = secret::hash(token);
        let found = async { look_up(db, KeyName::TokenHash(&hash), now).await.map(Some) };
        let of = |(caller, _): &(Caller, Option<Timestamp>)| caller.organization_id;
        let (caller, expires_at) =
            self.known.look_up(sessions, hash.clone(), of, found).await?.ok_or(AuthError::UnknownKey)?;
        // One from memory may have expired since.
        require_unexpired(expires_at, now)?;
        Ok(caller)
    }

    /// Notes that a key was accepted; stored from time to time.
    pub(super) fn note_use(&self, caller: &Caller, now: Timestamp) {
        if let Credential::Key(id) = caller.credential {
            self.used.lock().insert(id, now);
        }
    }

    /// When a key was last accepted, if that is not stored yet.
    pub(super) fn last_used(&self, id: Uuid) -> Option<Timestamp> {
        self.used.lock().get(&id).copied()
    }

    /// Takes what is not stored yet.
    pub(super) fn take_uses(&self) -> Vec<(Uuid, Timestamp)> {
        self.used.lock().drain().collect()
    }
}

impl Caller {
    /// Whether this is a key for nothing but reporting, which may be where others see it: in a path or a query.
    #[must_use]
    pub fn only_reports(&self) -> bool {
        matches!(self.credential, Credential::Key(_)) && self.has_only(Scope::PositionsIngest)
    }
}
