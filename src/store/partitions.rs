//! Weekly partitions of the positions and the fuel log, on PostgreSQL, made ahead of their time.
//!
//! Engine-specific: SQLite has one table. What falls outside every partition (a fix of 2003) lives
//! in the default one.

use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Row};
use waypost_actors::model::Timestamp;

use super::sql::{Db, Result};

const WEEK_SECONDS: i64 = 7 * 86_400;
/// 1970-01-05 was a Monday.
const FIRST_MONDAY_SECONDS: i64 = 4 * 86_400;
/// Weeks made ahead.
const WEEKS_AHEAD: i64 = 4;

/// Tables that are partitioned by `recorded_at`.
const TABLES: [&str; 2] = ["position", "fuel_log"];

/// Makes the partitions of the week before `now`, its own and the next ones; those that exist are
/// left alone. Nothing to do on SQLite.
pub async fn make_partitions(db: &Db, now: Timestamp) -> Result<()> {
    let Db::Postgres(pool) = db else { return Ok(()) };
    let this_week = (now.as_millis().div_euclid(1000) - FIRST_MONDAY_SECONDS).div_euclid(WEEK_SECONDS);
    for week in this_week - 1..=this_week + WEEKS_AHEAD {
        for table in TABLES {
            make_partition(pool, table, FIRST_MONDAY_SECONDS + week * WEEK_SECONDS).await?;
        }
    }
    Ok(())
}

/// Rows of the week that came before it had a partition move out of the default one.
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
        format!("create table {name} (like {table} including defaults including constraints)"),
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
