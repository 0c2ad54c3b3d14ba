//! Opening a store: connections, migrations, and the refusal of a store that would not keep its word.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::time::Instant;

use super::connections::Renewed;
use super::line::{Line, Writer, in_time};
use super::pool::{is_local, pooled};
use super::private;
use super::probe::Way;
use super::promises::{self, not_durable};
use super::sql::{Db, Pools, SqlError, is_unavailable};
use super::transfer::{has_moved, is_half};

static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// The embedded database, in its data directory.
pub(super) const SQLITE_FILE: &str = "waypost.sqlite";

/// The file of the embedded store in a data directory.
#[must_use]
pub fn embedded_file(directory: &Path) -> PathBuf {
    directory.join(SQLITE_FILE)
}

/// How long a connection waits for another's lock.
pub(super) const SQLITE_PATIENCE: Duration = Duration::from_secs(5);

/// A batch touches a page or two per vehicle. In the 2 MB that SQLite keeps by itself they have no room, are written
/// before their commit and read again; and with a checkpoint every 4 MB each batch is written twice. Kibibytes when
/// negative; pages.
/// What the log leaves behind of its size once it is begun anew, in bytes, is given back to the disk.
const SQLITE_WRITER: [(&str, &str); 3] =
    [("cache_size", "-65536"), ("wal_autocheckpoint", "8192"), ("journal_size_limit", "67108864")];

/// How long a statement of a long list may run (PostgreSQL), at most.
const LIST_WITHIN: Duration = Duration::from_secs(3);
/// Of so many connections one is for long lists.
const ONE_FOR_LISTS_OF: u32 = 4;

