//! Migration of both engines.

use sqlx::migrate::Migrator;

use super::location::OpenError;
use crate::store::sql::{Db, On, Pools, Result as SqlResult};

static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// The newest migration that this program knows.
#[must_use]
pub fn known_migration() -> i64 {
    SQLITE_MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// The newest migration of a store whose tables were made.
pub(in crate::store) async fn newest_migration(on: On<'_>) -> SqlResult<i64> {
    on.sql("select coalesce(max(version), 0) from _sqlx_migrations").scalar().await
}

/// Brings the tables up to date, under a lock: PostgreSQL's advisory one, or SQLite's write lock.
pub async fn migrate(db: &Db) -> Result<(), OpenError> {
    match &db.pools {
        Pools::Postgres { pool, .. } => {
            let mut conn = pool.acquire().await?;
            for patience in ["set statement_timeout = 0", "set lock_timeout = 0"] {
                sqlx::query(patience).execute(&mut *conn).await?;
            }
            let migrated = POSTGRES_MIGRATIONS.run(&mut *conn).await;
            conn.detach(); // its timeouts are not the pool's
            migrated?;
        }
        Pools::Sqlite { writer, .. } => {
            let mut tx = writer.begin_with("BEGIN IMMEDIATE").await?;
            SQLITE_MIGRATIONS.run(&mut *tx).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}
