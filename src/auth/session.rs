//! Signing in, staying signed in, signing out.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::access_token::{self, Subject};
use super::api_keys;
use super::caller::{Caller, Credential};
use super::entry::{Peer, session_entry};
use super::error::AuthError;
use super::holder::Holder;
use super::link::{self, LinkStatus};
use super::principal::Principal;
use super::secret;
use super::service::Auth;
use crate::clock;
use crate::domain::account::email_key;
use crate::domain::audit::AuditAction;
use crate::sessions::{End, Sessions};
use crate::store::one_time_token::{self, Purpose};
use crate::store::session::{self, Family, HolderId, NewRefreshToken};
use crate::store::sql::{Db, SqlError, Tx};
use crate::store::system_user::KeyName;
use crate::store::{account, audit, sign_in_attempt, system_user};

/// Seconds after which an unused refresh token expires.
const IDLE_SECONDS: f64 = 7.0 * 86_400.0;
/// Seconds within which a refresh token may come again, because its answer was lost.
const LOST_ANSWER_SECONDS: f64 = 30.0;
/// Seconds after which a session ends, however often it is refreshed.
const SESSION_SECONDS: f64 = 30.0 * 86_400.0;

/// The result of a sign-in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// Goes into `Authorization: Bearer …`.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// How long the access token is good, in seconds.
    pub expires_in: i64,
    /// Gets the next access token; works once, and within 30 s again as long as the token that it got was not used.
    pub refresh_token: String,
    /// Who.
    #[serde(flatten)]
    pub principal: Principal,
}

/// The kind of sign-in.
#[derive(Clone, Copy)]
pub(super) enum SignInKind {
    Account,
    SystemUser,
}

impl SignInKind {
    /// The key that failed sign-ins are counted under: a person's do not lock a system user with the same address.
    pub(super) fn attempts_key(self, email: &str) -> String {
        match self {
            Self::Account => email_key(email),
            Self::SystemUser => system_user::attempts_key(email),
        }
    }

    async fn find(self, db: &Db, email: &str) -> Result<Option<Holder>, SqlError> {
        Ok(match self {
            Self::Account => account::find_by_email(db.read(), email).await?.map(Holder::Account),
            Self::SystemUser => system_user::find_by_email(db.read(), email).await?.map(Holder::System),
        })
    }
}

impl Auth {
    /// Signs a person in with e-mail and password.
    pub async fn login(&self, email: &str, password: String, peer: &Peer) -> Result<SignedIn, AuthError> {
        self.login_by(SignInKind::Account, email, password, peer).await
    }

    /// Signs a system user in with e-mail and password.
    pub async fn login_system_user(
        &self,
        email: &str,
        password: String,
        peer: &Peer,
    ) -> Result<SignedIn, AuthError> {
        self.login_by(SignInKind::SystemUser, email, password, peer).await
    }

