//! The location of a store, the options to open it with, and the errors of opening it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::migrate::MigrateError;

use crate::store::sql::{SqlError, is_unavailable, not_durable};

/// Of this many connections, one is for long lists.
const ONE_FOR_LISTS_OF: u32 = 4;

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
    /// PostgreSQL at this host and port did not answer, or refused the login.
    #[error("PostgreSQL at {0} cannot be used")]
    Postgres(String, #[source] sqlx::Error),
    /// The file in this directory cannot be opened, or is not a database.
    #[error("the embedded database in {0} cannot be used")]
    Embedded(PathBuf, #[source] sqlx::Error),
    /// The address of this node of a cluster is another node's.
    #[error("another node has the address {0}: give each one of its own (nodeListen)")]
    NodeAddress(SocketAddr),
    /// A migration failed.
    #[error("the database's tables cannot be brought up to date")]
    Migration(#[from] MigrateError),
    /// The data directory cannot be made or written.
    #[error("the data directory {0} cannot be written (another one: --data-dir)")]
    Directory(PathBuf, #[source] std::io::Error),
    /// The database would acknowledge what it has not stored.
    #[error("{} (postgresql.conf)", not_durable(.0))]
    NotDurable(&'static str),
    /// A transfer into this database was begun and has not completed.
    #[error(
        "a transfer into this database has not gone through: run `waypost transfer` again, or `waypost restore` if \
         that was it"
    )]
    HalfTransferred,
    /// A restore into this directory was begun and has not completed.
    #[error(
        "a restore has not gone through: run `waypost restore` again, or delete {0} to begin with nothing"
    )]
    HalfRestored(PathBuf),
    /// The store was moved away by a transfer.
    #[error(
        "the embedded store was {told}: set DATABASE_URL, or delete {mark} to go on without what came since"
    )]
    Moved {
        /// The file that marks the store as moved.
        mark: PathBuf,
        /// Its text.
        told: String,
    },
}

impl OpenError {
    /// Whether it may pass by itself: the database is away, starting, or out of resources, or a node's address is taken.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            // On a running server the database may have been dropped for a restore; at the start its name is wrong.
            Self::Postgres(_, error) => is_unavailable(error) && !is_no_database(error),
            Self::Database(error) | Self::Embedded(_, error) => is_unavailable(error),
            Self::Migration(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
                is_unavailable(error)
            }
            // That node may be this one, of a moment ago.
            Self::NodeAddress(_) => true,
            _ => false,
        }
    }
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub location: Location,
    /// Most connections (readers, for SQLite).
    pub connections: u32,
    /// Statements that run longer are cancelled (PostgreSQL).
    pub statement_timeout: Duration,
}

impl Options {
    /// The default options for a location.
    #[must_use]
    pub const fn new(location: Location) -> Self {
        Self { location, connections: 8, statement_timeout: Duration::from_secs(5) }
    }

    /// Connections for long lists, in addition to the others.
    pub(super) fn places_for_lists(&self) -> u32 {
        (self.connections / ONE_FOR_LISTS_OF).max(1)
    }
}

fn is_no_database(error: &SqlError) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "3D000")
}
