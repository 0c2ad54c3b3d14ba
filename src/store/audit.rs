//! The audit, to which entries are only ever added.

use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

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
    let mut within = None;
    if filter.from.is_some() || filter.to.is_some() {
        within = bounds(db, scope, filter).await?;
        if within.is_none() {
            return Ok(Vec::new());
        }
    }
    let stmt = db.lists().sql(
        "select id, organization_id, actor_id, actor_role, action, resource, resource_id, request_id, \
             before, after, occurred_at from audit where ",
    );
    let stmt = if is_by_words(filter) {
        of_words(stmt.push("id in ("), scope, filter, (within, before), limit).push(")")
    } else {
        let stmt = narrowed(bounded(of(stmt, scope), within, before), filter);
        let stmt = one_of(stmt, " and resource in (", &resources_of(filter));
        one_of(stmt, " and action in (", &actions_of(filter))
    };
    let stmt = stmt.push(" order by id desc limit ").push_bind(limit);
    Ok(stmt.all::<Row>().await?.into_iter().map(AuditEntry::from).collect())
}

/// Whether entries are found by what was done to what: then each pair of words has a piece of an index, while those of an actor or of
/// one thing have an index of their own.
const fn is_by_words(filter: &AuditFilter) -> bool {
    let has_words = !filter.resources.is_empty() || !filter.actions.is_empty();
    has_words && filter.resource_id.is_none() && filter.actor_id.is_none()
}

/// Adds the ids of the newest entries of each pair of words, at most `limit` of each.
fn of_words<'c>(
    stmt: Stmt<'c>,
    scope: &AccountScope,
    filter: &AuditFilter,
    (within, before): (Option<(Uuid, Uuid)>, Option<Uuid>),
    limit: i64,
) -> Stmt<'c> {
    let (mut resources, mut actions) = (resources_of(filter), actions_of(filter));
    if resources.is_empty() {
        resources.extend(AuditResource::WORDS.iter().map(|(word, _)| word));
    }
    if actions.is_empty() {
        actions.extend(AuditAction::WORDS.iter().map(|(word, _)| word));
    }
    let pairs = resources.iter().flat_map(|resource| actions.iter().map(move |action| (*resource, *action)));
    pairs.enumerate().fold(stmt, |stmt, (number, (resource, action))| {
        let stmt = if number > 0 { stmt.push(" union all ") } else { stmt };
        let stmt = of(stmt.push("select id from (select id from audit where "), scope);
        let stmt = stmt.push(" and resource = ").push_bind(resource).push(" and action = ").push_bind(action);
        let stmt = narrowed(bounded(stmt, within, before), filter);
        stmt.push(" order by id desc limit ").push_bind(limit).push(") as newest")
    })
}

fn resources_of(filter: &AuditFilter) -> Vec<&'static str> {
    filter.resources.iter().map(|resource| resource.as_str()).collect()
}

fn actions_of(filter: &AuditFilter) -> Vec<&'static str> {
    filter.actions.iter().map(|action| action.as_str()).collect()
}

fn of<'c>(stmt: Stmt<'c>, scope: &AccountScope) -> Stmt<'c> {
    match scope {
        AccountScope::Organization(scope) => {
            stmt.push("organization_id = ").push_bind(Uuid::from(scope.organization_id()))
        }
        AccountScope::Operators(_) => stmt.push("organization_id is null"),
        AccountScope::Oneself(id) => stmt.push("actor_id = ").push_bind(*id),
    }
}

/// Clocks step: an entry may be newer than another that occurred this many seconds after it.
const STEP_SECONDS: f64 = 60.0;
/// A change has its instant from its beginning on, and its entries have their ids when they are written: at most so much later.
const LONGEST_SECONDS: f64 = 600.0;
/// More entries than there are within that time. A part of its own keeps the index of instants in use.
const OF_AN_EDGE: &str = " limit 1000000) entry order by id";

/// Ids between which all entries of the wanted time are; `None`: there are none.
async fn bounds(db: &Db, scope: &AccountScope, filter: &AuditFilter) -> Result<Option<(Uuid, Uuid)>> {
    let from = filter.from.map(|from| from.plus_seconds(-STEP_SECONDS));
    let to = filter.to.map(|to| to.plus_seconds(STEP_SECONDS));
    let within = |select, from: Option<Timestamp>, to: Option<Timestamp>| {
        let stmt = of(db.lists().sql(select), scope);
        let stmt = match from {
            Some(from) => stmt.push(" and occurred_at >= ").push_bind(Time(from)),
            None => stmt,
        };
        match to {
            Some(to) => stmt.push(" and occurred_at < ").push_bind(Time(to)),
            None => stmt,
        }
    };
    let edge = "select occurred_at from audit where ";
    let first = within(edge, from, to).push(" order by occurred_at limit 1").optional().await?;
    let last = within(edge, from, to).push(" order by occurred_at desc limit 1").optional().await?;
    let Some(((Time(first),), (Time(last),))) = Option::zip(first, last) else { return Ok(None) };
    let near = "select id from (select id from audit where ";
    let until = first.plus_seconds(LONGEST_SECONDS);
    let least = within(near, from, Some(until)).push(OF_AN_EDGE).push(" limit 1").optional().await?;
    let since = last.plus_seconds(-LONGEST_SECONDS);
    let most = within(near, Some(since), to).push(OF_AN_EDGE).push(" desc limit 1").optional().await?;
    Ok(Option::zip(least, most).map(|((least,), (most,))| (least, most)))
}

/// Adds at most one condition for each side: of several, SQLite seeks by the first and goes through what the others leave out.
fn bounded(stmt: Stmt<'_>, bounds: Option<(Uuid, Uuid)>, before: Option<Uuid>) -> Stmt<'_> {
    let (stmt, last) = match bounds {
        Some((first, last)) => (stmt.push(" and id >= ").push_bind(first), Some(last)),
        None => (stmt, None),
    };
    match (before.filter(|id| last.is_none_or(|last| *id <= last)), last) {
        (Some(id), _) => stmt.push(" and id < ").push_bind(id),
        (None, Some(last)) => stmt.push(" and id <= ").push_bind(last),
        (None, None) => stmt,
    }
}

fn narrowed<'c>(mut stmt: Stmt<'c>, filter: &AuditFilter) -> Stmt<'c> {
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
