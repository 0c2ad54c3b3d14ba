//! From settings to working parts: the store, its lock, and what serves its organizations. A start waits for a store that is
//! away; any other error ends it.

use std::time::Duration;

use tokio::time::sleep;

use super::error::StartError;
use super::shard_server::{Parts, ShardServer, Store};
use super::upkeep::renew_partitions;
use crate::store::handover;
use crate::store::lock::{self, ServerLock};
use crate::store::open::{for_writer, open_and_migrate};
use crate::store::probe::Probe;
use crate::store::shard::Shard;
use crate::store::sql::Durability;

/// The first pause after a failed attempt; each is twice the previous one, up to a second.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Attempts between two log lines.
const LOG_EVERY: u32 = 60;

/// The parts of a single server that has started.
pub(super) struct Started {
    pub(super) server: ShardServer,
    pub(super) probe: Probe,
    pub(super) lock: ServerLock,
}

impl Parts {
    /// Tries until the store is there.
    pub(super) async fn start(&self) -> Result<Started, StartError> {
        self.patiently(|| self.attempt()).await
    }

    /// Tries until what fails for want of the store goes through.
    pub(super) async fn patiently<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StartError>
    where
        F: Future<Output = Result<T, StartError>>,
    {
        let (mut pause, mut attempts) = (FIRST_PAUSE, 0_u32);
        loop {
            let error = match attempt().await {
                Ok(started) => return Ok(started),
                Err(error) if error.is_passing() => anyhow::Error::from(error),
                Err(error) => return Err(error),
            };
            let why = format!("{error:#}");
            if attempts % LOG_EVERY == 0 {
                tracing::warn!(why, "the server cannot start yet; it tries again every second");
            }
            attempts += 1;
            self.readiness.starting(why);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(&self) -> Result<Started, StartError> {
        let options = self.settings.store();
        let lock = lock::acquire(&options.location, || {
            tracing::warn!("another server has this store; waiting until it is gone");
            self.readiness.standby("another server has this store; this one waits until it is gone");
        })
        .await?;
        self.readiness.starting("the server starts");
        let db = open_and_migrate(&options).await?;
        renew_partitions(&db, &self.clock).await;
        handover::to_single(&db, &for_writer(&db, &options)?).await?;
        let durability = Durability::default();
        let store = Store { db, durability: durability.clone(), group: None };
        let server = ShardServer::open(self, &store, Shard::WHOLE).await?;
        let track = &server.context.track;
        let probe = Probe::new(&options, &server.context.db, Some(track.epoch()), durability)?;
        Ok(Started { server, probe, lock })
    }
}
