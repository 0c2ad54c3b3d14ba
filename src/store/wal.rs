//! Keeps the write-ahead log of the embedded store from growing without end.
//!
//! SQLite copies the log into the database as it goes, but restarts it only when no reader uses it; while corrections
//! or lists run all the time, that moment never comes.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor, Row, SqlSafeStr};

use super::open::SQLITE_PATIENCE;
use super::sql::{Db, Pools, Result};

/// A log larger than this is worth a restart.
pub const LARGE_BYTES: u64 = 64 * 1024 * 1024;
/// How long to wait for readers to leave the log; nothing is committed meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

/// Restarts a log of `large_bytes` or more and returns its space to the disk. If a reader stays in it for longer than
/// 200 ms, the next call tries again. Returns whether the log was restarted. Does nothing on PostgreSQL.
pub async fn give_back(db: &Db, large_bytes: u64) -> Result<bool> {
    let Pools::Sqlite { writer, .. } = &db.pools else { return Ok(false) };
    let mut log = writer.connect_options().get_filename().as_os_str().to_owned();
    log.push("-wal");
    let length = std::fs::metadata(PathBuf::from(log)).map_or(0, |found| found.len());
    if length < large_bytes {
        return Ok(false);
    }
    let mut connection = writer.acquire().await?;
    wait_for_others(&mut connection, PATIENCE).await?;
    let ended = connection.fetch_one("pragma wal_checkpoint(truncate)").await;
    wait_for_others(&mut connection, SQLITE_PATIENCE).await?;
    Ok(ended?.try_get::<i64, _>(0)? == 0)
}

async fn wait_for_others(connection: &mut SqliteConnection, patience: Duration) -> Result<()> {
    let pragma = AssertSqlSafe(format!("pragma busy_timeout = {}", patience.as_millis()));
    connection.execute(pragma.into_sql_str()).await?;
    Ok(())
}
