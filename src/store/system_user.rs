//! Programs that sign in.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::filters::{searched, updated_after};
use super::page::{Columns, paged};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::SystemUserScope;
use crate::domain::account::email_key;
use crate::domain::organization_settings::Subscription;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::{Scopes, SystemUser, SystemUserIn, SystemUserStatus};

/// A system user, with what signing in needs.
#[derive(Clone, sqlx::FromRow)]
pub struct SystemSignIn {
    /// The system user.
    pub id: Uuid,
    /// Its organization; one that signed up on its own has none until it creates one.
    pub organization_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// Its address.
    pub email: String,
    /// Its password, hashed.
    pub password_hash: String,
    /// Its scopes.
    pub scopes: Json<Scopes>,
    /// Whether it can be used.
    #[sqlx(try_from = "String")]
    pub status: SystemUserStatus,
    /// Its organization's name.
    pub organization_name: Option<String>,
    /// Its organization's status.
    pub organization_status: Option<String>,
    /// Its organization's subscription.
    pub organization_subscription: Option<Json<Subscription>>,
}

macro_rules! sign_in {
    ($more:literal, $from:literal) => {
        concat!(
            "select ",
            $more,
            "s.id, s.organization_id, s.name, s.email, s.password_hash, s.scopes, s.status, \
             o.name as organization_name, o.status as organization_status, \
             o.subscription as organization_subscription from ",
            $from,
            " left join organization o on o.id = s.organization_id where s.deleted_at is null "
        )
    };
}

const SIGN_IN: &str = sign_in!("", "system_user s");

/// A key, with the system user that it signs in.
#[derive(sqlx::FromRow)]
pub struct KeySignIn {
    /// The key.
    pub key_id: Uuid,
    /// What it may do.
    pub key_scopes: Json<Scopes>,
    /// From then on it is refused.
    pub key_expires_at: Option<Time>,
    /// Its system user.
    #[sqlx(flatten)]
    pub user: SystemSignIn,
}

/// What a key is found by.
#[derive(Clone, Copy, Debug)]
pub enum KeyName<'a> {
    /// The hash of its token.
    TokenHash(&'a [u8]),
    /// Its id.
    Id(Uuid),
}

const KEY_SIGN_IN: &str = sign_in!(
    "k.id as key_id, k.scopes as key_scopes, k.expires_at as key_expires_at, ",
    "api_key k join system_user s on s.id = k.system_user_id"
);

/// The key under which failed sign-ins of an address are counted; those of people are counted under the address
/// itself.
#[must_use]
pub fn attempts_key(email: &str) -> String {
    format!("system:{}", email_key(email))
}

/// The system user with an address.
pub async fn find_by_email(on: On<'_>, email: &str) -> Result<Option<SystemSignIn>> {
    on.sql(SIGN_IN).push("and s.email_key = ").push_bind(email_key(email)).optional().await
}

/// A system user, for signing in.
pub async fn find_sign_in(on: On<'_>, id: Uuid) -> Result<Option<SystemSignIn>> {
    on.sql(SIGN_IN).push("and s.id = ").push_bind(id).optional().await
}

/// A system user with an active session; `None` if the session is over.
pub async fn find_with_session(db: &Db, id: Uuid, family: Uuid, now: Time) -> Result<Option<SystemSignIn>> {
    db.read()
        .sql(SIGN_IN)
        .push("and s.id = ")
        .push_bind(id)
        .push(
            " and exists (select 1 from refresh_token r where r.system_user_id = s.id \
             and r.revoked_at is null and r.family_id = ",
        )
        .push_bind(family)
        .push(" and r.ends_at > ")
        .push_bind(now)
        .push(")")
        .optional()
        .await
}

/// A key and its system user; `None` for a key that is unknown or revoked.
pub async fn find_with_key(db: &Db, key: KeyName<'_>) -> Result<Option<KeySignIn>> {
    let stmt = db.read().sql(KEY_SIGN_IN);
    match key {
        KeyName::TokenHash(hash) => stmt.push("and k.token_hash = ").push_bind(hash),
        KeyName::Id(id) => stmt.push("and k.id = ").push_bind(id),
    }
    .optional()
    .await
}

/// Records a sign-in, and locks the system user's row for this transaction. `false` if it is not active, or its password hash is
/// not this one any more.
pub async fn signed_in(on: On<'_>, id: Uuid, hash: String, now: Time) -> Result<bool> {
    let noted = on
        .sql(
            "update system_user set last_login_at = $2 \
             where id = $1 and status = 'active' and deleted_at is null and password_hash = $3",
        )
        .bind(id)
        .bind(now)
        .bind(hash)
        .run()
        .await?;
    Ok(noted > 0)
}

/// Filters a list of system users.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in name or address.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<SystemUserStatus>,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns =
    &[("name", "name"), ("email", "email"), ("createdAt", "created_at"), ("updatedAt", "updated_at")];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Option<Uuid>,
    name: String,
    email: String,
    scopes: Json<Scopes>,
    #[sqlx(try_from = "String")]
    status: SystemUserStatus,
    email_verified_at: Option<Time>,
    last_login_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
    locked_until: Option<Time>,
}

impl Row {
    fn at(self, now: Time) -> SystemUser {
        SystemUser {
            id: self.id,
            organization_id: self.organization_id.map(OrganizationId),
            email: self.email,
            attributes: SystemUserIn { name: self.name, scopes: self.scopes.0 },
            status: self.status.at(self.locked_until.map(Timestamp::from), now.0),
            email_verified_at: self.email_verified_at.map(Timestamp::from),
            last_login_at: self.last_login_at.map(Timestamp::from),
            created_at: self.created_at.into(),
            updated_at: self.updated_at.into(),
        }
    }
}

