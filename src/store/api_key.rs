//! Long-lived keys of system users.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt};
use super::system_user::within;
use super::time::Time;
use crate::auth::scope::{OrgScope, SystemUserScope};
use crate::domain::api_key::ApiKey;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::Scopes;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    system_user_id: Uuid,
    organization_id: Option<Uuid>,
    name: String,
    scopes: Json<Scopes>,
    expires_at: Option<Time>,
    last_used_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for ApiKey {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            system_user_id: row.system_user_id,
            organization_id: row.organization_id.map(OrganizationId),
            name: row.name,
            scopes: row.scopes.0,
            expires_at: row.expires_at.map(Timestamp::from),
            last_used_at: row.last_used_at.map(Timestamp::from),
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[("name", "name"), ("createdAt", "created_at")];

const SELECT: &str = "select id, system_user_id, name, scopes, expires_at, last_used_at, created_at, updated_at, \
     (select u.organization_id from system_user u where u.id = api_key.system_user_id) as organization_id \
     from api_key where 1 = 1 ";

const LIST: List =
    List { select: SELECT, count: "select count(*) from api_key where 1 = 1 ", columns: SORT_KEYS };

/// Narrows to the keys of one system user of a scope.
fn of_user<'c>(stmt: Stmt<'c>, scope: &SystemUserScope, user: Uuid) -> Stmt<'c> {
    let stmt =
        stmt.push(" and system_user_id in (select id from system_user where deleted_at is null and id = ");
    within(stmt.push_bind(user), scope).push(") ")
}

/// Inserts a key.
pub async fn insert(on: On<'_>, key: &ApiKey, token_hash: &[u8]) -> Result<()> {
    on.sql(
        "insert into api_key (id, system_user_id, name, scopes, token_hash, expires_at, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $7)",
    )
    .bind(key.id)
    .bind(key.system_user_id)
    .bind(&key.name)
    .bind(Json(&key.scopes))
    .bind(token_hash)
    .bind(key.expires_at.map(Time))
    .bind(Time(key.created_at))
    .run()
    .await?;
    Ok(())
}

/// A page of a system user's keys.
pub async fn list(
    db: &Db,
    scope: &SystemUserScope,
    user: Uuid,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<ApiKey>> {
    let found: Page<Row> = LIST.page(db, |stmt| of_user(stmt, scope, user), sort, page).await?;
    Ok(Page { items: found.items.into_iter().map(ApiKey::from).collect(), total: found.total })
}

/// A key of any system user of a scope.
pub async fn find(on: On<'_>, scope: &SystemUserScope, id: Uuid) -> Result<Option<ApiKey>> {
    let stmt = on.sql(SELECT).push("and id = ").push_bind(id);
    let of_scope = " and system_user_id in (select id from system_user where deleted_at is null ";
    let found: Option<Row> = within(stmt.push(of_scope), scope).push(") ").optional().await?;
    Ok(found.map(ApiKey::from))
}

/// All keys of a system user.
pub async fn all(on: On<'_>, scope: &SystemUserScope, user: Uuid) -> Result<Vec<ApiKey>> {
    let rows: Vec<Row> = of_user(on.sql(SELECT), scope, user).push("order by id").all().await?;
    Ok(rows.into_iter().map(ApiKey::from).collect())
}

/// Writes the scopes of a key.
pub async fn set_scopes(on: On<'_>, scope: &SystemUserScope, key: &ApiKey) -> Result<()> {
    let stmt = on
        .sql("update api_key set scopes = $2, updated_at = $3 where id = $1")
        .bind(key.id)
        .bind(Json(&key.scopes))
        .bind(Time(key.updated_at));
    of_user(stmt, scope, key.system_user_id).run().await?;
    Ok(())
}

/// Deletes one key of a system user.
pub async fn delete(on: On<'_>, scope: &SystemUserScope, key: &ApiKey) -> Result<()> {
    let stmt = on.sql("delete from api_key where id = $1").bind(key.id);
    of_user(stmt, scope, key.system_user_id).run().await?;
    Ok(())
}

/// Deletes every key of a system user.
pub async fn delete_all(on: On<'_>, scope: &SystemUserScope, user: Uuid) -> Result<()> {
    of_user(on.sql("delete from api_key where 1 = 1 "), scope, user).run().await?;
    Ok(())
}

/// The keys of an organization's system users, the deleted ones' too.
pub async fn of_organization(on: On<'_>, scope: &OrgScope) -> Result<Vec<ApiKey>> {
    let stmt = on
        .sql(SELECT)
        .push("and system_user_id in (select id from system_user where organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(") order by id");
    let rows: Vec<Row> = stmt.all().await?;
    Ok(rows.into_iter().map(ApiKey::from).collect())
}

/// Deletes the keys of an organization's system users.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let delete =
        "delete from api_key where system_user_id in (select id from system_user where organization_id = $1)";
    on.sql(delete).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(())
}

/// Records when keys were last accepted.
pub async fn note_uses(on: On<'_>, uses: &[(Uuid, Timestamp)]) -> Result<()> {
    let update = "update api_key set last_used_at = case id ";
    let stmt = uses.iter().fold(on.sql(update), |stmt, (id, at)| {
        stmt.push(" when ").push_bind(*id).push(" then ").push_bind(Time(*at))
    });
    let stmt = stmt.push(" else last_used_at end where id in (");
    stmt.push_each(uses, |stmt, (id, _)| stmt.push_bind(*id)).push(")").run().await?;
    Ok(())
}
