//! The keys that sign access tokens and seal cursors: created at the first start, wrapped with a key from outside the
//! store if there is one, and rotated while servers run.
//!
//! Refresh tokens are random and not signed, so changing keys signs no one out.

use std::path::PathBuf;

use waypost_actors::model::Timestamp;

use super::cipher;
use crate::clock;
use crate::config::{Secret, Settings};
use crate::store::signing_key::{self, SigningKey};
use crate::store::sql::{Db, SqlError};

/// The name of the key made at the first start; two servers starting at once agree on it.
const FIRST_KID: &str = "1";
/// The shortest key to wrap with, in bytes.
const SHORTEST_MASTER: usize = 32;
/// How long cursors of a retired key remain valid, in seconds: clients may return with one after weeks.
const CURSOR_SECONDS: f64 = 30.0 * 86_400.0;

/// The first byte of a sealed secret.
const IN_CLEAR: u8 = 0;
const WRAPPED: u8 = 1;

/// Why the signing keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Both settings are given.
    #[error("masterKey and masterKeyFile both name the key to wrap with: set one of them")]
    Both,
    /// The file cannot be read.
    #[error("masterKeyFile {0} cannot be read")]
    File(PathBuf, #[source] std::io::Error),
    /// Too short to be a key.
    #[error("masterKey has fewer than {SHORTEST_MASTER} characters: openssl rand -base64 32 makes one")]
    Short,
    /// The stored keys were wrapped with another master key, or no master key is set.
    #[error(
        "the signing keys in the store are wrapped with another key than masterKey or masterKeyFile gives. Set that \
         one, or, if it is lost, make new ones: waypost keys rotate --at-once"
    )]
    Wrapped,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] SqlError),
}

/// The key from outside the store that wraps the signing keys; without one they are stored in clear.
#[derive(Clone, Debug)]
pub struct MasterKey(Option<Secret>);

impl MasterKey {
    /// Reads it from the settings.
    pub fn of(settings: &Settings) -> Result<Self, KeyError> {
        let text = match (&settings.master_key, &settings.master_key_file) {
            (None, None) => return Ok(Self(None)),
            (Some(_), Some(_)) => return Err(KeyError::Both),
            (Some(key), None) => key.reveal().to_owned(),
            (None, Some(file)) => {
                std::fs::read_to_string(file).map_err(|error| KeyError::File(file.clone(), error))?
            }
        };
        let text = text.trim();
        if text.len() < SHORTEST_MASTER {
            return Err(KeyError::Short);
        }
        Ok(Self(Some(Secret::new(text.to_owned()))))
    }

    /// A secret as it is stored: a byte that tells whether it is wrapped, and the secret.
    #[must_use]
    pub fn sealed(&self, secret: &[u8]) -> Vec<u8> {
        match &self.0 {
            Some(master) => [&[WRAPPED], &*cipher::encrypt(master.reveal(), secret)].concat(),
            None => [&[IN_CLEAR], secret].concat(),
        }
    }

    /// A secret that was stored by [`MasterKey::sealed`]; `None` without the key that it was wrapped with.
    #[must_use]
    pub fn unsealed(&self, stored: &[u8]) -> Option<Vec<u8>> {
        match stored.split_first()? {
            (&IN_CLEAR, secret) => Some(secret.to_vec()),
            (&WRAPPED, wrapped) => cipher::decrypt(self.0.as_ref()?.reveal(), wrapped),
            _ => None,
        }
    }

    fn new_key(&self, kid: String, now: Timestamp) -> SigningKey {
        let secret: [u8; 32] = clock::random_bytes();
        let key = SigningKey {
            kid,
            secret: secret.to_vec(),
            wrapped: false,
            created_at: now.into(),
            retired_at: None,
        };
        self.wrapped(&key).unwrap_or(key)
    }

    /// Wraps a key that is in clear; `None` if it is wrapped already or there is no master key.
    fn wrapped(&self, key: &SigningKey) -> Option<SigningKey> {
        let master = self.0.as_ref().filter(|_| !key.wrapped)?;
        let secret = cipher::encrypt(master.reveal(), &key.secret);
        Some(SigningKey { secret, wrapped: true, ..key.clone() })
    }

    /// Unwraps a key if it is wrapped.
    fn opened(&self, key: SigningKey) -> Result<SigningKey, KeyError> {
        if !key.wrapped {
            return Ok(key);
        }
        let master = self.0.as_ref().ok_or(KeyError::Wrapped)?;
        let secret = cipher::decrypt(master.reveal(), &key.secret).ok_or(KeyError::Wrapped)?;
        Ok(SigningKey { secret, wrapped: false, ..key })
    }
}

/// Loads the keys of a store, unwrapped, and creates the first one if there are none. Keys in clear are wrapped if
/// there is a master key.
pub(super) async fn start(db: &Db, master: &MasterKey, now: Timestamp) -> Result<Vec<SigningKey>, KeyError> {
    let mut keys = signing_key::all(db).await?;
    if keys.is_empty() {
        signing_key::insert(db.write(), &master.new_key(FIRST_KID.to_owned(), now)).await?;
        keys = signing_key::all(db).await?;
    }
    for wrapped in keys.iter().filter_map(|key| master.wrapped(key)) {
        signing_key::wrap(db.write(), &wrapped.kid, &wrapped.secret).await?;
        tracing::info!(
            "a signing key was in clear and is wrapped now; backups from before have it: waypost keys rotate"
        );
    }
    keys.into_iter().map(|key| master.opened(key)).collect()
}

/// Loads the current keys of a store, unwrapped.
pub(super) async fn load(db: &Db, master: &MasterKey) -> Result<Vec<SigningKey>, KeyError> {
    signing_key::all(db).await?.into_iter().map(|key| master.opened(key)).collect()
}

/// Creates a new key, which signs once the servers notice it, and retires the previous ones: what they signed stays
/// valid until it expires. With `at_once` it becomes invalid now, and clients refresh their tokens.
pub async fn rotate(db: &Db, master: &MasterKey, now: Timestamp, at_once: bool) -> Result<(), KeyError> {
    let key = master.new_key(clock::new_id().to_string(), now);
    let mut tx = db.begin().await?;
    if at_once {
        signing_key::delete_all(tx.on()).await?;
    } else {
        signing_key::retire_all(tx.on(), now.into()).await?;
        signing_key::delete_retired(tx.on(), now.plus_seconds(-CURSOR_SECONDS).into()).await?;
    }
    signing_key::insert(tx.on(), &key).await?;
    tx.commit().await?;
    Ok(())
}
