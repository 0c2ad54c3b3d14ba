//! `Live`: the one handle the server holds on the live core. No actor address leaves the crate.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{oneshot, watch};

use crate::actor::cache::Cache;
use crate::actor::directory::{Directory, DirectoryParts, ForgetVehicle, Inlet, Locate, NoInlet, PutVehicle};
use crate::actor::occupancy::{Forget, Inside, Introduce, Occupancy, StartWatch, Touched, View};
use crate::actor::permits::Permits;
use crate::actor::persistence::{Barrier, Persistence, PersistenceParts};
use crate::actor::registry::{GeofenceRegistry, Publish, Shelves};
use crate::actor::vehicle::{Deactivate, Settle, VehicleActor};
use crate::clock::Clock;
use crate::geofence::FenceTimeline;
use crate::model::{Fence, GeofenceId, OrganizationId, Timestamp, Vehicle, VehicleId};
use crate::ports::{Counts, LiveCache, Seeds, StoreError, TrackStore};
use crate::report::Reporter;
pub use crate::view::{HeldFence, InsideView, VehicleView};
use crate::watch::{Audience, Watch};

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
    /// A vehicle without fixes for so long gives its actor back.
    pub idle_after: Duration,
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
            idle_after: Duration::from_secs(600),
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
    inner: Arc<Inner>,
}

struct Inner {
    config: LiveConfig,
    store: Arc<dyn TrackStore>,
    clock: Clock,
    permits: Permits,
    directory: Addr<Directory>,
    registry: Addr<GeofenceRegistry>,
    occupancy: Addr<Occupancy>,
    persistence: Addr<Persistence>,
    arbiters: Vec<ArbiterHandle>,
    taken_over: watch::Receiver<bool>,
}

impl Live {
    /// Reads the seeds and starts every actor; needs a running actix system. Settles what a crash
    /// left unsettled before it returns.
    pub async fn start(parts: LiveParts) -> Result<Self, StoreError> {
        let LiveParts { config, store, cache, clock } = parts;
        let seeds = store.seeds().await?;
        let unsettled = seeds.unsettled.clone();
        let live = Self { inner: Arc::new(Inner::start(config, store, cache, clock, seeds)) };
        for (organization, fence) in unsettled {
            if let Err(error) = live.settle_known(organization, fence).await {
                tracing::error!(geofence.id = %fence, %error, "a change of a geofence could not be settled");
            }
        }
        Ok(live)
    }

