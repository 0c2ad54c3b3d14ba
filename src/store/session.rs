//! Sessions: families of refresh tokens. Who adds a token to a session, or ends sessions, locks the row of their holder first:
//! on PostgreSQL an update does not see a token that another transaction has added and not yet committed.

use uuid::Uuid;

use super::hold;
use super::sql::{On, Result, Tx};
use super::time::Time;

/// Used tokens of a session that are remembered: more than a month of one that is refreshed every hour.
const REMEMBERED: i64 = 1_000;

/// The holder of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HolderId {
    /// A person's account.
    Account(Uuid),
    /// A system user.
    System(Uuid),
}

impl HolderId {
    /// The values for the account and system user columns; exactly one is set.
    const fn columns(self) -> (Option<Uuid>, Option<Uuid>) {
        match self {
            Self::Account(id) => (Some(id), None),
            Self::System(id) => (None, Some(id)),
        }
    }
}

/// A refresh token to keep.
pub struct NewRefreshToken<'a> {
    /// Its hash.
    pub hash: &'a [u8],
    /// The session.
    pub family_id: Uuid,
    /// The holder of the session.
    pub holder: HolderId,
    /// When it is made.
    pub created_at: Time,
    /// Until when it is valid.
    pub expires_at: Time,
    /// When the session ends, however often it is refreshed.
    pub ends_at: Time,
}

/// The session of a refresh token.
#[derive(Clone, Copy, sqlx::FromRow)]
pub struct Family {
    /// The session.
    pub family_id: Uuid,
    account_id: Option<Uuid>,
    system_user_id: Option<Uuid>,
    /// When it ends, however often it is refreshed.
    pub ends_at: Time,
}

impl Family {
    /// The holder of the session.
    #[must_use]
    pub fn holder(&self) -> HolderId {
        match self.system_user_id {
            Some(id) => HolderId::System(id),
            None => HolderId::Account(self.account_id.unwrap_or_default()),
        }
    }
}

/// Keeps a refresh token.
pub async fn insert(on: On<'_>, token: &NewRefreshToken<'_>) -> Result<()> {
    let (account, system) = token.holder.columns();
    on.sql(
        "insert into refresh_token \
         (token_hash, family_id, account_id, system_user_id, created_at, expires_at, ends_at) \
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(token.hash)
    .bind(token.family_id)
    .bind(account)
    .bind(system)
    .bind(token.created_at)
    .bind(token.expires_at)
    .bind(token.ends_at)
    .run()
    .await?;
    Ok(())
}

/// Uses up a refresh token, whose holder is locked; returns its session if the token was valid.
pub async fn use_up(on: On<'_>, hash: &[u8], now: Time) -> Result<Option<Family>> {
    on.sql(
        "update refresh_token set used_at = $2 where token_hash = $1 and used_at is null \
         and revoked_at is null and expires_at > $2 returning family_id, account_id, system_user_id, ends_at",
    )
    .bind(hash)
    .bind(now)
    .optional()
    .await
}

/// Uses up a token once more that was last used at an instant or since, and with it the one that followed it, which from then on counts
/// as used long ago. Returns their session; `None` if the one that followed was used, or the session is over.
pub async fn use_again(tx: &mut Tx, hash: &[u8], since: Time, now: Time) -> Result<Option<Family>> {
    let following = "update refresh_token set used_at = created_at where used_at is null and revoked_at is null \
        and family_id in (select family_id from refresh_token where token_hash = $1) \
        and created_at in (select used_at from refresh_token where token_hash = $1 and used_at >= $2)";
    if tx.on().sql(following).bind(hash).bind(since).run().await? == 0 {
        return Ok(None);
    }
    let again = "update refresh_token set used_at = $2 where token_hash = $1 \
        returning family_id, account_id, system_user_id, ends_at";
    tx.on().sql(again).bind(hash).bind(now).optional().await
}

/// The session of a token that was used before.
pub async fn find_used(on: On<'_>, hash: &[u8]) -> Result<Option<Family>> {
    on.sql(
        "select family_id, account_id, system_user_id, ends_at from refresh_token \
         where token_hash = $1 and used_at is not null",
    )
    .bind(hash)
    .optional()
    .await
}

/// The session of a token, valid or not.
pub async fn find(on: On<'_>, hash: &[u8]) -> Result<Option<Family>> {
    on.sql("select family_id, account_id, system_user_id, ends_at from refresh_token where token_hash = $1")
        .bind(hash)
        .optional()
        .await
}

/// Locks the row of a holder for this transaction.
pub async fn hold(on: On<'_>, holder: HolderId) -> Result<()> {
    let (table, id) = match holder {
        HolderId::Account(id) => ("account", id),
        HolderId::System(id) => ("system_user", id),
    };
    hold::hold(on, table, id, |stmt| stmt).await
}

/// Ends a session: its refresh tokens, and with them its access tokens. `false` if it was over already.
pub async fn revoke(tx: &mut Tx, family: &Family, now: Time) -> Result<bool> {
    hold(tx.on(), family.holder()).await?;
    let revoked = tx
        .on()
        .sql("update refresh_token set revoked_at = $2 where family_id = $1 and revoked_at is null")
        .bind(family.family_id)
        .bind(now)
        .run()
        .await?;
    Ok(revoked > 0)
}

/// Ends all sessions of a holder.
pub async fn revoke_all(tx: &mut Tx, holder: HolderId, now: Time) -> Result<()> {
    hold(tx.on(), holder).await?;
    let (account, system) = holder.columns();
    tx.on()
        .sql(
            "update refresh_token set revoked_at = $3 \
             where (account_id = $1 or system_user_id = $2) and revoked_at is null",
        )
        .bind(account)
        .bind(system)
        .bind(now)
        .run()
        .await?;
    Ok(())
}

/// Deletes the oldest used tokens of a session that was refreshed very often, so that it can be ended at once. If one of them comes
/// again, it is refused as an unknown one.
pub async fn forget_oldest(on: On<'_>, family_id: Uuid) -> Result<()> {
    on.sql(
        "delete from refresh_token where family_id = $1 and used_at is not null and created_at < \
         (select created_at from refresh_token where family_id = $1 order by created_at desc limit 1 offset $2)",
    )
    .bind(family_id)
    .bind(REMEMBERED)
    .run()
    .await?;
    Ok(())
}

/// Deletes a holder's sessions that ended before an instant.
pub async fn forget_ended(on: On<'_>, holder: HolderId, before: Time) -> Result<()> {
    let (account, system) = holder.columns();
    on.sql("delete from refresh_token where (account_id = $1 or system_user_id = $2) and ends_at < $3")
        .bind(account)
        .bind(system)
        .bind(before)
        .run()
        .await?;
    Ok(())
}
