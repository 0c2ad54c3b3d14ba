//! Changes of the timeline at the edge: a version of a geofence, a vehicle that goes out of service.
//! Makes every vehicle they touch settle them, and sees that through.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::core::Core;
use super::registry::{Publish, Published};
use crate::actor::vehicle::messages::Settle;
use crate::actor::vehicle::report_batch::Outcome;
use crate::actor::watch::queries::{Touched, Touching};
use crate::actor::writer::corrections::Await;
use crate::error::LiveError;
use crate::geofence::{FenceTimeline, PreparedVersion};
use crate::model::{Fence, GeofenceId, OrganizationId, Timestamp, Vehicle, VehicleId};
use crate::ports::Seeds;
use crate::tracking::{NearSpan, VehicleState};

/// A change is answered within this time, corrections aside: its caller waits for the records of the change, not
/// for a queue of other work.
const LONGEST_EDIT: Duration = Duration::from_secs(2);
/// Vehicles asked at once to settle a fence.
const SETTLE_TOGETHER: usize = 256;
/// How long a change of the past waits for the corrections it causes; after that they go on without the caller.
const WAIT_FOR_CORRECTIONS: Duration = Duration::from_secs(10);
/// A change of the present concerns only what came while it was made: a moment's work, but behind everything else
/// that waits for correction.
pub(super) const WAIT_FOR_RECENT: Duration = Duration::from_millis(500);
/// A change that took effect no longer ago than this is one of the present. Seconds.
const RECENT_SECONDS: f64 = 10.0;
/// The longest time between two looks at the server's clock while a version dated ahead waits.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The vehicles that still have to settle a version, each with what of its timeline that may have to do with; `None` until
/// it is known which these are.
type Left = Mutex<Option<Vec<(VehicleId, NearSpan)>>>;

/// Changes from before the start that may not be settled yet.
pub(crate) struct Unsettled {
    fences: Vec<(OrganizationId, GeofenceId, i64)>,
    /// Vehicles taken out of use for ever, and since when.
    removed: Vec<(VehicleId, Option<Timestamp>)>,
    /// Vehicles out of service whose state does not say so yet.
    out: Vec<(VehicleId, Timestamp)>,
    calibrations: Vec<(VehicleId, i64, Timestamp)>,
}

impl Unsettled {
    pub(crate) fn of(seeds: &Seeds) -> Self {
        let (removed, there): (Vec<_>, Vec<_>) = seeds.vehicles.iter().partition(|seed| seed.is_removed);
        let removed = removed.into_iter().map(|seed| (seed.vehicle.id, seed.vehicle.out_since())).collect();
        let out = there.into_iter().filter_map(|seed| {
            let from = seed.vehicle.out_since()?;
            let is_known = seed.state.last.is_none() || seed.state.out_since == Some(from);
            (!is_known).then_some((seed.vehicle.id, from))
        });
        let (fences, calibrations) = (seeds.unsettled.clone(), seeds.uncalibrated.clone());
        Self { fences, removed, out: out.collect(), calibrations }
    }
}

impl Core {
    pub(crate) async fn put_vehicle(self: &Arc<Self>, vehicle: Vehicle) -> Result<(), LiveError> {
        let core = Arc::clone(self);
        let limit = LONGEST_EDIT + WAIT_FOR_CORRECTIONS;
        self.see_through_for(limit, async move { core.put_and_settle(vehicle).await }).await
    }

