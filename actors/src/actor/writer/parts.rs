//! What the writer works with.

use std::sync::Arc;

use actix::prelude::*;
use tokio::sync::watch;

use super::cache::Cache;
use super::corrections::Corrections;
use crate::actor::runtime::permits::Permits;
use crate::actor::watch::occupancy::Occupancy;
use crate::config::{Health, LiveConfig};
use crate::meters::Meters;
use crate::ports::TrackStore;

/// Whom the writer asks and tells.
pub(crate) struct PersistenceParts {
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) permits: Permits,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) cache: Option<Addr<Cache>>,
    pub(crate) corrections: Addr<Corrections>,
    pub(crate) config: LiveConfig,
    /// Told when another server has taken over and this one must stop.
    pub(crate) taken_over: watch::Sender<bool>,
    /// Told when it cannot go on.
    pub(crate) health: watch::Sender<Health>,
    pub(crate) meters: Meters,
}
