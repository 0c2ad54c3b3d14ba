//! The audit, to which entries are only ever added.

use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::filters::one_of;
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::AccountScope;
use crate::domain::audit::{AuditAction, AuditEntry, AuditFilter, AuditResource};

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Option<Uuid>,
    actor_id: Uuid,
    actor_role: String,
    #[sqlx(try_from = "String")]
    action: AuditAction,
    #[sqlx(try_from = "String")]
    resource: AuditResource,
    resource_id: Uuid,
    request_id: Option<String>,
    before: Option<Json<Value>>,
    after: Option<Json<Value>>,
    occurred_at: Time,
}

impl From<Row> for AuditEntry {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.map(OrganizationId),
            actor_id: row.actor_id,
            actor_role: row.actor_role,
            action: row.action,
            resource: row.resource,
            resource_id: row.resource_id,
            request_id: row.request_id,
            before: row.before.map(|value| value.0),
            after: row.after.map(|value| value.0),
            occurred_at: row.occurred_at.into(),
        }
    }
}

/// Adds an entry.
pub async fn insert(on: On<'_>, entry: &AuditEntry) -> Result<()> {
    on.sql(
        "insert into audit (id, organization_id, actor_id, actor_role, action, resource, resource_id, request_id, \
         before, after, occurred_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(entry.id)
    .bind(entry.organization_id.map(Uuid::from))
    .bind(entry.actor_id)
    .bind(entry.actor_role.as_str())
    .bind(entry.action.as_str())
    .bind(entry.resource.as_str())
    .bind(entry.resource_id)
    .bind(entry.request_id.as_deref())
    .bind(entry.before.as_ref().map(Json))
    .bind(entry.after.as_ref().map(Json))
    .bind(Time(entry.occurred_at))
    .run()
    .await?;
    Ok(())
}

/// At most `limit` entries of an organization, or of the platform's own accounts, newest first, before an entry.
pub async fn list(
    db: &Db,
    scope: &AccountScope,
    filter: &AuditFilter,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<AuditEntry>> {
    let stmt = db.lists().sql(
        "select id, organization_id, actor_id, actor_role, action, resource, resource_id, request_id, \
             before, after, occurred_at from audit where ",
    );
    let stmt = match scope {
        AccountScope::Organization(scope) => {
            stmt.push("organization_id = ").push_bind(Uuid::from(scope.organization_id()))
        }
        AccountScope::Operators(_) => stmt.push("organization_id is null"),
        AccountScope::Oneself(id) => stmt.push("actor_id = ").push_bind(*id),
    };
    let stmt = match before {
        Some(id) => stmt.push(" and id < ").push_bind(id),
        None => stmt,
    };
    let stmt = narrowed(stmt, filter).push(" order by id desc limit ").push_bind(limit);
    Ok(stmt.all::<Row>().await?.into_iter().map(AuditEntry::from).collect())
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &AuditFilter) -> Stmt<'c> {
    let resources: Vec<_> = filter.resources.iter().map(|resource| resource.as_str()).collect();
    let actions: Vec<_> = filter.actions.iter().map(|action| action.as_str()).collect();
    let stmt = one_of(stmt, " and resource in (", &resources);
    let mut stmt = one_of(stmt, " and action in (", &actions);
    if let Some(id) = filter.resource_id {
        stmt = stmt.push(" and resource_id = ").push_bind(id);
    }
    if let Some(id) = filter.actor_id {
        stmt = stmt.push(" and actor_id = ").push_bind(id);
    }
    if let Some(from) = filter.from {
        stmt = stmt.push(" and occurred_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and occurred_at < ").push_bind(Time(to));
    }
    stmt
}
