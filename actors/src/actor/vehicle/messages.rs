//! The messages a vehicle gets, and how it answers.

use std::sync::Arc;

use actix::prelude::*;

use super::report_batch::VehicleReport;
use crate::model::{Vehicle, VehicleId};
use crate::tracking::NearSpan;

/// Fixes of one vehicle, in their order. From a reporter; one in flight per reporter and vehicle. Noted as applied,
/// together with the fixes left out because the engine panics on them, and resolved once the others are committed or
/// refused.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report(pub(crate) VehicleReport);

/// The timeline changed from an instant on: a fence's version takes effect, or the vehicle goes out of
/// service. From the edge of an edit; resolved once the records are committed, or owed by a dirty mark.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Settle {
    /// The part of the vehicle's timeline that the change may matter to.
    pub(crate) span: NearSpan,
    /// The vehicle is out of service for ever and takes no fixes from here on.
    pub(crate) retire: bool,
    pub(crate) part: VehicleReport,
}

/// One step of a correction. From the coordinator of corrections, one at a time; resolved once it is
/// committed, with whether the vehicle is still dirty.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Correct {
    pub(crate) part: VehicleReport,
}

/// The vehicle was taken out of use: the actor stops. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

/// The vehicle's fixes arrive on another thread than the one it lives on: the actor stops unless something is on
/// its way, or nothing was asked of it yet. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Leave;

/// It is time to check for use: the actor stops if the vehicle was idle for long. From the directory, whose timer
/// serves all vehicles: a timer in each actor would be polled with each message.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct PassivateIfIdle;

/// The vehicle's name or limits changed. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Rename(pub(crate) Arc<Vehicle>);

/// A vehicle went idle and stops. From the vehicle.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Passivated {
    pub(crate) vehicle: VehicleId,
    pub(crate) incarnation: u64,
}
