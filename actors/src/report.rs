//! Reporting fixes: a connection's way to the vehicles.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::actor::directory::{Answer, Inlet};
use crate::actor::lanes::Home;
use crate::actor::suspects::is_same;
use crate::actor::vehicle::{Outcome, Report};
use crate::live::{Live, LiveError};
use crate::model::{Fix, VehicleId};
use crate::ports::{Counts, RefusedFix, StoreError};

/// A vehicle that fails so often on one report is given up for now: the tracker sends it again later. The
/// last attempt is without a fix on which the others failed.
const ATTEMPTS: usize = 4;
/// What is kept of a fix that the engine panics on.
const PANICS: &str = "the engine failed on it three times";

/// One connection's way to report fixes. Keeps the addresses of the vehicles it reported to.
pub struct Reporter {
    live: Live,
    inlets: HashMap<VehicleId, Inlet>,
    /// Where the connection wants its vehicles.
    home: Home,
    /// The newest term it reported in.
    term: u64,
    /// Shared with every [`Pending`] that is not looked at yet.
    outstanding: Arc<()>,
}

/// Fixes on their way to their commit.
pub struct Pending {
    committed: oneshot::Receiver<Result<Outcome, LiveError>>,
    live: Live,
    vehicle: VehicleId,
    /// As they were reported.
    fixes: Vec<Fix>,
    /// Those that the engine panics on.
    left_out: Vec<Fix>,
    _outstanding: Arc<()>,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("vehicle", &self.vehicle).finish_non_exhaustive()
    }
}

/// What became of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How the fixes ended that are stored.
    pub counts: Counts,
    /// Fixes that never will be, by their place in the report, with the reason. They are kept apart
    /// ([`RefusedFix`]), and sending them again changes nothing.
    pub refused: Vec<(usize, String)>,
}

impl Pending {
    /// Waits for the commit. An error means: not acknowledged, send again.
    pub async fn committed(self) -> Result<Counts, LiveError> {
        self.settled().await.map(|settled| settled.counts)
    }

    /// The same, with the fixes that are refused for good.
    pub async fn settled(self) -> Result<Settled, LiveError> {
        let Self { committed, live, vehicle, fixes, left_out, .. } = self;
        let outcome = committed.await.unwrap_or(Err(LiveError::Unavailable))?;
        let mut settled = Settled { counts: outcome.counts, refused: Vec::new() };
        if outcome.refused.is_none() && left_out.is_empty() {
            return Ok(settled);
        }
        let mut report: Vec<(usize, Fix)> = fixes.into_iter().enumerate().collect();
        leave_out(&live, vehicle, &mut report, &left_out, &mut settled).await?;
        if let Some(why) = outcome.refused {
            isolate(&live, vehicle, report, &why, &mut settled).await?;
        }
        settled.refused.sort_unstable();
        Ok(settled)
    }
}

/// Finds the fixes that the store refuses, by reporting halves of what holds some, in order.
async fn isolate(
    live: &Live,
    vehicle: VehicleId,
    refused: Vec<(usize, Fix)>,
    why: &str,
    settled: &mut Settled,
) -> Result<(), LiveError> {
    let mut refused = vec![(refused, why.to_owned())];
    let mut halves: Vec<Vec<(usize, Fix)>> = Vec::new();
    loop {
        if let Some((mut part, why)) = refused.pop() {
            if part.len() > 1 {
                let second = part.split_off(part.len() / 2);
                halves.extend([second, part]);
            } else if let Some((index, fix)) = part.pop() {
                live.meters().refused_by_store.add(1);
                quarantine(live, RefusedFix { vehicle_id: vehicle, fix, reason: why.clone() }).await?;
                settled.refused.push((index, why));
            }
        }
        let Some(mut half) = halves.pop() else { return Ok(()) };
        let fixes = half.iter().map(|(_, fix)| *fix).collect();
        let Pending { committed, left_out, .. } = live.reporter().report(vehicle, fixes).await?;
        let outcome = committed.await.unwrap_or(Err(LiveError::Unavailable))?;
        leave_out(live, vehicle, &mut half, &left_out, settled).await?;
        settled.counts.stored += outcome.counts.stored;
        settled.counts.duplicates += outcome.counts.duplicates;
        if let Some(why) = outcome.refused {
            refused.push((half, why.to_string()));
        }
    }
}

/// Keeps apart what the engine panicked on, and takes it out of the report.
async fn leave_out(
    live: &Live,
    vehicle: VehicleId,
    report: &mut Vec<(usize, Fix)>,
    left_out: &[Fix],
    settled: &mut Settled,
) -> Result<(), LiveError> {
    let is_out = |(_, fix): &(usize, Fix)| left_out.iter().any(|out| is_same(out, fix));
    let (out, stay) = std::mem::take(report).into_iter().partition(is_out);
    *report = stay;
    let out: Vec<(usize, Fix)> = out;
    for (index, fix) in out {
        live.meters().panicked_on.add(1);
        quarantine(live, RefusedFix { vehicle_id: vehicle, fix, reason: PANICS.to_owned() }).await?;
        settled.refused.push((index, PANICS.to_owned()));
    }
    Ok(())
}

