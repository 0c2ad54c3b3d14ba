//! The embedded store: one file in the data directory, one write connection, several read connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use tokio::time::Instant;

use super::location::{OpenError, Options};
use super::pool::{ACQUIRE_PATIENCE, LIST_WITHIN};
use crate::store::private;
use crate::store::sql::{Db, Pools};

/// The embedded database, in its data directory.
pub(in crate::store) const SQLITE_FILE: &str = "waypost.sqlite";

/// The file of the embedded store in a data directory.
#[must_use]
pub fn embedded_file(directory: &Path) -> PathBuf {
    directory.join(SQLITE_FILE)
}

/// How long a connection waits for another's lock.
pub(in crate::store) const SQLITE_PATIENCE: Duration = Duration::from_secs(5);

/// Steps of SQLite's machine between two looks at the time: about a millisecond.
const STEPS: i32 = 50_000;

/// A batch touches a page or two per vehicle. These do not fit into SQLite's default cache of 2 MB, so they would be
/// written before their commit and read again; and with a checkpoint every 4 MB, each batch would be written twice.
/// `cache_size` is in KiB when negative, `wal_autocheckpoint` in pages, and `journal_size_limit`, beyond which a
/// restarted log is cut, in bytes.
const SQLITE_WRITER: [(&str, &str); 3] =
    [("cache_size", "-65536"), ("wal_autocheckpoint", "8192"), ("journal_size_limit", "67108864")];

/// One read-only connection, made when it is needed.
pub(in crate::store) fn single_reader(directory: &Path) -> Db {
    let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(ACQUIRE_PATIENCE);
    let readers = pool.connect_lazy_with(sqlite(directory).create_if_missing(false).read_only(true));
    let (writer, lists) = (readers.clone(), readers.clone());
    Db::new(Pools::Sqlite { writer, readers, lists }, Arc::default())
}

fn sqlite(directory: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(directory.join(SQLITE_FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // Data for sorting and for undoing statements then needs no file of its own, and no descriptor when none is
        // left.
        .pragma("temp_store", "memory")
        .busy_timeout(SQLITE_PATIENCE)
}

pub(super) async fn open_sqlite(directory: &Path, options: &Options) -> Result<Db, OpenError> {
    keep_private(directory).map_err(|error| OpenError::Directory(directory.to_owned(), error))?;
    let connect = sqlite(directory);
    let failed = |error| OpenError::Embedded(directory.to_owned(), error);
    let writing = SQLITE_WRITER.into_iter().fold(connect.clone(), |to, (name, value)| to.pragma(name, value));
    let writer = connect_sqlite(&writing, 1, None).await.map_err(failed)?;
    let read_only = connect.create_if_missing(false).read_only(true);
    let readers = connect_sqlite(&read_only, options.connections, None).await.map_err(failed)?;
    let within = Some(options.statement_timeout.min(LIST_WITHIN));
    let lists = connect_sqlite(&read_only, options.places_for_lists(), within).await.map_err(failed)?;
    Ok(Db::new(Pools::Sqlite { writer, readers, lists }, Arc::default()))
}

/// SQLite gives the files beside the database (`-wal`, `-shm`) the database's permissions.
fn keep_private(directory: &Path) -> std::io::Result<()> {
    private::make_directory(directory)?;
    private::make_file(&directory.join(SQLITE_FILE))?;
    for beside in ["-wal", "-shm"] {
        private::close_to_others(&directory.join(format!("{SQLITE_FILE}{beside}")))?;
    }
    Ok(())
}

/// A pool with one connection open, each statement of which ends within a time. At the first start, the switch to WAL takes a
/// lock for which SQLite does not wait: if several processes start at once, all but one must retry.
async fn connect_sqlite(
    connect: &SqliteConnectOptions,
    connections: u32,
    within: Option<Duration>,
) -> Result<SqlitePool, sqlx::Error> {
    let end = Instant::now() + SQLITE_PATIENCE;
    loop {
        let pool = SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |connection, _| Box::pin(end_within(connection, within)))
            .before_acquire(move |connection, _| {
                Box::pin(async move {
                    // On a full disk SQLite rolls back by itself and then refuses the ROLLBACK that follows; sqlx would
                    // consider the connection inside a transaction for ever.
                    if connection.is_in_transaction() {
                        return Ok(false);
                    }
                    end_within(connection, within).await.map(|()| true)
                })
            });
        match pool.connect_with(connect.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            opened => return opened,
        }
    }
}

/// Interrupts what a connection still does when the time is over. SQLite has no time limit of its own, and a reader that does
/// not end keeps the log from being restarted.
async fn end_within(connection: &mut SqliteConnection, within: Option<Duration>) -> Result<(), sqlx::Error> {
    if let Some(within) = within {
        let end = Instant::now() + within;
        connection.lock_handle().await?.set_progress_handler(STEPS, move || Instant::now() < end);
    }
    Ok(())
}

/// Whether an error is `SQLITE_BUSY` in any of its extended forms, whose low byte is 5.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}
