//! Links that work once: the first superAdmin's, and the demo's sign-in.

use uuid::Uuid;

use super::sql::{On, Result};
use super::time::Time;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Makes the first superAdmin.
    Setup,
    /// Signs its account in.
    SignIn,
}

impl Purpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::SignIn => "signIn",
        }
    }
}

/// Keeps a link's token.
pub async fn insert(
    on: On<'_>,
    hash: &[u8],
    purpose: Purpose,
    subject: Option<Uuid>,
    now: Time,
    expires_at: Time,
) -> Result<()> {
    on.sql(
        "insert into one_time_token (token_hash, purpose, subject_id, created_at, expires_at) \
         values ($1, $2, $3, $4, $5)",
    )
    .bind(hash)
    .bind(purpose.as_str())
    .bind(subject)
    .bind(now)
    .bind(expires_at)
    .run()
    .await?;
    Ok(())
}

/// Uses a token up: `Some(subject)` if it was good. Of two at once one wins.
pub async fn use_up(on: On<'_>, hash: &[u8], purpose: Purpose, now: Time) -> Result<Option<Option<Uuid>>> {
    let used: Option<(Option<Uuid>,)> = on
        .sql(
            "update one_time_token set used_at = $3 where token_hash = $1 and purpose = $2 \
             and used_at is null and expires_at > $3 returning subject_id",
        )
        .bind(hash)
        .bind(purpose.as_str())
        .bind(now)
        .optional()
        .await?;
    Ok(used.map(|(subject,)| subject))
}

/// Whether a token is still good.
pub async fn is_good(on: On<'_>, hash: &[u8], purpose: Purpose, now: Time) -> Result<bool> {
    on.sql(
        "select exists (select 1 from one_time_token where token_hash = $1 and purpose = $2 \
         and used_at is null and expires_at > $3)",
    )
    .bind(hash)
    .bind(purpose.as_str())
    .bind(now)
    .scalar()
    .await
}

/// Forgets the tokens of a purpose; a newer one takes their place.
pub async fn forget(on: On<'_>, purpose: Purpose) -> Result<()> {
    on.sql("delete from one_time_token where purpose = $1").bind(purpose.as_str()).run().await?;
    Ok(())
}
