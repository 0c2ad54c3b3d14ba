//! The way to a vehicle for whoever asks it for something that ends in a commit.

use std::future::poll_fn;

use actix::prelude::*;

use super::directory::{Directory, Inlet, Locate, NoInlet};
use super::permits::Permits;
use super::workers::Home;
use crate::actor::vehicle::actor::VehicleActor;
use crate::actor::vehicle::provisional::Glimpse;
use crate::actor::vehicle::report_batch::{Outcome, Parcel, Part};
use crate::actor::watch::hub::Sightings;
use crate::error::LiveError;
use crate::model::{Fix, VehicleId};

/// Finds vehicles, and room for what they are asked.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) directory: Addr<Directory>,
    pub(crate) permits: Permits,
    pub(crate) sightings: Sightings,
}

impl Desk {
    /// Shows those who watch where a vehicle is while nothing can be stored, if they can be told at once: nobody
    /// waits for it.
    pub(crate) async fn glimpse(&self, vehicle: VehicleId, fixes: Vec<Fix>) {
        if self.sightings.is_watched()
            && self.permits.coming_term().is_some()
            && let Ok(inlet) = self.locate(vehicle, None, Home::Anywhere).await
        {
            inlet.address.try_send(Glimpse(fixes)).ok();
        }
    }

    /// A vehicle's address; its actor is started if need be.
    pub(crate) async fn locate(
        &self,
        vehicle: VehicleId,
        stale: Option<u64>,
        home: Home,
    ) -> Result<Inlet, LiveError> {
        let located = self.directory.send(Locate { vehicle, stale, home }).await;
        located.map_err(|_| LiveError::Stopped)?.map_err(|why| match why {
            NoInlet::Unknown => LiveError::UnknownVehicle,
            NoInlet::Resting => LiveError::Unavailable,
        })
    }

    /// Asks a vehicle for something that ends in a commit, and waits for that.
    pub(crate) async fn ask<M>(
        &self,
        vehicle: VehicleId,
        message: impl Fn(Part) -> M,
    ) -> Result<Outcome, LiveError>
    where
        M: Message<Result = ()> + Send + 'static,
        VehicleActor: Handler<M>,
    {
        let mut stale = None;
        loop {
            let inlet = self.locate(vehicle, stale, Home::Anywhere).await?;
            let permit = self.permits.take(1).await?;
            let asked = Parcel::empty(permit);
            if inlet.address.send(message(asked.part(0))).await.is_ok() {
                let (settled, _) = poll_fn(|cx| asked.poll_settled(cx)).await;
                let outcome = settled.into_iter().next().unwrap_or(Err(LiveError::Unavailable))?;
                // It is no fix that could be left out: the store may take it another day.
                return if outcome.refused.is_none() { Ok(outcome) } else { Err(LiveError::Unavailable) };
            }
            // The actor went idle or panicked: ask its successor.
            stale = Some(inlet.generation);
        }
    }
}
