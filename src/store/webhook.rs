//! Webhooks, as they are listed and changed.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{GeofenceId, Timestamp, VehicleId};

use super::hold::hold_own;
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::Scopes;
use crate::domain::webhook::{DisabledReason, Webhook, WebhookIn};
use crate::domain::webhook_event::EventTypes;

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    id: Uuid,
    organization_id: Uuid,
    url: String,
    description: Option<String>,
    event_types: Json<EventTypes>,
    vehicle_ids: Json<Vec<VehicleId>>,
    geofence_ids: Json<Vec<GeofenceId>>,
    enabled: bool,
    disabled_reason: Option<String>,
    failing_since: Option<Time>,
    next_attempt_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Webhook {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.into(),
            attributes: WebhookIn {
                url: row.url,
                description: row.description,
                event_types: row.event_types.0,
                vehicle_ids: row.vehicle_ids.0,
                geofence_ids: row.geofence_ids.0,
                enabled: row.enabled,
            },
            disabled_reason: row.disabled_reason.and_then(|word| DisabledReason::try_from(word).ok()),
            failing_since: row.failing_since.map(Timestamp::from),
            next_attempt_at: row.next_attempt_at.map(Timestamp::from),
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[("url", "url"), ("createdAt", "created_at"), ("updatedAt", "updated_at")];

const SELECT: &str = "select id, organization_id, url, description, event_types, vehicle_ids, geofence_ids, enabled, \
     disabled_reason, failing_since, next_attempt_at, created_at, updated_at from webhook where 1 = 1 ";

const LIST: List =
    List { select: SELECT, count: "select count(*) from webhook where 1 = 1 ", columns: SORT_KEYS };

fn within<'c>(stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
    stmt.push(" and organization_id = ").push_bind(Uuid::from(scope.organization_id()))
}

/// Who wrote a webhook last: `None` for a person, or the system user with the scopes that it had.
pub type Writer<'a> = Option<(Uuid, &'a Scopes)>;

/// Inserts a webhook, which is sent what happens from `next_sequence` on.
pub async fn insert(
    on: On<'_>,
    webhook: &Webhook,
    writer: Writer<'_>,
    secret: &[u8],
    next_sequence: i64,
) -> Result<()> {
    let attributes = &webhook.attributes;
    on.sql(
        "insert into webhook (id, organization_id, url, description, event_types, vehicle_ids, geofence_ids, enabled, \
         system_user_id, scopes, secret, next_sequence, moves, failed_attempts, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0, $13, $13)",
    )
    .bind(webhook.id)
    .bind(webhook.organization_id.0)
    .bind(&attributes.url)
    .bind(&attributes.description)
    .bind(Json(&attributes.event_types))
    .bind(Json(&attributes.vehicle_ids))
    .bind(Json(&attributes.geofence_ids))
    .bind(attributes.enabled)
    .bind(writer.map(|(id, _)| id))
    .bind(writer.map(|(_, scopes)| Json(scopes)))
    .bind(secret)
    .bind(next_sequence)
    .bind(Time(webhook.created_at))
    .run()
    .await?;
    Ok(())
}

/// A page of an organization's webhooks.
pub async fn list(db: &Db, scope: &OrgScope, sort: &Sort, page: PageRequest) -> Result<Page<Webhook>> {
    let found: Page<Row> = LIST.page(db, |stmt| within(stmt, scope), sort, page).await?;
    Ok(found.map(Webhook::from))
}

/// How many webhooks an organization has.
pub async fn count(on: On<'_>, scope: &OrgScope) -> Result<i64> {
    within(on.sql("select count(*) from webhook where 1 = 1"), scope).scalar().await
}