/// How long a first answer of PostgreSQL may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a request waits for a connection.
pub(super) const ACQUIRE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a statement waits for a lock that somebody else has, at most.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// PostgreSQL ends a transaction of ours that does nothing for so long: this process hangs, and what it has
/// locked is needed by its successor.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// The track writer's does nothing between two statements, and all live data needs what it has locked.
const WRITER_IDLE_PATIENCE: Duration = Duration::from_secs(3);
/// A machine that vanished must not keep the lock of its server, nor what its transaction has locked: PostgreSQL ends
/// its connections within half a minute.
const ALIVE: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A PostgreSQL server, by its URL.
    Postgres(String),
    /// A SQLite file in a data directory.
    Embedded(PathBuf),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database refused a statement.
    #[error("the database cannot be used")]
    Database(#[from] sqlx::Error),
    /// The URL is not one of PostgreSQL.
    #[error("the database URL must look like postgres://user:password@host/name")]
    Url,
    /// PostgreSQL at this host and port did not answer, or let nobody in.
    #[error("PostgreSQL at {0} cannot be used")]
    Postgres(String, #[source] sqlx::Error),
    /// The file in this directory cannot be opened, or is not a database.
    #[error("the embedded database in {0} cannot be used")]
    Embedded(PathBuf, #[source] sqlx::Error),
    /// A migration failed.
    #[error("the database's tables cannot be brought up to date")]
    Migration(#[from] MigrateError),
    /// The data directory cannot be made or written.
    #[error("the data directory {0} cannot be written (another one: --data-dir)")]
    Directory(PathBuf, #[source] std::io::Error),
    /// The database would acknowledge what it has not stored.
    #[error("{} (postgresql.conf)", not_durable(.0))]
    NotDurable(&'static str),
    /// A transfer into this database was begun and has not gone through.
    #[error("a transfer into this database has not gone through: run `waypost transfer` again")]
    HalfTransferred,
    /// The store was moved away by a transfer.
    #[error(
        "the embedded store was {told}: set DATABASE_URL, or delete {mark} to go on without what came since"
    )]
    Moved {
        /// The file that says so.
        mark: PathBuf,
        /// What it says.
        told: String,
    },
}

impl OpenError {
    /// Whether it may pass by itself: the database is away, starts, or has no room now.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            // Running, it may have been dropped for a restore; at the start its name is wrong.
            Self::Postgres(_, error) => is_unavailable(error) && !is_no_database(error),
            Self::Database(error) | Self::Embedded(_, error) => is_unavailable(error),
            Self::Migration(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
                is_unavailable(error)
            }
            _ => false,
        }
    }
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub location: Location,
    /// Connections at most (readers, for SQLite).
    pub connections: u32,
    /// A statement that runs longer is cancelled (PostgreSQL).
    pub statement_timeout: Duration,
}

impl Options {
    /// The usual options for a place.
    #[must_use]
    pub const fn new(location: Location) -> Self {
        Self { location, connections: 8, statement_timeout: Duration::from_secs(5) }
    }
}

/// Connections for long lists, beside the others.
fn places_for_lists(options: &Options) -> u32 {
    (options.connections / ONE_FOR_LISTS_OF).max(1)
}

/// Opens the store and brings its tables up to date; several processes may start at once.
/// Refuses a store that a transfer has moved away, or not moved in yet.
pub async fn open_and_migrate(options: &Options) -> Result<Db, OpenError> {
    if let Location::Embedded(directory) = &options.location
        && let Some((mark, told)) = has_moved(directory)
    {
        return Err(OpenError::Moved { mark, told });
    }
    let db = open(options).await?;
    if let Pools::Postgres { pool, .. } = &db.pools
        && is_half(pool).await?
    {
        return Err(OpenError::HalfTransferred);
    }
    migrate(&db).await?;
    Ok(db)
}

/// Opens the store as it is.
pub async fn open(options: &Options) -> Result<Db, OpenError> {
    match &options.location {
        Location::Postgres(url) => open_postgres(url, options).await,
        Location::Embedded(directory) => open_sqlite(directory, options).await,
    }
}

/// A connection for the track writer alone, so that no request waits for a batch nor a batch for
/// requests. It is made by the thread that first uses it. SQLite has its one writer.
pub fn for_writer(db: &Db, options: &Options) -> Result<Writer, OpenError> {
    match &options.location {
        Location::Postgres(url) => {
            let idle = [("idle_in_transaction_session_timeout", millis(WRITER_IDLE_PATIENCE))];
            Ok(Writer::Line(Line::new(postgres(url, options)?.options(idle))))
        }
        Location::Embedded(_) => Ok(Writer::Shared(db.clone())),
    }
}

/// A connection of its own to look whether the store answers: it waits for no request, and no request for it.
pub(super) fn for_probe(options: &Options) -> Result<Way, OpenError> {
    Ok(match &options.location {
        Location::Postgres(url) => Way::Postgres(Line::new(postgres(url, options)?)),
        Location::Embedded(directory) => {
            let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(ACQUIRE_PATIENCE);
            let readers = pool.connect_lazy_with(sqlite(directory).create_if_missing(false).read_only(true));
            let (writer, lists) = (readers.clone(), readers.clone());
            Way::Sqlite(Db::new(Pools::Sqlite { writer, readers, lists }, Arc::default()))
        }
    })
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

fn postgres(url: &str, options: &Options) -> Result<PgConnectOptions, OpenError> {
    let statement = options.statement_timeout;
    Ok(parse(url)?.application_name("waypost").options(ALIVE).options([
        ("statement_timeout", millis(statement)),
        ("lock_timeout", millis(statement.min(LOCK_PATIENCE))),
        ("idle_in_transaction_session_timeout", millis(IDLE_PATIENCE)),
        ("timezone", "UTC".to_owned()),
        // A list that reads much would take the cores from the writer.
        ("max_parallel_workers_per_gather", "0".to_owned()),
    ]))
}

fn parse(url: &str) -> Result<PgConnectOptions, OpenError> {
    // sqlx reads any scheme as PostgreSQL's.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(OpenError::Url);
    }
    url.parse().map_err(|_| OpenError::Url) // sqlx's error may quote the password
}

/// A database as people may read it: `host:port/name`, without the password.
pub(super) fn place(url: &str) -> Result<String, OpenError> {
    let options = parse(url)?;
    let name = options.get_database().unwrap_or_else(|| options.get_username());
    Ok(format!("{}:{}/{name}", options.get_host(), options.get_port()))
}

/// A connection outside any pool, which may do nothing for as long as it lives. Its error is the server's own word; a
/// pool's is that time is over.
pub(super) async fn connect_postgres(url: &str) -> Result<PgConnection, OpenError> {
    let options = parse(url)?.options(ALIVE).options([("idle_session_timeout", "0")]);
    let place = format!("{}:{}", options.get_host(), options.get_port());
    let connected = in_time(CONNECT_PATIENCE, PgConnection::connect_with(&options)).await;
    connected.map_err(|error| OpenError::Postgres(place, error))
}

async fn open_postgres(url: &str, options: &Options) -> Result<Db, OpenError> {
    let mut session = connect_postgres(url).await?;
    if let Some(setting) = promises::broken_at_start(&mut session).await? {
        return Err(OpenError::NotDurable(setting));
    }
    let host = parse(url)?.get_host().to_owned();
    if !is_local(&host) && !promises::is_encrypted(&mut session).await? {
        tracing::warn!(
            host,
            "PostgreSQL is spoken to in clear over a network; use sslmode=verify-full in its URL"
        );
    }
    session.close().await?;
    let renewed: Renewed = Arc::default();
    let pool = pooled(options.connections, &renewed).connect_with(postgres(url, options)?).await?;
    let time = millis(options.statement_timeout.min(LIST_WITHIN));
    let listing = postgres(url, options)?.options([("statement_timeout", time)]);
    let lists = pooled(places_for_lists(options), &renewed).connect_lazy_with(listing);
    Ok(Db::new(Pools::Postgres { pool, lists }, renewed))
}

fn is_no_database(error: &SqlError) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "3D000")
}

