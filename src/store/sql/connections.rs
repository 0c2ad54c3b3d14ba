//! A store's connections, and the transactions on them.
//!
//! Owns the choice of an engine, and the rule that nothing is committed once another server has taken over.

use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Postgres, Sqlite, Transaction};
use tokio::time::Instant;

use super::dedicated::DedicatedTx;
use super::error::{Result, SqlError, TakenOver, is_conflict, is_never_taken};
use super::statement::On;
use crate::store::shard::Shard;

/// The engine a store runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A PostgreSQL server.
    Postgres,
    /// The embedded store.
    Sqlite,
}

/// Connections made before this instant are no longer used.
pub(in crate::store) type Renewed = Arc<Mutex<Option<Instant>>>;

/// A store's connections.
#[derive(Clone)]
pub struct Db {
    /// The pools of the store's engine.
    pub pools: Pools,
    /// Whose writer it is, and the epoch that must still be in force for a transaction to commit.
    fence: Option<(Shard, i64)>,
    /// Connections made before this instant are no longer used.
    renewed: Renewed,
}

/// The connections of one engine.
#[derive(Clone)]
pub enum Pools {
    /// Pools on a PostgreSQL server.
    Postgres {
        /// For everything except long lists.
        pool: PgPool,
        /// For long lists.
        lists: PgPool,
    },
    /// SQLite: exactly one writer, several readers that cannot write.
    Sqlite {
        /// The one write connection.
        writer: SqlitePool,
        /// Read-only connections.
        readers: SqlitePool,
        /// Read-only connections for long lists.
        lists: SqlitePool,
    },
}

/// An open transaction; dropped without [`Tx::commit`] it rolls back. Inside one, run everything
/// on [`Tx::on`]: a second write handle would wait for itself on SQLite.
pub struct Tx {
    pub(super) held: Held,
    shard: Shard,
    /// The epoch of the shard's writer that must still be in force for it to commit.
    epoch: Option<i64>,
}

/// The connection of a transaction.
pub(super) enum Held {
    /// From PostgreSQL's pool.
    Postgres(Transaction<'static, Postgres>),
    /// The track writer's own.
    Dedicated(DedicatedTx),
    /// On SQLite, begun immediate.
    Sqlite(Transaction<'static, Sqlite>),
}

/// The connection of an open transaction, by its engine.
pub(in crate::store) enum Connection<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
}

impl Db {
    pub(in crate::store) fn new(pools: Pools, renewed: Renewed) -> Self {
        Self { pools, fence: None, renewed }
    }

    /// The engine the store runs on.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        match &self.pools {
            Pools::Postgres { .. } => Engine::Postgres,
            Pools::Sqlite { .. } => Engine::Sqlite,
        }
    }

    /// Restricts transactions to the writer of this epoch: once another server has taken over, none of them commits,
    /// and the error satisfies [`super::is_taken_over`].
    #[must_use]
    pub fn of_writer(self, shard: Shard, epoch: i64) -> Self {
        Self { fence: Some((shard, epoch)), ..self }
    }

    /// Whose organizations it is used for.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.fence.map_or(Shard::WHOLE, |(shard, _)| shard)
    }

    /// Stops using connections made before now, because some properties of a session last as long as it does
    /// (read-only, for example).
    pub(in crate::store) fn renew(&self) {
        *self.renewed.lock() = Some(Instant::now());
    }

    /// For statements that only read.
    #[must_use]
    pub fn read(&self) -> On<'_> {
        match &self.pools {
            Pools::Postgres { pool, .. } => On::PgPool(pool),
            Pools::Sqlite { readers, .. } => On::LitePool(readers),
        }
    }

    /// For lists over tables that grow with time. They may be slow, so they get a few connections of their own.
    #[must_use]
    pub fn lists(&self) -> On<'_> {
        match &self.pools {
            Pools::Postgres { lists, .. } => On::PgPool(lists),
            Pools::Sqlite { lists, .. } => On::LitePool(lists),
        }
    }

    /// For a single statement that writes.
    #[must_use]
    pub fn write(&self) -> On<'_> {
        match &self.pools {
            Pools::Postgres { pool, .. } => On::PgPool(pool),
            Pools::Sqlite { writer, .. } => On::LitePool(writer),
        }
    }

    /// Opens a transaction that may write.
    pub async fn begin(&self) -> Result<Tx> {
        let held = match &self.pools {
            Pools::Postgres { pool, .. } => Held::Postgres(pool.begin().await?),
            Pools::Sqlite { writer, .. } => Held::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
        };
        Ok(Tx { held, shard: self.shard(), epoch: self.fence.map(|(_, epoch)| epoch) })
    }

    /// Opens a transaction that only reads, all of it as of one moment.
    pub async fn begin_snapshot(&self) -> Result<Tx> {
        let held = match &self.pools {
            Pools::Postgres { pool, .. } => {
                Held::Postgres(pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
            }
            Pools::Sqlite { readers, .. } => Held::Sqlite(readers.begin().await?),
        };
        Ok(Tx::unfenced(held, self.shard()))
    }

    /// Closes every connection and waits for those in use.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Postgres { pool, lists } => {
                tokio::join!(lists.close(), pool.close());
            }
            Pools::Sqlite { writer, readers, lists } => {
                tokio::join!(lists.close(), readers.close());
                writer.close().await;
            }
        }
    }
}