/// Keeps a refused fix before anybody is told. One that cannot be kept even there is in the log alone.
async fn quarantine(live: &Live, refused: RefusedFix) -> Result<(), LiveError> {
    let vehicle = refused.vehicle_id;
    let recorded_at = refused.fix.recorded_at;
    tracing::error!(vehicle.id = %vehicle, %recorded_at, reason = refused.reason, "a fix is quarantined");
    match live.store().quarantine(&refused).await {
        Ok(()) => Ok(()),
        Err(StoreError::Refused(why)) => {
            tracing::error!(vehicle.id = %vehicle, why, "a quarantined fix cannot be kept");
            Ok(())
        }
        Err(error) => {
            tracing::warn!(%error, "a fix cannot be quarantined now");
            Err(LiveError::Unavailable)
        }
    }
}

/// Fixes in a vehicle's mailbox.
struct Sent {
    vehicle: VehicleId,
    fixes: Vec<Fix>,
    /// Of the actor that has them.
    generation: u64,
    answer: Answer,
    committed: oneshot::Receiver<Result<Outcome, LiveError>>,
    outstanding: Arc<()>,
}

impl Reporter {
    pub(crate) fn new(live: Live) -> Self {
        let home = live.lane_here();
        Self { live, inlets: HashMap::new(), home, term: 0, outstanding: Arc::new(()) }
    }

    /// Of a connection that goes on for long: its vehicles move to its thread.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { home: self.home.for_long(), ..self }
    }

    /// Reports fixes of one vehicle; they are applied by `recordedAt`. Waits for room, and until they are applied;
    /// what it returns waits for their commit. After a failed commit it is
    /// [`LiveError::Unavailable`] until the caller has seen, or dropped, what was pending before:
    /// nothing overtakes fixes that have to come again.
    pub async fn report(&mut self, vehicle: VehicleId, fixes: Vec<Fix>) -> Result<Pending, LiveError> {
        let sent = self.send(vehicle, fixes, None).await?;
        self.applied(sent).await
    }

    /// The same for several vehicles, each once: their fixes are applied side by side, and who waits is woken
    /// once for all of them, not for each.
    pub async fn report_all(
        &mut self,
        reports: Vec<(VehicleId, Vec<Fix>)>,
    ) -> Vec<Result<Pending, LiveError>> {
        let mut results: Vec<Option<Result<Pending, LiveError>>> = Vec::with_capacity(reports.len());
        let mut under_way: Vec<(usize, Sent)> = Vec::with_capacity(reports.len());
        for (index, (vehicle, fixes)) in reports.into_iter().enumerate() {
            // Who waits for room keeps nobody waiting: what has room already is applied first.
            if !self.live.desk().permits.has_room(fixes.len()) {
                for (index, sent) in under_way.drain(..) {
                    results[index] = Some(self.applied(sent).await);
                }
            }
            match self.send(vehicle, fixes, None).await {
                Ok(sent) => {
                    results.push(None);
                    under_way.push((index, sent));
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        for (index, sent) in under_way {
            results[index] = Some(self.applied(sent).await);
        }
        results.into_iter().map(|result| result.unwrap_or(Err(LiveError::Unavailable))).collect()
    }

    /// Shows those who watch where a vehicle is while nothing can be stored; the fixes have to come again.
    pub async fn glimpse(&self, vehicle: VehicleId, fixes: Vec<Fix>) {
        self.live.desk().glimpse(vehicle, fixes).await;
    }

    /// Waits for room, and puts the fixes into the vehicle's mailbox. `stale`: the generation of an actor that
    /// did not answer.
    async fn send(
        &mut self,
        vehicle: VehicleId,
        fixes: Vec<Fix>,
        stale: Option<u64>,
    ) -> Result<Sent, LiveError> {
        let permit = match self.live.desk().permits.take(fixes.len()).await {
            Err(LiveError::Unavailable) => {
                self.glimpse(vehicle, fixes).await;
                return Err(LiveError::Unavailable);
            }
            taken => taken?,
        };
        if permit.term > self.term && Arc::strong_count(&self.outstanding) > 1 {
            return Err(LiveError::Unavailable);
        }
        self.term = permit.term;
        let outstanding = Arc::clone(&self.outstanding);
        let inlet = self.inlet(vehicle, stale).await?;
        let (done, committed) = oneshot::channel();
        let answer = inlet.report(Report { fixes: fixes.clone(), permit, done });
        let generation = inlet.generation;
        Ok(Sent { vehicle, fixes, generation, answer, committed, outstanding })
    }

    /// Waits until fixes are applied.
    async fn applied(&mut self, mut sent: Sent) -> Result<Pending, LiveError> {
        let mut attempts = 1;
        loop {
            let Sent { vehicle, fixes, generation, answer, committed, outstanding } = sent;
            if let Ok(left_out) = answer.await {
                let live = self.live.clone();
                return Ok(Pending { committed, live, vehicle, fixes, left_out, _outstanding: outstanding });
            }
            // It went idle or panicked: its successor takes the same fixes.
            drop(outstanding);
            self.inlets.remove(&vehicle);
            if attempts == ATTEMPTS {
                return Err(LiveError::Unavailable);
            }
            attempts += 1;
            sent = self.send(vehicle, fixes, Some(generation)).await?;
        }
    }

    async fn inlet(&mut self, vehicle: VehicleId, stale: Option<u64>) -> Result<&Inlet, LiveError> {
        Ok(match self.inlets.entry(vehicle) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(self.live.desk().locate(vehicle, stale, self.home.clone()).await?)
            }
        })
    }
}
