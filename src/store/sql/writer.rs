//! The connection for the track writer's transactions.

use super::connections::{Db, Held, Tx};
use super::error::Result;
use super::line::Line;

/// The connection for the track writer's transactions.
#[derive(Clone)]
pub enum Writer {
    /// On PostgreSQL.
    Line(Line),
    /// On SQLite, whose only write connection is shared with everything else.
    Shared(Db),
}

impl Writer {
    /// Opens a transaction, which must check the epoch itself.
    pub(in crate::store) async fn begin(&self) -> Result<Tx> {
        match self {
            Self::Line(line) => Ok(Tx::unfenced(Held::Line(line.begin().await?))),
            Self::Shared(db) => db.begin().await,
        }
    }

    /// Closes its connection.
    pub async fn close(&self) {
        match self {
            Self::Line(line) => line.close().await,
            Self::Shared(db) => db.close().await,
        }
    }
}

impl From<Db> for Writer {
    fn from(db: Db) -> Self {
        Self::Shared(db)
    }
}
