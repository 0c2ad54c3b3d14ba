//! The addresses of the vehicles in use. Written by the directory; the router and the reporters read them without a
//! message to the directory's thread.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustc_hash::FxBuildHasher;

use super::workers::Worker;
use crate::actor::vehicle::actor::VehicleActor;
use crate::actor::vehicle::messages::Report;
use crate::actor::vehicle::report_batch::VehicleReport;
use crate::model::VehicleId;

/// The address of a vehicle in use, and the incarnation of its actor.
#[derive(Clone)]
pub(crate) struct VehicleHandle {
    pub(crate) address: Addr<VehicleActor>,
    pub(crate) incarnation: u64,
    /// Whether the actor before it ended without a word: it panicked, or its thread ended.
    pub(crate) restarted: bool,
    /// The thread it lives on.
    pub(crate) worker: Worker,
}

impl VehicleHandle {
    /// Puts a part into the mailbox, at once if it has room. It is lost if the actor is gone.
    pub(crate) async fn report(&self, part: VehicleReport) {
        if let Err(SendError::Full(report)) = self.address.try_send(Report(part)) {
            self.address.send(report).await.ok();
        }
    }

    /// Whether a caller that found the incarnation `stale` gone may use this one.
    pub(crate) fn is_fresh(&self, stale: Option<u64>) -> bool {
        stale != Some(self.incarnation) && self.address.connected()
    }
}

type ByVehicle = HashMap<VehicleId, VehicleHandle, FxBuildHasher>;

/// The address of each vehicle whose actor runs.
#[derive(Clone, Default)]
pub(crate) struct VehicleHandles(Arc<RwLock<ByVehicle>>);

impl VehicleHandles {
    /// The address of one vehicle.
    pub(crate) fn get(&self, vehicle: VehicleId) -> Option<VehicleHandle> {
        self.read().get(&vehicle).cloned()
    }

    /// All addresses, locked for reading.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, ByVehicle> {
        self.0.read()
    }

    /// All addresses, locked for writing; for the directory alone.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, ByVehicle> {
        self.0.write()
    }
}
