//! Opening a store: connections, migrations, and the refusal of a store that would not keep its word.

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

/// The track writer's does nothing between two statements, and all live data needs what it has locked.
const WRITER_IDLE_PATIENCE: Duration = Duration::from_secs(3);
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
        Location::Postgres(url) => postgres::open_postgres(url, options).await,
        Location::Embedded(directory) => sqlite::open_sqlite(directory, options).await,
    }
}

/// A connection for the track writer alone, so that no request waits for a batch nor a batch for
/// requests. It is made by the thread that first uses it. SQLite has its one writer.
pub fn for_writer(db: &Db, options: &Options) -> Result<Writer, OpenError> {
    match &options.location {
        Location::Postgres(url) => {
            let idle = [("idle_in_transaction_session_timeout", postgres::millis(WRITER_IDLE_PATIENCE))];
            Ok(Writer::Line(Line::new(postgres(url, options)?.options(idle))))
        }
        Location::Embedded(_) => Ok(Writer::Shared(db.clone())),
    }
}
