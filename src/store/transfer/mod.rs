//! Moves an embedded store into PostgreSQL: every table, or nothing at all.
//!
//! Owns the order of a transfer and its refusals. Names no table but the writer's: both stores list their own tables,
//! so that one of a later migration is included.
//!
//! All rows are moved in one transaction, which ends only after they have been read back and found equal. If the
//! transfer is killed at any moment, the target holds nothing but a mark, with which servers refuse it until a
//! transfer completes.

mod binary;
mod error;
pub(super) mod marks;
mod read_back;
pub(super) mod schema;
mod sum;
mod table;

use std::path::Path;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use waypost_actors::model::Timestamp;

use super::lock::{lock_directory, try_acquire};
use super::open::{self, Location, OpenError, Options, migrate, open, open_and_migrate};
use super::partitions::make_partitions_of;
use super::sql::{Db, On, Pools, SqlError};
use binary::Writer;
pub use error::TransferError;
use read_back::sum_of_postgres;
pub(super) use read_back::{sums_of_embedded, sums_of_postgres};
pub use sum::{Sum, TableSum};
use table::Table;

/// Bytes gathered per send.
const CHUNK: usize = 1 << 20;

/// Moves the store in a data directory into the database at `url`, and reports each table when its rows are sent.
/// Both stores' locks are held meanwhile. Returns the sums of both sides, table by table.
pub async fn transfer(
    directory: &Path,
    url: &str,
    now: Timestamp,
    mut told: impl FnMut(&TableSum),
) -> Result<Vec<TableSum>, TransferError> {
    if !directory.join(open::SQLITE_FILE).exists() {
        return Err(TransferError::NoStore(directory.to_owned()));
    }
    let place = open::place(url)?;
    let Some(_source_lock) = lock_directory(directory)? else {
        return Err(TransferError::SourceInUse(directory.to_owned()));
    };
    let to = Location::Postgres(url.to_owned());
    let Some(_target_lock) = try_acquire(&to).await? else {
        return Err(TransferError::TargetInUse(place));
    };
    let from = open_and_migrate(&Options::new(Location::Embedded(directory.to_owned()))).await?;
    let target = open(&Options::new(to)).await?;
    let moved = match (&from.pools, &target.pools) {
        (Pools::Sqlite { .. }, Pools::Postgres { pool, .. }) => {
            prepare(&target, pool, &place).await?;
            let moved = move_all(&from, pool, now, &mut told).await?;
            // Before all else, or both stores could be used.
            marks::put_moved(directory, &place, now)
                .map_err(|(file, error)| TransferError::Unmarked(file, error))?;
            // Otherwise plans would be guesses until autovacuum runs; a failure does no harm.
            sqlx::raw_sql("set statement_timeout = 0; analyze").execute(pool).await.ok();
            moved
        }
        _ => return Err(OpenError::Url.into()),
    };
    target.close().await;
    from.close().await;
    Ok(moved)
}

/// Prepares an empty target with the current tables, and marks it.
async fn prepare(target: &Db, pool: &PgPool, place: &str) -> Result<(), TransferError> {
    let mut conn = pool.acquire().await?;
    if let Some(table) = schema::used_table(&mut conn).await? {
        return Err(TransferError::NotEmpty { place: place.to_owned(), table });
    }
    marks::put_half(&mut conn).await?;
    drop(conn);
    migrate(target).await?;
    Ok(())
}

async fn move_all(
    from: &Db,
    pool: &PgPool,
    now: Timestamp,
    told: &mut impl FnMut(&TableSum),
) -> Result<Vec<TableSum>, TransferError> {
    let mut snapshot = from.begin_snapshot().await?;
    let On::LiteConn(source) = snapshot.on() else { return Err(OpenError::Url.into()) };
    let tables = {
        let mut conn = pool.acquire().await?;
        schema::tables(&mut conn).await?
    };
    schema::compare(source, &tables).await?;
    for table in tables.iter().filter(|table| table.partitioned_by.is_some()) {
        make_partitions_of(pool, &table.name, schema::weeks(source, table, now).await?).await?;
    }

    let mut tx = pool.begin().await?;
    for unlimited in ["statement_timeout", "idle_in_transaction_session_timeout"] {
        sqlx::query(AssertSqlSafe(format!("set local {unlimited} = 0"))).execute(&mut *tx).await?;
    }
    let mut moved = Vec::new();
    for table in &tables {
        let failed = |error| TransferError::Rows(table.name.clone(), error);
        let sum = copy(source, &mut tx, table).await.map_err(failed)?;
        moved.push(TableSum { table: table.name.clone(), sum });
        told(&moved[moved.len() - 1]);
    }
    for (table, TableSum { sum, .. }) in tables.iter().zip(&moved) {
        check(source, &mut tx, table, *sum).await?;
    }
    marks::remove_half(&mut tx).await?;
    tx.commit().await?;
    Ok(moved)
}

/// Sends the rows of one table, after deleting those that migrations inserted.
async fn copy(
    source: &mut SqliteConnection,
    target: &mut PgConnection,
    table: &Table,
) -> Result<Sum, SqlError> {
    sqlx::query(AssertSqlSafe(format!("delete from {}", table.name))).execute(&mut *target).await?;
    let mut copying = target.copy_in_raw(&table.copy_in()).await?;
    let (mut writer, mut sum) = (Writer::new(), Sum::default());
    let mut rows = sqlx::query(AssertSqlSafe(table.select())).fetch(source);
    while let Some(row) = rows.try_next().await? {
        sum.add(table, writer.row(table, &row)?)?;
        if writer.bytes().len() >= CHUNK {
            copying.send(writer.bytes()).await?;
            writer.clear();
        }
    }
    writer.end();
    copying.send(writer.bytes()).await?;
    copying.finish().await?;
    Ok(sum)
}

/// Reads one table back completely.
async fn check(
    source: &mut SqliteConnection,
    target: &mut PgConnection,
    table: &Table,
    sent: Sum,
) -> Result<(), TransferError> {
    let count = format!("select count(*) from {}", table.name);
    let counted: i64 = sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(source).await?;
    let stored = sum_of_postgres(target, table).await?;
    if stored != sent || i64::try_from(sent.rows) != Ok(counted) {
        return Err(TransferError::Differs { table: table.name.clone(), sent, stored, counted });
    }
    Ok(())
}
