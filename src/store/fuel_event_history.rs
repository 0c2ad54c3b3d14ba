//! Refuels and drains, read. The track writer writes them.

use uuid::Uuid;
use waypost_actors::fuel::FuelRecord;

use super::filters::one_of;
use super::fuel_event_row::{FuelEventRow, SELECT_FUEL_EVENTS};
use super::sql::{Db, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::fuel::{FuelEventFilter, FuelEventOrder};
use crate::domain::paging::After;

/// At most `limit` of them after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &FuelEventFilter,
    order: FuelEventOrder,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<FuelRecord>> {
    let stmt = db
        .lists()
        .sql(SELECT_FUEL_EVENTS)
        .push(" where f.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()));
    let stmt = going_on(narrowed(stmt, filter), order, after);
    let stmt = match order {
        FuelEventOrder::NewestFirst => stmt.push(" order by f.started_at desc, f.id desc"),
        FuelEventOrder::OldestFirst => stmt.push(" order by f.started_at, f.id"),
        FuelEventOrder::Sequence => stmt.push(" order by f.sequence"),
    };
    let rows: Vec<FuelEventRow> = stmt.push(" limit ").push_bind(limit).all().await?;
    rows.into_iter().map(FuelRecord::try_from).collect()
}

fn going_on(stmt: Stmt<'_>, order: FuelEventOrder, after: Option<After>) -> Stmt<'_> {
    match (after, order) {
        (None, _) => stmt,
        (Some(After::Sequence(sequence)), _) => stmt.push(" and f.sequence > ").push_bind(sequence),
        (Some(After::Happened(at, id)), order) => {
            let stmt = match order {
                FuelEventOrder::NewestFirst => stmt.push(" and (f.started_at, f.id) < ("),
                _ => stmt.push(" and (f.started_at, f.id) > ("),
            };
            stmt.push_bind(Time(at)).push(", ").push_bind(id).push(")")
        }
    }
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &FuelEventFilter) -> Stmt<'c> {
    let kinds: Vec<_> = filter.kinds.iter().map(|kind| kind.as_str()).collect();
    let statuses: Vec<_> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let stmt = one_of(stmt, " and f.vehicle_id in (", &filter.vehicle_ids);
    let stmt = one_of(stmt, " and f.driver_id in (", &filter.driver_ids);
    let stmt = one_of(stmt, " and f.kind in (", &kinds);
    let mut stmt = one_of(stmt, " and f.status in (", &statuses);
    if let Some(from) = filter.from {
        stmt = stmt.push(" and f.ended_at >= ").push_bind(Time(from));
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and f.started_at < ").push_bind(Time(to));
    }
    stmt
}
