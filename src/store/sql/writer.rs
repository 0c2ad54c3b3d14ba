//! Where the track writer's transactions run.

use super::connections::{Db, Held, Tx};
use super::error::Result;
use super::line::Line;

/// Where the track writer's transactions run.
#[derive(Clone)]
pub enum Writer {
    /// On PostgreSQL.
    Line(Line),
    /// With those of everybody else: SQLite has one write connection.
    Shared(Db),
}

impl Writer {
    /// Opens a transaction. Which epoch it is of, it must look for itself.
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
