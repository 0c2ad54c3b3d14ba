//! The track writer's own way to the store, and the probe's: on PostgreSQL one connection, which outlives only what
//! ended well.
//!
//! A pool would take a connection back that went silent in the middle of something, and wait for its word without end
//! before it gives out another; and it would go on with a session that refuses every write. Here whatever fails, is
//! given up or dropped closes its connection at once, and what comes next gets a new one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr};
use tokio::time::timeout;

use super::error::{Result, SqlError};
use super::promises;

/// How long a connection that nobody used may take to answer, a new one to be made, and one to take leave.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// One connection to PostgreSQL, made when it is needed.
#[derive(Clone)]
pub struct Line {
    options: Arc<PgConnectOptions>,
    /// Nobody else wants anything of it now.
    idle: Arc<Mutex<Option<PgConnection>>>,
}

/// A transaction on it.
pub(super) struct LineTx {
    line: Line,
    connection: PgConnection,
}

impl Line {
    pub(in crate::store) fn new(options: PgConnectOptions) -> Self {
        Self { options: Arc::new(options), idle: Arc::default() }
    }

    /// The connection, after a first statement that changes nothing. A session that ended or went silent while
    /// nobody used it shows that now, and a new one takes its place. Whoever is done with it and knows it to be sound
    /// gives it back with [`Line::keep`].
    pub(in crate::store) async fn take(&self, first: &'static str) -> Result<PgConnection> {
        if let Some(mut connection) = self.idle()
            && in_time(ANSWER_WITHIN, execute(&mut connection, first)).await.is_ok()
        {
            return Ok(connection);
        }
        let mut connection = in_time(CONNECT_WITHIN, PgConnection::connect_with(&self.options)).await?;
        promises::pin(&mut connection).await?;
        execute(&mut connection, first).await?;
        Ok(connection)
    }

    pub(in crate::store) fn keep(&self, connection: PgConnection) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    }

    fn idle(&self) -> Option<PgConnection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) async fn begin(&self) -> Result<LineTx> {
        Ok(LineTx { connection: self.take("begin").await?, line: self.clone() })
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.idle() {
            timeout(CLOSE_WITHIN, connection.close()).await.ok();
        }
    }
}

impl LineTx {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Commits or rolls back; only then is the connection used again.
    pub(super) async fn end(mut self, how: &'static str) -> Result<()> {
        execute(&mut self.connection, how).await?;
        self.line.keep(self.connection);
        Ok(())
    }
}

async fn execute(connection: &mut PgConnection, text: &'static str) -> Result<()> {
    connection.execute(AssertSqlSafe(text).into_sql_str()).await?;
    Ok(())
}

/// What PostgreSQL answers, in time.
pub(in crate::store) async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T>>,
) -> Result<T> {
    let no_answer = || Err(SqlError::Io(std::io::ErrorKind::TimedOut.into()));
    timeout(limit, answer).await.unwrap_or_else(|_| no_answer())
}
