//! Weekly partitions of tables on PostgreSQL, made ahead of time.
//!
//! Engine-specific: SQLite has one table. Rows outside every partition (a fix of 2003) are in the default one.

use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Connection, Row};
use waypost_actors::model::Timestamp;

use super::sql::{Db, Pools, Result, is_unavailable};

const WEEK_SECONDS: i64 = 7 * 86_400;
/// 1970-01-05 was a Monday.
const FIRST_MONDAY_SECONDS: i64 = 4 * 86_400;
/// Weeks made ahead.
pub(super) const WEEKS_AHEAD: i64 = 4;

/// How long a change of a table waits for those who read it, such as a backup: meanwhile everybody else waits behind it.
const LOCK_PATIENCE: &str = "lock_timeout = '500ms'";

/// How much of a week has to be free for it to be compacted, in bytes and as a part of what it takes.
const WORTHWHILE_BYTES: i64 = 1024 * 1024;
const WORTHWHILE: f64 = 0.75;
/// Bytes of a week that may be written anew, which takes two seconds at most: whoever reads the table waits for it, since its
/// statements lock all weeks.
const COMPACTED_BYTES: i64 = 64 * 1024 * 1024;

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

/// Makes the partitions of the week before `now`, its own and the next ones, unless they exist. A table that cannot be locked at once
/// ends it: another time will do, since each week is made long ahead. Does nothing on SQLite.
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
        format!("set local {LOCK_PATIENCE}"),
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
/// partition that cannot be locked at once, and those after it, are left for another time. Does nothing on SQLite.
pub async fn drop_partitions(db: &Db, table: &str, before: Timestamp) -> Result<u64> {
    let Pools::Postgres { pool, .. } = &db.pools else { return Ok(0) };
    let end = if table == "position_chunk" { "ended_at" } else { "recorded_at" };
    let past = "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid \
        where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]{8}$' and c.relname <= $2 order by 1";
    let newest = newest_before(table, before);
    let names: Vec<String> = sqlx::query_scalar(past).bind(table).bind(newest).fetch_all(pool).await?;
    let mut dropped = 0;
    for name in &names {
        match drop_partition(pool, table, name, end).await {
            Ok(true) => dropped += 1,
            Ok(false) => {}
            Err(error) if is_unavailable(&error) => {
                tracing::debug!(%error, name, "a partition could not be locked and is dropped another time");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(dropped)
}

/// The name of the newest partition that ends before an instant.
fn newest_before(table: &str, before: Timestamp) -> String {
    let newest = before.plus_seconds(-(WEEK_SECONDS as f64)).to_string();
    format!("{table}_{}", newest[..10].replace('-', ""))
}

/// Gives the system back what is free of the weeks that end before `before`, where that is most of a week: in a week that some
/// organization keeps, the rows of others leave room that nothing new is written to. Returns how many were written anew. How full
/// a week is, is what PostgreSQL's autovacuum counted. One that cannot be locked at once is left for another time. Does nothing on
/// SQLite, which uses the room again.
pub async fn compact_partitions(db: &Db, before: Timestamp) -> Result<u64> {
    let Pools::Postgres { pool, .. } = &db.pools else { return Ok(0) };
    // A row has 28 bytes beside its values, and what is stored aside comes in pieces of 2 KiB.
    let sparse = "select name from (select c.relname::text as name, \
        (c.relpages + coalesce(aside.relpages, 0)) * 8192.0 as bytes, \
        c.reltuples * (28 + (select sum(s.avg_width) from pg_stats s where s.schemaname = current_schema() \
        and s.tablename = c.relname)) + coalesce(aside.reltuples, 0) * 2048.0 as used_bytes \
        from pg_inherits i join pg_class c on c.oid = i.inhrelid left join pg_class aside on aside.oid = c.reltoastrelid \
        where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]{8}$' and c.relname <= $2 \
        and c.reltuples >= 0) week \
        where bytes - used_bytes > greatest($3, bytes * $4) and used_bytes < $5 order by 1";
    let mut compacted = 0;
    for table in TABLES {
        let week = sqlx::query_scalar(sparse).bind(table).bind(newest_before(table, before));
        let week = week.bind(WORTHWHILE_BYTES).bind(WORTHWHILE).bind(COMPACTED_BYTES);
        let names: Vec<String> = week.fetch_all(pool).await?;
        for name in names {
            match compact(pool, &name).await {
                Ok(()) => compacted += 1,
                Err(error) if is_unavailable(&error) => {
                    tracing::debug!(%error, name, "a partition could not be locked and is compacted another time");
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(compacted)
}

async fn compact(pool: &PgPool, name: &str) -> Result<()> {
    // Of its own, since it cannot be done in a transaction, to which settings could be local.
    let mut conn = pool.acquire().await?.detach();
    for statement in [
        format!("set {LOCK_PATIENCE}"),
        "set statement_timeout = '2s'".to_owned(),
        format!("vacuum (full, analyze) {name}"),
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut conn).await?;
    }
    conn.close().await
}

/// `end`: the column with the newest instant of a row.
async fn drop_partition(pool: &PgPool, table: &str, name: &str, end: &str) -> Result<bool> {
    let mut tx = pool.begin().await?;
    for patience in [LOCK_PATIENCE, "statement_timeout = '60s'"] {
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
