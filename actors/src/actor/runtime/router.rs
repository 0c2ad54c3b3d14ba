//! The way to a vehicle for callers that ask it for something that ends in a commit.

use std::future::poll_fn;

use actix::prelude::*;

use super::directory::{Directory, Locate, LocateError};
use super::handles::{VehicleHandle, VehicleHandles};
use super::permits::Permits;
use super::workers::Affinity;
use crate::actor::vehicle::actor::VehicleActor;
use crate::actor::vehicle::provisional::ShowProvisional;
use crate::actor::vehicle::report_batch::{Outcome, ReportBatch, VehicleReport};
use crate::actor::watch::hub::PositionHub;
use crate::error::LiveError;
use crate::model::{AttributesByFix, Fix, VehicleId};

/// Finds vehicles, and room for what they are asked to do.
#[derive(Clone)]
pub(crate) struct VehicleRouter {
    pub(crate) directory: Addr<Directory>,
    pub(crate) handles: VehicleHandles,
    pub(crate) permits: Permits,
    pub(crate) hub: PositionHub,
}

impl VehicleRouter {
    /// Shows subscribers where a vehicle is while nothing can be stored. Dropped if the vehicle's mailbox is full:
    /// nothing waits for it.
    pub(crate) async fn show_provisional(
        &self,
        vehicle: VehicleId,
        fixes: Vec<Fix>,
        attributes: AttributesByFix,
    ) {
        if self.hub.is_watched()
            && self.permits.next_generation().is_some()
            && let Ok(handle) = self.locate(vehicle, None, Affinity::Any).await
        {
            handle.address.try_send(ShowProvisional(fixes, attributes)).ok();
        }
    }

    /// A vehicle's address; its actor is started if need be.
    pub(crate) async fn locate(
        &self,
        vehicle: VehicleId,
        stale: Option<u64>,
        affinity: Affinity,
    ) -> Result<VehicleHandle, LiveError> {
        let known = self.handles.get(vehicle).filter(|handle| handle.is_fresh(stale));
        if let Some(handle) = known.filter(|handle| !affinity.should_migrate(&handle.worker)) {
            return Ok(handle);
        }
        let located = self.directory.send(Locate { vehicle, stale, affinity }).await;
        located.map_err(|_| LiveError::Stopped)?.map_err(|why| match why {
            LocateError::Unknown => LiveError::UnknownVehicle,
            LocateError::Resting => LiveError::Unavailable,
        })
    }

    /// Asks a vehicle for something that ends in a commit, and waits for that.
    pub(crate) async fn ask<M>(
        &self,
        vehicle: VehicleId,
        message: impl Fn(VehicleReport) -> M,
    ) -> Result<Outcome, LiveError>
    where
        M: Message<Result = ()> + Send + 'static,
        VehicleActor: Handler<M>,
    {
        let mut stale = None;
        loop {
            let handle = self.locate(vehicle, stale, Affinity::Any).await?;
            let permit = self.permits.take(1).await?;
            let asked = ReportBatch::empty(permit);
            if handle.address.send(message(asked.part(0))).await.is_ok() {
                let (outcomes, _) = poll_fn(|cx| asked.poll_resolved(cx)).await;
                let outcome = outcomes.into_iter().next().unwrap_or(Err(LiveError::Unavailable))?;
                // A request without fixes, so there is none to leave out; the store may take it another day.
                return if outcome.refused.is_none() { Ok(outcome) } else { Err(LiveError::Unavailable) };
            }
            // The actor went idle or panicked: ask its successor.
            stale = Some(handle.incarnation);
        }
    }
}
