//! `Live`: the one handle the server holds on the live core. No actor address leaves the crate.

use std::sync::Arc;
use std::time::Duration;

use crate::actor::runtime::core::Core;
pub use crate::actor::runtime::permits::{FixesInFlight, Storing};
use crate::actor::runtime::settlement::Unsettled;
pub use crate::actor::runtime::threads::LiveThreads;
use crate::actor::watch::connections::PutSilence;
use crate::actor::watch::queries::{Fleet, GoingOn, Inside, StartWatch, View};
pub use crate::config::{LiveConfig, LiveParts};
pub use crate::error::LiveError;
pub use crate::health::{Health, WatchdogConfig};
use crate::meters::{Invariant, Meters};
use crate::model::{Fence, GeofenceId, OrganizationId, Silence, Timestamp, Vehicle, VehicleId};
use crate::ports::StoreError;
use crate::report::Reporter;
pub use crate::view::{HeldFence, InsideView, LiveFuel, Running, RunningVisit, VehicleNow, VehicleView};
use crate::watch::{Interest, Watch};

/// The handle on the live core; cheap to clone.
#[derive(Clone)]
pub struct Live {
    core: Arc<Core>,
}

impl Live {
    /// Reads the seeds and starts every actor; needs a running actix system. Settles what a crash left unsettled
    /// before it returns, or as soon as the store allows; corrections that a crash left continue in the background.
    pub async fn start(parts: LiveParts) -> Result<Self, StoreError> {
        let seeds = parts.store.seeds().await?;
        for seed in seeds.vehicles.iter().filter(|seed| seed.is_lost) {
            let what = format!("the stored state of vehicle {} cannot be read", seed.vehicle.id);
            parts.meters.violated(Invariant::States, &what);
        }
        let unsettled = Unsettled::of(&seeds);
        let live = Self { core: Arc::new(Core::start(parts, seeds)) };
        live.core.settle_unsettled(unsettled).await;
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
        self.core.router.permits.is_available()
    }

    /// Whether fixes can be committed, with a way to wait for a change.
    #[must_use]
    pub fn storing(&self) -> Storing {
        self.core.router.permits.storing()
    }

    /// Waits until another server has taken over the store, which ends this one.
    pub async fn taken_over(&self) {
        let mut taken_over = self.core.taken_over.clone();
        taken_over.wait_for(|yes| *yes).await.ok();
    }

    /// The condition of its threads and actors.
    #[must_use]
    pub fn health(&self) -> Health {
        self.core.health.borrow().clone()
    }

    /// Waits until the core is broken for good; returns why.
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

    /// What the core counts.
    #[must_use]
    pub fn meters(&self) -> &Meters {
        &self.core.meters
    }

    /// Fixes between their arrival and their commit.
    #[must_use]
    pub fn in_flight(&self) -> FixesInFlight {
        self.core.router.permits.in_flight()
    }

    /// Allows vehicles whose fixes are reported on the calling thread to live on it from now on, so that no other
    /// thread is woken to judge them. The thread must run an actix arbiter; without one, this does nothing.
    pub fn lend_thread(&self) {
        self.core.workers().lend();
    }

