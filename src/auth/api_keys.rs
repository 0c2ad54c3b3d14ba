//! Long-lived keys of system users. One that reports positions is looked up once, then found in memory until
//! something about it, its system user or its organization changes. Others are looked up each time, and known to exist.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

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

/// The caller whom a key signs in, and from when on it is refused.
type Found = (Caller, Option<Timestamp>);

/// Keys that were looked up, by the hash of their tokens, and when each was last accepted.
pub(super) struct ApiKeys {
    known: Cache<secret::Hash, Found>,
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
pub(super) async fn look_up(db: &Db, key: KeyName<'_>, now: Timestamp) -> Result<Found, AuthError> {
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

/// As [`look_up`], by the hash of a key's token; `None` for an unknown one.
async fn look_up_hashed(db: &Db, hash: &[u8], now: Timestamp) -> Result<Option<Found>, AuthError> {
    match look_up(db, KeyName::TokenHash(hash), now).await {
        Err(AuthError::UnknownKey) => Ok(None),
        found => found.map(Some),
    }
}

/// The organization whose changes a key is subject to.
fn whose((caller, _): &Found) -> Option<OrganizationId> {
    caller.organization_id
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
        match self.known.known(&secret::hash(token)) {
            // It may have expired since.
            Some((caller, expires_at)) => require_unexpired(expires_at, now).map(|()| caller),
            None => self.find_current(db, sessions, token, now).await,
        }
    }

    /// As [`find`](Self::find), but as stored now.
    pub(super) async fn find_current(
        &self,
        db: &Db,
        sessions: &Sessions,
        token: &str,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        let hash = secret::hash(token);
        let found = self.known.learn(sessions, hash.clone(), whose, look_up_hashed(db, &hash, now)).await?;
        found.map(|(caller, _)| caller).ok_or(AuthError::UnknownKey)
    }

    /// Whether a key was found before.
    pub(super) fn recalls(&self, token: &str) -> bool {
        self.known.recalls(&secret::hash(token))
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
