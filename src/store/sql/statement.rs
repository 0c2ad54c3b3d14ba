//! A statement: its text, its values, the connection it runs on and the rows it returns.

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Encode, FromRow, Postgres, SqlSafeStr, Sqlite, Type};
use tokio::task::spawn_blocking;

use super::error::{Result, SqlError};

/// Rows decoded together on a thread of their own.
const ROWS_TOGETHER: usize = 1_000;
/// Chunks of [`ROWS_TOGETHER`] rows that are decoded at the same time.
const UNDER_WAY: usize = 4;

/// A value both engines accept as a parameter.
pub trait Param<'q>: Encode<'q, Postgres> + Type<Postgres> + Encode<'q, Sqlite> + Type<Sqlite> {}
impl<'q, T> Param<'q> for T where T: Encode<'q, Postgres> + Type<Postgres> + Encode<'q, Sqlite> + Type<Sqlite> {}

/// A record both engines can produce: `#[derive(FromRow)]` or a tuple.
pub trait Record:
    for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}
impl<T> Record for T where
    T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}

/// The target of a statement: a pool, or the connection of an open transaction.
pub enum On<'c> {
    /// Any connection of a PostgreSQL pool.
    PgPool(&'c PgPool),
    /// The connection of a PostgreSQL transaction.
    PgConn(&'c mut PgConnection),
    /// Any connection of a SQLite pool.
    LitePool(&'c SqlitePool),
    /// The connection of a SQLite transaction.
    LiteConn(&'c mut SqliteConnection),
}

enum Row {
    Pg(PgRow),
    Lite(SqliteRow),
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Pg(row)
    }
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Lite(row)
    }
}

impl Row {
    fn read<T: Record>(&self) -> Result<T> {
        match self {
            Self::Pg(row) => T::from_row(row),
            Self::Lite(row) => T::from_row(row),
        }
    }
}

enum Target<'c> {
    PgPool(&'c PgPool, PgArguments),
    PgConn(&'c mut PgConnection, PgArguments),
    LitePool(&'c SqlitePool, SqliteArguments),
    LiteConn(&'c mut SqliteConnection, SqliteArguments),
}

/// A statement being put together: its text, its values and where it will run.
pub struct Stmt<'c> {
    target: Target<'c>,
    text: String,
    bound: usize,
    broken: Option<BoxDynError>,
}

impl<'c> On<'c> {
    /// Starts a statement with fixed text; `$1, $2, …` stand for the values bound to it.
    pub fn sql(self, text: impl SqlSafeStr) -> Stmt<'c> {
        let target = match self {
            On::PgPool(pool) => Target::PgPool(pool, PgArguments::default()),
            On::PgConn(conn) => Target::PgConn(conn, PgArguments::default()),
            On::LitePool(pool) => Target::LitePool(pool, SqliteArguments::default()),
            On::LiteConn(conn) => Target::LiteConn(conn, SqliteArguments::default()),
        };
        Stmt { target, text: text.into_sql_str().as_str().to_owned(), bound: 0, broken: None }
    }
}

/// The one place where a statement meets an engine.
macro_rules! dispatch {
    ($stmt:expr, |$query:ident, $conn:ident| $body:expr) => {{
        let Stmt { target, text, .. } = $stmt;
        let text = AssertSqlSafe(text);
        match target {
            Target::PgPool($conn, args) => {
                let $query = sqlx::query_with(text, args);
                $body
            }
            Target::PgConn($conn, args) => {
                let $query = sqlx::query_with(text, args);
                $body
            }
            Target::LitePool($conn, args) => {
                let $query = sqlx::query_with(text, args);
                $body
            }
            Target::LiteConn($conn, args) => {
                let $query = sqlx::query_with(text, args);
                $body
            }
        }
    }};
}

impl<'c> Stmt<'c> {
    /// Binds the next value.
    #[must_use]
    pub fn bind<'q, T: Param<'q>>(mut self, value: T) -> Self {
        let done = match &mut self.target {
            Target::PgPool(_, args) | Target::PgConn(_, args) => args.add(value),
            Target::LitePool(_, args) | Target::LiteConn(_, args) => Arguments::add(args, value),
        };
        self.bound += 1;
        self.broken = self.broken.or(done.err());
        self
    }

    /// Adds fixed text, for a statement put together from parts.
    #[must_use]
    pub fn push(mut self, text: &'static str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Adds a placeholder and its value. The placeholder is numbered, so that the text before it may be too: SQLite
    /// counts unnumbered ones from the first value again.
    #[must_use]
    pub fn push_bind<'q, T: Param<'q>>(self, value: T) -> Self {
        let mut me = self.bind(value);
        me.text.push('$');
        me.text.push_str(&me.bound.to_string());
        me
    }

    /// `part, part, part`: one for each item.
    #[must_use]
    pub fn push_each<I>(
        self,
        items: impl IntoIterator<Item = I>,
        mut part: impl FnMut(Self, I) -> Self,
    ) -> Self {
        items.into_iter().enumerate().fold(self, |stmt, (i, item)| {
            let stmt = if i > 0 { stmt.push(", ") } else { stmt };
            part(stmt, item)
        })
    }

    fn check(&mut self) -> Result<()> {
        self.broken.take().map_or(Ok(()), |error| Err(sqlx::Error::Encode(error)))
    }

    /// Runs a statement that returns no rows; returns how many it touched.
    pub async fn run(mut self) -> Result<u64> {
        self.check()?;
        Ok(dispatch!(self, |query, conn| query.execute(conn).await?.rows_affected()))
    }

    async fn row(mut self) -> Result<Option<Row>> {
        self.check()?;
        dispatch!(self, |query, conn| {
            // Read to the end: outside a transaction, SQLite commits there, and that may fail.
            let mut rows = query.fetch(conn);
            let first = rows.try_next().await?;
            while rows.try_next().await?.is_some() {}
            Ok(first.map(Row::from))
        })
    }

    fn rows(mut self) -> BoxStream<'c, Result<Row>> {
        if let Err(error) = self.check() {
            return stream::once(async { Err(error) }).boxed();
        }
        dispatch!(self, |query, conn| query.fetch(conn).map_ok(Row::from).boxed())
    }

    /// The rows, as they come.
    #[must_use]
    pub fn stream<T: Record>(self) -> BoxStream<'c, Result<T>> {
        self.rows().map(|row| row?.read()).boxed()
    }

    /// All rows.
    pub async fn all<T: Record>(self) -> Result<Vec<T>> {
        self.rows().map(|row| row?.read()).try_collect().await
    }

    /// All rows, decoded on other threads while the next ones arrive: for many rows with much JSON.
    pub async fn all_beside<T: Record>(self) -> Result<Vec<T>> {
        let read = |rows: Result<Vec<Row>>| async {
            let rows = rows?;
            beside(move || rows.iter().map(Row::read).collect::<Result<Vec<T>>>()).await
        };
        let some = self.rows().try_chunks(ROWS_TOGETHER).map_err(|broken| broken.1);
        some.map(read).buffered(UNDER_WAY).try_concat().await
    }

    /// The first row, if there is one.
    pub async fn optional<T: Record>(self) -> Result<Option<T>> {
        self.row().await?.as_ref().map(Row::read).transpose()
    }

    /// The first row; having none is an error.
    pub async fn one<T: Record>(self) -> Result<T> {
        self.row().await?.ok_or(sqlx::Error::RowNotFound)?.read()
    }

    /// The first column of the first row.
    pub async fn scalar<T>(self) -> Result<T>
    where
        (T,): Record,
    {
        Ok(self.one::<(T,)>().await?.0)
    }
}

/// Does what takes long on a thread of its own.
pub(in crate::store) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    spawn_blocking(work).await.map_err(|panic| SqlError::Decode(panic.into()))?
}
