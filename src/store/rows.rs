//! Many rows in one statement: `unnest` of arrays on PostgreSQL, one `values` list on SQLite.
//!
//! The one place where batch inserts differ by engine. A table's columns are given once, each as a whole; the
//! surrounding text is shared.

use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe};
use uuid::Uuid;

use super::sql::{Connection, Record, Result, Tx};
use super::time::Time;

/// Rows per SQLite statement. Any number is split into these, so that only a few texts are prepared, each once. A
/// statement's parameters are limited (32,766), and so is the memory it holds.
const SQLITE_ROWS: [usize; 5] = [256, 64, 16, 4, 1];
/// The start of an insert.
const INSERT: &str = "insert into ";
/// On SQLite, `or fail` avoids a journal for undoing the statement: after an error the transaction is over anyway.
const SQLITE_INSERT: &str = "insert or fail into ";

/// One column of the rows to insert, top to bottom.
pub enum Column<'a> {
    /// uuid
    Uuid(Vec<Uuid>),
    /// uuid or null
    MaybeUuid(Vec<Option<Uuid>>),
    /// instant
    Time(Vec<Time>),
    /// instant or null
    MaybeTime(Vec<Option<Time>>),
    /// double precision
    Float(Vec<f64>),
    /// double precision or null
    MaybeFloat(Vec<Option<f64>>),
    /// bigint
    Int(Vec<i64>),
    /// bigint or null
    MaybeInt(Vec<Option<i64>>),
    /// boolean
    Bool(Vec<bool>),
    /// boolean or null
    MaybeBool(Vec<Option<bool>>),
    /// text
    Text(Vec<&'a str>),
    /// text or null
    MaybeText(Vec<Option<&'a str>>),
    /// bytea
    Bytes(Vec<Vec<u8>>),
    /// JSON, already written
    Json(Vec<String>),
    /// text or null, made for the row
    MaybeOwned(Vec<Option<String>>),
}

macro_rules! each_kind {
    ($column:expr, $values:ident => $body:expr) => {
        match $column {
            Column::Uuid($values) => $body,
            Column::MaybeUuid($values) => $body,
            Column::Time($values) => $body,
            Column::MaybeTime($values) => $body,
            Column::Float($values) => $body,
            Column::MaybeFloat($values) => $body,
            Column::Int($values) => $body,
            Column::MaybeInt($values) => $body,
            Column::Bool($values) => $body,
            Column::MaybeBool($values) => $body,
            Column::Text($values) => $body,
            Column::MaybeText($values) => $body,
            Column::Bytes($values) => $body,
            Column::Json($values) => $body,
            Column::MaybeOwned($values) => $body,
        }
    };
}

impl Column<'_> {
    /// How many rows the column has.
    #[must_use]
    pub fn len(&self) -> usize {
        each_kind!(self, values => values.len())
    }

    /// Whether the column has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cast that gives PostgreSQL the array's type.
    const fn array_type(&self) -> &'static str {
        match self {
            Self::Uuid(_) | Self::MaybeUuid(_) => "::uuid[]",
            Self::Time(_) | Self::MaybeTime(_) => "::timestamptz[]",
            Self::Float(_) | Self::MaybeFloat(_) => "::float8[]",
            Self::Int(_) | Self::MaybeInt(_) => "::int8[]",
            Self::Bool(_) | Self::MaybeBool(_) => "::bool[]",
            Self::Text(_) | Self::MaybeText(_) | Self::MaybeOwned(_) => "::text[]",
            Self::Bytes(_) => "::bytea[]",
            Self::Json(_) => "::text[]::jsonb[]",
        }
    }

    fn add_array(&self, args: &mut PgArguments) -> Result<()> {
        each_kind!(self, values => args.add(values)).map_err(sqlx::Error::Encode)
    }

    /// Adds a row's value; owned texts and bytes are moved out.
    fn add_value(&mut self, row: usize, args: &mut SqliteArguments) -> Result<()> {
        match self {
            Self::Text(values) => args.add(values[row].to_owned()),
            Self::MaybeText(values) => args.add(values[row].map(str::to_owned)),
            Self::Json(values) => args.add(std::mem::take(&mut values[row])),
            Self::Bytes(values) => args.add(std::mem::take(&mut values[row])),
            Self::MaybeOwned(values) => args.add(values[row].take()),
            Self::Uuid(values) => args.add(values[row]),
            Self::MaybeUuid(values) => args.add(values[row]),
            Self::Time(values) => args.add(values[row]),
            Self::MaybeTime(values) => args.add(values[row]),
            Self::Float(values) => args.add(values[row]),
            Self::MaybeFloat(values) => args.add(values[row]),
            Self::Int(values) => args.add(values[row]),
            Self::MaybeInt(values) => args.add(values[row]),
            Self::Bool(values) => args.add(values[row]),
            Self::MaybeBool(values) => args.add(values[row]),
        }
        .map_err(sqlx::Error::Encode)
    }
}

