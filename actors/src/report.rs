//! Reporting fixes: a connection's way to the vehicles.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::actor::directory::Inlet;
use crate::actor::vehicle::{Outcome, Report};
use crate::live::{Live, LiveError};
use crate::model::{Fix, VehicleId};
use crate::ports::Counts;

/// A vehicle that fails so often on one report is given up for now: the tracker sends it again later.
const ATTEMPTS: usize = 3;

/// One connection's way to report fixes. Keeps the addresses of the vehicles it reported to.
pub struct Reporter {
    live: Live,
    inlets: HashMap<VehicleId, Inlet>,
    /// The newest term it reported in.
    term: u64,
    /// Shared with every [`Pending`] that is not looked at yet.
    outstanding: Arc<()>,
}

/// Fixes on their way to their commit.
#[derive(Debug)]
pub struct Pending {
    committed: oneshot::Receiver<Result<Outcome, LiveError>>,
    _outstanding: Arc<()>,
}

impl Pending {
    /// Waits for the commit. An error means: not acknowledged, send again.
    pub async fn committed(self) -> Result<Counts, LiveError> {
        self.committed.await.unwrap_or(Err(LiveError::Unavailable)).map(|outcome| outcome.counts)
    }
}

impl Reporter {
    pub(crate) fn new(live: Live) -> Self {
        Self { live, inlets: HashMap::new(), term: 0, outstanding: Arc::new(()) }
    }

    /// Reports fixes of one vehicle; they are applied by `recordedAt`. Waits for room, and until they are applied;
    /// what it returns waits for their commit. After a failed commit it is
    /// [`LiveError::Unavailable`] until the caller has seen, or dropped, what was pending before:
    /// nothing overtakes fixes that have to come again.
    pub async fn report(&mut self, vehicle: VehicleId, fixes: Vec<Fix>) -> Result<Pending, LiveError> {
        let mut stale = None;
        for _ in 0..ATTEMPTS {
            let permit = self.live.desk().permits.take(fixes.len()).await?;
            if permit.term > self.term && Arc::strong_count(&self.outstanding) > 1 {
                return Err(LiveError::Unavailable);
            }
            self.term = permit.term;
            let inlet = self.inlet(vehicle, stale).await?;
            let (done, committed) = oneshot::channel();
            let report = Report { fixes: fixes.clone(), permit, done };
            if inlet.address.send(report).await.is_ok() {
                return Ok(Pending { committed, _outstanding: Arc::clone(&self.outstanding) });
            }
            // It went idle or panicked: its successor takes the same fixes.
            stale = Some(inlet.generation);
            self.inlets.remove(&vehicle);
        }
        Err(LiveError::Unavailable)
    }

    async fn inlet(&mut self, vehicle: VehicleId, stale: Option<u64>) -> Result<Inlet, LiveError> {
        if let Some(inlet) = self.inlets.get(&vehicle) {
            return Ok(inlet.clone());
        }
        let inlet = self.live.desk().locate(vehicle, stale).await?;
        self.inlets.insert(vehicle, inlet.clone());
        Ok(inlet)
    }
}
