//! One server per store: a second one waits, not ready, and takes over when the first is gone.

use std::convert::Infallible;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};

use super::open::{Location, OpenError, connect_postgres};
use super::private;
use super::sql::in_time;

/// The key of PostgreSQL's advisory lock: "waypost" in ASCII.
pub(super) const ADVISORY_KEY: i64 = 0x77_6179_706f_7374;
/// The file in a data directory that its server locks.
const LOCK_FILE: &str = "waypost.lock";
/// Pause between two attempts.
const TRY_EVERY: Duration = Duration::from_millis(500);

/// Pause between two checks that the session with the lock is alive.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A session that is silent for this long is given up.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The right to write the live tables, until dropped. Losing it, for example when the database restarts, is harmless:
/// a server that takes over raises the writer's epoch, and this one can no longer commit.
pub enum ServerLock {
    /// Held by a session of the database.
    Postgres {
        /// Where the database is.
        location: Location,
        /// The session; `None` while it is lost and not replaced yet.
        session: Option<Box<PgConnection>>,
    },
    /// The lock file in the data directory.
    Embedded(File),
}

/// Waits for the lock; `waiting` is called once if another server has it.
pub async fn acquire(location: &Location, waiting: impl FnOnce()) -> Result<ServerLock, OpenError> {
    let mut waiting = Some(waiting);
    loop {
        if let Some(lock) = try_acquire(location).await? {
            return Ok(lock);
        }
        if let Some(waiting) = waiting.take() {
            waiting();
        }
        tokio::time::sleep(TRY_EVERY).await;
    }
}

impl ServerLock {
    /// Watches the session that holds the lock, and takes the lock again if the session has ended: otherwise a server
    /// that starts later would find the store free and take over from this one. Never returns.
    pub async fn keep(&mut self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Self::Postgres { location, session } = self {
                keep_session(location, session).await;
            }
        }
    }
}

async fn keep_session(location: &Location, session: &mut Option<Box<PgConnection>>) {
    if let Some(held) = session {
        match in_time(ANSWER_WITHIN, held.ping()).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%error, "the session with this server's lock is gone; it is taken again")
            }
        }
    }
    *session = None;
    // While another server has the lock, or PostgreSQL still considers the lost session alive, the next look tries
    // again. A server that takes over in between raises the epoch, which ends this one.
    if let Ok(Some(ServerLock::Postgres { session: Some(again), .. })) = try_acquire(location).await {
        tracing::info!("this server has its lock again");
        *session = Some(again);
    }
}

/// Takes the lock; `None` while another server has it.
pub(super) async fn try_acquire(location: &Location) -> Result<Option<ServerLock>, OpenError> {
    match location {
        Location::Postgres(url) => {
            let mut conn = connect_postgres(url).await?;
            let lock = sqlx::query("select pg_try_advisory_lock($1)").bind(ADVISORY_KEY);
            let row = in_time(ANSWER_WITHIN, lock.fetch_one(&mut conn)).await?;
            let held: bool = row.try_get(0)?;
            let location = location.clone();
            Ok(held.then(|| ServerLock::Postgres { location, session: Some(Box::new(conn)) }))
        }
        Location::Embedded(directory) => Ok(lock_directory(directory)?.map(ServerLock::Embedded)),
    }
}

/// Whether a server has the store. Of a PostgreSQL database, its lock is taken for a moment.
pub async fn is_taken(location: &Location) -> Result<bool, OpenError> {
    match location {
        Location::Postgres(_) => Ok(try_acquire(location).await?.is_none()),
        Location::Embedded(directory) => {
            // Reads only: a file that another user makes would keep the server from its lock.
            let file = File::open(directory.join(LOCK_FILE));
            Ok(file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))))
        }
    }
}

/// The lock of a data directory, until the file is dropped; `None` while another server has it.
pub fn lock_directory(directory: &Path) -> Result<Option<File>, OpenError> {
    let failed = |error| OpenError::Directory(directory.to_owned(), error);
    private::make_directory(directory).map_err(failed)?;
    let file = File::create(directory.join(LOCK_FILE)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
