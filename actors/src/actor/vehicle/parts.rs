//! What a vehicle's actor is given.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;

use super::messages::Passivated;
use super::poison::PoisonFixes;
use crate::actor::watch::connections::Connections;
use crate::actor::watch::hub::PositionHub;
use crate::actor::watch::occupancy::Occupancy;
use crate::actor::writer::inbox::Writer;
use crate::clock::Clock;
use crate::geofence::FenceSet;
use crate::meters::Meters;
use crate::model::Vehicle;
use crate::ports::TrackStore;

/// What a vehicle is started with.
#[derive(Clone)]
pub(crate) struct VehicleParts {
    pub(crate) vehicle: Arc<Vehicle>,
    pub(crate) fences: Arc<ArcSwap<FenceSet>>,
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) writer: Writer,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) connections: Addr<Connections>,
    pub(crate) hub: PositionHub,
    pub(crate) clock: Clock,
    pub(crate) idle_after: Duration,
    /// The newest generation whose beginning was known at the start.
    pub(crate) generation: u64,
    /// Whether an earlier actor of this vehicle may have left something on its way to a commit.
    pub(crate) restarted: bool,
    /// Where the actor reports that it went idle.
    pub(crate) passivated: Recipient<Passivated>,
    /// The number of this actor among those of all vehicles.
    pub(crate) incarnation: u64,
    /// Fixes that its actors panicked on.
    pub(crate) poison: PoisonFixes,
    pub(crate) meters: Meters,
}
