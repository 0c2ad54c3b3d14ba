//! The first superAdmin: from the settings, or through a link that works once. Never a default password.

use uuid::Uuid;

use super::entry::Peer;
use super::error::AuthError;
use super::secret;
use super::service::Auth;
use crate::clock;
use crate::config::Settings;
use crate::domain::account::{AccountStatus, Role, password_fault};
use crate::domain::members::is_email;
use crate::store::account::{self, NewAccount};
use crate::store::one_time_token::{self, NewToken, Purpose};
use crate::store::sql::{Db, Tx};

/// How long a setup link is valid, in seconds; the next start makes a new one.
const LINK_SECONDS: f64 = 24.0 * 3600.0;

/// What a start found or did about the first superAdmin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstStart {
    /// There is a superAdmin already.
    SetUp,
    /// One was made from the settings.
    Created,
    /// Opening this path creates one.
    Link(String),
}

impl FirstStart {
    /// What the person who started the server should know of it, if anything. `url`: where the server is reached.
    #[must_use]
    pub fn notice(&self, url: &str) -> Option<String> {
        match self {
            Self::SetUp => None,
            Self::Created => Some("made the first superAdmin from adminEmail and adminPassword".to_owned()),
            Self::Link(path) => Some(format!("make the first superAdmin within 24 h at {url}{path}")),
        }
    }
}

/// Why the settings cannot create a superAdmin.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Only one of the two settings is there.
    #[error("adminEmail and adminPassword go together: only one of them is set")]
    Half,
    /// The address is not valid.
    #[error("adminEmail is not an e-mail address")]
    Email,
    /// The password is too short or too long.
    #[error("adminPassword {0}")]
    Password(String),
    /// The store failed, or too many passwords wait.
    #[error("the first superAdmin cannot be made")]
    Auth(#[from] AuthError),
}

impl Auth {
    /// Makes sure that there is a superAdmin, or a way to create one.
    pub async fn first_start(&self, settings: &Settings) -> Result<FirstStart, SetupError> {
        if account::has_super_admin(self.db.read()).await.map_err(AuthError::from)? {
            return Ok(FirstStart::SetUp);
        }
        match (&settings.admin_email, &settings.admin_password) {
            (Some(email), Some(password)) => {
                if !is_email(email) {
                    return Err(SetupError::Email);
                }
                password_fault(password.reveal()).map_or(Ok(()), |fault| Err(SetupError::Password(fault)))?;
                let hash = self.hasher.hash("settings", password.reveal().to_owned()).await?;
                let made = self.make_super_admin(None, email, hash).await?;
                Ok(if made.is_some() { FirstStart::Created } else { FirstStart::SetUp })
            }
            (None, None) => Ok(FirstStart::Link(self.setup_link().await?)),
            _ => Err(SetupError::Half),
        }
    }

    async fn setup_link(&self) -> Result<String, AuthError> {
        let (token, now) = (secret::new("wps_"), self.clock.now());
        let mut tx = self.db.begin().await?;
        one_time_token::forget(tx.on(), Purpose::Setup).await?;
        let kept = NewToken {
            hash: &secret::hash(&token),
            purpose: Purpose::Setup,
            subject: None,
            created_at: now.into(),
            expires_at: now.plus_seconds(LINK_SECONDS).into(),
        };
        one_time_token::insert(tx.on(), &kept).await?;
        tx.commit().await?;
        Ok(format!("/setup/{token}"))
    }

    /// Whether a setup link still works.
    pub async fn is_setup_link(&self, token: &str) -> Result<bool, AuthError> {
        let (hash, now) = (secret::hash(token), self.clock.now().into());
        Ok(one_time_token::is_good(self.db.read(), &hash, Purpose::Setup, now).await?)
    }

    /// Creates the first superAdmin and uses up the link; `None` if there is one already.
    pub async fn redeem_setup_link(
        &self,
        token: &str,
        email: &str,
        password: String,
        peer: &Peer,
    ) -> Result<Option<Uuid>, AuthError> {
        // Looked at first, so that invalid links cannot make the server hash passwords, nor lock accounts.
        if !self.is_setup_link(token).await? {
            return Err(AuthError::InvalidToken);
        }
        let hash = self.hasher.hash(&peer.address, password).await?;
        self.make_super_admin(Some(token), email, hash).await
    }

    async fn make_super_admin(
        &self,
        token: Option<&str>,
        email: &str,
        password_hash: String,
    ) -> Result<Option<Uuid>, AuthError> {
        let now = self.clock.now().into();
        let mut tx = self.db.begin().await?;
        one_at_a_time(&self.db, &mut tx).await?;
        if let Some(token) = token {
            let used = one_time_token::use_up(tx.on(), &secret::hash(token), Purpose::Setup, now).await?;
            used.ok_or(AuthError::InvalidToken)?;
        }
        if account::has_super_admin(tx.on()).await? {
            return Ok(None);
        }
        let id = clock::new_id();
        let admin = NewAccount {
            id,
            organization_id: None,
            email: email.trim().to_owned(),
            first_name: "Super".to_owned(),
            last_name: "Admin".to_owned(),
            role: Role::SuperAdmin,
            status: AccountStatus::Active,
            password_hash: Some(password_hash),
            created_at: now,
        };
        account::insert(tx.on(), &admin).await?;
        tx.commit().await?;
        Ok(Some(id))
    }
}

/// Makes two servers that start at once create one superAdmin. SQLite's transactions are serial anyway.
async fn one_at_a_time(db: &Db, tx: &mut Tx) -> Result<(), AuthError> {
    if db.engine() == crate::store::sql::Engine::Postgres {
        tx.on().sql("lock table account in share row exclusive mode").run().await?;
    }
    Ok(())
}
