//! Two marks: a target that a transfer has begun to fill, and an embedded store that was moved away.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use waypost_actors::model::Timestamp;

use crate::store::sql::Result;

/// The table that stands in a target until everything is in it.
pub(super) const HALF: &str = "transfer_under_way";
/// The file that a moved store keeps.
const MOVED: &str = "waypost.moved";

pub(super) async fn put_half(conn: &mut PgConnection) -> Result<()> {
    let text = format!("create table if not exists {HALF} ()");
    sqlx::query(AssertSqlSafe(text)).execute(conn).await?;
    Ok(())
}

pub(super) async fn remove_half(conn: &mut PgConnection) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!("drop table {HALF}"))).execute(conn).await?;
    Ok(())
}

/// Whether a transfer into this database was begun and has not ended.
pub(in crate::store) async fn is_half(pool: &PgPool) -> Result<bool> {
    sqlx::query_scalar("select to_regclass($1) is not null").bind(HALF).fetch_one(pool).await
}

/// Notes where a store was moved; on failure, which file could not be written.
pub(super) fn put_moved(
    directory: &Path,
    place: &str,
    now: Timestamp,
) -> std::result::Result<(), (PathBuf, std::io::Error)> {
    let path = directory.join(MOVED);
    let text = format!("moved to PostgreSQL at {place} on {now}\n");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| (path, error))
}

/// The file that says where a store was moved, and what it says.
pub(in crate::store) fn has_moved(directory: &Path) -> Option<(PathBuf, String)> {
    let path = directory.join(MOVED);
    // A file that cannot be read is a mark all the same.
    let told = path.exists().then(|| std::fs::read_to_string(&path).unwrap_or_default())?;
    Some((path, told.trim_end().to_owned()))
}