impl Tx {
    /// A transaction that checks the writer's epoch itself, or writes nothing.
    pub(super) const fn unfenced(held: Held, shard: Shard) -> Self {
        Self { held, shard, epoch: None }
    }

    /// Whose organizations it is about.
    pub(in crate::store) const fn shard(&self) -> Shard {
        self.shard
    }

    /// What follows is about the organizations of another shard.
    pub(in crate::store) const fn go_on_with(&mut self, shard: Shard) {
        self.shard = shard;
    }

    /// The connection for this transaction's statements.
    pub fn on(&mut self) -> On<'_> {
        match self.connection() {
            Connection::Postgres(conn) => On::PgConn(conn),
            Connection::Sqlite(conn) => On::LiteConn(conn),
        }
    }

    /// The connection by engine, for the few statements that differ.
    pub(in crate::store) fn connection(&mut self) -> Connection<'_> {
        match &mut self.held {
            Held::Postgres(tx) => Connection::Postgres(tx),
            Held::Dedicated(tx) => Connection::Postgres(tx.connection()),
            Held::Sqlite(tx) => Connection::Sqlite(tx),
        }
    }

    /// Makes the transaction's writes durable. Refused, and nothing is written, if another server has taken over
    /// ([`super::is_taken_over`]).
    pub async fn commit(mut self) -> Result<()> {
        if let Some(epoch) = self.epoch {
            self.require_epoch(epoch).await?;
        }
        match self.held {
            Held::Postgres(tx) => tx.commit().await,
            Held::Dedicated(tx) => tx.end("commit").await,
            Held::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Undoes the transaction's writes. Dropping a transaction of the track writer instead costs its connection.
    pub async fn rollback(self) -> Result<()> {
        match self.held {
            Held::Postgres(tx) => tx.rollback().await,
            Held::Dedicated(tx) => tx.end("rollback").await,
            Held::Sqlite(tx) => tx.rollback().await,
        }
    }

    /// Ends it after an error, which it returns. The connection stays where it is sound: the database took a row for what it is.
    pub(in crate::store) async fn fail(self, error: SqlError) -> SqlError {
        if is_conflict(&error) || is_never_taken(&error) {
            return self.rollback().await.err().unwrap_or(error);
        }
        error
    }

    /// A server that takes over reads the store after raising the epoch, so everything it must see has to be
    /// committed before that, or not at all. On PostgreSQL this locks the row with the one lock that blocks raising
    /// the epoch, which takes the row for update, but neither blocks batches nor waits for them.
    async fn require_epoch(&mut self, epoch: i64) -> Result<()> {
        let hold = if matches!(self.held, Held::Sqlite(_)) { "" } else { " for key share" };
        let writer = self.shard.writer();
        let look = self.on().sql("select epoch from writer where name = ").push_bind(writer);
        let look = look.push(" and epoch = ").push_bind(epoch);
        let found: Option<(i64,)> = look.push(hold).optional().await?;
        found.map(|_| ()).ok_or_else(|| SqlError::Configuration(Box::new(TakenOver)))
    }
}

/// Lets a query run either in a transaction or on the connections of long lists.
pub(in crate::store) enum Reader<'a> {
    /// Over the connections of long lists.
    Lists(&'a Db),
    /// In a transaction.
    Tx(&'a mut Tx),
}

impl Reader<'_> {
    /// For the next statement.
    pub(in crate::store) fn on(&mut self) -> On<'_> {
        match self {
            Self::Lists(db) => db.lists(),
            Self::Tx(tx) => tx.on(),
        }
    }
}
