//! Links that prove whose an address is: 256 random bits, good for a day, used once, replaced by a newer one.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::error::AuthError;
use super::secret;
use crate::store::one_time_token::{self, NewToken};
pub use crate::store::one_time_token::{Purpose, Standing};
use crate::store::outbox;
use crate::store::sql::{Db, SqlError, Tx};

/// How long a link is good, in seconds.
pub const SECONDS: f64 = 24.0 * 3600.0;

/// What came of a link that was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// It worked now, for this subject.
    Now(Uuid),
    /// It worked before.
    Before(Uuid),
}

/// What leak scanners know a token by.
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

/// Which of some purposes a token is for, by its prefix; the first, when it is none of ours.
#[must_use]
pub fn purpose_of(token: &str, among: &[Purpose]) -> Option<Purpose> {
    among.iter().copied().find(|purpose| token.starts_with(prefix(*purpose)))
}

/// Makes a token; those made before for the same purpose and subject go on working.
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

/// Ends the links of some purposes about a subject. Letters still to be written are forgotten too: their link is made
/// when they are.
pub async fn withdraw(
    tx: &mut Tx,
    purposes: &[Purpose],
    subject: Uuid,
    now: Timestamp,
) -> Result<(), SqlError> {
    for purpose in purposes {
        // In the order in which the post takes them.
        outbox::withdraw(tx, *purpose, subject).await?;
        one_time_token::supersede(tx.on(), *purpose, subject, now.into()).await?;
    }
    Ok(())
}

/// Uses a token up, and with it the others of its purpose and subject. Of two at once one gets
/// [`Redeemed::Now`]. An unknown token is [`AuthError::NotFound`], an old one [`AuthError::LinkExpired`].
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
    match one_time_token::standing(tx.on(), &hash, purpose, now.into()).await? {
        Standing::Used(subject) => Ok(Redeemed::Before(subject)),
        // Good again only between the two looks: whoever comes again is served.
        Standing::Expired | Standing::Good(_) => Err(AuthError::LinkExpired),
        Standing::Unknown => Err(AuthError::NotFound),
    }
}

/// How a token stands, without using it.
pub async fn look(db: &Db, token: &str, purpose: Purpose, now: Timestamp) -> Result<Standing, SqlError> {
    one_time_token::standing(db.read(), &secret::hash(token), purpose, now.into()).await
}
