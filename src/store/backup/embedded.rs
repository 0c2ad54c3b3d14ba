//! The embedded store: copied table by table within one transaction, so that it is of one moment, ends however much is
//! committed meanwhile, and can be compared with what was copied.

use std::fs::{self, File};
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use super::error::BackupError;
use super::files;
use super::manifest::{Copied, Manifest};
use crate::store::lock::lock_directory;
use crate::store::open::{SQLITE_FILE, SQLITE_PATIENCE, embedded_file, newest_migration};
use crate::store::private;
use crate::store::sql::{On, Result as SqlResult, SqlError};
use crate::store::transfer::marks::{half_restored, has_moved};
use crate::store::transfer::{TableSum, sums_of_embedded};

/// Steps of SQLite's machine between two looks at the log.
const STEPS: i32 = 50_000;
const MIB: u64 = 1 << 20;

pub(super) fn refuse_missing(directory: &Path) -> Result<(), BackupError> {
    if embedded_file(directory).exists() { Ok(()) } else { Err(BackupError::NoStore(directory.to_owned())) }
}

pub(super) async fn back_up(directory: &Path, to: &Path, wal_limit: u64) -> Result<Copied, BackupError> {
    private::make_file(to).map_err(|error| BackupError::File(to.to_owned(), error))?;
    let log = directory.join(format!("{SQLITE_FILE}-wal"));
    let is_too_long = move || log.metadata().is_ok_and(|log| log.len() > wal_limit.saturating_mul(MIB));
    let copied = copy(directory, to, is_too_long.clone()).await;
    let (migration, held) = copied.map_err(|error| {
        if is_too_long() { BackupError::LogTooLong(wal_limit) } else { BackupError::Database(error) }
    })?;
    let (synced, path) = (File::open(to).and_then(|file| file.sync_all()), to.to_owned());
    synced.map_err(|error| BackupError::File(path, error))?;
    if let Some(table) = first_difference(&held, &read_back(to).await?) {
        return Err(BackupError::Differs(table));
    }
    Ok(Copied { migration, held, file: files::digest(to)? })
}

/// Copies one moment of the store; returns its newest migration, and what its tables held at that moment.
async fn copy(
    directory: &Path,
    to: &Path,
    is_too_long: impl Fn() -> bool + Send + 'static,
) -> SqlResult<(i64, Vec<TableSum>)> {
    // Not read-only: what is attached would be, too.
    let options = SqliteConnectOptions::new().filename(embedded_file(directory)).create_if_missing(false);
    let options = options.foreign_keys(false).busy_timeout(SQLITE_PATIENCE).pragma("cache_size", "-65536");
    let mut conn = options.connect().await?;
    sqlx::query("attach database $1 as copy")
        .bind(to.to_string_lossy().into_owned())
        .execute(&mut conn)
        .await?;
    // A copy that does not end is thrown away whole.
    for fast in ["pragma copy.journal_mode = off", "pragma copy.synchronous = off"] {
        sqlx::query(fast).execute(&mut conn).await?;
    }
    conn.lock_handle().await?.set_progress_handler(STEPS, move || !is_too_long());
    let mut moment = conn.begin().await?;
    let migration = newest_migration(On::LiteConn(&mut moment)).await?;
    copy_tables(&mut moment).await?;
    let held = sums_of_embedded(&mut moment).await?;
    moment.commit().await?;
    conn.close().await?;
    Ok((migration, held))
}

/// Makes every table in the copy, with its rows, in the way of SQLite's own `vacuum into`: indexes before rows, so that
/// they are copied in order and nothing is sorted; triggers after them, so that none is set off.
async fn copy_tables(conn: &mut SqliteConnection) -> SqlResult<()> {
    let made = "select type, name, sql from main.sqlite_schema where sql is not null \
        and name not like 'sqlite@_%' escape '@' order by rowid";
    let made: Vec<(String, String, String)> = sqlx::query_as(made).fetch_all(&mut *conn).await?;
    for kind in ["table", "index", "rows", "trigger"] {
        let of = if kind == "rows" { "table" } else { kind };
        for (_, name, sql) in made.iter().filter(|(of_kind, ..)| of_kind == of) {
            let text = match kind {
                "rows" => format!("insert into copy.\"{name}\" select * from main.\"{name}\""),
                _ => in_copy(name, sql)?,
            };
            sqlx::query(AssertSqlSafe(text)).execute(&mut *conn).await?;
        }
    }
    Ok(())
}

