//! Signing in, staying signed in, signing out.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::Auth;
use super::access_token::{self, Subject};
use super::caller::{Caller, Principal};
use super::error::AuthError;
use super::secret;
use crate::clock;
use crate::domain::account::{AccountStatus, email_key};
use crate::store::account::{self, Account};
use crate::store::one_time_token::{self, Purpose};
use crate::store::session::{self, NewRefreshToken};
use crate::store::sql::{Db, Tx};

/// A refresh token that is not used for this long is over.
const IDLE_SECONDS: f64 = 7.0 * 86_400.0;
/// A session ends after this, however often it is refreshed.
const SESSION_SECONDS: f64 = 30.0 * 86_400.0;
/// Failed sign-ins of one address before it has to wait.
const FAILURES: i64 = 5;
/// How long failures count, in seconds.
const WINDOW_SECONDS: f64 = 15.0 * 60.0;
/// How long a sign-in link is good, in seconds.
const LINK_SECONDS: f64 = 24.0 * 3600.0;

/// What somebody gets who signs in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// Goes into `Authorization: Bearer …`.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// How long the access token is good, in seconds.
    pub expires_in: i64,
    /// Gets the next access token; works once.
    pub refresh_token: String,
    /// Who.
    #[serde(flatten)]
    pub principal: Principal,
}

impl Auth {
    /// Signs in with e-mail and password.
    pub async fn login(&self, email: &str, password: String) -> Result<SignedIn, AuthError> {
        let (key, now) = (email_key(email), self.clock.now());
        let attempts =
            session::count_attempt(&self.db, &key, now.into(), now.plus_seconds(WINDOW_SECONDS).into())
                .await?;
        if attempts.failures > FAILURES {
            let wait = attempts.window_ends_at.0.seconds_since(now).ceil().max(1.0);
            return Err(AuthError::TooManyAttempts(wait as u64));
        }
        let account = account::find_by_email(&self.db, email).await?;
        let hash = account.as_ref().and_then(|account| account.password_hash.clone());
        let fits = self.hasher.fits(password, hash).await?;
        let account = account.filter(|_| fits).ok_or(AuthError::InvalidCredentials)?;
        if account.status != AccountStatus::Active {
            return Err(AuthError::InvalidCredentials);
        }
        require_active_organization(&account)?;
        let mut tx = self.db.begin().await?;
        session::forget_attempts(tx.on(), &key, now.into()).await?;
        let signed_in = self.open_session(&mut tx, account, now).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// The next access token for a refresh token, which is used up. One that comes again was stolen
    /// or replayed: its whole session ends.
    pub async fn refresh(&self, refresh_token: &str) -> Result<SignedIn, AuthError> {
        let (hash, now) = (secret::hash(refresh_token), self.clock.now());
        let mut tx = self.db.begin().await?;
        let Some(family) = session::use_up(tx.on(), &hash, now.into()).await? else {
            if let Some(family) = session::find_used(tx.on(), &hash).await? {
                session::revoke(tx.on(), family.family_id, now.into()).await?;
                tx.commit().await?;
            }
            return Err(AuthError::InvalidToken);
        };
        let account = account::find(tx.on(), family.account_id).await?.ok_or(AuthError::InvalidToken)?;
        if account.status != AccountStatus::Active {
            return Err(AuthError::InvalidToken);
        }
        require_active_organization(&account)?;
        let signed_in = self.next_token(&mut tx, account, family.family_id, now, family.ends_at.0).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// Ends the session of a refresh token; an unknown one is no error.
    pub async fn logout(&self, refresh_token: &str) -> Result<(), AuthError> {
        let mut tx = self.db.begin().await?;
        if let Some(family) = session::find(tx.on(), &secret::hash(refresh_token)).await? {
            session::revoke(tx.on(), family.family_id, self.clock.now().into()).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Makes a token that signs an account in once, within a day: for the demo and the console.
    pub async fn sign_in_link(&self, account: Uuid) -> Result<String, AuthError> {
        let (token, now) = (secret::new("wpl_"), self.clock.now());
        let expires_at = now.plus_seconds(LINK_SECONDS);
        one_time_token::insert(
            self.db.write(),
            &secret::hash(&token),
            Purpose::SignIn,
            Some(account),
            now.into(),
            expires_at.into(),
        )
        .await?;
        Ok(token)
    }

    /// Signs in with such a token.
    pub async fn redeem_sign_in_link(&self, token: &str) -> Result<SignedIn, AuthError> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let subject =
            one_time_token::use_up(tx.on(), &secret::hash(token), Purpose::SignIn, now.into()).await?;
        let id = subject.flatten().ok_or(AuthError::InvalidToken)?;
        let account = account::find(tx.on(), id).await?.ok_or(AuthError::InvalidToken)?;
        if account.status != AccountStatus::Active {
            return Err(AuthError::InvalidToken);
        }
        require_active_organization(&account)?;
        let signed_in = self.open_session(&mut tx, account, now).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// Who an access token stands for, as of now.
    pub async fn caller(&self, access_token: &str) -> Result<Caller, AuthError> {
        let subject =
            self.access_tokens.check(access_token, self.clock.now()).ok_or(AuthError::Unauthenticated)?;
        let account = signed_in_account(&self.db, subject.account_id, subject.session_id).await?;
        Ok(Caller::of(&account, subject.session_id))
    }

    async fn open_session(
        &self,
        tx: &mut Tx,
        account: Account,
        now: Timestamp,
    ) -> Result<SignedIn, AuthError> {
        account::signed_in(tx.on(), account.id, now.into()).await?;
        session::forget_ended(tx.on(), account.id, now.into()).await?;
        self.next_token(tx, account, clock::new_id(), now, now.plus_seconds(SESSION_SECONDS)).await
    }

    async fn next_token(
        &self,
        tx: &mut Tx,
        account: Account,
        family_id: Uuid,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<SignedIn, AuthError> {
        let refresh_token = secret::new("wpr_");
        let kept = NewRefreshToken {
            hash: &secret::hash(&refresh_token),
            family_id,
            account_id: account.id,
            created_at: now.into(),
            expires_at: now.plus_seconds(IDLE_SECONDS).min(ends_at).into(),
            ends_at: ends_at.into(),
        };
        session::insert(tx.on(), &kept).await?;
        let subject = Subject { account_id: account.id, session_id: family_id };
        let access_token = self
            .access_tokens
            .issue(subject, now)
            .expect("claims of texts and numbers can be written and HMAC signs everything");
        Ok(SignedIn {
            access_token,
            token_type: "Bearer",
            expires_in: access_token::LIFETIME_SECONDS,
            refresh_token,
            principal: account.into(),
        })
    }
}

/// The account of a session, if both still hold.
pub(super) async fn signed_in_account(db: &Db, id: Uuid, session: Uuid) -> Result<Account, AuthError> {
    let account = account::find_with_session(db, id, session).await?;
    let account = account.filter(|account| account.status == AccountStatus::Active);
    let account = account.ok_or(AuthError::Unauthenticated)?;
    require_active_organization(&account)?;
    Ok(account)
}

fn require_active_organization(account: &Account) -> Result<(), AuthError> {
    match account.organization_status.as_deref() {
        None | Some("active") => Ok(()),
        Some(_) => Err(AuthError::OrganizationInactive),
    }
}
