//! Checks whether the store answers, over a connection of its own, so that neither the check nor requests wait for
//! each other. Also checks that the store is still this server's and still keeps the promises that acknowledgements
//! rest on.

use std::cmp::Ordering;

use super::open::{Location, OpenError, Options, postgres, single_reader};
use super::sql::{self, Db, DedicatedConnection, Durability, On, SqlError, StoreView};
use super::{outbox, refused_fix};

const EPOCH: &str = "select epoch from writer where name = 'main'";

/// The connection to probe over, and what to compare with.
pub struct Probe {
    connection: Connection,
    db: Db,
    /// Of the single server that this is; the nodes of a cluster have an epoch for each shard, which their commits check.
    epoch: Option<i64>,
    durability: Durability,
    was_read_only: bool,
}

enum Connection {
    Postgres(DedicatedConnection),
    Sqlite(Db),
}

impl Connection {
    fn of(options: &Options) -> Result<Self, OpenError> {
        Ok(match &options.location {
            Location::Postgres(url) => Self::Postgres(DedicatedConnection::new(postgres(url, options)?)),
            Location::Embedded(directory) => Self::Sqlite(single_reader(directory)),
        })
    }
}

/// What waits in the store for an operator's attention.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreBacklog {
    /// Letters that wait to be sent.
    pub letters_waiting: i64,
    /// Letters that were given up.
    pub letters_given_up: i64,
    /// Fixes that were refused and kept.
    pub refused_fixes: i64,
}

/// A problem with the store.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It does not answer in time.
    #[error("the database does not answer")]
    Silent,
    /// Statements fail.
    #[error("the database cannot be used: {0}")]
    Away(#[from] SqlError),
    /// It would lose what it reports as stored.
    #[error("{}", sql::not_durable(.0))]
    NotDurable(&'static str),
    /// It takes no writes.
    #[error("the database is read-only")]
    ReadOnly,
    /// Another server writes to it, so this one must end.
    #[error("another server has taken over the store")]
    TakenOver,
    /// It was put back to an earlier state under this server, which must end.
    #[error("the database was put back to an earlier state under the running server")]
    PutBack,
}

impl Probe {
    /// A probe for the single server of this epoch and its store, or for a node of a cluster. Connects on each use if necessary, and notes broken
    /// promises.
    pub fn new(
        options: &Options,
        db: &Db,
        epoch: Option<i64>,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        Ok(Self {
            connection: Connection::of(options)?,
            db: db.clone(),
            epoch,
            durability,
            was_read_only: false,
        })
    }

    /// Probes the store, and counts what waits in it if `counts` is set.
    pub async fn look(&mut self, counts: bool) -> Result<Option<StoreBacklog>, Trouble> {
        let (view, backlog) = match &self.connection {
            Connection::Postgres(line) => {
                let mut session = line.take("select 1").await?;
                let view = sql::look(&mut session).await?;
                let backlog = match counts {
                    true => Some(StoreBacklog::of(
                        outbox::counts(On::PgConn(&mut session)).await?,
                        refused_fix::count(On::PgConn(&mut session)).await?,
                    )),
                    false => None,
                };
                // A read-only session stays read-only for as long as it lives, so it is not kept.
                if !view.is_read_only {
                    line.keep(session);
                }
                (view, backlog)
            }
            Connection::Sqlite(db) => {
                let epoch: Option<(i64,)> = db.read().sql(EPOCH).optional().await?;
                let backlog = match counts {
                    true => Some(StoreBacklog::of(
                        outbox::counts(db.read()).await?,
                        refused_fix::count(db.read()).await?,
                    )),
                    false => None,
                };
                (StoreView { epoch: epoch.map(|(epoch,)| epoch), ..StoreView::default() }, backlog)
            }
        };
        self.judge(&view)?;
        Ok(backlog)
    }

    fn judge(&mut self, view: &StoreView) -> Result<(), Trouble> {
        if let Some(own) = self.epoch {
            match view.epoch.map(|epoch| epoch.cmp(&own)) {
                Some(Ordering::Equal) => {}
                Some(Ordering::Greater) => return Err(Trouble::TakenOver),
                Some(Ordering::Less) | None => return Err(Trouble::PutBack),
            }
        }
        self.durability.note(view.broken);
        if self.was_read_only && !view.is_read_only {
            self.db.renew();
        }
        self.was_read_only = view.is_read_only;
        match view.broken {
            Some(setting) => Err(Trouble::NotDurable(setting)),
            None if view.is_read_only => Err(Trouble::ReadOnly),
            None => Ok(()),
        }
    }
}

impl StoreBacklog {
    const fn of((letters_waiting, letters_given_up): (i64, i64), refused_fixes: i64) -> Self {
        Self { letters_waiting, letters_given_up, refused_fixes }
    }
}
