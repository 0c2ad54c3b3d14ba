//! Stays that are found without going through history: those that went on at an instant, and those that lasted long. The
//! conditions are, word for word, the expressions of indexes on `visit`, which the engines use for no other words.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::sql::{Db, Engine, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;

/// Stays are classed by how long they lasted, each class up to eight times as long as the one before: seconds at which the next
/// class begins. So those that went on at an instant began, by class, not long before it.
const CLASSES: [f64; 7] = [64.0, 512.0, 4_096.0, 32_768.0, 262_144.0, 2_097_152.0, 16_777_216.0];
/// With more stays that lasted long enough than this, a list by time soon finds a page of them.
const FEW: i64 = 5_000;

const fn class(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            " and (case when v.exited_at - v.entered_at < interval '64 s' then 0 \
             when v.exited_at - v.entered_at < interval '512 s' then 1 \
             when v.exited_at - v.entered_at < interval '4096 s' then 2 \
             when v.exited_at - v.entered_at < interval '32768 s' then 3 \
             when v.exited_at - v.entered_at < interval '262144 s' then 4 \
             when v.exited_at - v.entered_at < interval '2097152 s' then 5 \
             when v.exited_at - v.entered_at < interval '16777216 s' then 6 else 7 end) = "
        }
        Engine::Sqlite => {
            " and (case when v.exited_at - v.entered_at < 64000000 then 0 \
             when v.exited_at - v.entered_at < 512000000 then 1 \
             when v.exited_at - v.entered_at < 4096000000 then 2 \
             when v.exited_at - v.entered_at < 32768000000 then 3 \
             when v.exited_at - v.entered_at < 262144000000 then 4 \
             when v.exited_at - v.entered_at < 2097152000000 then 5 \
             when v.exited_at - v.entered_at < 16777216000000 then 6 else 7 end) = "
        }
    }
}

/// Seconds from a stay's begin to its end.
const fn duration(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "cast(extract(epoch from v.exited_at - v.entered_at) as double precision)",
        Engine::Sqlite => "(v.exited_at - v.entered_at) / 1000000.0",
    }
}

/// Adds a condition: a stay that ended and lasted at least `seconds`.
pub(super) fn lasted(stmt: Stmt<'_>, seconds: f64, engine: Engine) -> Stmt<'_> {
    stmt.push(" and v.exited_at is not null and ").push(duration(engine)).push(" >= ").push_bind(seconds)
}

const COLUMNS: &str = "select v.id, v.vehicle_id, v.geofence_id, v.entered_at, v.exited_at from ";
const OF_ORGANIZATION: &str = " where v.organization_id = ";

fn select<'c>(stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
    stmt.push(COLUMNS).push("visit v").push(OF_ORGANIZATION).push_bind(Uuid::from(scope.organization_id()))
}

/// Adds a query: an organization's stays that go on. `narrow` adds conditions on `v`.
pub(super) fn open<'c>(
    stmt: Stmt<'c>,
    scope: &OrgScope,
    engine: Engine,
    narrow: impl Fn(Stmt<'c>) -> Stmt<'c>,
) -> Stmt<'c> {
    // Few go on; without statistics, SQLite would take all stays of a geofence instead.
    let from = match engine {
        Engine::Postgres => "visit v",
        Engine::Sqlite => "visit v indexed by visit_open_idx",
    };
    let stmt = stmt.push(COLUMNS).push(from).push(OF_ORGANIZATION);
    narrow(stmt.push_bind(Uuid::from(scope.organization_id())).push(" and v.exited_at is null"))
}

/// Adds a query: an organization's stays that went on at an instant. `narrow` adds conditions on `v`.
pub(super) fn going_on_at<'c>(
    stmt: Stmt<'c>,
    scope: &OrgScope,
    at: Timestamp,
    engine: Engine,
    narrow: impl Fn(Stmt<'c>) -> Stmt<'c>,
) -> Stmt<'c> {
    let stmt =
        open(stmt, scope, engine, |stmt| narrow(stmt.push(" and v.entered_at <= ").push_bind(Time(at))));
    let reaches = CLASSES.iter().map(Some).chain([None]);
    reaches.enumerate().fold(stmt, |stmt, (number, reach)| {
        let mut stmt = select(stmt.push(" union all "), scope).push(class(engine)).push_bind(number as i64);
        if let Some(reach) = reach {
            stmt = stmt.push(" and v.entered_at > ").push_bind(Time(at.plus_seconds(-reach)));
        }
        let stmt = stmt.push(" and v.entered_at <= ").push_bind(Time(at));
        narrow(stmt.push(" and v.exited_at > ").push_bind(Time(at)))
    })
}

/// Adds a query: an organization's stays that ended and lasted at least `seconds`, at most `most` of them. Their order only
/// the index gives, and their number is told: PostgreSQL has no statistics of an expression in a partial index, and would rather
/// go through the table. `narrow` adds conditions on `v`.
pub(super) fn long<'c>(
    stmt: Stmt<'c>,
    scope: &OrgScope,
    (seconds, most): (f64, i64),
    engine: Engine,
    narrow: impl Fn(Stmt<'c>) -> Stmt<'c>,
) -> Stmt<'c> {
    let stmt = longest(select(stmt.push("select * from ("), scope), (seconds, most), engine, narrow);
    stmt.push(") as long")
}

/// Adds conditions, order and limit.
fn longest<'c>(
    stmt: Stmt<'c>,
    (seconds, most): (f64, i64),
    engine: Engine,
    narrow: impl Fn(Stmt<'c>) -> Stmt<'c>,
) -> Stmt<'c> {
    let stmt = narrow(lasted(stmt, seconds, engine));
    stmt.push(" order by ").push(duration(engine)).push(" desc limit ").push_bind(most)
}

/// How many stays lasted so long, and some more for those that end meanwhile, if they are few: then it is faster to find all of
/// them than to go through a list by time.
pub(super) async fn few<'c>(
    db: &'c Db,
    scope: &OrgScope,
    seconds: f64,
    narrow: impl Fn(Stmt<'c>) -> Stmt<'c>,
) -> Result<Option<i64>> {
    let select = "select count(*) from (select 1 as one from visit v where v.organization_id = ";
    let stmt = db.lists().sql(select).push_bind(Uuid::from(scope.organization_id()));
    let stmt = longest(stmt, (seconds, FEW + 1), db.engine(), narrow);
    let found: i64 = stmt.push(") as found").scalar().await?;
    Ok((found <= FEW).then_some(found + 10))
}
