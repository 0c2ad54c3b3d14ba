//! A look whether the store answers, over a connection of its own: it waits for no request, and no request for it.

use super::open::{OpenError, Options, for_probe};
use super::sql::{Db, Result};
use super::{outbox, refused_fix};

/// The connection.
pub struct Probe(Db);

/// What waits in the store for somebody to look into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Letters that wait to be sent.
    pub letters_waiting: i64,
    /// Letters that were given up.
    pub letters_given_up: i64,
    /// Fixes that are kept apart.
    pub refused_fixes: i64,
}

impl Probe {
    /// A probe of a store that was opened with these options; connects when it looks.
    pub fn new(options: &Options) -> std::result::Result<Self, OpenError> {
        for_probe(options).map(Self)
    }

    /// Asks something small.
    pub async fn look(&self) -> Result<()> {
        let _epoch: i64 = self.0.read().sql("select epoch from writer where name = 'main'").scalar().await?;
        Ok(())
    }

    /// Counts what waits.
    pub async fn count(&self) -> Result<Kept> {
        let (letters_waiting, letters_given_up) = outbox::counts(&self.0).await?;
        Ok(Kept { letters_waiting, letters_given_up, refused_fixes: refused_fix::count(&self.0).await? })
    }
}
