//! Failed sign-ins, counted by account and client address together, and the addresses from which accounts signed in.

use super::sql::{Db, On, Result};
use super::time::Time;

/// Failed sign-ins of an account from one client address before that address has to wait.
pub const FAILURES: i64 = 5;
/// Failed sign-ins of an account from all addresses before those it never signed in from have to wait.
pub const ALL_FAILURES: i64 = 100;
/// The address under which an account's failures are counted together.
pub const ALL: &str = "";
/// Most addresses remembered for an account.
const ADDRESSES: i64 = 20;

/// Failed sign-ins in the current window.
#[derive(Clone, Copy, sqlx::FromRow)]
pub struct Attempts {
    /// Their number, including this attempt.
    pub failures: i64,
    /// When the window ends.
    pub window_ends_at: Time,
}

/// Counts a sign-in before its password is checked, so that concurrent guesses are counted too.
pub async fn count(
    db: &Db,
    email_key: &str,
    address: &str,
    now: Time,
    window_ends_at: Time,
) -> Result<Attempts> {
    db.write()
        .sql(
            "insert into login_attempt (email_key, address, failures, window_ends_at) values ($1, $4, 1, $3) \
             on conflict (email_key, address) do update set \
             failures = case when login_attempt.window_ends_at <= $2 then 1 else login_attempt.failures + 1 end, \
             window_ends_at = case when login_attempt.window_ends_at <= $2 then $3 \
             else login_attempt.window_ends_at end returning failures, window_ends_at",
        )
        .bind(email_key)
        .bind(now)
        .bind(window_ends_at)
        .bind(address)
        .one()
        .await
}

/// Takes back an attempt that was counted and never judged.
pub async fn take_back(db: &Db, email_key: &str, address: &str) -> Result<()> {
    db.write()
        .sql(
            "update login_attempt set failures = failures - 1 \
             where email_key = $1 and address in ($2, '') and failures > 0",
        )
        .bind(email_key)
        .bind(address)
        .run()
        .await?;
    Ok(())
}

/// Writes what is counted of an account from an address once more, as it is.
pub async fn rewrite(db: &Db, email_key: &str, address: &str) -> Result<()> {
    db.write()
        .sql("update login_attempt set failures = failures where email_key = $1 and address = $2")
        .bind(email_key)
        .bind(address)
        .run()
        .await?;
    Ok(())
}

/// Records a successful sign-in: its attempt is not a failure, earlier failures from its address are forgotten, and
/// the address becomes one the account is known from.
pub async fn succeeded(on: &mut super::sql::Tx, email_key: &str, address: &str, now: Time) -> Result<()> {
    on.on()
        .sql("delete from login_attempt where email_key = $1 and address = $2")
        .bind(email_key)
        .bind(address)
        .run()
        .await?;
    on.on()
        .sql("update login_attempt set failures = failures - 1 where email_key = $1 and address = ''")
        .bind(email_key)
        .run()
        .await?;
    on.on()
        .sql(
            "insert into sign_in_address (email_key, address, last_at) values ($1, $2, $3) \
             on conflict (email_key, address) do update set last_at = $3",
        )
        .bind(email_key)
        .bind(address)
        .bind(now)
        .run()
        .await?;
    on.on()
        .sql(
            "delete from sign_in_address where email_key = $1 and address not in (select address \
             from sign_in_address where email_key = $1 order by last_at desc, address limit $2)",
        )
        .bind(email_key)
        .bind(ADDRESSES)
        .run()
        .await?;
    Ok(())
}

/// Whether an account has signed in from an address.
pub async fn is_known(db: &Db, email_key: &str, address: &str) -> Result<bool> {
    db.read()
        .sql("select exists (select 1 from sign_in_address where email_key = $1 and address = $2)")
        .bind(email_key)
        .bind(address)
        .scalar()
        .await
}

/// Forgets the failures of an account, from all clients.
pub async fn forget(on: On<'_>, email_key: &str) -> Result<()> {
    on.sql("delete from login_attempt where email_key = $1").bind(email_key).run().await?;
    Ok(())
}

/// Deletes windows that are over, and addresses without a sign-in since an instant.
pub async fn forget_old(db: &Db, now: Time, since: Time) -> Result<()> {
    db.write().sql("delete from login_attempt where window_ends_at <= $1").bind(now).run().await?;
    db.write().sql("delete from sign_in_address where last_at < $1").bind(since).run().await?;
    Ok(())
}
