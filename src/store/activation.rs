//! Requests to activate an organization by mail.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::filters::{one_of_words, searched};
use super::outbox::OutgoingMail;
use super::page::{Columns, paged};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::{Operator, OrgScope};
use crate::domain::account::email_key;
use crate::domain::activation::{ActivationRequest, ActivationStatus};
use crate::domain::paging::{Page, PageRequest, Sort};

/// Filters a list of requests.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in the organization's name, slug or address.
    pub q: Option<String>,
    /// Of these states; empty = all.
    pub statuses: Vec<ActivationStatus>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("requestedAt", "requested_at"),
    ("expiresAt", "expires_at"),
    ("organizationName", "organization_name"),
    ("email", "email"),
];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    organization_name: String,
    email: String,
    #[sqlx(try_from = "String")]
    status: ActivationStatus,
    requested_at: Time,
    last_sent_at: Option<Time>,
    sent_count: i64,
    expires_at: Time,
    updated_at: Time,
}

impl From<Row> for ActivationRequest {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.into(),
            organization_name: row.organization_name,
            email: row.email,
            status: row.status,
            requested_at: row.requested_at.into(),
            last_sent_at: row.last_sent_at.map(Timestamp::from),
            sent_count: row.sent_count,
            expires_at: row.expires_at.into(),
            created_at: row.requested_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// The requests with their status at an instant, which decides whether they have expired.
fn select_with_status<'c>(on: On<'c>, select: &'static str, now: Time) -> Stmt<'c> {
    on.sql("select ")
        .push(select)
        .push(
            " from (select r.id, r.organization_id, o.name as organization_name, o.search_key, r.email, \
             r.requested_at, r.last_sent_at, r.sent_count, r.expires_at, r.updated_at, \
             case when r.status = 'pending' and r.expires_at <= ",
        )
        .push_bind(now)
        .push(
            " then 'expired' else r.status end as status from activation_request r \
             join organization o on o.id = r.organization_id) request where 1 = 1",
        )
}

/// A page of the platform's requests.
pub async fn list(
    db: &Db,
    _: Operator,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
    now: Time,
) -> Result<Page<ActivationRequest>> {
    let columns = "id, organization_id, organization_name, email, status, requested_at, last_sent_at, \
         sent_count, expires_at, updated_at";
    let rows = narrowed(select_with_status(db.read(), columns, now), filter);
    let rows: Vec<Row> = paged(rows, SORT_KEYS, sort, page).all().await?;
    let total = narrowed(select_with_status(db.read(), "count(*)", now), filter).scalar().await?;
    Ok(Page { items: rows.into_iter().map(ActivationRequest::from).collect(), total })
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &Filter) -> Stmt<'c> {
    let stmt = one_of_words(stmt, " and status in (", &filter.statuses, ActivationStatus::as_str);
    searched(stmt, filter.q.as_deref())
}

/// Inserts a request for an organization, before anything is sent for it.
pub async fn insert(
    on: On<'_>,
    scope: &OrgScope,
    id: Uuid,
    email: &str,
    now: Time,
    expires_at: Time,
) -> Result<()> {
    on.sql(
        "insert into activation_request (id, organization_id, email, email_key, status, requested_at, \
         sent_count, expires_at, updated_at) values ($1, $2, $3, $4, 'pending', $5, 0, $6, $5)",
    )
    .bind(id)
    .bind(Uuid::from(scope.organization_id()))
    .bind(email)
    .bind(email_key(email))
    .bind(now)
    .bind(expires_at)
    .run()
    .await?;
    Ok(())
}

/// Records that a letter with a link was written for the waiting request. An expired request becomes active again.
pub async fn sent(on: On<'_>, letter: &OutgoingMail, now: Time, expires_at: Time) -> Result<()> {
    on.sql(
        "update activation_request set last_sent_at = $3, sent_count = sent_count + 1, expires_at = $4, \
         updated_at = $3 where organization_id = $1 and email_key = $2 and status = 'pending'",
    )
    .bind(letter.subject_id)
    .bind(email_key(&letter.recipient))
    .bind(now)
    .bind(expires_at)
    .run()
    .await?;
    Ok(())
}

/// Ends the pending request, if there is one.
pub async fn close_pending(on: On<'_>, scope: &OrgScope, status: ActivationStatus, now: Time) -> Result<()> {
    on.sql(
        "update activation_request set status = $2, updated_at = $3 \
         where organization_id = $1 and status = 'pending'",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(status.as_str())
    .bind(now)
    .run()
    .await?;
    Ok(())
}
