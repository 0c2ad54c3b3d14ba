//! The names of the files of a backup.

/// The file of a backup that says what it is.
pub(super) const MANIFEST: &str = "manifest.json";
/// The data of an embedded store: a database of SQLite.
pub(super) const EMBEDDED_FILE: &str = "waypost.sqlite";
/// The data of a PostgreSQL database: an archive of `pg_dump`.
pub(super) const POSTGRES_FILE: &str = "waypost.dump";
