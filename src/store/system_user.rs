//! Programs that sign in.

use sqlx::types::Json;
use uuid::Uuid;

use super::sql::{Db, On, Result};
use super::time::Time;
use crate::domain::account::email_key;
use crate::domain::system_user::{Scopes, SystemUserStatus};

/// A system user as signing in needs it.
#[derive(Clone, sqlx::FromRow)]
pub struct SystemSignIn {
    /// Which.
    pub id: Uuid,
    /// Its organization; one that signed up by itself has none before it made one.
    pub organization_id: Option<Uuid>,
    /// What it is called.
    pub name: String,
    /// Its address.
    pub email: String,
    /// Its password, hashed.
    pub password_hash: String,
    /// What it may do.
    pub scopes: Json<Scopes>,
    /// Whether it can be used.
    #[sqlx(try_from = "String")]
    pub status: SystemUserStatus,
    /// Its organization's name.
    pub organization_name: Option<String>,
    /// Its organization's status.
    pub organization_status: Option<String>,
}

const SIGN_IN: &str = "select s.id, s.organization_id, s.name, s.email, s.password_hash, s.scopes, s.status, \
     o.name as organization_name, o.status as organization_status \
     from system_user s left join organization o on o.id = s.organization_id where s.deleted_at is null ";

/// Under which key failed sign-ins of an address are counted; people's are counted under the address itself.
#[must_use]
pub fn attempts_key(email: &str) -> String {
    format!("system:{}", email_key(email))
}

/// The system user with an address.
pub async fn find_by_email(db: &Db, email: &str) -> Result<Option<SystemSignIn>> {
    db.read().sql(SIGN_IN).push("and s.email_key = ").push_bind(email_key(email)).optional().await
}

/// A system user, for signing in.
pub async fn find_sign_in(on: On<'_>, id: Uuid) -> Result<Option<SystemSignIn>> {
    on.sql(SIGN_IN).push("and s.id = ").push_bind(id).optional().await
}

/// A system user with a session that goes on; `None` when the session is over.
pub async fn find_with_session(db: &Db, id: Uuid, family: Uuid) -> Result<Option<SystemSignIn>> {
    db.read()
        .sql(SIGN_IN)
        .push("and s.id = ")
        .push_bind(id)
        .push(
            " and exists (select 1 from refresh_token r where r.system_user_id = s.id \
             and r.revoked_at is null and r.family_id = ",
        )
        .push_bind(family)
        .push(")")
        .optional()
        .await
}

/// Notes a sign-in.
pub async fn signed_in(on: On<'_>, id: Uuid, now: Time) -> Result<()> {
    on.sql("update system_user set last_login_at = $2 where id = $1").bind(id).bind(now).run().await?;
    Ok(())
}
