//! One server per store: a second waits, not ready, and takes over when the first is gone.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgConnection;

use super::open::{Location, OpenError, connect_postgres};
use super::private;

/// The key of PostgreSQL's advisory lock: "waypost" in ASCII.
const ADVISORY_KEY: i64 = 0x77_6179_706f_7374;
/// Between two attempts.
const TRY_EVERY: Duration = Duration::from_millis(500);

/// The right to write the live tables, until dropped. Losing it (the database restarts, say) is no
/// danger: a server that takes over raises the writer's epoch, and this one cannot commit any more.
pub enum ServerLock {
    /// A session of the database holds it.
    Postgres(Box<PgConnection>),
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

/// The lock, if nobody has it.
pub(super) async fn try_acquire(location: &Location) -> Result<Option<ServerLock>, OpenError> {
    match location {
        Location::Postgres(url) => {
            let mut conn = connect_postgres(url).await?;
            let row = sqlx::query("select pg_try_advisory_lock($1)")
                .bind(ADVISORY_KEY)
                .fetch_one(&mut conn)
                .await?;
            let held: bool = row.try_get(0)?;
            Ok(held.then(|| ServerLock::Postgres(Box::new(conn))))
        }
        Location::Embedded(directory) => Ok(lock_directory(directory)?.map(ServerLock::Embedded)),
    }
}

/// The lock of a data directory, until the file is dropped; `None` while another server has it.
pub fn lock_directory(directory: &Path) -> Result<Option<File>, OpenError> {
    let failed = |error| OpenError::Directory(directory.to_owned(), error);
    private::make_directory(directory).map_err(failed)?;
    let file = File::create(directory.join("waypost.lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
