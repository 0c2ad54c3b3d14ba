//! People who sign in.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::sql::{Db, On, Result};
use super::time::Time;
use crate::domain::account::{AccountStatus, Role, email_key};
use crate::domain::fold::folded;
use crate::domain::organization_settings::Subscription;

/// An account, with what signing in needs.
#[derive(Clone, sqlx::FromRow)]
pub struct Account {
    /// The account.
    pub id: Uuid,
    /// Its organization; operators have none.
    pub organization_id: Option<Uuid>,
    /// Its address.
    pub email: String,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// The account's role.
    #[sqlx(try_from = "String")]
    pub role: Role,
    /// Whether it can be used.
    #[sqlx(try_from = "String")]
    pub status: AccountStatus,
    /// Its password, hashed; none before the invitation is accepted.
    pub password_hash: Option<String>,
    /// The BCP 47 tag by which it writes dates and numbers.
    pub locale: Option<String>,
    /// Its IANA time zone.
    pub timezone: Option<String>,
    /// Its organization's name.
    pub organization_name: Option<String>,
    /// Its organization's status.
    pub organization_status: Option<String>,
    /// Its organization's subscription.
    pub organization_subscription: Option<Json<Subscription>>,
}

/// A new account.
#[derive(Clone)]
pub struct NewAccount {
    /// The account.
    pub id: Uuid,
    /// Its organization; operators have none.
    pub organization_id: Option<OrganizationId>,
    /// Its address.
    pub email: String,
    /// Given name.
    pub first_name: String,
    /// Family name.
    pub last_name: String,
    /// Its role.
    pub role: Role,
    /// Whether it can be used.
    pub status: AccountStatus,
    /// Its password, hashed.
    pub password_hash: Option<String>,
    /// When it is created.
    pub created_at: Time,
}

const SELECT: &str = "select a.id, a.organization_id, a.email, a.first_name, a.last_name, a.role, a.status, \
     a.password_hash, a.locale, a.timezone, o.name as organization_name, o.status as organization_status, \
     o.subscription as organization_subscription \
     from account a left join organization o on o.id = a.organization_id ";

/// Inserts an account; a taken address is a conflict.
pub async fn insert(on: On<'_>, account: &NewAccount) -> Result<()> {
    on.sql(
        "insert into account (id, organization_id, email, email_key, first_name, last_name, role, status, \
         password_hash, created_at, updated_at, search_key) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)",
    )
    .bind(account.id)
    .bind(account.organization_id.map(Uuid::from))
    .bind(&account.email)
    .bind(email_key(&account.email))
    .bind(&account.first_name)
    .bind(&account.last_name)
    .bind(account.role.as_str())
    .bind(account.status.as_str())
    .bind(account.password_hash.clone())
    .bind(account.created_at)
    .bind(folded(&format!("{} {} {}", account.first_name, account.last_name, account.email)))
    .run()
    .await?;
    Ok(())
}

/// The account with an address.
pub async fn find_by_email(on: On<'_>, email: &str) -> Result<Option<Account>> {
    on.sql(SELECT).push("where a.email_key = ").push_bind(email_key(email)).optional().await
}

/// An account.
pub async fn find(on: On<'_>, id: Uuid) -> Result<Option<Account>> {
    on.sql(SELECT).push("where a.id = ").push_bind(id).optional().await
}

/// An account with an active session; `None` if the session is over.
pub async fn find_with_session(db: &Db, id: Uuid, family: Uuid, now: Time) -> Result<Option<Account>> {
    db.read()
        .sql(SELECT)
        .push("where a.id = ")
        .push_bind(id)
        .push(
            " and exists (select 1 from refresh_token r where r.account_id = a.id \
             and r.revoked_at is null and r.family_id = ",
        )
        .push_bind(family)
        .push(" and r.ends_at > ")
        .push_bind(now)
        .push(")")
        .optional()
        .await
}

/// The new address of an account that is still unconfirmed, if there is one.
pub async fn pending_address(on: On<'_>, id: Uuid) -> Result<Option<String>> {
    let found: Option<(Option<String>,)> =
        on.sql("select pending_email from account where id = $1").bind(id).optional().await?;
    Ok(found.and_then(|(address,)| address))
}

/// Changes an account's address; a taken one is a conflict.
pub async fn set_address(on: On<'_>, account: &Account, address: &str, now: Time) -> Result<()> {
    on.sql(
        "update account set email = $2, email_key = $3, search_key = $4, pending_email = null, updated_at = $5 \
         where id = $1",
    )
    .bind(account.id)
    .bind(address)
    .bind(email_key(address))
    .bind(folded(&format!("{} {} {}", account.first_name, account.last_name, address)))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Sets an account's password, which activates an invited account.
pub async fn set_password(on: On<'_>, id: Uuid, hash: &str, now: Time) -> Result<()> {
    on.sql(
        "update account set password_hash = $2, updated_at = $3, pending_email = null, \
         status = case when status = 'invited' then 'active' else status end where id = $1",
    )
    .bind(id)
    .bind(hash)
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Whether there is a superAdmin.
pub async fn has_super_admin(on: On<'_>) -> Result<bool> {
    on.sql("select exists (select 1 from account where role = $1)")
        .bind(Role::SuperAdmin.as_str())
        .scalar()
        .await
}

/// Records a sign-in, and locks the account's row for this transaction. `false` if the account is not active, or its password
/// hash is not this one (empty: none) any more.
pub async fn signed_in(on: On<'_>, id: Uuid, hash: String, now: Time) -> Result<bool> {
    let noted = on
        .sql(
            "update account set last_login_at = $2 \
             where id = $1 and status = 'active' and coalesce(password_hash, '') = $3",
        )
        .bind(id)
        .bind(now)
        .bind(hash)
        .run()
        .await?;
    Ok(noted > 0)
}

/// Whether an account's password hash is this one.
pub async fn has_hash(on: On<'_>, id: Uuid, hash: &str) -> Result<bool> {
    on.sql("select exists (select 1 from account where id = $1 and password_hash = $2)")
        .bind(id)
        .bind(hash)
        .scalar()
        .await
}
