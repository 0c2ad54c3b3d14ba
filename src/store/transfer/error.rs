//! Why a transfer failed.

use std::path::PathBuf;

use super::sum::Sum;
use crate::store::open::OpenError;
use crate::store::sql::SqlError;

/// Why a transfer failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// There is no store to move.
    #[error("there is no embedded store in {0} (another directory: --data-dir)")]
    NoStore(PathBuf),
    /// A server is running on the embedded store.
    #[error("a server runs on {0}; stop it first, so that nothing is added meanwhile")]
    SourceInUse(PathBuf),
    /// A server, or another transfer, holds the target.
    #[error("a server or another transfer has the database {0}; stop it first")]
    TargetInUse(String),
    /// The target is not empty.
    #[error(
        "the database {place} is not empty ({table}): a transfer needs one of its own. Nothing was changed"
    )]
    NotEmpty {
        /// The database.
        place: String,
        /// The reason, naming the table.
        table: String,
    },
    /// The stores differ in their tables or columns.
    #[error("the two stores do not have the same tables and columns: {0}. Nothing was moved")]
    Schema(String),
    /// Rows of a table could not be moved.
    #[error("the rows of {0} could not be moved, so nothing was")]
    Rows(String, #[source] SqlError),
    /// The rows read back differ from those sent.
    #[error("{table}: {sent} was sent, {stored} is stored, of {counted} rows. Nothing was kept")]
    Differs {
        /// The table.
        table: String,
        /// The sum of the embedded store.
        sent: Sum,
        /// The sum of PostgreSQL.
        stored: Sum,
        /// The number of rows that the embedded store counts.
        counted: i64,
    },
    /// Everything was moved and kept, but the old store could not be marked.
    #[error(
        "everything was moved, but {0} cannot be written: see to it that no server starts on the old store"
    )]
    Unmarked(PathBuf, #[source] std::io::Error),
    /// A store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A database failed.
    #[error("the database failed; nothing was moved")]
    Database(#[from] SqlError),
}
