//! The log of attempts to deliver to webhooks.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::filters::one_of_words;
use super::page::{Columns, List};
use super::rows::{Column, Insert};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::webhook::{AttemptOutcome, WebhookAttempt};

/// How long attempts are kept. Seconds: 7 days.
const KEEP_SECONDS: f64 = 7.0 * 86_400.0;
/// Attempts kept of each webhook.
const MOST_ATTEMPTS: i64 = 10_000;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    message_id: String,
    event_type: String,
    sequence: Option<i64>,
    attempt: i64,
    attempted_at: Time,
    duration_ms: i64,
    status: Option<i64>,
    #[sqlx(try_from = "String")]
    outcome: AttemptOutcome,
    detail: Option<String>,
    answer: Option<String>,
}

impl From<Row> for WebhookAttempt {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            message_id: row.message_id,
            event_type: row.event_type,
            sequence: row.sequence,
            attempt: row.attempt,
            attempted_at: row.attempted_at.into(),
            duration_ms: row.duration_ms,
            status: row.status,
            outcome: row.outcome,
            detail: row.detail,
            answer: row.answer,
        }
    }
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[("attemptedAt", "attempted_at")];

const SELECT: &str = "select id, message_id, event_type, sequence, attempt, attempted_at, duration_ms, status, \
     outcome, detail, answer from webhook_attempt where ";

const LIST: List =
    List { select: SELECT, count: "select count(*) from webhook_attempt where ", columns: SORT_KEYS };

fn of_webhook<'c>(stmt: Stmt<'c>, scope: &OrgScope, webhook: Uuid) -> Stmt<'c> {
    let stmt = stmt.push("webhook_id in (select w.id from webhook w where w.id = ").push_bind(webhook);
    stmt.push(" and w.organization_id = ").push_bind(Uuid::from(scope.organization_id())).push(")")
}

/// A page of a webhook's attempts; of these outcomes, if any are named.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    webhook: Uuid,
    outcomes: &[AttemptOutcome],
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<WebhookAttempt>> {
    let narrowed = |stmt| {
        let stmt = of_webhook(stmt, scope, webhook);
        one_of_words(stmt, " and outcome in (", outcomes, AttemptOutcome::as_str)
    };
    let found: Page<Row> = LIST.page(db, narrowed, sort, page).await?;
    Ok(found.map(WebhookAttempt::from))
}

/// An attempt.
pub async fn find(on: On<'_>, scope: &OrgScope, webhook: Uuid, id: Uuid) -> Result<Option<WebhookAttempt>> {
    let stmt = of_webhook(on.sql(SELECT), scope, webhook).push(" and id = ").push_bind(id);
    let row: Option<Row> = stmt.optional().await?;
    Ok(row.map(WebhookAttempt::from))
}

/// Adds attempts, each with its webhook. Those that are there already stay as they are: they come again after a commit of which
/// nobody knows whether it was one.
pub(super) async fn insert(tx: &mut Tx, attempts: &[(Uuid, WebhookAttempt)]) -> Result<()> {
    let each = || attempts.iter().map(|(_, attempt)| attempt);
    let rows = Insert {
        into: "insert into webhook_attempt (id, webhook_id, message_id, event_type, sequence, attempt, attempted_at, \
            duration_ms, status, outcome, detail, answer)",
        columns: vec![
            Column::Uuid(each().map(|attempt| attempt.id).collect()),
            Column::Uuid(attempts.iter().map(|(webhook, _)| *webhook).collect()),
            Column::Text(each().map(|attempt| attempt.message_id.as_str()).collect()),
            Column::Text(each().map(|attempt| attempt.event_type.as_str()).collect()),
            Column::MaybeInt(each().map(|attempt| attempt.sequence).collect()),
            Column::Int(each().map(|attempt| attempt.attempt).collect()),
            Column::Time(each().map(|attempt| Time(attempt.attempted_at)).collect()),
            Column::Int(each().map(|attempt| attempt.duration_ms).collect()),
            Column::MaybeInt(each().map(|attempt| attempt.status).collect()),
            Column::Text(each().map(|attempt| attempt.outcome.as_str()).collect()),
            Column::MaybeText(each().map(|attempt| attempt.detail.as_deref()).collect()),
            Column::MaybeText(each().map(|attempt| attempt.answer.as_deref()).collect()),
        ],
        after: "on conflict (id) do nothing",
    };
    rows.run(tx).await?;
    Ok(())
}

/// Deletes attempts that are too old to be kept, at most `rows`; returns how many.
pub async fn delete_old(db: &Db, now: Timestamp, rows: i64) -> Result<u64> {
    let delete = "delete from webhook_attempt where id in (select a.id from webhook_attempt a \
        where a.attempted_at < $1 order by a.attempted_at limit $2)";
    db.write().sql(delete).bind(Time(now.plus_seconds(-KEEP_SECONDS))).bind(rows).run().await
}

/// Deletes attempts of webhooks that have too many, at most `rows`; returns how many.
pub async fn delete_too_many(db: &Db, rows: i64) -> Result<u64> {
    let full = "select webhook_id from webhook_attempt group by webhook_id having count(*) > $1 limit 1";
    let full: Option<(Uuid,)> = db.read().sql(full).bind(MOST_ATTEMPTS).optional().await?;
    let Some((webhook,)) = full else { return Ok(0) };
    let last = "select attempted_at from webhook_attempt where webhook_id = $1 \
        order by attempted_at desc limit 1 offset $2";
    let (last,): (Time,) = db.read().sql(last).bind(webhook).bind(MOST_ATTEMPTS).one().await?;
    let delete = "delete from webhook_attempt where id in (select a.id from webhook_attempt a \
        where a.webhook_id = $1 and a.attempted_at <= $2 order by a.attempted_at limit $3)";
    db.write().sql(delete).bind(webhook).bind(last).bind(rows).run().await
}