/// Failures come from `sign_in_attempt`, under the key of [`attempts_key`].
const SELECT: &str = "select id, organization_id, name, email, scopes, status, email_verified_at, last_login_at, \
     created_at, updated_at, (select max(l.window_ends_at) from login_attempt l \
     where l.email_key = 'system:' || system_user.email_key \
     and l.failures >= case when l.address = '' then 100 else 5 end) as locked_until \
     from system_user where deleted_at is null ";

/// Inserts a system user; a taken address is a conflict.
pub async fn insert(on: On<'_>, user: &SystemUser, password_hash: &str) -> Result<()> {
    on.sql(
        "insert into system_user (id, organization_id, name, search_key, email, email_key, password_hash, scopes, \
         status, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)",
    )
    .bind(user.id)
    .bind(user.organization_id.map(Uuid::from))
    .bind(&user.attributes.name)
    .bind(user.attributes.search_key(&user.email))
    .bind(&user.email)
    .bind(email_key(&user.email))
    .bind(password_hash)
    .bind(Json(&user.attributes.scopes))
    .bind(user.status.as_str())
    .bind(Time(user.created_at))
    .run()
    .await?;
    Ok(())
}

/// A system user.
pub async fn find(on: On<'_>, scope: &SystemUserScope, id: Uuid, now: Time) -> Result<Option<SystemUser>> {
    let stmt = within(on.sql(SELECT), scope).push(" and id = ").push_bind(id);
    Ok(stmt.optional::<Row>().await?.map(|row| row.at(now)))
}

/// A page of system users.
pub async fn list(
    db: &Db,
    scope: &SystemUserScope,
    filter: &Filter,
    now: Time,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<SystemUser>> {
    let rows = narrowed(db.read().sql(SELECT), scope, filter, now);
    let rows: Vec<Row> = paged(rows, SORT_KEYS, sort, page).all().await?;
    let counted = db.read().sql("select count(*) from system_user where deleted_at is null ");
    let total = narrowed(counted, scope, filter, now).scalar().await?;
    Ok(Page { items: rows.into_iter().map(|row| row.at(now)).collect(), total })
}

/// Narrows a statement on system users to those of a scope.
pub(super) fn within<'c>(stmt: Stmt<'c>, scope: &SystemUserScope) -> Stmt<'c> {
    match scope {
        SystemUserScope::Platform(_) => stmt,
        SystemUserScope::Oneself(id) => stmt.push(" and id = ").push_bind(*id),
        SystemUserScope::Organization(scope) => {
            stmt.push(" and organization_id = ").push_bind(Uuid::from(scope.organization_id()))
        }
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &SystemUserScope, filter: &Filter, now: Time) -> Stmt<'c> {
    let mut stmt = updated_after(within(stmt, scope), " and updated_at", filter.updated_after);
    if !filter.statuses.is_empty() {
        stmt = stmt
            .push(
                " and case when status = 'active' and exists (select 1 from login_attempt l \
                 where l.email_key = 'system:' || system_user.email_key \
                 and l.failures >= case when l.address = '' then 100 else 5 end \
                 and l.window_ends_at > ",
            )
            .push_bind(now)
            .push(") then 'locked' else status end in (");
        stmt = stmt.push_each(&filter.statuses, |stmt, status| stmt.push_bind(status.as_str())).push(")");
    }
    searched(stmt, filter.q.as_deref())
}

/// Locks a system user's row for this transaction.
pub async fn hold(on: On<'_>, id: Uuid) -> Result<()> {
    super::hold::hold(on, "system_user", id, |stmt| stmt).await
}

/// Writes a system user.
pub async fn update(on: On<'_>, scope: &SystemUserScope, user: &SystemUser) -> Result<()> {
    let stmt = on
        .sql(
            "update system_user set name = $2, search_key = $3, scopes = $4, status = $5, updated_at = $6 \
             where id = $1 and deleted_at is null",
        )
        .bind(user.id)
        .bind(&user.attributes.name)
        .bind(user.attributes.search_key(&user.email))
        .bind(Json(&user.attributes.scopes))
        .bind(user.status.as_str())
        .bind(Time(user.updated_at));
    within(stmt, scope).run().await?;
    Ok(())
}

/// Deletes a system user, softly.
pub async fn delete(on: On<'_>, scope: &SystemUserScope, id: Uuid, now: Time) -> Result<()> {
    let stmt = on
        .sql("update system_user set deleted_at = $2, updated_at = $2 where id = $1 and deleted_at is null")
        .bind(id)
        .bind(now);
    within(stmt, scope).run().await?;
    Ok(())
}

/// Records that an address is verified; `false` if its system user is gone. A disabled one stays disabled.
pub async fn verify(on: On<'_>, id: Uuid, now: Time) -> Result<bool> {
    let verified = on
        .sql(
            "update system_user set email_verified_at = $2, updated_at = $2, \
             status = case when status = 'pendingVerification' then 'active' else status end \
             where id = $1 and deleted_at is null",
        )
        .bind(id)
        .bind(now)
        .run()
        .await?;
    Ok(verified > 0)
}

/// Gives a system user a new password.
pub async fn set_password(on: On<'_>, id: Uuid, hash: &str, now: Time) -> Result<()> {
    on.sql("update system_user set password_hash = $2, updated_at = $3 where id = $1")
        .bind(id)
        .bind(hash)
        .bind(now)
        .run()
        .await?;
    Ok(())
}
