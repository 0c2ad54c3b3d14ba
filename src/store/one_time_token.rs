//! Single-use links, by the hash of their token.

use uuid::Uuid;

use super::sql::{On, Result};
use super::time::Time;
pub use crate::domain::link::Purpose;

/// A token to keep.
pub struct NewToken<'a> {
    /// Its hash.
    pub hash: &'a [u8],
    /// Its purpose.
    pub purpose: Purpose,
    /// The person or thing it is about.
    pub subject: Option<Uuid>,
    /// When it was created.
    pub created_at: Time,
    /// Until when it is valid.
    pub expires_at: Time,
}

/// The status of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStatus {
    /// It is valid, for this subject.
    Good(Uuid),
    /// It was used before, for this subject.
    Used(Uuid),
    /// It has expired, or a newer one replaced it.
    Expired,
    /// There is no such token.
    Unknown,
}

#[derive(sqlx::FromRow)]
struct Row {
    subject_id: Option<Uuid>,
    expires_at: Time,
    used_at: Option<Time>,
    superseded_at: Option<Time>,
}

/// Keeps a link's token.
pub async fn insert(on: On<'_>, token: &NewToken<'_>) -> Result<()> {
    on.sql(
        "insert into one_time_token (token_hash, purpose, subject_id, created_at, expires_at) \
         values ($1, $2, $3, $4, $5)",
    )
    .bind(token.hash)
    .bind(token.purpose.as_str())
    .bind(token.subject)
    .bind(token.created_at)
    .bind(token.expires_at)
    .run()
    .await?;
    Ok(())
}

/// Uses up a token; returns its subject if it was valid. Of two concurrent calls, one succeeds.
pub async fn use_up(on: On<'_>, hash: &[u8], purpose: Purpose, now: Time) -> Result<Option<Option<Uuid>>> {
    let used: Option<(Option<Uuid>,)> = on
        .sql(
            "update one_time_token set used_at = $3 where token_hash = $1 and purpose = $2 \
             and used_at is null and superseded_at is null and expires_at > $3 returning subject_id",
        )
        .bind(hash)
        .bind(purpose.as_str())
        .bind(now)
        .optional()
        .await?;
    Ok(used.map(|(subject,)| subject))
}

/// Invalidates the links of a purpose about a subject.
pub async fn supersede(on: On<'_>, purpose: Purpose, subject: Uuid, now: Time) -> Result<()> {
    on.sql(
        "update one_time_token set superseded_at = $3 \
         where purpose = $1 and subject_id = $2 and used_at is null and superseded_at is null",
    )
    .bind(purpose.as_str())
    .bind(subject)
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// The status of a token with a subject.
pub async fn status(on: On<'_>, hash: &[u8], purpose: Purpose, now: Time) -> Result<LinkStatus> {
    let row: Option<Row> = on
        .sql(
            "select subject_id, expires_at, used_at, superseded_at from one_time_token \
             where token_hash = $1 and purpose = $2",
        )
        .bind(hash)
        .bind(purpose.as_str())
        .optional()
        .await?;
    Ok(match row {
        Some(Row { subject_id: Some(subject), used_at: Some(_), .. }) => LinkStatus::Used(subject),
        Some(row) if row.superseded_at.is_some() || row.expires_at <= now => LinkStatus::Expired,
        Some(Row { subject_id: Some(subject), .. }) => LinkStatus::Good(subject),
        _ => LinkStatus::Unknown,
    })
}

/// When the last link of a purpose was made about a subject.
pub async fn last_made(on: On<'_>, purpose: Purpose, subject: Uuid) -> Result<Option<Time>> {
    let (last,) = on
        .sql("select max(created_at) from one_time_token where purpose = $1 and subject_id = $2")
        .bind(purpose.as_str())
        .bind(subject)
        .one::<(Option<Time>,)>()
        .await?;
    Ok(last)
}

/// Whether a token is still valid.
pub async fn is_good(on: On<'_>, hash: &[u8], purpose: Purpose, now: Time) -> Result<bool> {
    on.sql(
        "select exists (select 1 from one_time_token where token_hash = $1 and purpose = $2 \
         and used_at is null and superseded_at is null and expires_at > $3)",
    )
    .bind(hash)
    .bind(purpose.as_str())
    .bind(now)
    .scalar()
    .await
}

/// Deletes the tokens of a purpose, because a newer one replaces them.
pub async fn forget(on: On<'_>, purpose: Purpose) -> Result<()> {
    on.sql("delete from one_time_token where purpose = $1").bind(purpose.as_str()).run().await?;
    Ok(())
}
