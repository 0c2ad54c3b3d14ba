//! What dispatchers did with alerts, and the conditions by which alerts are listed.

use std::collections::HashMap;

use sqlx::FromRow;
use uuid::Uuid;
use waypost_actors::model::{EventId, Timestamp};

use super::filters::{one_of, one_of_words};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::alert::{DRAIN_SECONDS, Handling};
use crate::domain::event::EventFilter;
use crate::domain::handled_by::HandledBy;

#[derive(FromRow)]
struct Row {
    alert_id: Uuid,
    acknowledged_at: Option<Time>,
    acknowledged_by: Option<Uuid>,
    acknowledged_name: Option<String>,
    snoozed_until: Option<Time>,
    snoozed_by: Option<Uuid>,
    snoozed_name: Option<String>,
}

impl From<Row> for Handling {
    fn from(row: Row) -> Self {
        let by = |id: Option<Uuid>, name| id.map(|id| HandledBy { id, name });
        Self {
            acknowledged_at: row.acknowledged_at.map(Timestamp::from),
            acknowledged_by: by(row.acknowledged_by, row.acknowledged_name),
            snoozed_until: row.snoozed_until.map(Timestamp::from),
            snoozed_by: by(row.snoozed_by, row.snoozed_name),
        }
    }
}

/// With the names of the organization's own users.
const SELECT: &str = "select s.alert_id, s.acknowledged_at, s.acknowledged_by, \
    (select u.first_name || ' ' || u.last_name from account u \
        where u.id = s.acknowledged_by and u.organization_id = s.organization_id) as acknowledged_name, \
    s.snoozed_until, s.snoozed_by, \
    (select u.first_name || ' ' || u.last_name from account u \
        where u.id = s.snoozed_by and u.organization_id = s.organization_id) as snoozed_name \
    from alert_state s where s.organization_id = ";

/// What was done with some alerts; those with which nothing was are left out.
pub async fn handled(on: On<'_>, scope: &OrgScope, ids: &[EventId]) -> Result<HashMap<EventId, Handling>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let stmt = on.sql(SELECT).push_bind(Uuid::from(scope.organization_id()));
    let rows: Vec<Row> = one_of(stmt, " and s.alert_id in (", &ids).all().await?;
    Ok(rows.into_iter().map(|row| (EventId(row.alert_id), row.into())).collect())
}

/// Locks what was done with an alert of the scope, and returns it.
pub async fn hold(tx: &mut Tx, scope: &OrgScope, id: EventId, now: Timestamp) -> Result<Handling> {
    let organization = Uuid::from(scope.organization_id());
    let insert = "insert into alert_state (alert_id, organization_id, updated_at) values ($1, $2, $3) \
        on conflict (alert_id) do update set updated_at = alert_state.updated_at";
    tx.on().sql(insert).bind(id.0).bind(organization).bind(Time(now)).run().await?;
    Ok(handled(tx.on(), scope, &[id]).await?.remove(&id).unwrap_or_default())
}

/// Writes that an alert was seen; it is held.
pub async fn acknowledge(on: On<'_>, scope: &OrgScope, id: EventId, by: Uuid, now: Timestamp) -> Result<()> {
    let update = "update alert_state set acknowledged_at = $3, acknowledged_by = $4, updated_at = $3 \
        where alert_id = $1 and organization_id = $2";
    let stmt = on.sql(update).bind(id.0).bind(Uuid::from(scope.organization_id()));
    stmt.bind(Time(now)).bind(by).run().await?;
    Ok(())
}

/// Writes until when an alert is put off; it is held.
pub async fn snooze(
    on: On<'_>,
    scope: &OrgScope,
    id: EventId,
    (by, until): (Uuid, Timestamp),
    now: Timestamp,
) -> Result<()> {
    let update = "update alert_state set snoozed_until = $3, snoozed_by = $4, updated_at = $5 \
        where alert_id = $1 and organization_id = $2";
    let stmt = on.sql(update).bind(id.0).bind(Uuid::from(scope.organization_id()));
    stmt.bind(Time(until)).bind(by).bind(Time(now)).run().await?;
    Ok(())
}

/// Forgets what was done with an organization's alerts.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let organization = Uuid::from(scope.organization_id());
    on.sql("delete from alert_state where organization_id = $1").bind(organization).run().await?;
    Ok(())
}

/// Forgets what was done with alerts that retention has deleted, at most `rows`; returns how many.
pub async fn forget(db: &Db, rows: i64) -> Result<u64> {
    let delete = "delete from alert_state where alert_id in (select s.alert_id from alert_state s \
        where not exists (select 1 from records e where e.id = s.alert_id) limit $1)";
    db.write().sql(delete).bind(rows).run().await
}

/// Restricts a list of records to alerts by some rules, to those that ask for attention or do not, and to what is not about
/// fuel.
pub(super) fn narrowed<'c>(stmt: Stmt<'c>, filter: &EventFilter) -> Stmt<'c> {
    let mut stmt = one_of_words(stmt, " and e.cause in (", &filter.rules, |rule| rule.as_str());
    if filter.without_fuel {
        stmt = stmt.push(" and not (e.kind = 'alert' and e.cause = 'drain')");
    }
    match filter.attention {
        None => stmt,
        Some((true, now)) => asking(stmt.push(" and "), now),
        Some((false, now)) => asking(stmt.push(" and not ("), now).push(")"),
    }
}

/// The condition of [`crate::domain::alert::Alert::open`].
fn asking(stmt: Stmt<'_>, now: Timestamp) -> Stmt<'_> {
    let day = Time(now.plus_seconds(-DRAIN_SECONDS));
    let stmt =
        stmt.push("e.status = 'active' and e.ended_at is null and (e.cause <> 'drain' or e.occurred_at > ");
    let stmt =
        stmt.push_bind(day).push(") and not exists (select 1 from alert_state s where s.alert_id = e.id ");
    let stmt = stmt.push("and (s.snoozed_until > ").push_bind(Time(now));
    stmt.push(" or (e.cause = 'drain' and s.acknowledged_at is not null)))")
}

/// Restricts to alerts about one of some vehicles, of which there is at least one: of several, the record names the first, and its detail all.
pub(super) fn of_vehicles<'c>(stmt: Stmt<'c>, vehicles: &[Uuid]) -> Stmt<'c> {
    let mut stmt = one_of(stmt, " and (e.vehicle_id in (", vehicles);
    for vehicle in vehicles {
        stmt = stmt.push(" or (e.cause = 'silentWhileMoving' and e.detail like ");
        stmt = stmt.push_bind(format!("%{vehicle}%")).push(")");
    }
    stmt.push(")")
}
