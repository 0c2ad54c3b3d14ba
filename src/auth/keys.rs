//! The keys that sign access tokens and seal cursors: created at the first start, wrapped with a key from outside the
//! store if there is one, and rotated while servers run.
//!
//! Refresh tokens are random and not signed, so changing keys signs no one out.

use std::path::{Path, PathBuf};

use waypost_actors::model::Timestamp;

use super::cipher;
use crate::clock;
use crate::config::{Secret, Settings};
use crate::store::signing_key::{self, SigningKey};
use crate::store::sql::{Db, SqlError};
use crate::store::webhook_secret::{self, WebhookSecret};

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
    /// The secrets of this many webhooks were wrapped with another master key, or no master key is set.
    #[error(
        "the secrets of {0} webhooks are wrapped with another key than masterKey or masterKeyFile gives. Set that one, \
         or, if it is lost, waypost keys rotate --at-once, and give these webhooks new secrets"
    )]
    Webhooks(usize),
    /// What is stored is wrapped, and there is no master key to wrap a new key with.
    #[error(
        "the signing keys in the store are wrapped, and neither masterKey nor masterKeyFile is set: a new one would be \
         in clear. Set the server's (run this where its waypost.toml is, or name --master-key-file) or, if it is lost, a \
         new one with --at-once"
    )]
    Unset,
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
        match (&settings.master_key, &settings.master_key_file) {
            (None, None) => Ok(Self(None)),
            (Some(_), Some(_)) => Err(KeyError::Both),
            (Some(key), None) => Self::parse(key.reveal()),
            (None, Some(file)) => Self::read(file),
        }
    }

    /// Reads it from a file.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read_to_string(file).map_err(|error| KeyError::File(file.to_owned(), error))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, KeyError> {
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

/// Loads the keys of a store, unwrapped, and creates the first one if there are none. Keys and webhooks' secrets in
/// clear are wrapped if there is a master key.
pub(super) async fn start(db: &Db, master: &MasterKey, now: Timestamp) -> Result<Vec<SigningKey>, KeyError> {
    let mut keys = signing_key::all(db.read()).await?;
    if keys.is_empty() {
        signing_key::insert(db.write(), &master.new_key(FIRST_KID.to_owned(), now)).await?;
        keys = signing_key::all(db.read()).await?;
    }
    // All are read before one is wrapped: by a wrong master key nothing is.
    let opened = keys.iter().cloned().map(|key| master.opened(key)).collect::<Result<_, _>>()?;
    for wrapped in keys.iter().filter_map(|key| master.wrapped(key)) {
        signing_key::wrap(db.write(), &wrapped.kid, &wrapped.secret).await?;
        tracing::info!(
            "a signing key was in clear and is wrapped now; backups from before have it: waypost keys rotate"
        );
    }
    start_webhooks(db, master).await?;
    Ok(opened)
}

async fn start_webhooks(db: &Db, master: &MasterKey) -> Result<(), KeyError> {
    let secrets = webhook_secret::all(db.read()).await?;
    for before in secrets.iter().filter(|stored| master.0.is_some() && stored.is_in_clear()) {
        webhook_secret::put(db.write(), before, &before.resealed(master, master)).await?;
    }
    let unreadable = unreadable(&secrets, master);
    if unreadable > 0 {
        tracing::error!(
            webhooks = unreadable,
            "secrets of webhooks are wrapped with another masterKey than this server has: nothing is delivered to \
             these. Set that one, or give each a new secret"
        );
    }
    Ok(())
}

impl WebhookSecret {
    fn is_in_clear(&self) -> bool {
        let former = self.former_secret.as_ref();
        [&self.secret].into_iter().chain(former).any(|stored| stored.first() == Some(&IN_CLEAR))
    }

    /// Whether it can be read. A former one that cannot does no harm: it only goes on signing beside it for a day.
    fn opens(&self, master: &MasterKey) -> bool {
        master.unsealed(&self.secret).is_some()
    }

    /// Read with one master key and wrapped with another; what cannot be read stays as it is.
    fn resealed(&self, from: &MasterKey, to: &MasterKey) -> Self {
        let sealed =
            |stored: &Vec<u8>| from.unsealed(stored).map_or_else(|| stored.clone(), |it| to.sealed(&it));
        let (secret, former) = (sealed(&self.secret), self.former_secret.as_ref().map(sealed));
        Self { secret, former_secret: former, ..self.clone() }
    }
}

/// How many webhooks have a secret that this master key does not read.
fn unreadable(secrets: &[WebhookSecret], master: &MasterKey) -> usize {
    secrets.iter().filter(|stored| !stored.opens(master)).count()
}

/// Whether a server with this master key can read what it needs of a store.
pub fn check(master: &MasterKey, keys: &[SigningKey], secrets: &[WebhookSecret]) -> Result<(), KeyError> {
    keys.iter().try_for_each(|key| master.opened(key.clone()).map(drop))?;
    match unreadable(secrets, master) {
        0 => Ok(()),
        count => Err(KeyError::Webhooks(count)),
    }
}

/// Loads the current keys of a store, unwrapped.
pub(super) async fn load(db: &Db, master: &MasterKey) -> Result<Vec<SigningKey>, KeyError> {
    signing_key::all(db.read()).await?.into_iter().map(|key| master.opened(key)).collect()
}

/// Creates a new key, which signs once the servers notice it, and retires the previous ones: what they signed stays
/// valid until it expires. With `at_once` it becomes invalid now, and clients refresh their tokens. Everything that is
/// kept is read with one master key and wrapped with the other, which may be the same; without `at_once` all of it must
/// be readable. Returns how many webhooks have a secret that is not.
pub async fn rotate(
    db: &Db,
    (from, to): (&MasterKey, &MasterKey),
    now: Timestamp,
    at_once: bool,
) -> Result<usize, KeyError> {
    let mut tx = db.begin().await?;
    let keys = signing_key::all(tx.on()).await?;
    let secrets = webhook_secret::all(tx.on()).await?;
    if to.0.is_none() && keys.iter().any(|key| key.wrapped) {
        return Err(KeyError::Unset);
    }
    if at_once {
        signing_key::delete_all(tx.on()).await?;
    } else {
        check(from, &keys, &secrets)?;
        for key in keys {
            if let Some(wrapped) = to.wrapped(&from.opened(key)?) {
                signing_key::wrap(tx.on(), &wrapped.kid, &wrapped.secret).await?;
            }
        }
        signing_key::retire_all(tx.on(), now.into()).await?;
        signing_key::delete_retired(tx.on(), now.plus_seconds(-CURSOR_SECONDS).into()).await?;
    }
    for before in &secrets {
        webhook_secret::put(tx.on(), before, &before.resealed(from, to)).await?;
    }
    signing_key::insert(tx.on(), &to.new_key(clock::new_id().to_string(), now)).await?;
    tx.commit().await?;
    Ok(unreadable(&secrets, from))
}
