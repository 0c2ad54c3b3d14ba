//! The secrets of all webhooks as they are stored, in clear or wrapped: what a change of the master key goes through.

use uuid::Uuid;

use super::sql::{On, Result};

/// The stored secrets of one webhook.
#[derive(Clone, sqlx::FromRow)]
pub struct WebhookSecret {
    /// The webhook.
    pub id: Uuid,
    /// A byte that tells whether it is wrapped, and the secret.
    pub secret: Vec<u8>,
    /// The one before, in the same form, that signs beside it for a day.
    pub former_secret: Option<Vec<u8>>,
}

/// Those of every organization.
pub async fn all(on: On<'_>) -> Result<Vec<WebhookSecret>> {
    on.sql("select id, secret, former_secret from webhook order by id").all().await
}

/// Stores a webhook's secrets in another form, unless it was given a new one since `before` was read.
pub async fn put(on: On<'_>, before: &WebhookSecret, after: &WebhookSecret) -> Result<()> {
    on.sql("update webhook set secret = $3, former_secret = $4 where id = $1 and secret = $2")
        .bind(before.id)
        .bind(&before.secret[..])
        .bind(&after.secret[..])
        .bind(after.former_secret.as_deref())
        .run()
        .await?;
    Ok(())
}
