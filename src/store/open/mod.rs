//! Opening a store: connections, migrations, and the refusal of a store that would not keep its promises.

mod location;
mod migrate;
mod pool;
mod postgres;
mod sqlite;

use std::time::Duration;

use super::sql::{Db, Line, Pools, Writer};
use super::transfer::marks::{has_moved, is_half};
pub use location::{Location, OpenError, Options};
pub use migrate::migrate;
pub(super) use postgres::{connect_postgres, place, postgres};
pub use sqlite::embedded_file;
pub(super) use sqlite::{SQLITE_FILE, SQLITE_PATIENCE, single_reader};

/// The limit for an idle transaction of the track writer, which does no other work between two statements. All live
/// data needs the rows that it locks.
const WRITER_IDLE_PATIENCE: Duration = Duration::from_secs(3);
/// Opens the store and migrates its tables; several processes may start at once. Refuses a store that a transfer has
/// moved away, or not yet completely moved in.
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

/// Opens the store without migrating it.
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
            let idle = [("idle_in_transaction_session_timeout", postgres::millis(WRITER_IDLE_PATIENCE))];
            Ok(Writer::Line(Line::new(postgres(url, options)?.options(idle))))
        }
        Location::Embedded(_) => Ok(Writer::Shared(db.clone())),
    }
}
