//! Marks: on a target that a transfer or a restore has begun to fill, and on an embedded store that was moved away.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, PgConnection, PgExecutor};
use waypost_actors::model::Timestamp;

use crate::store::sql::Result;

/// A table that exists in a target until the transfer or restore is complete.
pub(super) const HALF: &str = "transfer_under_way";
/// An embedded store while it is being restored; until it gets its name, servers refuse its directory.
const HALF_RESTORED: &str = "waypost.sqlite.part";
/// The file that marks a store as moved.
const MOVED: &str = "waypost.moved";

pub(in crate::store) async fn put_half(conn: &mut PgConnection) -> Result<()> {
    let text = format!("create table if not exists {HALF} ()");
    sqlx::query(AssertSqlSafe(text)).execute(conn).await?;
    Ok(())
}

pub(in crate::store) async fn remove_half(conn: &mut PgConnection) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!("drop table {HALF}"))).execute(conn).await?;
    Ok(())
}

/// Whether a transfer or restore into this database was begun and has not completed.
pub(in crate::store) async fn is_half(on: impl PgExecutor<'_>) -> Result<bool> {
    sqlx::query_scalar("select to_regclass($1) is not null").bind(HALF).fetch_one(on).await
}

/// The file of a directory into which a store is being restored.
pub(in crate::store) fn half_restored(directory: &Path) -> PathBuf {
    directory.join(HALF_RESTORED)
}

/// Marks a store as moved; an error names the file that could not be written.
pub(super) fn put_moved(
    directory: &Path,
    place: &str,
    now: Timestamp,
) -> std::result::Result<(), (PathBuf, std::io::Error)> {
    let path = directory.join(MOVED);
    let text = format!("moved to PostgreSQL at {place} on {now}\n");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        File::open(directory)?.sync_all()
    });
    written.map_err(|error| (path, error))
}

/// The file that marks a store as moved, if it exists, and its text.
pub(in crate::store) fn has_moved(directory: &Path) -> Option<(PathBuf, String)> {
    let path = directory.join(MOVED);
    // An unreadable file is a mark all the same.
    let told = path.exists().then(|| std::fs::read_to_string(&path).unwrap_or_default())?;
    Some((path, told.trim_end().to_owned()))
}
