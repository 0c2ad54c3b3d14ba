//! The log of geofence events, read. The track writer writes it.

use uuid::Uuid;
use waypost_actors::model::{Event, EventId};

use super::event_row::{EventRow, SELECT_EVENTS};
use super::filters::one_of;
use super::sql::{Db, Engine, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::After;

/// An event.
pub async fn find(db: &Db, scope: &OrgScope, id: EventId) -> Result<Option<Event>> {
    let row: Option<EventRow> = db
        .read()
        .sql(SELECT_EVENTS)
        .push(" where e.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and e.id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await?;
    row.map(Event::try_from).transpose()
}

/// At most `limit` events after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Event>> {
    let stmt = db.lists().sql(SELECT_EVENTS).push(" where e.organization_id = ");
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    let stmt = going_on(narrowed(stmt, filter, db.engine()), order, after);
    let stmt = match order {
        EventOrder::NewestFirst => stmt.push(" order by e.occurred_at desc, e.id desc"),
        EventOrder::OldestFirst => stmt.push(" order by e.occurred_at, e.id"),
        EventOrder::Sequence => stmt.push(" order by e.sequence"),
    };
    let rows: Vec<EventRow> = stmt.push(" limit ").push_bind(limit).all().await?;
    rows.into_iter().map(Event::try_from).collect()
}

fn going_on(stmt: Stmt<'_>, order: EventOrder, after: Option<After>) -> Stmt<'_> {
    match (after, order) {
        (None, _) => stmt,
        (Some(After::Sequence(sequence)), _) => stmt.push(" and e.sequence > ").push_bind(sequence),
        (Some(After::Happened(at, id)), order) => {
            let stmt = match order {
                EventOrder::NewestFirst => stmt.push(" and (e.occurred_at, e.id) < ("),
                _ => stmt.push(" and (e.occurred_at, e.id) > ("),
            };
            stmt.push_bind(Time(at)).push(", ").push_bind(id).push(")")
        }
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &EventFilter, engine: Engine) -> Stmt<'c> {
    let stmt = one_of(stmt, " and e.vehicle_id in (", &filter.vehicle_ids);
    let stmt = one_of(stmt, " and e.driver_id in (", &filter.driver_ids);
    let stmt = one_of(stmt, " and e.geofence_id in (", &filter.geofence_ids);
    let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
    let causes: Vec<_> = filter.causes.iter().map(|cause| cause.as_str()).collect();
    let origins: Vec<_> = filter.origins.iter().map(|origin| origin.as_str()).collect();
    let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let stmt = one_of(stmt, " and e.kind in (", &kinds);
    let stmt = one_of(stmt, " and e.cause in (", &causes);
    let stmt = one_of(stmt, " and e.origin in (", &origins);
    let mut stmt = one_of(stmt, " and e.status in (", &statuses);
    if let Some(inferred) = filter.inferred {
        stmt = stmt.push(" and e.inferred = ").push_bind(inferred);
    }
    if let Some(from) = filter.from {
        stmt = stmt.push(" and e.occurred_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and e.occurred_at < ").push_bind(Time(to));
    }
    match filter.min_duration_seconds {
        Some(seconds) => stayed_as_long(stmt, seconds, engine),
        None => stmt,
    }
}

/// The engines tell the time between two instants differently.
fn stayed_as_long(stmt: Stmt<'_>, seconds: f64, engine: Engine) -> Stmt<'_> {
    let stmt = stmt.push(" and e.visit_id in (select id from visit where exited_at is not null and ");
    let stmt = match engine {
        Engine::Postgres => {
            stmt.push("cast(extract(epoch from exited_at - entered_at) as double precision) >= ")
        }
        Engine::Sqlite => stmt.push("(exited_at - entered_at) / 1000000.0 >= "),
    };
    stmt.push_bind(seconds).push(")")
}
