//! `Live`: the one handle the server holds on the live core. No actor address leaves the crate.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::actor::core::Core;
use crate::actor::directory::{ForgetVehicle, Inlet, Locate, NoInlet, PutVehicle};
use crate::actor::occupancy::{Forget, Inside, Introduce, Running, StartWatch, Touched, View};
use crate::actor::permits::{Permit, Permits};
use crate::actor::persistence::Barrier;
use crate::actor::registry::{Publish, Published};
use crate::actor::vehicle::{Deactivate, Done, Settle, VehicleActor};
use crate::clock::Clock;
use crate::geofence::FenceTimeline;
use crate::model::{Fence, GeofenceId, OrganizationId, Timestamp, Vehicle, VehicleId};
use crate::ports::{Counts, LiveCache, StoreError, TrackStore};
use crate::report::Reporter;
pub use crate::view::{HeldFence, InsideView, RunningVisit, VehicleView};
use crate::watch::{Audience, Watch};

/// Vehicles asked at once to settle a fence.
const SETTLE_TOGETHER: usize = 256;

/// Why the live core did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveError {
    /// The store cannot be written now; ask again later.
    #[error("the store cannot be written now")]
    Unavailable,
    /// The core was never told of the vehicle, or it was taken out of use.
    #[error("no such vehicle")]
    UnknownVehicle,
    /// The live core is stopping.
    #[error("the server is stopping")]
    Stopped,
}

/// Bounds and times of the live core.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// Fixes on their way to a commit, at most; the bound on everything between socket and store.
    pub max_waiting_fixes: u32,
    /// Rows and records in one transaction, about.
    pub max_batch_rows: usize,
    /// How long a write waits for others to share its transaction.
    pub batch_window: Duration,
    /// A commit that takes longer counts as failed.
    pub commit_timeout: Duration,
    /// Between two attempts to reach a store that is away.
    pub probe_every: Duration,
    /// A vehicle without fixes for so long gives its actor back.
    pub idle_after: Duration,
    /// A vehicle that panics over and over in this time rests for as long.
    pub restart_window: Duration,
    /// Threads for vehicles.
    pub lanes: usize,
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
            idle_after: Duration::from_secs(600),
            restart_window: Duration::from_secs(60),
            lanes: 1,
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
}

/// The handle on the live core; cheap to clone.
#[derive(Clone)]
pub struct Live {
    core: Arc<Core>,
}

impl Live {
    /// Reads the seeds and starts every actor; needs a running actix system. Settles what a crash
    /// left unsettled before it returns, or as soon as the store lets it.
    pub async fn start(parts: LiveParts) -> Result<Self, StoreError> {
        let seeds = parts.store.seeds().await?;
        let unsettled = seeds.unsettled.clone();
        let removed: Vec<VehicleId> =
            seeds.vehicles.iter().filter(|seed| seed.is_removed).map(|seed| seed.vehicle.id).collect();
        let live = Self { core: Arc::new(Core::start(parts, seeds)) };
        for (organization, fence) in unsettled {
            if let Err(error) = live.settle_known(organization, fence).await {
                tracing::error!(geofence.id = %fence, %error, "a change of a geofence could not be settled yet");
            }
        }
        for vehicle in removed {
            if let Err(error) = live.remove_vehicle(vehicle).await {
                tracing::error!(vehicle.id = %vehicle, %error, "the stays of a removed vehicle could not be ended yet");
            }
        }
        Ok(live)
    }

