//! Reads the log of records, which the track writer writes.

use uuid::Uuid;
use waypost_actors::model::{Cause, EventId, EventStatus, Origin};
use waypost_actors::tracking::{Record, RecordKind};

use super::alert;
use super::filters::{TimeRange, one_of, one_of_words};
use super::record_row::{RecordRow, SELECT_PAGE, SELECT_RECORDS};
use super::sql::{Db, Engine, On, Result, Stmt};
use super::stay;
use super::time::Time;
use super::time_index;
use crate::auth::scope::OrgScope;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::After;

/// Kinds that few of all records have, with the condition of their partial index.
const FEW: [(&[RecordKind], &str); 7] = [
    (&RecordKind::FUEL, " and e.kind in ('refuel', 'drain')"),
    (&[RecordKind::Dwell], " and e.kind = 'dwell'"),
    (&[RecordKind::Overspeed], " and e.kind = 'overspeed'"),
    (&[RecordKind::Trip], " and e.kind = 'trip'"),
    (&[RecordKind::Stop], " and e.kind = 'stop'"),
    (&[RecordKind::Alert], " and e.kind = 'alert'"),
    (&RecordKind::CONNECTION, " and e.kind in ('online', 'stale', 'offline')"),
];

/// A record.
pub async fn find(db: &Db, scope: &OrgScope, id: EventId) -> Result<Option<Record>> {
    let row: Option<RecordRow> = db
        .read()
        .sql(SELECT_RECORDS)
        .push(" where e.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and e.id = ")
        .push_bind(Uuid::from(id))
        .optional()
        .await?;
    row.map(Record::try_from).transpose()
}

/// Whether there is a record of an id.
pub async fn exists(on: On<'_>, scope: &OrgScope, id: EventId) -> Result<bool> {
    let select = "select exists (select 1 from records where organization_id = $1 and id = $2)";
    on.sql(select).bind(Uuid::from(scope.organization_id())).bind(id.0).scalar().await
}

/// At most `limit` records after a place in the list.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Record>> {
    let after = match after {
        None => beginning(db, scope, filter, order).await?,
        after => after,
    };
    let range = range_of(filter, order, after);
    let rows: Vec<RecordRow> = match few_stays(db, scope, filter).await? {
        Some(long) => {
            let stmt = of_stays(db, scope, filter, range, long).push(" where true");
            let stmt = going_on(stmt, TimeRange { from: None, to: None, ..range }, after);
            let stmt = stmt.push(order_by(order)).push(" limit ").push_bind(limit);
            stmt.push(SELECT_PAGE).push(order_by(order)).all().await?
        }
        None => {
            let side = rarer(db, filter, (range, order, after)).await?;
            let stmt = db.lists().sql(SELECT_RECORDS).push(" where e.organization_id = ");
            let stmt = of_which(stmt.push_bind(Uuid::from(scope.organization_id())), filter, side);
            let stmt = narrowed(stmt, filter, Some(db.engine()));
            let stmt = going_on(stmt, range, after).push(if order == EventOrder::Sequence {
                " and e.shard = 0"
            } else {
                ""
            });
            stmt.push(order_by(order)).push(" limit ").push_bind(limit).all().await?
        }
    };
    rows.into_iter().map(Record::try_from).collect()
}

/// Where a list by number of everything since an instant begins, unless that is little: all of it would be read, to sort it. One of
/// what is rare is found by time, and so is any where nobody knows yet where it begins.
async fn beginning(
    db: &Db,
    scope: &OrgScope,
    filter: &EventFilter,
    order: EventOrder,
) -> Result<Option<After>> {
    let is_rare = few(filter).next().is_some()
        || !filter.driver_ids.is_empty()
        || filter.min_duration_seconds.is_some();
    let (Some(from), None, EventOrder::Sequence, false) = (filter.from, filter.to, order, is_rare) else {
        return Ok(None);
    };
    let select = "select occurred_at from records where organization_id = $1 and occurred_at >= $2 \
        order by occurred_at limit 1 offset $3";
    let stmt = db.lists().sql(select).bind(Uuid::from(scope.organization_id())).bind(Time(from));
    let is_much = stmt.bind(AHEAD).optional::<(Time,)>().await?.is_some();
    if !is_much {
        return Ok(None);
    }
    let first = time_index::first_since(db, scope.organization_id(), from).await?;
    Ok(first.map(|first| After::Sequence(first - 1)))
}

const fn order_by(order: EventOrder) -> &'static str {
    match order {
        EventOrder::NewestFirst => " order by e.occurred_at desc, e.id desc",
        EventOrder::OldestFirst => " order by e.occurred_at, e.id",
        EventOrder::Sequence => " order by e.sequence",
    }
}

