//! Links that prove ownership of an address: 256 random bits, valid for a day, usable once, replaced by a newer one.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::error::AuthError;
use super::secret;
use crate::store::one_time_token::{self, NewToken};
pub use crate::store::one_time_token::{LinkStatus, Purpose};
use crate::store::outbox;
use crate::store::sql::{Db, SqlError, Tx};

/// How long a link is valid, in seconds.
pub const SECONDS: f64 = 24.0 * 3600.0;

/// The outcome of redeeming a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// It was used now, for this subject.
    Now(Uuid),
    /// It was used before, for this subject.
    Before(Uuid),
}

/// The prefix by which leak scanners recognize a token.
const fn prefix(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Setup => "wps_",
        Purpose::SignIn => "wpl_",
        Purpose::VerifySystemUser => "wpv_",
        Purpose::ActivateOrganization => "wpa_",
        Purpose::Invite => "wpi_",
        Purpose::ResetPassword => "wpx_",
        Purpose::ResetSystemPassword => "wpy_",
        Purpose::ConfirmAddress => "wpe_",
    }
}

/// The purpose among `among` that a token is for, by its prefix; `None` if it has none of their prefixes.
#[must_use]
pub fn purpose_of(token: &str, among: &[Purpose]) -> Option<Purpose> {
    among.iter().copied().find(|purpose| token.starts_with(prefix(*purpose)))
}

/// Makes a token; earlier ones for the same purpose and subject stay valid.
pub async fn issue(tx: &mut Tx, purpose: Purpose, subject: Uuid, now: Timestamp) -> Result<String, SqlError> {
    let token = secret::new(prefix(purpose));
    let kept = NewToken {
        hash: &secret::hash(&token),
        purpose,
        subject: Some(subject),
        created_at: now.into(),
        expires_at: now.plus_seconds(SECONDS).into(),
    };
    one_time_token::insert(tx.on(), &kept).await?;
    Ok(token)
}

/// Invalidates the links of some purposes about a subject. Letters not written yet are withdrawn too, because their
/// link is made only when they are written.
pub async fn withdraw(
    tx: &mut Tx,
    purposes: &[Purpose],
    subject: Uuid,
    now: Timestamp,
) -> Result<(), SqlError> {
    for purpose in purposes {
        // The post takes locks in this order too.
        outbox::withdraw(tx, *purpose, subject).await?;
        one_time_token::supersede(tx.on(), *purpose, subject, now.into()).await?;
    }
    Ok(())
}

/// Uses up a token, and with it the others of its purpose and subject. Of two concurrent calls one gets
/// [`Redeemed::Now`]. An unknown token is [`AuthError::NotFound`], an expired one [`AuthError::LinkExpired`].
pub async fn redeem(
    tx: &mut Tx,
    token: &str,
    purpose: Purpose,
    now: Timestamp,
) -> Result<Redeemed, AuthError> {
    let hash = secret::hash(token);
    if let Some(Some(subject)) = one_time_token::use_up(tx.on(), &hash, purpose, now.into()).await? {
        one_time_token::supersede(tx.on(), purpose, subject, now.into()).await?;
        return Ok(Redeemed::Now(subject));
    }
    match one_time_token::status(tx.on(), &hash, purpose, now.into()).await? {
        LinkStatus::Used(subject) => Ok(Redeemed::Before(subject)),
        // It can only be good if it became so between the two statements; another attempt will succeed.
        LinkStatus::Expired | LinkStatus::Good(_) => Err(AuthError::LinkExpired),
        LinkStatus::Unknown => Err(AuthError::NotFound),
    }
}

/// Whom a token is about, valid or used, without using it. An unknown token is [`AuthError::NotFound`], an expired one
/// [`AuthError::LinkExpired`].
pub async fn subject(db: &Db, token: &str, purpose: Purpose, now: Timestamp) -> Result<Uuid, AuthError> {
    match look(db, token, purpose, now).await? {
        LinkStatus::Good(id) | LinkStatus::Used(id) => Ok(id),
        LinkStatus::Expired => Err(AuthError::LinkExpired),
        LinkStatus::Unknown => Err(AuthError::NotFound),
    }
}

/// The status of a token, without using it.
pub async fn look(db: &Db, token: &str, purpose: Purpose, now: Timestamp) -> Result<LinkStatus, SqlError> {
    one_time_token::status(db.read(), &secret::hash(token), purpose, now.into()).await
}
