//! What dispatchers found of refuels and drains.

use std::collections::HashMap;

use sqlx::FromRow;
use uuid::Uuid;
use waypost_actors::model::{EventId, Timestamp};

use super::filters::one_of;
use super::record_row::unknown;
use super::sql::{Db, On, Result, SqlError, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::fuel_verdict::{FuelOutcome, FuelVerdict, FuelVerdictIn};
use crate::domain::handled_by::HandledBy;

#[derive(FromRow)]
struct Row {
    event_id: Uuid,
    outcome: String,
    note: Option<String>,
    decided_by: Uuid,
    decided_name: Option<String>,
    decided_at: Time,
}

impl TryFrom<Row> for FuelVerdict {
    type Error = SqlError;

    fn try_from(row: Row) -> Result<Self> {
        let outcome = FuelOutcome::from_word(&row.outcome).ok_or_else(|| unknown("outcome", &row.outcome))?;
        Ok(Self {
            found: FuelVerdictIn { outcome, note: row.note },
            decided_at: row.decided_at.into(),
            decided_by: HandledBy { id: row.decided_by, name: row.decided_name },
        })
    }
}

/// With the names of the organization's own users.
const SELECT: &str = "select v.event_id, v.outcome, v.note, v.decided_by, \
    (select u.first_name || ' ' || u.last_name from account u \
        where u.id = v.decided_by and u.organization_id = v.organization_id) as decided_name, v.decided_at \
    from fuel_verdict v where v.outcome is not null and v.organization_id = ";

/// What was found of some events; those of which nothing was are left out.
pub async fn of_events(
    on: On<'_>,
    scope: &OrgScope,
    ids: &[EventId],
) -> Result<HashMap<EventId, FuelVerdict>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let stmt = on.sql(SELECT).push_bind(Uuid::from(scope.organization_id()));
    let rows: Vec<Row> = one_of(stmt, " and v.event_id in (", &ids).all().await?;
    rows.into_iter().map(|row| Ok((EventId(row.event_id), row.try_into()?))).collect()
}

/// Locks what was found of an event of the scope, and returns it.
pub async fn hold(tx: &mut Tx, scope: &OrgScope, id: EventId) -> Result<Option<FuelVerdict>> {
    let insert = "insert into fuel_verdict (event_id, organization_id) values ($1, $2) \
        on conflict (event_id) do update set organization_id = fuel_verdict.organization_id";
    tx.on().sql(insert).bind(id.0).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(of_events(tx.on(), scope, &[id]).await?.remove(&id))
}

/// Writes what was found of an event; it is held.
pub async fn update(
    on: On<'_>,
    scope: &OrgScope,
    id: EventId,
    found: &FuelVerdictIn,
    (by, now): (Uuid, Timestamp),
) -> Result<()> {
    let update = "update fuel_verdict set outcome = $3, note = $4, decided_by = $5, decided_at = $6 \
        where event_id = $1 and organization_id = $2";
    let stmt = on.sql(update).bind(id.0).bind(Uuid::from(scope.organization_id()));
    stmt.bind(found.outcome.as_str()).bind(found.note.as_deref()).bind(by).bind(Time(now)).run().await?;
    Ok(())
}

/// Forgets what was found of an organization's events.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    on.sql("delete from fuel_verdict where organization_id = $1").bind(organization).run().await?;
    Ok(())
}

/// Forgets what was found of events that retention has deleted, at most `rows`; returns how many.
pub async fn forget(db: &Db, rows: i64) -> Result<u64> {
    let delete = "delete from fuel_verdict where event_id in (select v.event_id from fuel_verdict v \
        where not exists (select 1 from records e where e.id = v.event_id) limit $1)";
    db.write().sql(delete).bind(rows).run().await
}