fn sqlite(directory: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(directory.join(SQLITE_FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // What sorts and what a transaction undoes needs no file of its own, and so no descriptor when none is left.
        .pragma("temp_store", "memory")
        .busy_timeout(SQLITE_PATIENCE)
}

async fn open_sqlite(directory: &Path, options: &Options) -> Result<Db, OpenError> {
    keep_private(directory).map_err(|error| OpenError::Directory(directory.to_owned(), error))?;
    let connect = sqlite(directory);
    let failed = |error| OpenError::Embedded(directory.to_owned(), error);
    let writing = SQLITE_WRITER.into_iter().fold(connect.clone(), |to, (name, value)| to.pragma(name, value));
    let writer = connect_sqlite(&writing, 1).await.map_err(failed)?;
    let read_only = connect.create_if_missing(false).read_only(true);
    let readers = connect_sqlite(&read_only, options.connections).await.map_err(failed)?;
    let lists = connect_sqlite(&read_only, places_for_lists(options)).await.map_err(failed)?;
    Ok(Db::new(Pools::Sqlite { writer, readers, lists }, Arc::default()))
}

/// SQLite gives the files beside the database (`-wal`, `-shm`) the permissions that the database has.
fn keep_private(directory: &Path) -> std::io::Result<()> {
    private::make_directory(directory)?;
    private::make_file(&directory.join(SQLITE_FILE))?;
    for beside in ["-wal", "-shm"] {
        private::close_to_others(&directory.join(format!("{SQLITE_FILE}{beside}")))?;
    }
    Ok(())
}

/// A pool with one connection open. At the first start the switch to WAL takes a lock for which SQLite
/// does not wait its own timeout: with several starts at once, all but one try again.
async fn connect_sqlite(connect: &SqliteConnectOptions, connections: u32) -> Result<SqlitePool, sqlx::Error> {
    let end = Instant::now() + SQLITE_PATIENCE;
    loop {
        let pool = SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            // On a full disk SQLite rolls back by itself, and then refuses the ROLLBACK that follows: sqlx
            // would take the connection for one inside a transaction for ever.
            .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }));
        match pool.connect_with(connect.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            opened => return opened,
        }
    }
}

/// `SQLITE_BUSY` in any of its extended forms, whose low byte is 5.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

/// Brings the tables up to date, under a lock: PostgreSQL's advisory one, or SQLite's write lock.
pub async fn migrate(db: &Db) -> Result<(), OpenError> {
    match &db.pools {
        Pools::Postgres { pool, .. } => {
            let mut conn = pool.acquire().await?;
            for patience in ["set statement_timeout = 0", "set lock_timeout = 0"] {
                sqlx::query(patience).execute(&mut *conn).await?;
            }
            let migrated = POSTGRES_MIGRATIONS.run(&mut *conn).await;
            conn.detach(); // its timeouts are not the pool's
            migrated?;
        }
        Pools::Sqlite { writer, .. } => {
            let mut tx = writer.begin_with("BEGIN IMMEDIATE").await?;
            SQLITE_MIGRATIONS.run(&mut *tx).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_of_postgresql_is_refused_without_its_password() {
        for url in [
            "nonsense",
            "mysql://u:hunter2@h/x",
            "u:hunter2@h/x",
            "postgres://u:hunter2@h:port/x",
            "postgres:",
        ] {
            let error = format!("{:?}", anyhow::Error::from(parse(url).unwrap_err()));
            assert!(error.contains("postgres://user:password@host/name"), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert_eq!(parse("postgresql://u:p@h:1/x").unwrap().get_port(), 1);
    }
}
