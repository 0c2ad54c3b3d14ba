//! Signing in, staying signed in, signing out.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::Auth;
use super::access_token::{self, Subject};
use super::caller::Caller;
use super::error::AuthError;
use super::holder::Holder;
use super::link;
use super::principal::Principal;
use super::secret;
use crate::clock;
use crate::domain::account::email_key;
use crate::sessions::End;
use crate::store::one_time_token::{self, Purpose};
use crate::store::session::{self, HolderId, NewRefreshToken};
use crate::store::sql::{Db, SqlError, Tx};
use crate::store::{account, system_user};

/// A refresh token that is not used for this long is over.
const IDLE_SECONDS: f64 = 7.0 * 86_400.0;
/// A session ends after this, however often it is refreshed.
const SESSION_SECONDS: f64 = 30.0 * 86_400.0;
/// How long failures count, in seconds.
const WINDOW_SECONDS: f64 = 15.0 * 60.0;

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

/// Which door somebody signs in by.
#[derive(Clone, Copy)]
pub(super) enum Door {
    People,
    Programs,
}

impl Door {
    /// How failures of an address are counted: a person's do not lock out a system user of the same address.
    pub(super) fn attempts_key(self, email: &str) -> String {
        match self {
            Self::People => email_key(email),
            Self::Programs => system_user::attempts_key(email),
        }
    }

    async fn find(self, db: &Db, email: &str) -> Result<Option<Holder>, SqlError> {
        Ok(match self {
            Self::People => account::find_by_email(db.read(), email).await?.map(Holder::Account),
            Self::Programs => system_user::find_by_email(db.read(), email).await?.map(Holder::System),
        })
    }
}

impl Auth {
    /// Signs a person in with e-mail and password.
    pub async fn login(&self, email: &str, password: String) -> Result<SignedIn, AuthError> {
        self.login_by(Door::People, email, password).await
    }

    /// Signs a system user in with e-mail and password.
    pub async fn login_system_user(&self, email: &str, password: String) -> Result<SignedIn, AuthError> {
        self.login_by(Door::Programs, email, password).await
    }

    /// Says the same and takes as long whether or not the address is known: a password is hashed always.
    async fn login_by(&self, door: Door, email: &str, password: String) -> Result<SignedIn, AuthError> {
        let (key, now) = (door.attempts_key(email), self.clock.now());
        let attempts =
            session::count_attempt(&self.db, &key, now.into(), now.plus_seconds(WINDOW_SECONDS).into())
                .await?;
        if attempts.failures > session::FAILURES {
            let wait = attempts.window_ends_at.0.seconds_since(now).ceil().max(1.0);
            return Err(AuthError::TooManyAttempts(wait as u64));
        }
        let holder = door.find(&self.db, email).await?;
        let hash = holder.as_ref().and_then(Holder::password_hash);
        let fits = self.hasher.fits(password, hash).await?;
        let holder = holder.filter(|_| fits).ok_or(AuthError::InvalidCredentials)?;
        if holder.is_unverified() {
            return Err(AuthError::EmailNotVerified);
        }
        if !holder.is_active() {
            return Err(AuthError::InvalidCredentials);
        }
        holder.require_active_organization()?;
        let mut tx = self.db.begin().await?;
        session::forget_attempts(tx.on(), &key, now.into()).await?;
        let signed_in = self.open_session(&mut tx, holder, now).await?;
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
                self.sessions.end_session(family.family_id, End::Credential);
            }
            return Err(AuthError::InvalidToken);
        };
        let holder = usable(Holder::find(tx.on(), family.holder()).await?)?;
        let signed_in = self.next_token(&mut tx, holder, family.family_id, now, family.ends_at.0).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// Ends the session of a refresh token, with its sockets; an unknown one is no error.
    pub async fn logout(&self, refresh_token: &str) -> Result<(), AuthError> {
        let mut tx = self.db.begin().await?;
        let family = session::find(tx.on(), &secret::hash(refresh_token)).await?;
        let Some(family) = family else { return Ok(()) };
        session::revoke(tx.on(), family.family_id, self.clock.now().into()).await?;
        tx.commit().await?;
        self.sessions.end_session(family.family_id, End::Credential);
        Ok(())
    }

    /// Makes a token that signs an account in once, within a day: for the demo and the console.
    pub async fn sign_in_link(&self, account: Uuid) -> Result<String, AuthError> {
        let mut tx = self.db.begin().await?;
        let token = link::issue(&mut tx, Purpose::SignIn, account, self.clock.now()).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Signs in with such a token.
    pub async fn redeem_sign_in_link(&self, token: &str) -> Result<SignedIn, AuthError> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let subject =
            one_time_token::use_up(tx.on(), &secret::hash(token), Purpose::SignIn, now.into()).await?;
        let id = subject.flatten().ok_or(AuthError::InvalidToken)?;
        let holder = usable(Holder::find(tx.on(), HolderId::Account(id)).await?)?;
        let signed_in = self.open_session(&mut tx, holder, now).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// Who an access token stands for, as of now.
    pub async fn caller(&self, access_token: &str) -> Result<Caller, AuthError> {
        let now = self.clock.now();
        let subject = self.access_tokens.check(access_token, now).ok_or(AuthError::Unauthenticated)?;
        let holder = Holder::signed_in(&self.db, subject.holder, subject.session_id, now).await?;
        Ok(Caller::of(&holder, subject.session_id, now))
    }

    pub(super) async fn open_session(
        &self,
        tx: &mut Tx,
        holder: Holder,
        now: Timestamp,
    ) -> Result<SignedIn, AuthError> {
        holder.note_sign_in(tx.on(), now.into()).await?;
        session::forget_ended(tx.on(), holder.id(), now.into()).await?;
        self.next_token(tx, holder, clock::new_id(), now, now.plus_seconds(SESSION_SECONDS)).await
    }

    async fn next_token(
        &self,
        tx: &mut Tx,
        holder: Holder,
        family_id: Uuid,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<SignedIn, AuthError> {
        let refresh_token = secret::new("wpr_");
        let kept = NewRefreshToken {
            hash: &secret::hash(&refresh_token),
            family_id,
            holder: holder.id(),
            created_at: now.into(),
            expires_at: now.plus_seconds(IDLE_SECONDS).min(ends_at).into(),
            ends_at: ends_at.into(),
        };
        session::insert(tx.on(), &kept).await?;
        let subject = Subject { holder: holder.id(), session_id: family_id };
        let access_token = self
            .access_tokens
            .issue(subject, now)
            .expect("claims of texts and numbers can be written and HMAC signs everything");
        Ok(SignedIn {
            access_token,
            token_type: "Bearer",
            expires_in: access_token::LIFETIME_SECONDS,
            refresh_token,
            principal: holder.into(),
        })
    }
}

/// A holder who may go on.
fn usable(holder: Option<Holder>) -> Result<Holder, AuthError> {
    let holder = holder.filter(Holder::is_active).ok_or(AuthError::InvalidToken)?;
    holder.require_active_organization()?;
    Ok(holder)
}
