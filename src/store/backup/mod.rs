//! Backups of a store, taken while a server works on it, and the way back.
//!
//! Owns the layout of a backup: a directory with the data in one file and a manifest beside it. A backup holds one
//! moment of the store and is read back before it gets its name; what is restored from it is compared with what it says
//! its tables held. The sums are those of a transfer. Names no table.

mod embedded;
mod error;
mod files;
mod layout;
mod manifest;
mod postgres;

use std::path::Path;

use waypost_actors::model::Timestamp;

pub use error::BackupError;
use files::Part;
use layout::{EMBEDDED_FILE, POSTGRES_FILE};
pub use manifest::{BackupOf, HeldBy, Manifest};

use super::open::{Location, refuse_marked};

/// Backs up the store at `from` into the new directory `to`. `wal_limit` is how many MiB the log of an embedded store
/// may grow to meanwhile, since it cannot be begun anew under a reader.
pub async fn back_up(
    from: &Location,
    to: &Path,
    now: Timestamp,
    wal_limit: u64,
) -> Result<Manifest, BackupError> {
    if let Location::Embedded(directory) = from {
        embedded::refuse_missing(directory)?;
        // Of a store that was moved away, every further backup would be the same.
        refuse_marked(directory)?;
    }
    let part = Part::begin(to)?;
    let (engine, copied) = match from {
        Location::Embedded(directory) => {
            (BackupOf::Embedded, embedded::back_up(directory, &part.file(EMBEDDED_FILE), wal_limit).await?)
        }
        Location::Postgres(url) => {
            (BackupOf::Postgres, postgres::back_up(url, &part.file(POSTGRES_FILE)).await?)
        }
    };
    let manifest = Manifest::new(engine, now, copied.migration, &copied.held, &copied.file);
    part.finish(&manifest)?;
    Ok(manifest)
}

/// Restores a backup into an empty data directory or database, and reads it back.
pub async fn restore(from: &Path, to: &Location) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(from)?;
    let file = from.join(manifest.engine.file());
    match (manifest.engine, to) {
        (BackupOf::Embedded, Location::Embedded(directory)) => {
            embedded::restore(&file, directory, &manifest).await?
        }
        (BackupOf::Postgres, Location::Postgres(url)) => postgres::restore(&file, url, &manifest).await?,
        (BackupOf::Embedded, _) => {
            return Err(BackupError::Engine(
                "this is a backup of an embedded store: leave --database-url out and name an empty --data-dir; \
                 `waypost transfer` moves it into PostgreSQL then",
            ));
        }
        (BackupOf::Postgres, _) => {
            return Err(BackupError::Engine(
                "this is a backup of a PostgreSQL database: name an empty one with --database-url",
            ));
        }
    }
    Ok(manifest)
}