    /// The server's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    /// Whether fixes can be committed now.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.inner.permits.is_available()
    }

    /// Waits until another server has taken over the store, which ends this one.
    pub async fn taken_over(&self) {
        let mut taken_over = self.inner.taken_over.clone();
        taken_over.wait_for(|yes| *yes).await.ok();
    }

    /// A way to report fixes, for one connection.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter::new(self.clone())
    }

    /// Makes a vehicle known, or its new name and limits. Call after the change is committed.
    pub async fn put_vehicle(&self, vehicle: Vehicle) -> Result<(), LiveError> {
        let known = Introduce { vehicle_id: vehicle.id, organization_id: vehicle.organization_id };
        self.inner.occupancy.send(known).await.map_err(|_| LiveError::Stopped)?;
        self.inner.directory.send(PutVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    /// Takes a vehicle out: its stays end with cause `vehicleDeactivated`. Returns once that is committed.
    pub async fn remove_vehicle(&self, vehicle: VehicleId) -> Result<(), LiveError> {
        let done = self.ask(vehicle, |permit, done| Deactivate { permit, done }).await;
        if !matches!(done, Ok(_) | Err(LiveError::UnknownVehicle)) {
            done?;
        }
        self.inner.directory.send(ForgetVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        self.inner.occupancy.send(Forget(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    /// Puts a fence's new version in force; `fence.versions` holds just that one. Call after it is
    /// committed to the store; returns once every vehicle sees it and the records of the vehicles it
    /// touches are committed. Marks the version settled.
    pub async fn put_fence(&self, fence: Fence) -> Result<(), LiveError> {
        let timeline = self.inner.registry.send(Publish(fence)).await.map_err(|_| LiveError::Stopped)?;
        let settled = self.settle(&timeline).await;
        if settled == Err(LiveError::Unavailable) {
            self.settle_later(timeline);
        }
        settled
    }

    /// What is known of a vehicle now; `None` for one the core was never told of.
    pub async fn vehicle(&self, vehicle: VehicleId) -> Result<Option<VehicleView>, LiveError> {
        self.inner.occupancy.send(View(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    /// The vehicles inside a fence now, by entry, then id; empty for an unknown fence.
    pub async fn inside(&self, fence: GeofenceId) -> Result<Vec<InsideView>, LiveError> {
        self.inner.occupancy.send(Inside(fence)).await.map_err(|_| LiveError::Stopped)
    }

    /// Everything as it is now, and every commit from now on.
    pub async fn watch(&self, audience: Audience) -> Result<Watch, LiveError> {
        let start = StartWatch { audience, capacity: self.inner.config.watch_capacity };
        self.inner.occupancy.send(start).await.map_err(|_| LiveError::Stopped)
    }

    /// Commits what is on its way, then stops every actor.
    pub async fn stop(&self) {
        self.inner.permits.close();
        self.inner.persistence.send(Barrier).await.ok();
        for arbiter in &self.inner.arbiters {
            arbiter.stop();
        }
    }

    pub(crate) async fn locate(&self, vehicle: VehicleId, stale: Option<u64>) -> Result<Inlet, LiveError> {
        let located = self.inner.directory.send(Locate { vehicle, stale }).await;
        located.map_err(|_| LiveError::Stopped)?.map_err(|why| match why {
            NoInlet::Unknown => LiveError::UnknownVehicle,
            NoInlet::Resting => LiveError::Unavailable,
        })
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.inner.permits
    }

    async fn settle_known(&self, organization: OrganizationId, fence: GeofenceId) -> Result<(), LiveError> {
        let shelf = self.inner.registry.send(crate::actor::registry::Published(organization, fence)).await;
        match shelf.map_err(|_| LiveError::Stopped)? {
            Some(timeline) => self.settle(&timeline).await,
            None => Ok(()),
        }
    }

    /// The change stands, but its records could not be committed: they are when the store is back.
    fn settle_later(&self, timeline: Arc<FenceTimeline>) {
        let live = self.clone();
        actix_rt::spawn(async move {
            loop {
                live.permits().available().await;
                match live.settle(&timeline).await {
                    Err(LiveError::Unavailable) => {}
                    _ => return,
                }
            }
        });
    }

    /// Settles a published fence against every vehicle it touches, those without a running actor too.
    async fn settle(&self, timeline: &Arc<FenceTimeline>) -> Result<(), LiveError> {
        // Whatever was judged by the old snapshot is on its way to its commit: wait until the
        // newest committed states include it. Whatever is judged later sees the new one.
        self.inner.persistence.send(Barrier).await.map_err(|_| LiveError::Stopped)?;
        let touched = Touched(Arc::clone(timeline));
        let touched = self.inner.occupancy.send(touched).await.map_err(|_| LiveError::Stopped)?;
        let fence = timeline.id;
        for vehicle in touched {
            match self.ask(vehicle, |permit, done| Settle { fence, permit, done }).await {
                Ok(_) | Err(LiveError::UnknownVehicle) => {}
                Err(error) => return Err(error),
            }
        }
        let settled = self.inner.store.mark_settled(fence, timeline.newest().version).await;
        settled.map_err(|_| LiveError::Unavailable)
    }

    /// Asks a vehicle for something that ends in a commit, and waits for that.
    async fn ask<M>(
        &self,
        vehicle: VehicleId,
        message: impl Fn(crate::actor::permits::Permit, oneshot::Sender<Result<Counts, LiveError>>) -> M,
    ) -> Result<Counts, LiveError>
    where
        M: Message<Result = ()> + Send + 'static,
        VehicleActor: Handler<M>,
    {
        let mut stale = None;
        loop {
            let inlet = self.locate(vehicle, stale).await?;
            let permit = self.inner.permits.take(1).await?;
            let (done, committed) = oneshot::channel();
            inlet.address.send(message(permit, done)).await.ok();
            match committed.await {
                Ok(result) => return result,
                // The actor stopped or panicked before it could say: ask its successor.
                Err(_) => stale = Some(inlet.generation),
            }
        }
    }
}

impl Inner {
    fn start(
        config: LiveConfig,
        store: Arc<dyn TrackStore>,
        cache: Option<Arc<dyn LiveCache>>,
        clock: Clock,
        seeds: Seeds,
    ) -> Self {
        let core = Arbiter::new().handle();
        let writer = Arbiter::new().handle();
        let lanes: Vec<ArbiterHandle> = (0..config.lanes.max(1)).map(|_| Arbiter::new().handle()).collect();
        let permits = Permits::new(config.max_waiting_fixes);
        let shelves = Shelves::load(&seeds.fences);
        let occupancy = Occupancy::new(&seeds.vehicles, seeds.next_sequence);
        let occupancy = Occupancy::start_in_arbiter(&core, move |_| occupancy);
        let cache = cache.map(|cache| Cache::start_in_arbiter(&core, move |_| Cache::new(cache)));
        let (taken_over_sender, taken_over) = watch::channel(false);
        let persistence = PersistenceParts {
            store: Arc::clone(&store),
            permits: permits.clone(),
            occupancy: occupancy.clone(),
            cache,
            config: config.clone(),
            taken_over: taken_over_sender,
        };
        let next_sequence = seeds.next_sequence;
        let persistence =
            Persistence::start_in_arbiter(&writer, move |_| Persistence::new(persistence, next_sequence));
        let directory = DirectoryParts {
            lanes: lanes.clone(),
            persistence: persistence.clone(),
            occupancy: occupancy.clone(),
            shelves: shelves.clone(),
            permits: permits.clone(),
            clock: Arc::clone(&clock),
            idle_after: config.idle_after,
        };
        let vehicles = seeds.vehicles.into_iter().map(|seed| seed.vehicle).collect();
        let directory = Directory::start_in_arbiter(&core, move |_| Directory::new(directory, vehicles));
        let registry = GeofenceRegistry::start_in_arbiter(&core, move |_| GeofenceRegistry::new(shelves));
        let mut arbiters = lanes;
        arbiters.extend([core, writer]);
        Self {
            config,
            store,
            clock,
            permits,
            directory,
            registry,
            occupancy,
            persistence,
            arbiters,
            taken_over,
        }
    }
}