    pub(crate) async fn remove_vehicle(
        self: &Arc<Self>,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> Result<(), LiveError> {
        let core = Arc::clone(self);
        self.see_through_for(LONGEST_EDIT, async move { core.remove_for_sure(vehicle, at).await }).await
    }

    pub(crate) async fn put_fences(self: &Arc<Self>, fences: Vec<Fence>) -> Result<(), LiveError> {
        let core = Arc::clone(self);
        self.see_through(async move {
            let versions = fences.iter().flat_map(|fence| &fence.versions);
            let from = versions.map(|version| version.effective_from).min().flatten();
            let patience = core.patience(from.unwrap_or(Timestamp::FIRST));
            let mut published = Vec::with_capacity(fences.len());
            for fence in fences {
                let versions: Vec<i64> = fence.versions.iter().map(|version| version.version).collect();
                let timeline = core.publish(fence).await?;
                published.extend(versions.into_iter().map(|version| (Arc::clone(&timeline), version)));
            }
            let settling = Arc::clone(&core);
            let settled = async move {
                let (mut dirty, mut outcome) = (Vec::new(), Ok(()));
                for (timeline, version) in published {
                    match settling.settle_in_time(timeline, version).await {
                        Ok(vehicles) => dirty.extend(vehicles),
                        Err(error) => outcome = Err(error),
                    }
                }
                settling.wait_for_corrections(dirty, patience).await;
                outcome
            };
            core.see_through_for(LONGEST_EDIT + patience, settled).await
        })
        .await
    }

    pub(crate) async fn publish(&self, fence: Fence) -> Result<Arc<FenceTimeline>, LiveError> {
        self.registry.send(Publish(fence)).await.map_err(|_| LiveError::Stopped)
    }

    /// Runs a change to its end even if its caller goes away: a version that is committed and not
    /// published, or not settled, would stay so until the next start.
    async fn see_through<F>(self: &Arc<Self>, change: F) -> Result<(), LiveError>
    where
        F: Future<Output = Result<(), LiveError>> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.spawn(async move {
            done.send(change.await).ok();
        });
        result.await.unwrap_or(Err(LiveError::Stopped))
    }

    /// Like [`Self::see_through`], but the caller waits no longer than `limit`; by then the change is well on its
    /// way, unless the store is away.
    pub(super) async fn see_through_for<F>(
        self: &Arc<Self>,
        limit: Duration,
        change: F,
    ) -> Result<(), LiveError>
    where
        F: Future<Output = Result<(), LiveError>> + Send + 'static,
    {
        let late = || if self.router.permits.is_available() { Ok(()) } else { Err(LiveError::Unavailable) };
        tokio::time::timeout(limit, self.see_through(change)).await.unwrap_or_else(|_| late())
    }

