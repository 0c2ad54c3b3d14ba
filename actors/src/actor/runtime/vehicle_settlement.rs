//! Changes of a vehicle at the edge: its times out of service, its calibration, and its removal for ever. Makes the vehicle settle
//! them; they are seen through as those of geofences are.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::directory::{ForgetVehicle, Known, PutVehicle};
use super::settlement::WAIT_FOR_RECENT;
use crate::actor::vehicle::report_batch::Outcome;
use crate::actor::watch::occupancy::{Forget, Introduce};
use crate::actor::writer::cache::CacheRemove;
use crate::error::LiveError;
use crate::model::{Timestamp, Vehicle, VehicleId};
use crate::tracking::NearSpan;

impl Core {
    /// Puts a vehicle, and settles a change of its times out of service and of its calibration.
    pub(super) async fn put_and_settle(self: &Arc<Self>, vehicle: Vehicle) -> Result<(), LiveError> {
        let id = vehicle.id;
        let known = Introduce { vehicle_id: id, organization_id: vehicle.organization_id };
        self.occupancy.send(known).await.map_err(|_| LiveError::Stopped)?;
        let now = vehicle.clone();
        let before = self.router.directory.send(PutVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        let Some(before) = before else { return Ok(()) };
        let service = now.service_differs_from(&before);
        let calibration = now.calibration_differs_from(&before);
        let version = now.calibrations.iter().map(|known| known.version).max();
        match service.into_iter().chain(calibration).min() {
            Some(from) => {
                let version = version.filter(|_| calibration.is_some());
                self.settle_vehicle(id, from, version, self.patience(from)).await
            }
            None => Ok(()),
        }
    }

    /// Settles a change of what a vehicle is judged by, from an instant on; `calibrated`: the version of its
    /// calibration that made the change.
    pub(super) async fn settle_vehicle(
        self: &Arc<Self>,
        vehicle: VehicleId,
        from: Timestamp,
        calibrated: Option<i64>,
        patience: Duration,
    ) -> Result<(), LiveError> {
        let settled = self.ask_vehicle(vehicle, from, calibrated).await;
        if matches!(settled, Err(LiveError::Unavailable)) {
            self.again(
                move |core| async move { core.ask_vehicle(vehicle, from, calibrated).await.map(|_| ()) },
            );
        }
        if settled?.is_dirty {
            self.wait_for_corrections(vec![vehicle], patience).await;
        }
        Ok(())
    }

    async fn ask_vehicle(
        &self,
        vehicle: VehicleId,
        from: Timestamp,
        calibrated: Option<i64>,
    ) -> Result<Outcome, LiveError> {
        let outcome = self.ask_to_settle(vehicle, NearSpan::since(from), false).await?;
        if let Some(version) = calibrated {
            let noted = self.store.mark_calibrated(vehicle, version).await;
            noted.map_err(|_| LiveError::Unavailable)?;
        }
        Ok(outcome)
    }

    pub(super) async fn remove_for_sure(
        self: &Arc<Self>,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> Result<(), LiveError> {
        let removed = self.remove(vehicle, at).await;
        if removed == Err(LiveError::Unavailable) {
            self.again(move |core| async move { core.remove(vehicle, at).await });
        }
        removed
    }

    async fn remove(self: &Arc<Self>, vehicle: VehicleId, at: Timestamp) -> Result<(), LiveError> {
        let known = self.router.directory.send(Known(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        let Some(known) = known else { return self.forget(vehicle).await };
        let mut retired = Vehicle::clone(&known);
        retired.retire(at);
        let from = retired.out_since().unwrap_or(at);
        self.router.directory.send(PutVehicle(retired)).await.map_err(|_| LiveError::Stopped)?;
        match self.ask_to_settle(vehicle, NearSpan::since(from), true).await {
            Ok(_) | Err(LiveError::UnknownVehicle) => {}
            Err(error) => return Err(error),
        }
        // A vehicle cannot be forgotten while it awaits a correction, however long that takes.
        let core = Arc::clone(self);
        let forgotten = async move {
            core.clean(vec![vehicle]).await;
            core.forget(vehicle).await
        };
        self.see_through_for(WAIT_FOR_RECENT, forgotten).await
    }

    /// Those of some vehicles that are not known any more, once all that was handed over of them before is committed.
    pub(crate) async fn forgotten(&self, vehicles: &[VehicleId]) -> Result<Vec<VehicleId>, LiveError> {
        let mut forgotten = Vec::new();
        for vehicle in vehicles {
            let known = self.router.directory.send(Known(*vehicle)).await.map_err(|_| LiveError::Stopped)?;
            forgotten.extend(known.is_none().then_some(*vehicle));
        }
        self.writer.barrier().await.map(|()| forgotten)
    }

    async fn forget(&self, vehicle: VehicleId) -> Result<(), LiveError> {
        self.router.directory.send(ForgetVehicle(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        let of = self.occupancy.send(Forget(vehicle)).await.map_err(|_| LiveError::Stopped)?;
        if let (Some(cache), Some(organization)) = (&self.cache, of) {
            cache.send(CacheRemove(vehicle, organization)).await.map_err(|_| LiveError::Stopped)?;
        }
        Ok(())
    }
}
