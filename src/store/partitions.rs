//! Weekly partitions of tables on PostgreSQL, made ahead of time.
//!
//! Engine-specific: SQLite has one table. Rows outside every partition (a fix of 2003) are in the default one.

use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Row};
use waypost_actors::model::Timestamp;

use super::sql::{Db, Pools, Result, is_unavailable};

const WEEK_SECONDS: i64 = 7 * 86_400;
/// 1970-01-05 was a Monday.
const FIRST_MONDAY_SECONDS: i64 = 4 * 86_400;
/// Weeks made ahead.
pub(super) const WEEKS_AHEAD: i64 = 4;

/// Tables that are partitioned by `recorded_at`.
const TABLES: [&str; 3] = ["position", "position_chunk", "fuel_log"];

/// The week of an instant, counted from the first Monday of 1970.
pub(super) fn week_of(at: Timestamp) -> i64 {
    (at.as_millis().div_euclid(1000) - FIRST_MONDAY_SECONDS).div_euclid(WEEK_SECONDS)
}

/// The beginning of an instant's week.
pub(super) fn week_begin(at: Timestamp) -> Timestamp {
    Timestamp::from_micros((FIRST_MONDAY_SECONDS + week_of(at) * WEEK_SECONDS).saturating_mul(1_000_000))
}

/// Makes the partitions of the week before `now`, its own and the next ones, unless they exist. Does nothing on
/// SQLite.
pub async fn make_partitions(db: &Db, now: Timestamp) -> Result<()> {
    let Pools::Postgres { pool, .. } = &db.pools else { return Ok(()) };
    let this_week = week_of(now);
    for table in TABLES {
        make_partitions_of(pool, table, this_week - 1..=this_week + WEEKS_AHEAD).await?;
    }
    Ok(())
}

/// Makes the partitions of some weeks of a table.
pub(super) async fn make_partitions_of(
    pool: &PgPool,
    table: &str,
    weeks: impl IntoIterator<Item = i64>,
) -> Result<()> {
    for week in weeks {
        make_partition(pool, table, FIRST_MONDAY_SECONDS + week * WEEK_SECONDS).await?;
    }
    Ok(())
}

/// Makes the partition of a week, and moves rows of the week from the default one that arrived before it existed.
async fn make_partition(pool: &PgPool, table: &str, monday: i64) -> Result<()> {
    let instant =
        |seconds: i64| Timestamp::from_millis(seconds * 1000).map(|at| at.to_string()).unwrap_or_default();
    let (from, to) = (instant(monday), instant(monday + WEEK_SECONDS));
    let name = format!("{table}_{}", from[..10].replace('-', ""));
    let mut tx = pool.begin().await?;
    // One server makes partitions at a time; migrations and another server's start wait their turn.
    sqlx::query("select pg_advisory_xact_lock(hashtext('waypost partitions'))").execute(&mut *tx).await?;
    let there = sqlx::query("select to_regclass($1) is not null").bind(&name).fetch_one(&mut *tx).await?;
    if there.try_get::<bool, _>(0)? {
        return Ok(());
    }
    let statements = [
        format!(
            "create table {name} (like {table} including defaults including constraints including storage)"
        ),
        format!(
            "with moved as (delete from {table}_default where recorded_at >= '{from}' and recorded_at < '{to}' \
             returning *) insert into {name} select * from moved"
        ),
        format!("alter table {table} attach partition {name} for values from ('{from}') to ('{to}')"),
    ];
    for statement in statements {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut *tx).await?;
    }
    tx.commit().await
}

/// Drops the weeks of a table that end before `before` and hold nothing that vehicles still keep; returns how many. A
/// partition that cannot be locked at once is left for another time. Does nothing on SQLite.
pub async fn drop_partitions(db: &Db, table: &str, before: Timestamp) -> Result<u64> {
    let Pools::Postgres { pool, .. } = &db.pools else { return Ok(0) };
    let end = if table == "position_chunk" { "ended_at" } else { "recorded_at" };
    let past = "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid \
        where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]{8}$' order by 1";
    let names: Vec<String> = sqlx::query_scalar(past).bind(table).fetch_all(pool).await?;
    let newest = before.plus_seconds(-(WEEK_SECONDS as f64)).to_string();
    let newest = format!("{table}_{}", newest[..10].replace('-', ""));
    let mut dropped = 0;
    for name in names.iter().filter(|name| **name <= newest) {
        match drop_partition(pool, table, name, end).await {
            Ok(true) => dropped += 1,
            Ok(false) => {}
            Err(error) if is_unavailable(&error) => {
                tracing::debug!(%error, name, "a partition could not be locked and is dropped another time");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(dropped)
}

/// `end`: the column with the newest instant of a row.
async fn drop_partition(pool: &PgPool, table: &str, name: &str, end: &str) -> Result<bool> {
    let mut tx = pool.begin().await?;
    for patience in ["lock_timeout = '1s'", "statement_timeout = '60s'"] {
        sqlx::query(AssertSqlSafe(format!("set local {patience}"))).execute(&mut *tx).await?;
    }
    // Keeps rows from being added between the check and the drop.
    sqlx::query(AssertSqlSafe(format!("lock table {name} in exclusive mode"))).execute(&mut *tx).await?;
    let kept = format!(
        "select exists (select from {name} p where not exists (select from vehicle_state s \
         where s.vehicle_id = p.vehicle_id and s.kept_from >= p.{end}) \
         and not exists (select from vehicle v join organization o on o.id = v.organization_id \
         where v.id = p.vehicle_id and o.status = 'deleted'))"
    );
    if sqlx::query_scalar(AssertSqlSafe(kept)).fetch_one(&mut *tx).await? {
        return Ok(false);
    }
    sqlx::query(AssertSqlSafe(format!("drop table {name}"))).execute(&mut *tx).await?;
    if table == "fuel_log" {
        // After the drop, which waits for whoever reads the week to pack a day of it, and keeps others from it.
        let monday = name.trim_start_matches("fuel_log_");
        let days = format!(
            "delete from fuel_day where day >= '{monday} 00:00+00'::timestamptz \
             and day < '{monday} 00:00+00'::timestamptz + interval '168 hours'"
        );
        sqlx::query(AssertSqlSafe(days)).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(true)
}