    /// A way to report fixes, for one connection; call it on the connection's thread.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter::new(Arc::clone(&self.core))
    }

    /// Makes a vehicle known, or its new name, limits, calibrations and times out of service. Call after the change
    /// is committed. A vehicle that goes out of service leaves its fences with cause `vehicleDeactivated`; one
    /// whose calibration is dated back has its past corrected. Returns once that is committed or well on its way,
    /// and goes on in the background after [`LiveError::Unavailable`].
    pub async fn put_vehicle(&self, vehicle: Vehicle) -> Result<(), LiveError> {
        self.core.put_vehicle(vehicle).await
    }

    /// Takes a vehicle out of service for ever, from an instant on (that of its deletion): its stays end with cause
    /// `vehicleDeactivated`. Returns once that is committed. Goes on in the background after
    /// [`LiveError::Unavailable`].
    pub async fn remove_vehicle(&self, vehicle: VehicleId, at: Timestamp) -> Result<(), LiveError> {
        self.core.remove_vehicle(vehicle, at).await
    }

    /// Those of some vehicles, taken out of service for ever, that are done with: nothing more of them is stored. Fails while the
    /// store is away.
    pub async fn forgotten(&self, vehicles: &[VehicleId]) -> Result<Vec<VehicleId>, LiveError> {
        self.core.forgotten(vehicles).await
    }

    /// Puts the new versions of fences in force, all before the first is settled; `versions` hold only those. Call after they are
    /// committed to the store; returns once every vehicle sees them and the records of the affected vehicles are committed.
    /// Marks the versions settled. After [`LiveError::Unavailable`] they are in force, and their records follow in
    /// the background; so do, after some seconds of waiting, corrections of the past by a version dated back. A
    /// version dated ahead is settled when it takes effect.
    pub async fn put_fences(&self, fences: Vec<Fence>) -> Result<(), LiveError> {
        self.core.put_fences(fences).await
    }

    /// Puts a fence's new name in force, once it is committed; `fence.versions` holds the newest, which is settled.
    pub async fn rename_fence(&self, fence: Fence) -> Result<(), LiveError> {
        self.core.publish(fence).await.map(drop)
    }

    /// Sets how much silence makes the vehicles of an organization stale and offline. Call after the change is committed.
    pub async fn put_silence(&self, organization: OrganizationId, silence: Silence) -> Result<(), LiveError> {
        let put = PutSilence(organization, silence);
        self.core.connections.send(put).await.map_err(|_| LiveError::Stopped)
    }

    /// Has the changes of master data that are stored without a number numbered and told to watchers. Call after the
    /// commit of an edit.
    pub fn number_changes(&self) {
        self.core.writer.number_changes();
    }

    /// What is known of a vehicle now; `None` if the core does not know the vehicle.
    pub async fn vehicle(&self, vehicle: VehicleId) -> Result<Option<VehicleView>, LiveError> {
        self.core.occupancy.send(View(vehicle)).await.map_err(|_| LiveError::Stopped)
    }

    /// The committed states of an organization's vehicles, in no order.
    pub async fn fleet(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<(VehicleId, VehicleNow)>, LiveError> {
        self.core.occupancy.send(Fleet(organization)).await.map_err(|_| LiveError::Stopped)
    }

    /// The vehicles inside a fence now, by entry, then id; empty for an unknown fence.
    pub async fn inside(&self, fence: GeofenceId) -> Result<Vec<InsideView>, LiveError> {
        self.core.occupancy.send(Inside(fence)).await.map_err(|_| LiveError::Stopped)
    }

    /// What some vehicles have done so far in the fences they are in, and how far that stands; unknown vehicles have
    /// none.
    pub async fn running_visits(&self, vehicles: Vec<VehicleId>) -> Result<Running, LiveError> {
        self.core.occupancy.send(GoingOn(vehicles)).await.map_err(|_| LiveError::Stopped)
    }

    /// A snapshot of the present, every commit of interest from now on, and positions ahead of their commit.
    pub async fn watch(&self, interest: impl Into<Interest>) -> Result<Watch, LiveError> {
        let start = StartWatch { interest: interest.into(), capacity: self.core.watch_capacity };
        self.core.occupancy.send(start).await.map_err(|_| LiveError::Stopped)
    }

    /// Accepts nothing more, waits until everything under way is committed or refused, then stops every actor.
    pub async fn stop(&self) {
        self.core.router.permits.end();
        self.core.router.permits.all_back().await;
        self.core.stop();
    }

    /// Like [`Self::stop`], but waits no longer than `limit`: what a stuck store has not committed by then was not
    /// acknowledged either. Returns whether everything was committed or refused in time.
    pub async fn stop_within(&self, limit: Duration) -> bool {
        let in_time = tokio::time::timeout(limit, self.stop()).await.is_ok();
        if !in_time {
            self.core.stop();
        }
        in_time
    }
}