/// The definition as it has to read to define the same in the copy. SQLite keeps `create table` and the like in
/// capitals and everything behind it as it was written.
fn in_copy(name: &str, sql: &str) -> SqlResult<String> {
    let head = ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX ", "CREATE TRIGGER "];
    let head = head.iter().find_map(|head| Some((*head, sql.strip_prefix(head)?)));
    let (head, rest) =
        head.ok_or_else(|| SqlError::Protocol(format!("{name} is defined in another way: {sql}")))?;
    Ok(format!("{head}copy.{rest}"))
}

/// What a copy holds, read from the file; an error if it is damaged.
async fn read_back(path: &Path) -> Result<Vec<TableSum>, BackupError> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false).read_only(true);
    let mut conn = options.connect().await?;
    let said: String = sqlx::query_scalar("pragma integrity_check(1)").fetch_one(&mut conn).await?;
    if said != "ok" {
        return Err(BackupError::Differs(said));
    }
    let held = sums_of_embedded(&mut conn).await?;
    conn.close().await?;
    Ok(held)
}

fn first_difference(stored: &[TableSum], copied: &[TableSum]) -> Option<String> {
    if stored.len() != copied.len() {
        return Some("the list of tables".to_owned());
    }
    stored
        .iter()
        .zip(copied)
        .find(|(stored, copied)| stored != copied)
        .map(|(stored, _)| stored.table.clone())
}

pub(super) async fn restore(from: &Path, directory: &Path, manifest: &Manifest) -> Result<(), BackupError> {
    let place = || directory.display().to_string();
    let Some(_lock) = lock_directory(directory)? else {
        return Err(BackupError::InUse(place()));
    };
    refuse_used(directory)?;
    let half = half_restored(directory);
    let failed = |error| BackupError::File(half.clone(), error);
    private::make_file(&half).map_err(failed)?;
    let source = File::open(from).map_err(|error| BackupError::File(from.to_owned(), error))?;
    let target = File::create(&half).map_err(failed)?;
    let copied = files::copy(source, &target).map_err(failed)?;
    target.sync_all().map_err(failed)?;
    if copied.sha256 != manifest.sha256 {
        fs::remove_file(&half).map_err(failed)?;
        return Err(BackupError::Damaged(from.to_owned()));
    }
    if let Some(table) = manifest.first_difference(&read_back(&half).await?) {
        return Err(BackupError::NotRestored(table));
    }
    fs::rename(&half, embedded_file(directory)).map_err(failed)?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
}

/// Refuses a directory that has a store, a piece of one, or the mark of one that was moved away.
fn refuse_used(directory: &Path) -> Result<(), BackupError> {
    let pieces = ["", "-wal", "-shm", "-journal"].map(|end| format!("{SQLITE_FILE}{end}"));
    let mark = has_moved(directory).map(|(mark, _)| mark);
    let found = pieces.iter().map(|piece| directory.join(piece)).find(|piece| piece.exists()).or(mark);
    let Some(found) = found else { return Ok(()) };
    let what = found.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Err(BackupError::NotEmpty {
        place: directory.display().to_string(),
        what,
        next: "name another --data-dir, or move this one away",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_go_to_the_copy() {
        let copied = in_copy("t", "CREATE TABLE t (a text) strict").unwrap();
        assert_eq!(copied, "CREATE TABLE copy.t (a text) strict");
        assert_eq!(
            in_copy("i", "CREATE UNIQUE INDEX i on t (a)").unwrap(),
            "CREATE UNIQUE INDEX copy.i on t (a)"
        );
        assert!(in_copy("v", "CREATE VIEW v as select 1").is_err());
    }
}