/// A webhook.
pub async fn find(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<Option<Webhook>> {
    let row: Option<Row> = within(on.sql(SELECT), scope).push(" and id = ").push_bind(id).optional().await?;
    Ok(row.map(Webhook::from))
}

/// Locks a webhook's row for this transaction.
pub async fn hold(on: On<'_>, scope: &OrgScope, id: Uuid) -> Result<()> {
    hold_own(on, "webhook", scope, id).await
}

/// Writes a webhook's attributes, and who wrote them.
pub async fn update(on: On<'_>, scope: &OrgScope, webhook: &Webhook, writer: Writer<'_>) -> Result<()> {
    let attributes = &webhook.attributes;
    let stmt = on
        .sql(
            "update webhook set url = $2, description = $3, event_types = $4, vehicle_ids = $5, geofence_ids = $6, \
             enabled = $7, disabled_reason = $8, system_user_id = $9, scopes = $10, updated_at = $11 where id = $1",
        )
        .bind(webhook.id)
        .bind(&attributes.url)
        .bind(&attributes.description)
        .bind(Json(&attributes.event_types))
        .bind(Json(&attributes.vehicle_ids))
        .bind(Json(&attributes.geofence_ids))
        .bind(attributes.enabled)
        .bind(webhook.disabled_reason.map(DisabledReason::as_str))
        .bind(writer.map(|(id, _)| id))
        .bind(writer.map(|(_, scopes)| Json(scopes)))
        .bind(Time(webhook.updated_at));
    within(stmt, scope).run().await?;
    Ok(())
}

/// Gives a webhook a new secret; the present one signs beside it until an instant. `writer` may read it.
pub async fn set_secret(
    on: On<'_>,
    scope: &OrgScope,
    id: Uuid,
    writer: Writer<'_>,
    (secret, until, now): (&[u8], Timestamp, Timestamp),
) -> Result<()> {
    let stmt = on
        .sql(
            "update webhook set former_secret = secret, secret = $2, former_secret_until = $3, system_user_id = $4, \
             scopes = $5, updated_at = $6 where id = $1",
        )
        .bind(id)
        .bind(secret)
        .bind(Time(until))
        .bind(writer.map(|(id, _)| id))
        .bind(writer.map(|(_, scopes)| Json(scopes)))
        .bind(Time(now));
    within(stmt, scope).run().await?;
    Ok(())
}

/// Sets where in the log a webhook goes on; what failed before counts no more.
pub async fn move_to(on: On<'_>, scope: &OrgScope, id: Uuid, next_sequence: i64) -> Result<()> {
    let stmt = on
        .sql(
            "update webhook set next_sequence = $2, moves = moves + 1, failing_since = null, failing_sequence = null, \
             failed_attempts = 0, next_attempt_at = null where id = $1",
        )
        .bind(id)
        .bind(next_sequence);
    within(stmt, scope).run().await?;
    Ok(())
}

/// Deletes a webhook with its attempts.
pub async fn delete(tx: &mut Tx, scope: &OrgScope, id: Uuid) -> Result<()> {
    let attempts =
        tx.on().sql("delete from webhook_attempt where webhook_id in (select id from webhook where id = ");
    within(attempts.push_bind(id), scope).push(")").run().await?;
    within(tx.on().sql("delete from webhook where id = $1").bind(id), scope).run().await?;
    Ok(())
}

/// Deletes an organization's webhooks with their attempts.
pub async fn delete_of_organization(tx: &mut Tx, scope: &OrgScope) -> Result<()> {
    let attempts = "delete from webhook_attempt where webhook_id in (select id from webhook where 1 = 1";
    within(tx.on().sql(attempts), scope).push(")").run().await?;
    within(tx.on().sql("delete from webhook where 1 = 1"), scope).run().await?;
    Ok(())
}

/// The addresses and first names of those who administer an organization.
pub async fn administrators(on: On<'_>, scope: &OrgScope) -> Result<Vec<(Uuid, String, String)>> {
    let select = "select id, email, first_name from account where organization_id = $1 and role = 'orgAdmin' \
        and status = 'active' order by id";
    on.sql(select).bind(Uuid::from(scope.organization_id())).all().await
}

/// Writes that a webhook is disabled, no matter who wrote it.
pub async fn disable(on: On<'_>, scope: &OrgScope, webhook: &Webhook) -> Result<()> {
    let stmt = on
        .sql("update webhook set enabled = $2, disabled_reason = $3, updated_at = $4 where id = $1")
        .bind(webhook.id)
        .bind(webhook.attributes.enabled)
        .bind(webhook.disabled_reason.map(DisabledReason::as_str))
        .bind(Time(webhook.updated_at));
    within(stmt, scope).run().await?;
    Ok(())
}
