//! What the writer is given.

use std::sync::Arc;

use actix::prelude::*;
use tokio::sync::watch;

use super::cache::Cache;
use super::corrections::Corrections;
use crate::actor::runtime::permits::Permits;
use crate::actor::watch::occupancy::Occupancy;
use crate::config::LiveConfig;
use crate::health::Health;
use crate::meters::Meters;
use crate::ports::TrackStore;

/// The actors and channels that the writer works with.
pub(crate) struct PersistenceParts {
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) permits: Permits,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) cache: Option<Addr<Cache>>,
    pub(crate) corrections: Addr<Corrections>,
    pub(crate) config: LiveConfig,
    /// Set when another server has taken over and this one must stop.
    pub(crate) taken_over: watch::Sender<bool>,
    /// Set when the writer cannot go on.
    pub(crate) health: watch::Sender<Health>,
    pub(crate) meters: Meters,
}