/// For how long the wanted stays lasted and how many they are, if there are few.
async fn few_stays(db: &Db, scope: &OrgScope, filter: &EventFilter) -> Result<Option<(f64, i64)>> {
    let Some(seconds) = filter.min_duration_seconds else { return Ok(None) };
    if !filter.vehicle_ids.is_empty() {
        return Ok(None);
    }
    let most = stay::few(db, scope, seconds, |stmt| of_fences(stmt, &filter.geofence_ids)).await?;
    Ok(most.map(|most| (seconds, most)))
}

/// The beginning of a statement that finds all records of the wanted stays, before it orders them: no index by time then seems to
/// give the page sooner.
fn of_stays<'c>(
    db: &'c Db,
    scope: &OrgScope,
    filter: &EventFilter,
    range: TimeRange,
    long: (f64, i64),
) -> Stmt<'c> {
    let whole = TimeRange { after: None, ..range };
    let stmt = db.lists().sql("with stay as materialized (");
    let of_fence = |stmt| of_fences(stmt, &filter.geofence_ids);
    let stmt = stay::long(stmt, scope, long, db.engine(), of_fence)
        .push("), found as materialized (select e.id, e.occurred_at, e.sequence from stay s cross join ")
        .push(match db.engine() {
            // It expects many more records within a stay than there are, and would rather go through the table.
            Engine::Postgres => {
                "lateral (select * from records r where r.vehicle_id = s.vehicle_id and r.visit_id = s.id \
                 and r.occurred_at >= s.entered_at and r.occurred_at <= s.exited_at offset 0) e where true"
            }
            Engine::Sqlite => {
                "records e where e.vehicle_id = s.vehicle_id and e.visit_id = s.id \
                 and e.occurred_at >= s.entered_at and e.occurred_at <= s.exited_at"
            }
        });
    let mut stmt = whole.conditions(narrowed(of_which(stmt, filter, None), filter, None), PLACE);
    if filter.statuses[..] != [EventStatus::Active] {
        // What was taken back need not lie within the stay.
        let retracted = " union select e.id, e.occurred_at, e.sequence from records e where e.status = 'retracted' \
            and e.visit_id in (select s.id from stay s) and e.organization_id = ";
        stmt = stmt.push(retracted).push_bind(Uuid::from(scope.organization_id()));
        stmt = whole.conditions(narrowed(of_which(stmt, filter, None), filter, None), PLACE);
    }
    stmt.push("), page as materialized (select e.id from found e")
}

fn of_fences<'c>(stmt: Stmt<'c>, fences: &[Uuid]) -> Stmt<'c> {
    one_of(stmt, " and v.geofence_id in (", fences)
}

/// The columns of a place in the order of time.
const PLACE: (&str, &str) = ("e.occurred_at", "e.id");

/// The part of the list that is wanted, by time.
fn range_of(filter: &EventFilter, order: EventOrder, after: Option<After>) -> TimeRange {
    let after = match after {
        Some(After::Happened(at, id)) => Some((at, id)),
        Some(After::Sequence(_)) | None => None,
    };
    TimeRange { from: filter.from, to: filter.to, after, is_newest_first: order == EventOrder::NewestFirst }
}

fn going_on(stmt: Stmt<'_>, range: TimeRange, after: Option<After>) -> Stmt<'_> {
    let stmt = range.conditions(stmt, PLACE);
    match after {
        Some(After::Sequence(sequence)) => stmt.push(" and e.sequence > ").push_bind(sequence),
        Some(After::Happened(..)) | None => stmt,
    }
}

/// Whose index finds the records of one vehicle in one geofence.
#[derive(Clone, Copy, Debug)]
enum Side {
    Vehicle,
    Geofence,
}

/// How many records ahead it is looked: which of two has fewer, or whether they are few.
const AHEAD: i64 = 500;

/// Which of one vehicle and one geofence has fewer records where the list goes on. SQLite has no statistics that could tell it, and
/// would go through all of a depot's for those of one vehicle. `None`: there is no such choice.
async fn rarer(
    db: &Db,
    filter: &EventFilter,
    (range, order, after): (TimeRange, EventOrder, Option<After>),
) -> Result<Option<Side>> {
    let ([vehicle], [fence]) = (&filter.vehicle_ids[..], &filter.geofence_ids[..]) else { return Ok(None) };
    if db.engine() == Engine::Postgres || filter.kinds == [RecordKind::Alert] {
        return Ok(None);
    }
    let mut reached = Vec::new();
    for (of, id) in [("e.vehicle_id = ", *vehicle), ("e.geofence_id = ", *fence)] {
        let (select, range) = if order == EventOrder::Sequence {
            // The order of numbers is not that of time.
            let whole = TimeRange { from: None, to: None, ..range };
            ("select e.sequence from records e where e.shard = 0 and ", whole)
        } else {
            ("select e.occurred_at from records e where ", range)
        };
        let stmt = going_on(db.lists().sql(select).push(of).push_bind(id), range, after);
        let stmt = stmt.push(order_by(order)).push(" limit 1 offset ").push_bind(AHEAD);
        reached.push(stmt.optional::<(i64,)>().await?);
    }
    let is_vehicle = match (reached[0], reached[1]) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(vehicle), Some(fence)) if order == EventOrder::NewestFirst => vehicle < fence,
        (Some(vehicle), Some(fence)) => vehicle > fence,
    };
    Ok(Some(if is_vehicle { Side::Vehicle } else { Side::Geofence }))
}

