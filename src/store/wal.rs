//! The write-ahead log of the embedded store, kept from growing without end.
//!
//! SQLite copies the log into the database as it goes, but begins it anew only at a moment when nobody reads from it;
//! with corrections or lists at work all the time there is none.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor, Row, SqlSafeStr};

use super::open::SQLITE_PATIENCE;
use super::sql::{Db, Pools, Result};

/// A log that is larger is begun anew.
const LARGE_BYTES: u64 = 64 * 1024 * 1024;
/// How long readers may take to leave it; nothing is committed meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);

/// Begins a log that has become large anew and gives its room back to the disk, unless somebody reads from it for
/// longer: then the next call does. Answers whether it did. Nothing to do on PostgreSQL.
pub async fn give_back(db: &Db) -> Result<bool> {
    give_back_from(db, LARGE_BYTES).await
}

/// As [`give_back`], from another size on.
pub async fn give_back_from(db: &Db, large_bytes: u64) -> Result<bool> {
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
