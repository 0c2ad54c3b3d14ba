//! The stored secrets that sign access tokens and cursors, in clear or wrapped.

use super::sql::{On, Result};
use super::time::Time;

/// A secret and its name.
#[derive(Clone, sqlx::FromRow)]
pub struct SigningKey {
    /// The name a token carries.
    pub kid: String,
    /// 256 random bits, in clear or wrapped.
    pub secret: Vec<u8>,
    /// Whether the secret is encrypted with a key from outside the store.
    pub wrapped: bool,
    /// When it was made; the newest one signs.
    pub created_at: Time,
    /// Since when it signs nothing new; what it signed before remains valid for a while.
    pub retired_at: Option<Time>,
}

/// All keys, oldest first.
pub async fn all(on: On<'_>) -> Result<Vec<SigningKey>> {
    on.sql("select kid, secret, wrapped, created_at, retired_at from signing_key order by created_at, kid")
        .all()
        .await
}

/// Inserts a key, unless one with its name exists.
pub async fn insert(on: On<'_>, key: &SigningKey) -> Result<()> {
    on.sql(
        "insert into signing_key (kid, secret, wrapped, created_at) values ($1, $2, $3, $4) \
         on conflict (kid) do nothing",
    )
    .bind(&key.kid)
    .bind(&key.secret[..])
    .bind(key.wrapped)
    .bind(key.created_at)
    .run()
    .await?;
    Ok(())
}

/// Replaces a secret by its wrapped form.
pub async fn wrap(on: On<'_>, kid: &str, wrapped: &[u8]) -> Result<()> {
    on.sql("update signing_key set secret = $2, wrapped = $3 where kid = $1")
        .bind(kid)
        .bind(wrapped)
        .bind(true)
        .run()
        .await?;
    Ok(())
}

/// Retires every active key.
pub async fn retire_all(on: On<'_>, now: Time) -> Result<()> {
    on.sql("update signing_key set retired_at = $1 where retired_at is null").bind(now).run().await?;
    Ok(())
}

/// Deletes every key.
pub async fn delete_all(on: On<'_>) -> Result<()> {
    on.sql("delete from signing_key").run().await?;
    Ok(())
}

/// Deletes keys that were retired before an instant.
pub async fn delete_retired(on: On<'_>, before: Time) -> Result<()> {
    on.sql("delete from signing_key where retired_at < $1").bind(before).run().await?;
    Ok(())
}
