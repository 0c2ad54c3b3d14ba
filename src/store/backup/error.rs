//! Why a backup or a restore failed, and what to do about it.

use std::path::PathBuf;

use super::layout::MANIFEST;
use crate::store::open::OpenError;
use crate::store::sql::SqlError;
use crate::store::transfer::TransferError;

/// Why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no store to back up.
    #[error("there is no embedded store in {0} (another directory: --data-dir)")]
    NoStore(PathBuf),
    /// The backup has a name that is taken.
    #[error("{0} exists: name a directory that does not, such as one with today's date")]
    Exists(PathBuf),
    /// Another backup is writing to the same place.
    #[error("another backup to {0} is under way")]
    UnderWay(PathBuf),
    /// A file could not be read or written.
    #[error("{0}")]
    File(PathBuf, #[source] std::io::Error),
    /// The server wrote more than the log may grow by while the backup held it.
    #[error(
        "the server wrote so much meanwhile that its log grew beyond {0} MiB, so the backup was given up: run it when \
         less comes in, or allow more with --wal-limit"
    )]
    LogTooLong(u64),
    /// The database's own program is missing.
    #[error("{0} is not installed or not in PATH (Debian: apt-get install postgresql-client)")]
    NoProgram(&'static str, #[source] std::io::Error),
    /// The database's own program failed; its message.
    #[error("{0} failed: {1}")]
    Program(&'static str, String),
    /// What was read back is not what was written.
    #[error("what was read back of {0} is not what is stored; the backup was not kept. Check the disk")]
    Differs(String),
    /// The backup is none, or not a whole one.
    #[error(
        "{0} is no whole backup: it has no readable {MANIFEST}. A directory that ends in .part is of one that did not end"
    )]
    NoBackup(PathBuf),
    /// The backup was made by a newer Waypost.
    #[error(
        "the backup is of Waypost {0}, which is newer than this one: restore it with that version or a newer one"
    )]
    Newer(String),
    /// The backup is of the other engine.
    #[error("{0}")]
    Engine(&'static str),
    /// The file in the backup is damaged.
    #[error("{0} is damaged: its SHA-256 is not the one in {MANIFEST}. Nothing was restored")]
    Damaged(PathBuf),
    /// The target is not empty.
    #[error("{place} is not empty ({what}), and a restore overwrites nothing: {next}")]
    NotEmpty {
        /// The database or directory.
        place: String,
        /// What it has.
        what: String,
        /// What to do.
        next: &'static str,
    },
    /// A server, or another restore, holds the target.
    #[error("a server or another restore has {0}; stop it first")]
    InUse(String),
    /// The restored rows differ from those in the backup.
    #[error(
        "the rows of {0} are not those of the backup, so servers refuse what is there: drop the database or delete the \
         directory, and restore into a new one"
    )]
    NotRestored(String),
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The tables could not be read.
    #[error(transparent)]
    Read(#[from] TransferError),
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] SqlError),
}
