//! What a backup says of itself: which store, when, and what each table held.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use waypost_actors::model::Timestamp;

use super::error::BackupError;
use super::layout::{EMBEDDED_FILE, MANIFEST, POSTGRES_FILE};
use crate::store::open::known_migration;
use crate::store::transfer::TableSum;

/// The layout of a backup; a later one gets another number.
const FORMAT: u32 = 1;

/// The engine whose store was backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BackupOf {
    /// The embedded store, SQLite.
    Embedded,
    /// A PostgreSQL database.
    Postgres,
}

impl BackupOf {
    /// The name of the file with the data.
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Embedded => EMBEDDED_FILE,
            Self::Postgres => POSTGRES_FILE,
        }
    }
}

/// What a backup says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    format: u32,
    /// The version of the program that made it.
    pub waypost: String,
    /// The engine.
    pub engine: BackupOf,
    /// When it was begun.
    pub taken_at: Timestamp,
    /// The newest migration of the store.
    pub migration: i64,
    /// SHA-256 of the file with the data, in hexadecimal digits.
    pub sha256: String,
    /// Size of that file.
    pub bytes: u64,
    /// What each table holds.
    pub tables: Vec<HeldBy>,
}

/// What a table holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBy {
    /// The table.
    pub table: String,
    /// How many rows.
    pub rows: u64,
    /// The sum of their digests, in hexadecimal digits.
    pub digests: String,
}

impl From<&TableSum> for HeldBy {
    fn from(held: &TableSum) -> Self {
        let TableSum { table, sum } = held;
        Self { table: table.clone(), rows: sum.rows, digests: format!("{:032x}", sum.digests) }
    }
}

impl Manifest {
    pub(super) fn new(
        engine: BackupOf,
        taken_at: Timestamp,
        migration: i64,
        held: &[TableSum],
        file: &Digested,
    ) -> Self {
        Self {
            format: FORMAT,
            waypost: env!("CARGO_PKG_VERSION").to_owned(),
            engine,
            taken_at,
            migration,
            sha256: file.sha256.clone(),
            bytes: file.bytes,
            tables: held.iter().map(HeldBy::from).collect(),
        }
    }

    /// Reads it, and refuses what this program cannot restore.
    pub(super) fn read(backup: &Path) -> Result<Self, BackupError> {
        let none = || BackupError::NoBackup(backup.to_owned());
        let is_part = backup.extension().is_some_and(|extension| extension == "part");
        let text = fs::read(backup.join(MANIFEST)).map_err(|_| none())?;
        let manifest: Self = serde_json::from_slice(&text).map_err(|_| none())?;
        if is_part {
            return Err(none());
        }
        if manifest.format != FORMAT || manifest.migration > known_migration() {
            return Err(BackupError::Newer(manifest.waypost));
        }
        Ok(manifest)
    }

    /// The first table that holds something else.
    pub(super) fn first_difference(&self, held: &[TableSum]) -> Option<String> {
        let held: Vec<HeldBy> = held.iter().map(HeldBy::from).collect();
        let missing = |some: &[HeldBy], other: &[HeldBy]| {
            some.iter().find(|table| !other.contains(table)).map(|table| table.table.clone())
        };
        missing(&self.tables, &held).or_else(|| missing(&held, &self.tables))
    }
}

/// A file that was written or read completely.
pub(super) struct Digested {
    pub(super) sha256: String,
    pub(super) bytes: u64,
}

/// What was copied out of a store.
pub(super) struct Copied {
    pub(super) migration: i64,
    pub(super) held: Vec<TableSum>,
    pub(super) file: Digested,
}
