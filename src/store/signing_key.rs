//! The secrets that sign access tokens and cursors.

use super::sql::{Db, Result};
use super::time::Time;

/// A secret and its name.
#[derive(Clone, sqlx::FromRow)]
pub struct SigningKey {
    /// The name a token carries.
    pub kid: String,
    /// 256 random bits.
    pub secret: Vec<u8>,
    /// When it was made; the newest one signs.
    pub created_at: Time,
}

/// The name of the key made at the first start; two servers starting at once agree on it.
const FIRST_KID: &str = "1";

/// The keys in force, after making the first one if there was none.
pub async fn load_or_create(db: &Db, secret: [u8; 32], now: Time) -> Result<Vec<SigningKey>> {
    let keys = load(db).await?;
    if !keys.is_empty() {
        return Ok(keys);
    }
    db.write()
        .sql("insert into signing_key (kid, secret, created_at) values ($1, $2, $3) on conflict (kid) do nothing")
        .bind(FIRST_KID)
        .bind(&secret[..])
        .bind(now)
        .run()
        .await?;
    load(db).await
}

async fn load(db: &Db) -> Result<Vec<SigningKey>> {
    db.read().sql("select kid, secret, created_at from signing_key where retired_at is null").all().await
}
