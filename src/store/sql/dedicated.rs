//! The connection of the track writer, and that of the probe: on PostgreSQL a single one, which is reused only after
//! a clean end.
//!
//! A pool would take back a connection that went silent in the middle of something, and wait for its answer without
//! limit before handing out another; and it would reuse a session that refuses every write. Here whatever fails, is
//! cancelled or dropped closes its connection at once, and the next use gets a new one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr};
use tokio::time::timeout;

use super::durability;
use super::error::{Result, SqlError};

/// Time limits: for an idle connection to answer, for a new one to be made, and for one to close.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// One connection to PostgreSQL, made when it is needed.
#[derive(Clone)]
pub struct DedicatedConnection {
    options: Arc<PgConnectOptions>,
    /// The connection, while it is not in use.
    idle: Arc<Mutex<Option<PgConnection>>>,
}

/// A transaction on it.
pub(super) struct DedicatedTx {
    line: DedicatedConnection,
    connection: PgConnection,
}

impl DedicatedConnection {
    pub(in crate::store) fn new(options: PgConnectOptions) -> Self {
        Self { options: Arc::new(options), idle: Arc::default() }
    }

    /// Takes the connection, after running `first`, which must change nothing. If the session ended or went silent
    /// while idle, `first` fails and a new session replaces it. After use, a connection known to be sound goes back
    /// with [`DedicatedConnection::keep`].
    pub(in crate::store) async fn take(&self, first: &'static str) -> Result<PgConnection> {
        if let Some(mut connection) = self.idle()
            && in_time(ANSWER_WITHIN, execute(&mut connection, first)).await.is_ok()
        {
            return Ok(connection);
        }
        let mut connection = in_time(CONNECT_WITHIN, PgConnection::connect_with(&self.options)).await?;
        durability::pin(&mut connection).await?;
        execute(&mut connection, first).await?;
        Ok(connection)
    }

    pub(in crate::store) fn keep(&self, connection: PgConnection) {
        *self.idle.lock() = Some(connection);
    }

    fn idle(&self) -> Option<PgConnection> {
        self.idle.lock().take()
    }

    pub(super) async fn begin(&self) -> Result<DedicatedTx> {
        Ok(DedicatedTx { connection: self.take("begin").await?, line: self.clone() })
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.idle() {
            timeout(CLOSE_WITHIN, connection.close()).await.ok();
        }
    }
}

impl DedicatedTx {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Commits or rolls back. The connection is kept for reuse only if that succeeds.
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

/// Limits the time for PostgreSQL to answer.
pub(in crate::store) async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T>>,
) -> Result<T> {
    let no_answer = || Err(SqlError::Io(std::io::ErrorKind::TimedOut.into()));
    timeout(limit, answer).await.unwrap_or_else(|_| no_answer())
}
