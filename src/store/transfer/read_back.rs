//! Reads whole stores and sums up what their tables hold.
//!
//! The sums of two embedded stores can be compared, and those of two PostgreSQL databases; those of different engines
//! only by a transfer, which knows what an integer of SQLite stands for.

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, PgConnection};

use super::binary::{Reader, Writer};
use super::error::TransferError;
use super::schema;
use super::sum::{Sum, TableSum};
use super::table::Table;
use crate::store::sql::SqlError;

/// What the tables of an embedded store hold.
pub(in crate::store) async fn sums_of_embedded(
    conn: &mut SqliteConnection,
) -> Result<Vec<TableSum>, SqlError> {
    let mut sums = Vec::new();
    for table in schema::embedded_tables(conn).await? {
        let (mut writer, mut sum) = (Writer::new(), Sum::default());
        let mut rows = sqlx::query(AssertSqlSafe(table.select())).fetch(&mut *conn);
        while let Some(row) = rows.try_next().await? {
            writer.clear();
            sum.add(&table, writer.row(&table, &row)?)?;
        }
        drop(rows);
        sums.push(TableSum { table: table.name, sum });
    }
    Ok(sums)
}

/// What the tables of a PostgreSQL database hold, by name.
pub(in crate::store) async fn sums_of_postgres(
    conn: &mut PgConnection,
) -> Result<Vec<TableSum>, TransferError> {
    let mut sums = Vec::new();
    for table in schema::tables(conn).await? {
        let sum = sum_of_postgres(conn, &table).await?;
        sums.push(TableSum { table: table.name, sum });
    }
    sums.sort_unstable_by(|a, b| a.table.cmp(&b.table));
    Ok(sums)
}

/// What one table of a PostgreSQL database holds.
pub(super) async fn sum_of_postgres(conn: &mut PgConnection, table: &Table) -> Result<Sum, SqlError> {
    let mut stored = Sum::default();
    let mut reader = Reader::default();
    let mut chunks = conn.copy_out_raw(&table.copy_out()).await?;
    while let Some(chunk) = chunks.try_next().await? {
        reader.take(&chunk);
        while let Some(row) = reader.row() {
            stored.add(table, row)?;
        }
    }
    Ok(stored)
}