    /// Gives the same answer after the same time whether or not the address is known: a password is always hashed.
    async fn login_by(
        &self,
        kind: SignInKind,
        email: &str,
        password: String,
        peer: &Peer,
    ) -> Result<SignedIn, AuthError> {
        let key = kind.attempts_key(email);
        let (place, _turn) = self.attempt_turn(&key, peer).await?;
        let now = self.clock.now();
        let refused = self.count_attempt(&key, peer, now).await?;
        let holder = kind.find(&self.db, email).await?;
        if let Some(refused) = refused {
            tracing::warn!(client = peer.address, "sign-in refused: too many failures");
            if refused.is_first {
                self.note(AuditAction::SignInRefused, holder.as_ref(), &key, peer, now).await?;
            }
            return Err(AuthError::TooManyAttempts(refused.wait_seconds));
        }
        let hash = holder.as_ref().and_then(Holder::password_hash);
        let fits = self.judge(place, password, hash, &key, peer).await?;
        let Some(holder) = holder.as_ref().filter(|_| fits) else {
            tracing::info!(client = peer.address, "sign-in failed");
            self.note(AuditAction::SignInFailed, holder.as_ref(), &key, peer, now).await?;
            return Err(AuthError::InvalidCredentials);
        };
        if holder.is_unverified() {
            return Err(AuthError::EmailNotVerified);
        }
        if !holder.is_active() {
            return Err(AuthError::InvalidCredentials);
        }
        holder.require_active_organization()?;
        let mut tx = self.db.begin().await?;
        // While its password waited to be checked, the holder may have been given another one.
        let signed_in = self.open_session(&mut tx, holder.clone(), now).await?;
        let signed_in = signed_in.ok_or(AuthError::InvalidCredentials)?;
        sign_in_attempt::succeeded(&mut tx, &key, &peer.address, now.into()).await?;
        audit::insert(tx.on(), &session_entry(AuditAction::SignIn, holder, peer, now)).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// The hash of a signed-in user's password, if they know it; wrong guesses count as failed sign-ins. What it proves holds for
    /// as long as the account has this hash: it may be given another password at any moment.
    pub async fn proves(
        &self,
        account: Uuid,
        password: String,
        peer: &Peer,
    ) -> Result<Option<String>, AuthError> {
        let holder = Holder::find(self.db.read(), HolderId::Account(account)).await?;
        let holder = holder.ok_or(AuthError::Unauthenticated)?;
        let key = SignInKind::Account.attempts_key(holder.email());
        let (place, _turn) = self.attempt_turn(&key, peer).await?;
        let now = self.clock.now();
        if let Some(refused) = self.count_attempt(&key, peer, now).await? {
            return Err(AuthError::TooManyAttempts(refused.wait_seconds));
        }
        let hash = holder.password_hash();
        let fits = self.judge(place, password, hash.clone(), &key, peer).await?;
        if fits {
            let mut tx = self.db.begin().await?;
            sign_in_attempt::succeeded(&mut tx, &key, &peer.address, now.into()).await?;
            tx.commit().await?;
        } else {
            self.note(AuditAction::SignInFailed, Some(&holder), &key, peer, now).await?;
        }
        Ok(hash.filter(|_| fits))
    }

    /// Audits an event of an account. If there is no account, something is written all the same, so that the time of the answer
    /// does not tell.
    async fn note(
        &self,
        action: AuditAction,
        holder: Option<&Holder>,
        key: &str,
        peer: &Peer,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        match holder {
            Some(holder) => audit::insert(self.db.write(), &session_entry(action, holder, peer, now)).await,
            None => sign_in_attempt::rewrite(&self.db, key, &peer.address).await,
        }
    }

    /// Uses up a refresh token and returns the next tokens. A token that is presented again was stolen or replayed,
    /// so its whole session ends; but if the one that followed it was not used yet, its answer may have been lost a moment ago.
    pub async fn refresh(&self, refresh_token: &str, peer: &Peer) -> Result<SignedIn, AuthError> {
        let (hash, now) = (secret::hash(refresh_token), self.clock.now());
        // An unknown one must not keep the store's one writer.
        let found = session::find(self.db.read(), &hash).await?.ok_or(AuthError::InvalidToken)?;
        let mut tx = self.db.begin().await?;
        session::hold(tx.on(), found.holder()).await?;
        let mut usable_family = session::use_up(tx.on(), &hash, now.into()).await?;
        if usable_family.is_none() {
            let since = now.plus_seconds(-LOST_ANSWER_SECONDS);
            usable_family = session::use_again(&mut tx, &hash, since.into(), now.into()).await?;
        }
        let Some(family) = usable_family else {
            if let Some(family) = session::find_used(tx.on(), &hash).await? {
                self.end(tx, family, AuditAction::ReuseToken, peer, now).await?;
                tracing::warn!(client = peer.address, "a refresh token came again; its session is over");
            }
            return Err(AuthError::InvalidToken);
        };
        let holder = usable(Holder::find(tx.on(), family.holder()).await?)?;
        let signed_in = self.next_token(&mut tx, holder, family.family_id, now, family.ends_at.0).await?;
        session::forget_oldest(tx.on(), family.family_id).await?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// Ends the session of a refresh token, with its sockets; an unknown one is no error.
    pub async fn logout(&self, refresh_token: &str, peer: &Peer) -> Result<(), AuthError> {
        let found = session::find(self.db.read(), &secret::hash(refresh_token)).await?;
        let Some(family) = found else { return Ok(()) };
        let tx = self.db.begin().await?;
        self.end(tx, family, AuditAction::SignOut, peer, self.clock.now()).await
    }

    /// Ends a session; one that is over already is not audited again.
    async fn end(
        &self,
        mut tx: Tx,
        family: Family,
        why: AuditAction,
        peer: &Peer,
        now: Timestamp,
    ) -> Result<(), AuthError> {
        if session::revoke(&mut tx, &family, now.into()).await?
            && let Some(holder) = Holder::find(tx.on(), family.holder()).await?
        {
            audit::insert(tx.on(), &session_entry(why, &holder, peer, now)).await?;
        }
        let end = move |sessions: &Sessions| sessions.end_session(family.family_id, End::Credential);
        Ok(self.commit_and_end(tx, end).await?)
    }

    /// Makes a token that signs an account in once, valid for a day: for the demo, the console, and the pages of links that have just
    /// proved who somebody is.
    pub async fn sign_in_link(&self, account: Uuid) -> Result<String, AuthError> {
        let mut tx = self.db.begin().await?;
        let token = link::issue(&mut tx, Purpose::SignIn, account, self.clock.now()).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Signs in with such a token.
    pub async fn redeem_sign_in_link(&self, token: &str) -> Result<SignedIn, AuthError> {
        let now = self.clock.now();
        let LinkStatus::Good(id) = link::look(&self.db, token, Purpose::SignIn, now).await? else {
            return Err(AuthError::InvalidToken);
        };
        let mut tx = self.db.begin().await?;
        // Before its link, as everybody locks both.
        session::hold(tx.on(), HolderId::Account(id)).await?;
        let used = one_time_token::use_up(tx.on(), &secret::hash(token), Purpose::SignIn, now.into()).await?;
        used.ok_or(AuthError::InvalidToken)?;
        let holder = usable(Holder::find(tx.on(), HolderId::Account(id)).await?)?;
        let signed_in = self.open_session(&mut tx, holder, now).await?.ok_or(AuthError::InvalidToken)?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// The caller that an access token or a key identifies, with current rights.
    pub async fn caller(&self, token: &str) -> Result<Caller, AuthError> {
        let now = self.clock.now();
        if api_keys::is_key(token) {
            let caller = self.api_keys.find_current(&self.db, &self.sessions, token, now).await?;
            self.api_keys.note_use(&caller, now);
            return Ok(caller);
        }
        let subject = self.access_tokens().check(token, now).ok_or(AuthError::Unauthenticated)?;
        self.signed_in(subject.holder, Credential::Session(subject.session_id)).await
    }

    /// Whether a caller's session or key is still valid, with the same permissions; sockets check this from time to
    /// time.
    pub async fn still_holds(&self, caller: &Caller) -> Result<bool, AuthError> {
        match self.signed_in(caller.holder_id(), caller.credential).await {
            Ok(found) => {
                let is_subscribed = caller.is_subscribed; // a socket only reads
                Ok(Caller { is_subscribed, ..found } == *caller)
            }
            Err(AuthError::Store(error)) => Err(AuthError::Store(error)),
            Err(_) => Ok(false),
        }
    }

    /// Who holds a session or a key, with current rights; fails once it is not valid any more.
    pub(super) async fn signed_in(
        &self,
        holder: HolderId,
        credential: Credential,
    ) -> Result<Caller, AuthError> {
        let now = self.clock.now();
        match credential {
            Credential::Session(id) => {
                let holder = Holder::signed_in(&self.db, holder, id, now).await?;
                Ok(Caller::of(&holder, credential, now))
            }
            Credential::Key(id) => {
                api_keys::look_up(&self.db, KeyName::Id(id), now).await.map(|(caller, _)| caller)
            }
        }
    }

    /// Opens a session; `None` if the holder was given another password since it was found, or may not sign in any more.
    pub(super) async fn open_session(
        &self,
        tx: &mut Tx,
        holder: Holder,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, AuthError> {
        if !holder.note_sign_in(tx.on(), now.into()).await? {
            return Ok(None);
        }
        session::forget_ended(tx.on(), holder.id(), now.into()).await?;
        let ends_at = now.plus_seconds(SESSION_SECONDS);
        self.next_token(tx, holder, clock::new_id(), now, ends_at).await.map(Some)
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
            .access_tokens()
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

/// Accepts a holder whose session may continue.
fn usable(holder: Option<Holder>) -> Result<Holder, AuthError> {
    let holder = holder.filter(Holder::is_active).ok_or(AuthError::InvalidToken)?;
    holder.require_active_organization()?;
    Ok(holder)
}
