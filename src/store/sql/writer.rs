//! The connection for the track writer's transactions.

use super::connections::{Db, Held, Tx};
use super::dedicated::DedicatedConnection;
use super::error::Result;
use crate::store::shard::Shard;

/// The connection for the track writer's transactions.
#[derive(Clone)]
pub enum Writer {
    /// On PostgreSQL.
    Dedicated(DedicatedConnection),
    /// On SQLite, whose only write connection is shared with everything else.
    Shared(Db),
}

impl Writer {
    /// Opens a transaction of a shard, which must check the epoch itself.
    pub(in crate::store) async fn begin(&self, shard: Shard) -> Result<Tx> {
        match self {
            Self::Dedicated(line) => Ok(Tx::unfenced(Held::Dedicated(line.begin().await?), shard)),
            Self::Shared(db) => db.begin().await,
        }
    }

    /// Closes its connection.
    pub async fn close(&self) {
        match self {
            Self::Dedicated(line) => line.close().await,
            Self::Shared(db) => db.close().await,
        }
    }
}

impl From<Db> for Writer {
    fn from(db: Db) -> Self {
        Self::Shared(db)
    }
}
