//! Answers kept for repeated requests with the same Idempotency-Key.

use super::sql::{On, Result, Stmt};
use super::time::Time;

/// A kept answer. `key_hash` and `fingerprint` are hashes; `answer` can only be decrypted with the client's key.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct StoredAnswer {
    /// Hash of the principal and its key.
    pub key_hash: Vec<u8>,
    /// Hash of the request: method, path and body.
    pub fingerprint: Vec<u8>,
    /// The answer, encrypted.
    pub answer: Vec<u8>,
    /// When it was given.
    pub created_at: Time,
    /// When it expires.
    pub expires_at: Time,
}

/// The answer kept for a key, unless it has expired.
pub async fn find(on: On<'_>, key_hash: &[u8], now: Time) -> Result<Option<StoredAnswer>> {
    on.sql(
        "select key_hash, fingerprint, answer, created_at, expires_at from idempotency \
         where key_hash = $1 and expires_at > $2",
    )
    .bind(key_hash)
    .bind(now)
    .optional()
    .await
}

/// Keeps an answer; if one is kept already, it is a conflict.
pub async fn insert(on: On<'_>, stored: &StoredAnswer) -> Result<()> {
    let insert = on.sql(
        "insert into idempotency (key_hash, fingerprint, answer, created_at, expires_at) \
         values ($1, $2, $3, $4, $5)",
    );
    run(insert, stored).await
}

/// Keeps an answer, replacing an earlier one to the same request.
pub async fn put(on: On<'_>, stored: &StoredAnswer) -> Result<()> {
    let put = on.sql(
        "insert into idempotency (key_hash, fingerprint, answer, created_at, expires_at) \
         values ($1, $2, $3, $4, $5) on conflict (key_hash) do update set answer = excluded.answer",
    );
    run(put, stored).await
}

async fn run(insert: Stmt<'_>, stored: &StoredAnswer) -> Result<()> {
    insert
        .bind(stored.key_hash.as_slice())
        .bind(stored.fingerprint.as_slice())
        .bind(stored.answer.as_slice())
        .bind(stored.created_at)
        .bind(stored.expires_at)
        .run()
        .await?;
    Ok(())
}

/// Deletes expired answers.
pub async fn forget(on: On<'_>, now: Time) -> Result<()> {
    on.sql("delete from idempotency where expires_at <= $1").bind(now).run().await?;
    Ok(())
}
