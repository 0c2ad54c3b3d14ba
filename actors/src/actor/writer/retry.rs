//! How long the writer waits for the store, and how it probes one that is away.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use crate::config::LiveConfig;
use crate::model::VehicleId;
use crate::ports::{Reread, StoreError, TrackStore};

/// The first pause is this many times shorter than the longest: most failures are over at once.
const FIRST_PAUSE: u32 = 8;

/// Asks the store what it holds of some vehicles, over and over until it answers.
pub(super) async fn reread(
    store: Arc<dyn TrackStore>,
    vehicles: Vec<VehicleId>,
    sequence: i64,
    config: LiveConfig,
) -> Result<Reread, StoreError> {
    let mut pause = config.probe_every / FIRST_PAUSE;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(config.probe_every);
        match in_time(config.commit_timeout, store.reread(&vehicles, sequence)).await {
            Err(StoreError::Away(why)) => tracing::warn!(%why, "the store is still away"),
            answer => return answer,
        }
    }
}

/// The store's answer within `limit`. A store that panics counts as away: the writer outlives it.
pub(super) async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, AssertUnwindSafe(answer).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(StoreError::away("it panicked")),
        Err(_) => Err(StoreError::away("no answer in time")),
    }
}
