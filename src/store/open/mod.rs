//! Opening a store: connections, migrations, and the refusal of a store that would not keep its promises.

mod location;
mod migrate;
mod pool;
mod postgres;
mod sqlite;

use std::path::Path;
use std::time::Duration;

use super::sql::{Db, DedicatedConnection, Pools, Writer};
use super::transfer::marks::{half_restored, has_moved, is_half};
pub use location::{Location, OpenError, Options};
pub(super) use migrate::newest_migration;
pub use migrate::{known_migration, migrate};
pub(super) use postgres::{connect_postgres, is_on_this_machine, millis, place, postgres, postgres_session};
pub use sqlite::embedded_file;
pub(super) use sqlite::{SQLITE_FILE, SQLITE_PATIENCE, single_reader};

/// The limit for an idle transaction of the track writer, which does no other work between two statements. All live
/// data needs the rows that it locks, and so does the node that takes over from a paused one.
const WRITER_IDLE_PATIENCE: Duration = Duration::from_secs(2);

/// Opens the store and migrates its tables; several processes may start at once. Refuses what [`open_whole`] refuses.
pub async fn open_and_migrate(options: &Options) -> Result<Db, OpenError> {
    let db = open_whole(options).await?;
    migrate(&db).await?;
    Ok(db)
}

/// Opens the store without migrating it. Refuses a store that a transfer has moved away, or not yet completely moved in or restored.
pub async fn open_whole(options: &Options) -> Result<Db, OpenError> {
    if let Location::Embedded(directory) = &options.location {
        refuse_marked(directory)?;
    }
    let db = open(options).await?;
    if let Pools::Postgres { pool, .. } = &db.pools
        && is_half(pool).await?
    {
        return Err(OpenError::HalfTransferred);
    }
    Ok(db)
}

/// Refuses a directory from which a store was moved, or into which one was not yet completely restored.
pub(super) fn refuse_marked(directory: &Path) -> Result<(), OpenError> {
    if let Some((mark, told)) = has_moved(directory) {
        return Err(OpenError::Moved { mark, told });
    }
    let half = half_restored(directory);
    if half.exists() { Err(OpenError::HalfRestored(half)) } else { Ok(()) }
}

/// Opens the store without migrating it, whole or not.
pub async fn open(options: &Options) -> Result<Db, OpenError> {
    match &options.location {
        Location::Postgres(url) => postgres::open_postgres(url, options).await,
        Location::Embedded(directory) => sqlite::open_sqlite(directory, options).await,
    }
}

/// A connection for the track writer alone, so that requests and batches do not wait for each other. It is made by
/// the thread that first uses it. On SQLite, the store's only write connection.
pub fn for_writer(db: &Db, options: &Options) -> Result<Writer, OpenError> {
    match &options.location {
        Location::Postgres(url) => {
            let idle = [("idle_in_transaction_session_timeout", millis(WRITER_IDLE_PATIENCE))];
            Ok(Writer::Dedicated(DedicatedConnection::new(postgres(url, options)?.options(idle))))
        }
        Location::Embedded(_) => Ok(Writer::Shared(db.clone())),
    }
}
