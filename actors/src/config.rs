//! Bounds, times and parts that the live core is started with.

use std::sync::Arc;
use std::time::Duration;

use crate::actor::runtime::threads::LiveThreads;
use crate::clock::Clock;
use crate::meters::Meters;
use crate::ports::{LiveCache, TrackStore};

/// Bounds and times of the live core.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// Fixes on their way to a commit, at most; the bound on everything between socket and store.
    pub max_waiting_fixes: u32,
    /// Rows and records in one transaction, approximately.
    pub max_batch_rows: usize,
    /// How long writes gather after a commit to share the next transaction. A write that comes later is committed
    /// at once.
    pub batch_window: Duration,
    /// A commit that takes longer counts as failed.
    pub commit_timeout: Duration,
    /// The time between two attempts to reach a store that is away.
    pub probe_every: Duration,
    /// How long a vehicle with late fixes waits for its correction, so that one correction serves many fixes.
    pub correction_delay: Duration,
    /// The time between two looks for vehicles that became silent.
    pub connection_look_every: Duration,
    /// A vehicle without fixes for this long gives up its actor.
    pub idle_after: Duration,
    /// A vehicle that panics over and over within this time rests for as long.
    pub restart_window: Duration,
    /// Commits a watcher may lag behind.
    pub watch_capacity: usize,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            max_waiting_fixes: 20_000,
            max_batch_rows: 2_000,
            batch_window: Duration::from_millis(20),
            commit_timeout: Duration::from_secs(5),
            probe_every: Duration::from_secs(1),
            correction_delay: Duration::from_millis(200),
            connection_look_every: Duration::from_secs(1),
            idle_after: Duration::from_secs(600),
            restart_window: Duration::from_secs(60),
            watch_capacity: 256,
        }
    }
}

/// What the live core is started with.
pub struct LiveParts {
    /// Bounds and times.
    pub config: LiveConfig,
    /// The durable store.
    pub store: Arc<dyn TrackStore>,
    /// The cache for readers outside, if there is one.
    pub cache: Option<Arc<dyn LiveCache>>,
    /// The server's clock.
    pub clock: Clock,
    /// Where it counts; several cores may share them.
    pub meters: Meters,
    /// Where its actors live; several cores may share them.
    pub threads: LiveThreads,
}