    /// Tries a change again until the store takes it. Waits between attempts: what hinders it may
    /// be a vehicle that rests, not the store.
    pub(super) fn again<F>(self: &Arc<Self>, change: impl Fn(Arc<Self>) -> F + Send + 'static)
    where
        F: Future<Output = Result<(), LiveError>> + Send,
    {
        let core = Arc::clone(self);
        self.spawn(async move {
            loop {
                tokio::time::sleep(core.probe_every).await;
                let settled = match core.router.permits.available().await {
                    Ok(()) => change(Arc::clone(&core)).await,
                    Err(stopped) => Err(stopped),
                };
                if settled != Err(LiveError::Unavailable) {
                    return;
                }
            }
        });
    }

    /// Settles changes left over from before the start, or begins to.
    ///
    /// Corrections follow without being waited for, and so do calibrations, which change the past only.
    pub(crate) async fn settle_unsettled(self: &Arc<Self>, unsettled: Unsettled) {
        for (organization, fence, version) in unsettled.fences {
            if let Err(error) = self.settle_published(organization, fence, version).await {
                tracing::error!(geofence.id = %fence, %error, "a change of a geofence could not be settled yet");
            }
        }
        for (vehicle, from) in unsettled.out {
            if let Err(error) = self.settle_vehicle(vehicle, from, None, Duration::ZERO).await {
                tracing::error!(vehicle.id = %vehicle, %error, "a vehicle could not be put out of service yet");
            }
        }
        for (vehicle, from) in unsettled.removed {
            let from = from.unwrap_or_else(|| (self.clock)());
            if let Err(error) = self.remove_vehicle(vehicle, from).await {
                tracing::error!(vehicle.id = %vehicle, %error, "the stays of a removed vehicle could not be ended yet");
            }
        }
        let core = Arc::clone(self);
        self.spawn(async move { core.settle_calibrations(unsettled.calibrations).await });
    }

    async fn settle_calibrations(self: &Arc<Self>, unsettled: Vec<(VehicleId, i64, Timestamp)>) {
        for some in unsettled.chunks(SETTLE_TOGETHER) {
            let settled = some.iter().map(|(vehicle, version, from)| async move {
                let settled = self.settle_vehicle(*vehicle, *from, Some(*version), Duration::ZERO).await;
                if let Err(error) = settled {
                    tracing::error!(vehicle.id = %vehicle, %error, "a calibration could not be settled yet");
                }
            });
            join_all(settled).await;
        }
    }

    async fn settle_published(
        self: &Arc<Self>,
        organization: OrganizationId,
        fence: GeofenceId,
        version: i64,
    ) -> Result<(), LiveError> {
        let timeline = self.registry.send(Published(organization, fence)).await;
        match timeline.map_err(|_| LiveError::Stopped)? {
            Some(timeline) => self.settle_in_time(timeline, version).await.map(drop),
            None => Ok(()),
        }
    }

    /// How long a change from this instant on waits for the corrections it brings about.
    pub(super) fn patience(&self, from: Timestamp) -> Duration {
        let is_recent = (self.clock)().seconds_since(from) < RECENT_SECONDS;
        if is_recent { WAIT_FOR_RECENT } else { WAIT_FOR_CORRECTIONS }
    }

    /// Settles a published version: now, when it takes effect, or later if now is not possible. Returns the vehicles that
    /// await a correction by it.
    async fn settle_in_time(
        self: &Arc<Self>,
        timeline: Arc<FenceTimeline>,
        version: i64,
    ) -> Result<Vec<VehicleId>, LiveError> {
        let Some(from) = effective_from(&timeline, version).filter(|from| *from > (self.clock)()) else {
            return self.settle_for_sure(timeline, version).await;
        };
        let ahead = (timeline.id, version);
        // Each edit of a fence names a version that is still ahead again.
        if self.ahead.lock().insert(ahead) {
            let core = Arc::clone(self);
            self.spawn(async move {
                core.sleep_until(from).await;
                core.ahead.lock().remove(&ahead);
                let newest = core.registry.send(Published(timeline.organization_id, timeline.id)).await;
                let timeline = newest.ok().flatten().unwrap_or(timeline);
                // If it fails, it is tried again in the background.
                core.settle_for_sure(timeline, version).await.ok();
            });
        }
        Ok(Vec::new())
    }

    /// Sleeps until the server's clock shows an instant, however the clock is set meanwhile.
    async fn sleep_until(&self, instant: Timestamp) {
        loop {
            let seconds = instant.seconds_since((self.clock)());
            if seconds <= 0.0 {
                return;
            }
            tokio::time::sleep(Duration::from_secs_f64(seconds.min(LOOK_EVERY.as_secs_f64()))).await;
        }
    }

    async fn settle_for_sure(
        self: &Arc<Self>,
        timeline: Arc<FenceTimeline>,
        version: i64,
    ) -> Result<Vec<VehicleId>, LiveError> {
        let left = Arc::<Left>::default();
        let settled = self.settle(&timeline, version, &left).await;
        if settled == Err(LiveError::Unavailable) {
            self.again(move |core| {
                let (timeline, left) = (Arc::clone(&timeline), Arc::clone(&left));
                async move { core.settle(&timeline, version, &left).await.map(drop) }
            });
        }
        settled
    }

    /// Settles a published version against every vehicle it touches, those without a running actor too. Returns those that
    /// await a correction. When it is tried again, only those that are `left` are asked: the others would have their past
    /// corrected once more each time.
    async fn settle(
        &self,
        timeline: &Arc<FenceTimeline>,
        version: i64,
        left: &Left,
    ) -> Result<Vec<VehicleId>, LiveError> {
        let known = left.lock().take();
        let touched = match known {
            Some(touched) => touched,
            None => self.touched(timeline, version).await?,
        };
        let (mut dirty, mut failed) = (Vec::new(), Vec::new());
        let mut outcome = Ok(());
        for some in touched.chunks(SETTLE_TOGETHER) {
            let asked = some.iter().map(|(vehicle, span)| self.ask_to_settle(*vehicle, *span, false));
            for ((vehicle, span), answer) in some.iter().zip(join_all(asked).await) {
                match answer {
                    Ok(outcome) if outcome.is_dirty => dirty.push(*vehicle),
                    Ok(_) | Err(LiveError::UnknownVehicle) => {}
                    Err(error) => {
                        failed.push((*vehicle, *span));
                        outcome = Err(error);
                    }
                }
            }
        }
        *left.lock() = Some(failed);
        outcome?;
        // What is left to corrections is in the store, too, as dirty marks.
        let settled = self.store.mark_settled(timeline.id, version).await;
        settled.map_err(|_| LiveError::Unavailable)?;
        Ok(dirty)
    }

    /// The vehicles that a published version touches, each with what of its timeline that may have to do with.
    async fn touched(
        &self,
        timeline: &Arc<FenceTimeline>,
        version: i64,
    ) -> Result<Vec<(VehicleId, NearSpan)>, LiveError> {
        // Everything judged from here on sees the new snapshot; everything judged by the old one is handed to the
        // writer, and after the barrier is in the newest committed states.
        self.workers().drain().await;
        self.writer.barrier().await?;
        let touched = Touched { fence: Arc::clone(timeline), version };
        let touched = self.occupancy.send(touched).await.map_err(|_| LiveError::Stopped)?;
        let from = effective_from(timeline, version).unwrap_or(Timestamp::FIRST);
        self.spans(timeline, from, touched).await
    }

    /// What of each touched vehicle's timeline a fence that changes from an instant on may have to do with. A state tells of
    /// the last hour which vehicles may have come near; what was before that, the store knows.
    async fn spans(
        &self,
        fence: &FenceTimeline,
        from: Timestamp,
        Touching { now, before }: Touching,
    ) -> Result<Vec<(VehicleId, NearSpan)>, LiveError> {
        let all: Vec<VehicleId> = now.iter().chain(&before).copied().collect();
        if !VehicleState::is_beyond_trace((self.clock)(), from) {
            return Ok(all.into_iter().map(|vehicle| (vehicle, NearSpan::since(from))).collect());
        }
        let near = self.store.came_near(fence, from, &all).await.map_err(|error| {
            tracing::warn!(%error, geofence.id = %fence.id, "the store did not tell who came near a geofence");
            LiveError::Unavailable
        })?;
        let near: HashMap<VehicleId, NearSpan> = near.into_iter().collect();
        let there =
            now.iter().map(|vehicle| (*vehicle, near.get(vehicle).copied().unwrap_or(NearSpan::since(from))));
        let others = before.iter().filter_map(|vehicle| Some((*vehicle, *near.get(vehicle)?)));
        Ok(there.chain(others).collect())
    }

    pub(super) async fn ask_to_settle(
        &self,
        vehicle: VehicleId,
        span: NearSpan,
        retire: bool,
    ) -> Result<Outcome, LiveError> {
        self.router.ask(vehicle, move |part| Settle { span, retire, part }).await
    }

    pub(super) async fn wait_for_corrections(&self, dirty: Vec<VehicleId>, patience: Duration) {
        if !dirty.is_empty() && !patience.is_zero() {
            tokio::time::timeout(patience, self.clean(dirty)).await.ok();
        }
    }

    /// Waits until some vehicles await no correction any more.
    pub(super) async fn clean(&self, vehicles: Vec<VehicleId>) {
        let (clean, is_clean) = oneshot::channel();
        if self.corrections.send(Await { vehicles, clean }).await.is_ok() {
            is_clean.await.ok();
        }
    }
}

fn effective_from(timeline: &FenceTimeline, version: i64) -> Option<Timestamp> {
    let known = timeline.versions().iter().find(|known| known.version == version);
    known.and_then(|version: &PreparedVersion| version.effective_from)
}