/// An insert of many rows: `into` up to the column list, then the rows, then `after` (a conflict
/// clause, `returning`).
pub struct Insert<'a> {
    /// `insert into t (a, b, c)`
    pub into: &'static str,
    /// The columns, in the order of `into`; all of one length.
    pub columns: Vec<Column<'a>>,
    /// The text after the rows.
    pub after: &'static str,
}

impl Insert<'_> {
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// Inserts the rows; returns how many were touched.
    pub async fn run(self, tx: &mut Tx) -> Result<u64> {
        let mut touched = 0;
        match tx.connection() {
            Connection::Sqlite(tx) => {
                for (text, args) in self.values()? {
                    let query = sqlx::query_with(AssertSqlSafe(text), args);
                    touched += query.execute(&mut *tx).await?.rows_affected();
                }
            }
            Connection::Postgres(tx) if self.rows() > 0 => {
                let (text, args) = self.unnest()?;
                touched = sqlx::query_with(AssertSqlSafe(text), args).execute(tx).await?.rows_affected();
            }
            Connection::Postgres(_) => {}
        }
        Ok(touched)
    }

    /// Inserts the rows; returns the `returning` values of those that were touched.
    pub async fn returning<T: Record>(self, tx: &mut Tx) -> Result<Vec<T>> {
        let mut found = Vec::new();
        match tx.connection() {
            Connection::Sqlite(tx) => {
                for (text, args) in self.values()? {
                    for row in sqlx::query_with(AssertSqlSafe(text), args).fetch_all(&mut *tx).await? {
                        found.push(T::from_row(&row)?);
                    }
                }
            }
            Connection::Postgres(tx) if self.rows() > 0 => {
                let (text, args) = self.unnest()?;
                for row in sqlx::query_with(AssertSqlSafe(text), args).fetch_all(tx).await? {
                    found.push(T::from_row(&row)?);
                }
            }
            Connection::Postgres(_) => {}
        }
        Ok(found)
    }

    /// The text is the same for any number of rows, so that PostgreSQL prepares it once.
    fn unnest(&self) -> Result<(String, PgArguments)> {
        let mut args = PgArguments::default();
        let mut text = format!("{} select * from unnest(", self.into);
        for (number, column) in self.columns.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            text.push_str(&format!("{comma}${}{}", number + 1, column.array_type()));
            column.add_array(&mut args)?;
        }
        text.push_str(") ");
        text.push_str(self.after);
        Ok((text, args))
    }

    fn values(mut self) -> Result<Vec<(String, SqliteArguments)>> {
        let into = self.into.strip_prefix(INSERT).unwrap_or(self.into);
        let one_row = format!("({})", vec!["?"; self.columns.len()].join(", "));
        let mut statements = Vec::new();
        let (mut start, end) = (0, self.rows());
        for size in SQLITE_ROWS {
            while end - start >= size {
                let mut args = SqliteArguments::default();
                for row in start..start + size {
                    for column in &mut self.columns {
                        column.add_value(row, &mut args)?;
                    }
                }
                let rows = vec![one_row.as_str(); size].join(", ");
                statements.push((format!("{SQLITE_INSERT}{into} values {rows} {}", self.after), args));
                start += size;
            }
        }
        Ok(statements)
    }
}