/// Restricts to some vehicles and geofences. `side`: whose index is used, unless the engine chooses.
fn of_which<'c>(stmt: Stmt<'c>, filter: &EventFilter, side: Option<Side>) -> Stmt<'c> {
    let EventFilter { vehicle_ids, geofence_ids, .. } = filter;
    match side {
        None => one_of(of_vehicles(stmt, filter), " and e.geofence_id in (", geofence_ids),
        // A value that is computed is in no index.
        Some(Side::Vehicle) => one_of(of_vehicles(stmt, filter), " and +e.geofence_id in (", geofence_ids),
        Some(Side::Geofence) => {
            let stmt = one_of(stmt, " and +e.vehicle_id in (", vehicle_ids);
            one_of(stmt, " and e.geofence_id in (", geofence_ids)
        }
    }
}

/// Adds the other conditions, without those of the range. `engine`: of whose words the stays' duration is said, unless it is known.
fn narrowed<'c>(stmt: Stmt<'c>, filter: &EventFilter, engine: Option<Engine>) -> Stmt<'c> {
    let stmt = one_of(stmt, " and e.driver_id in (", &filter.driver_ids);
    let mut stmt = alert::narrowed(of_few(by_words(stmt, filter), filter), filter);
    if let Some(from) = filter.ended_from {
        stmt = stmt.push(" and e.ended_at >= ").push_bind(Time(from));
    }
    match filter.min_duration_seconds.zip(engine) {
        Some((seconds, engine)) => {
            let stmt = stmt.push(" and exists (select 1 from visit v where v.id = e.visit_id");
            stay::lasted(stmt, seconds, engine).push(")")
        }
        None => stmt,
    }
}

/// Restricts to some vehicles. An alert of several is there for each of them, in a list of alerts.
fn of_vehicles<'c>(stmt: Stmt<'c>, filter: &EventFilter) -> Stmt<'c> {
    if filter.kinds == [RecordKind::Alert] && !filter.vehicle_ids.is_empty() {
        alert::of_vehicles(stmt, &filter.vehicle_ids)
    } else {
        one_of(stmt, " and e.vehicle_id in (", &filter.vehicle_ids)
    }
}

fn by_words<'c>(stmt: Stmt<'c>, filter: &EventFilter) -> Stmt<'c> {
    let stmt = one_of_words(stmt, " and e.kind in (", &filter.kinds, |kind| kind.as_str());
    let stmt = one_of_words(stmt, " and e.cause in (", &filter.causes, |cause| cause.as_str());
    let stmt = one_of_words(stmt, " and e.origin in (", &filter.origins, |origin| origin.as_str());
    one_of_words(stmt, " and e.status in (", &filter.statuses, |status| status.as_str())
}

/// Adds the conditions of partial indexes that few records match.
fn of_few<'c>(stmt: Stmt<'c>, filter: &EventFilter) -> Stmt<'c> {
    few(filter).fold(stmt, Stmt::push)
}

/// These conditions as literal text: the engines do not look into bound values when they choose an index.
fn few(filter: &EventFilter) -> impl Iterator<Item = &'static str> {
    let EventFilter { kinds, causes, origins, statuses, .. } = filter;
    let is_of = |class: &[RecordKind]| !kinds.is_empty() && kinds.iter().all(|kind| class.contains(kind));
    let class = FEW.iter().find(|(class, _)| is_of(class)).map(|(_, text)| *text);
    let is_retracted = statuses[..] == [EventStatus::Retracted];
    let is_uncommon = !causes.is_empty() && !causes.contains(&Cause::Crossing);
    let is_late = !origins.is_empty() && !origins.contains(&Origin::Live);
    let texts = [
        class,
        is_retracted.then_some(" and e.status = 'retracted'"),
        is_uncommon.then_some(" and e.cause <> 'crossing'"),
        is_late.then_some(" and e.origin <> 'live'"),
        filter.open.map(|open| if open { " and e.ended_at is null" } else { " and e.ended_at is not null" }),
        filter.inferred.map(|inferred| if inferred { " and e.inferred" } else { " and not e.inferred" }),
    ];
    texts.into_iter().flatten()
}