    /// The server's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.core.clock)()
    }

    /// Whether fixes can be committed now.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.core.permits.is_available()
    }

    /// Waits until another server has taken over the store, which ends this one.
    pub async fn taken_over(&self) {
        let mut taken_over = self.core.taken_over.clone();
        taken_over.wait_for(|yes| *yes).await.ok();
    }

    /// A way to report fixes, for one connection.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter::new(self.clone())
    }

    /// Makes a vehicle known, or its new name and limits. Call after the change is committed.
    pub async fn put_vehicle(&self, vehicle: Vehicle) -> Result<(), LiveError> {
        let live = self.clone();
        self.see_through(async move {
            let known = Introduce { vehicle_id: vehicle.id, organization_id: vehicle.organization_id };
            live.core.occupancy.send(known).await.map_err(|_| LiveError::Stopped)?;
            live.core.directory.send(PutVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)
        })
        .await
    }

    /// Takes a vehicle out, for ever: its stays end with cause `vehicleDeactivated`. Returns once
    /// that is committed. Goes on by itself after [`LiveError::Unavailable`].
    pub async fn remove_vehicle(&self, vehicle: VehicleId) -> Result<(), LiveError> {
        let live = self.clone();
        self.see_through(async move {
            let removed = live.remove(vehicle).await;
            if removed == Err(LiveError::Unavailable) {
                live.again(move |live| async move { live.remove(vehicle).await });
            }
            removed
        })
        .await
    }

    /// Puts a fence's new versions in force; `fence.versions` holds those alone. Call after they are
    /// committed to the store; returns once every vehicle sees it and the records of the vehicles it
    /// touches are committed. Marks the versions settled. After [`LiveError::Unavailable`] the
    /// version is in force, and its records follow by themselves.
    pub async fn put_fence(&self, fence: Fence) -> Result<(), LiveError> {
        let live = self.clone();
        self.see_through(async move {
            let timeline = live.core.registry.send(Publish(fence)).await.map_err(|_| LiveError::Stopped)?;
            live.settle_for_sure(timeline).await
        })
        .await
    }

    /// What is known of a vehicle now; `None` for one the core was never told of.
    pub async fn vehicle(&self, vehicle: VehicleId) -> Result<Option<VehicleView>, LiveError> {
        self.core.occupancy.send(View(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    /// The vehicles inside a fence now, by entry, then id; empty for an unknown fence.
    pub async fn inside(&self, fence: GeofenceId) -> Result<Vec<InsideView>, LiveError> {
        self.core.occupancy.send(Inside(fence)).await.map_err(|_| LiveError::Stopped)
    }

    /// What some vehicles did so far in the fences they are in; unknown vehicles have none.
    pub async fn running_visits(&self, vehicles: Vec<VehicleId>) -> Result<Vec<RunningVisit>, LiveError> {
        self.core.occupancy.send(Running(vehicles)).await.map_err(|_| LiveError::Stopped)
    }

    /// Everything as it is now, and every commit from now on.
    pub async fn watch(&self, audience: Audience) -> Result<Watch, LiveError> {
        let start = StartWatch { audience, capacity: self.core.watch_capacity };
        self.core.occupancy.send(start).await.map_err(|_| LiveError::Stopped)
    }

    /// Takes nothing any more, waits until what is on its way is committed or refused, then stops
    /// every actor.
    pub async fn stop(&self) {
        self.core.permits.end();
        self.core.permits.all_back().await;
        self.core.stop();
    }

    pub(crate) async fn locate(&self, vehicle: VehicleId, stale: Option<u64>) -> Result<Inlet, LiveError> {
        let located = self.core.directory.send(Locate { vehicle, stale }).await;
        located.map_err(|_| LiveError::Stopped)?.map_err(|why| match why {
            NoInlet::Unknown => LiveError::UnknownVehicle,
            NoInlet::Resting => LiveError::Unavailable,
        })
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.core.permits
    }

    /// Runs a change to its end even if its caller goes away: a version that is committed and not
    /// published, or not settled, would stay so until the next start.
    async fn see_through<F>(&self, change: F) -> Result<(), LiveError>
    where
        F: Future<Output = Result<(), LiveError>> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.core.spawn(async move {
            done.send(change.await).ok();
        });
        result.await.unwrap_or(Err(LiveError::Stopped))
    }

    /// Tries a change again until the store takes it. Waits between attempts: what hinders it may
    /// be a vehicle that rests, not the store.
    fn again<F>(&self, change: impl Fn(Self) -> F + Send + 'static)
    where
        F: Future<Output = Result<(), LiveError>> + Send,
    {
        let live = self.clone();
        self.core.spawn(async move {
            loop {
                tokio::time::sleep(live.core.probe_every).await;
                let settled = match live.permits().available().await {
                    Ok(()) => change(live.clone()).await,
                    Err(stopped) => Err(stopped),
                };
                if settled != Err(LiveError::Unavailable) {
                    return;
                }
            }
        });
    }

    async fn remove(&self, vehicle: VehicleId) -> Result<(), LiveError> {
        match self.ask(vehicle, |permit, done| Deactivate { permit, done }).await {
            Ok(_) | Err(LiveError::UnknownVehicle) => {}
            Err(error) => return Err(error),
        }
        self.core.directory.send(ForgetVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        self.core.occupancy.send(Forget(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    async fn settle_known(&self, organization: OrganizationId, fence: GeofenceId) -> Result<(), LiveError> {
        let shelf = self.core.registry.send(Published(organization, fence)).await;
        match shelf.map_err(|_| LiveError::Stopped)? {
            Some(timeline) => self.settle_for_sure(timeline).await,
            None => Ok(()),
        }
    }

    /// Settles a published fence now, or later if it cannot be now.
    async fn settle_for_sure(&self, timeline: Arc<FenceTimeline>) -> Result<(), LiveError> {
        let settled = self.settle(&timeline).await;
        if settled == Err(LiveError::Unavailable) {
            self.again(move |live| {
                let timeline = Arc::clone(&timeline);
                async move { live.settle(&timeline).await }
            });
        }
        settled
    }

    /// Settles a published fence against every vehicle it touches, those without a running actor too.
    async fn settle(&self, timeline: &Arc<FenceTimeline>) -> Result<(), LiveError> {
        // Whatever is judged from here on sees the new snapshot; whatever was judged by the old one
        // is handed to the writer, and then in the newest committed states.
        self.core.pass_lanes().await;
        self.core.persistence.send(Barrier).await.map_err(|_| LiveError::Stopped)??;
        let touched = Touched(Arc::clone(timeline));
        let touched = self.core.occupancy.send(touched).await.map_err(|_| LiveError::Stopped)?;
        let fence = timeline.id;
        let mut outcome = Ok(());
        for some in touched.chunks(SETTLE_TOGETHER) {
            let asked = some
                .iter()
                .map(|vehicle| self.ask(*vehicle, move |permit, done| Settle { fence, permit, done }));
            for answer in join_all(asked).await {
                match answer {
                    Ok(_) | Err(LiveError::UnknownVehicle) => {}
                    Err(error) => outcome = Err(error),
                }
            }
        }
        outcome?;
        let settled = self.core.store.mark_settled(fence, timeline.newest().version).await;
        settled.map_err(|_| LiveError::Unavailable)
    }

    /// Asks a vehicle for something that ends in a commit, and waits for that.
    async fn ask<M>(
        &self,
        vehicle: VehicleId,
        message: impl Fn(Permit, Done) -> M,
    ) -> Result<Counts, LiveError>
    where
        M: Message<Result = ()> + Send + 'static,
        VehicleActor: Handler<M>,
    {
        let mut stale = None;
        loop {
            let inlet = self.locate(vehicle, stale).await?;
            let permit = self.core.permits.take(1).await?;
            let (done, committed) = oneshot::channel();
            if inlet.address.send(message(permit, done)).await.is_ok() {
                return committed.await.unwrap_or(Err(LiveError::Unavailable));
            }
            // The actor went idle or panicked: ask its successor.
            stale = Some(inlet.generation);
        }
    }
}
