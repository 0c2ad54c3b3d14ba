//! `Live`: the one handle the server holds on the live core. No actor address leaves the crate.

mod settle;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::actor::core::Core;
use crate::actor::desk::Desk;
use crate::actor::lanes::Home;
use crate::actor::occupancy::{Inside, Running, View};
pub use crate::actor::permits::Storing;
use crate::actor::registry::Publish;
use crate::actor::watchers::StartWatch;
use crate::clock::Clock;
use crate::meters::Meters;
use crate::model::{Fence, GeofenceId, Timestamp, Vehicle, VehicleId};
use crate::ports::{LiveCache, StoreError, TrackStore};
use crate::report::Reporter;
pub use crate::view::{HeldFence, InsideView, LiveFuel, RunningVisit, VehicleView};
use crate::watch::{Interest, Watch};
use settle::{Owed, WAIT_FOR_CORRECTIONS};

/// A change is answered within so long, its corrections aside: whoever makes it waits for its records, not for a line of
/// other work.
const LONGEST_EDIT: Duration = Duration::from_secs(2);

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

/// How the threads and actors of the core are, whatever the store does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of them answer.
    Well,
    /// Some do not answer, which may pass.
    Stalled(String),
    /// It cannot go on: the process must end and be started again.
    Broken(String),
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
    /// How long a vehicle with late fixes waits for its correction, so that one serves many.
    pub correction_delay: Duration,
    /// A vehicle without fixes for so long gives its actor back.
    pub idle_after: Duration,
    /// A vehicle that panics over and over in this time rests for as long.
    pub restart_window: Duration,
    /// Threads of its own for vehicles, beside those that are lent to it.
    pub lanes: usize,
    /// Commits a watcher may lag behind.
    pub watch_capacity: usize,
    /// Between two looks at the threads.
    pub watchdog_every: Duration,
    /// A thread that does not answer for so long is told as stalled.
    pub stalled_after: Duration,
    /// And after so long as broken.
    pub broken_after: Duration,
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
            idle_after: Duration::from_secs(600),
            restart_window: Duration::from_secs(60),
            lanes: 1,
            watch_capacity: 256,
            watchdog_every: Duration::from_secs(1),
            stalled_after: Duration::from_secs(5),
            broken_after: Duration::from_secs(60),
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
    /// left unsettled before it returns, or as soon as the store lets it; corrections that a crash left
    /// go on beside.
    pub async fn start(parts: LiveParts) -> Result<Self, StoreError> {
        let seeds = parts.store.seeds().await?;
        let owed = Owed::of(&seeds);
        let live = Self { core: Arc::new(Core::start(parts, seeds)) };
        live.settle_owed(owed).await;
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
        self.core.desk.permits.is_available()
    }

    /// The same, for somebody who wants to hear when it changes.
    #[must_use]
    pub fn storing(&self) -> Storing {
        self.core.desk.permits.storing()
    }

    /// Waits until another server has taken over the store, which ends this one.
    pub async fn taken_over(&self) {
        let mut taken_over = self.core.taken_over.clone();
        taken_over.wait_for(|yes| *yes).await.ok();
    }

    /// How its threads and actors are.
    #[must_use]
    pub fn health(&self) -> Health {
        self.core.health.borrow().clone()
    }

    /// Waits until the core is broken for ever, and says why.
    pub async fn broken(&self) -> String {
        let mut health = self.core.health.subscribe();
        loop {
            if let Health::Broken(why) = &*health.borrow_and_update() {
                return why.clone();
            }
            // The core keeps the sender.
            health.changed().await.ok();
        }
    }

    /// What it counts.
    #[must_use]
    pub fn meters(&self) -> &Meters {
        &self.core.meters
    }

    /// How many fixes are on their way to a commit, and how many may be.
    #[must_use]
    pub fn on_their_way(&self) -> (u32, u32) {
        self.core.desk.permits.room()
    }

    /// Vehicles whose fixes are reported on the calling thread may live on it from now on, so that no other one is
    /// woken to judge them. The thread must run an actix arbiter; without one, this does nothing.
    pub fn lend_thread(&self) {
        self.core.lanes().lend();
    }

    /// A way to report fixes, for one connection, on whose thread it is made.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter::new(self.clone())
    }

    /// Makes a vehicle known, or its new name, limits, calibrations and times out of service. Call after the change
    /// is committed. One that goes out of service leaves its fences with cause `vehicleDeactivated`, one whose
    /// calibration is dated back has its past put right; returns once that is committed or well on its way, and goes on by itself after [`LiveError::Unavailable`].
    pub async fn put_vehicle(&self, vehicle: Vehicle) -> Result<(), LiveError> {
        let live = self.clone();
        let limit = LONGEST_EDIT + WAIT_FOR_CORRECTIONS;
        self.see_through_for(limit, async move { live.put_and_settle(vehicle).await }).await
    }

    /// Takes a vehicle out of service for ever, from an instant on (its deletion's): its stays end with
    /// cause `vehicleDeactivated`. Returns once that is committed. Goes on by itself after
    /// [`LiveError::Unavailable`].
    pub async fn remove_vehicle(&self, vehicle: VehicleId, at: Timestamp) -> Result<(), LiveError> {
        let live = self.clone();
        self.see_through_for(LONGEST_EDIT, async move { live.remove_for_sure(vehicle, at).await }).await
    }

    /// Puts a fence's new versions in force; `fence.versions` holds those alone. Call after they are
    /// committed to the store; returns once every vehicle sees it and the records of the vehicles it
    /// touches are committed. Marks the versions settled. After [`LiveError::Unavailable`] they are in
    /// force, and their records follow by themselves; so do, after some seconds of waiting, corrections
    /// of the past by a version dated back. One dated ahead is settled when it takes effect.
    pub async fn put_fence(&self, fence: Fence) -> Result<(), LiveError> {
        let live = self.clone();
        self.see_through(async move {
            let versions: Vec<i64> = fence.versions.iter().map(|version| version.version).collect();
            let from = fence.versions.iter().map(|version| version.effective_from).min().flatten();
            let timeline = live.core.registry.send(Publish(fence)).await.map_err(|_| LiveError::Stopped)?;
            let patience = live.patience(from.unwrap_or(Timestamp::FIRST));
            let settling = live.clone();
            let settled = async move {
                let mut outcome = Ok(());
                for version in versions {
                    let timeline = Arc::clone(&timeline);
                    outcome = outcome.and(settling.settle_in_time(timeline, version, patience).await);
                }
                outcome
            };
            live.see_through_for(LONGEST_EDIT + patience, settled).await
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

    /// Everything as it is now, every commit from now on that is of interest, and where vehicles are before that
    /// is committed.
    pub async fn watch(&self, interest: impl Into<Interest>) -> Result<Watch, LiveError> {
        let start = StartWatch { interest: interest.into(), capacity: self.core.watch_capacity };
        self.core.occupancy.send(start).await.map_err(|_| LiveError::Stopped)
    }

    /// Takes nothing any more, waits until what is on its way is committed or refused, then stops
    /// every actor.
    pub async fn stop(&self) {
        self.core.desk.permits.end();
        self.core.desk.permits.all_back().await;
        self.core.stop();
    }

    /// The same, but no longer than this: what a store that is stuck has not committed by then was not
    /// acknowledged either. Whether all of it was committed or refused.
    pub async fn stop_within(&self, limit: Duration) -> bool {
        let in_time = tokio::time::timeout(limit, self.stop()).await.is_ok();
        if !in_time {
            self.core.stop();
        }
        in_time
    }

    pub(crate) fn store(&self) -> &Arc<dyn TrackStore> {
        &self.core.store
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.core.desk
    }

    pub(crate) fn lane_here(&self) -> Home {
        self.core.lanes().here()
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

    /// The same, but its caller waits no longer than this; then it is well on its way, unless the store is away.
    async fn see_through_for<F>(&self, limit: Duration, change: F) -> Result<(), LiveError>
    where
        F: Future<Output = Result<(), LiveError>> + Send + 'static,
    {
        let late = || if self.is_available() { Ok(()) } else { Err(LiveError::Unavailable) };
        tokio::time::timeout(limit, self.see_through(change)).await.unwrap_or_else(|_| late())
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
                let settled = match live.core.desk.permits.available().await {
                    Ok(()) => change(live.clone()).await,
                    Err(stopped) => Err(stopped),
                };
                if settled != Err(LiveError::Unavailable) {
                    return;
                }
            }
        });
    }
}
