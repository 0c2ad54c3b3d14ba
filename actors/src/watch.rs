//! What a watcher of the live core receives: a snapshot, then every commit, in order.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;

use crate::fuel::FuelRecord;
use crate::model::{Event, GeofenceId, OrganizationId, VehicleId, VisitId};
use crate::tracking::VehicleState;
use crate::view::HeldFence;

/// Whose vehicles a watcher sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// One organization's.
    Organization(OrganizationId),
    /// Every organization's: a platform operator.
    Everyone,
}

impl Audience {
    /// Whether this audience sees an organization.
    #[must_use]
    pub fn sees(self, organization: OrganizationId) -> bool {
        match self {
            Self::Organization(own) => own == organization,
            Self::Everyone => true,
        }
    }
}

/// A committed event, with room for its wire form, so that it is encoded once for all watchers.
#[derive(Debug)]
pub struct CommittedEvent<E = Event> {
    /// The event, numbered.
    pub event: E,
    encoded: OnceLock<Box<str>>,
}

impl<E> CommittedEvent<E> {
    /// An event just committed or read from the log.
    #[must_use]
    pub const fn new(event: E) -> Self {
        Self { event, encoded: OnceLock::new() }
    }

    /// The wire form, made by the first who asks.
    pub fn encoded(&self, encode: impl FnOnce(&E) -> String) -> &str {
        self.encoded.get_or_init(|| encode(&self.event).into_boxed_str())
    }
}

/// A vehicle's state after a commit, and which fences it entered and left by it.
#[derive(Debug)]
pub struct VehicleUpdate {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its state now.
    pub state: Arc<VehicleState>,
    /// Fences it is in now and was not before, or not by this visit.
    pub entered: Vec<HeldFence>,
    /// Fences it was in before and is not now, or by another visit; they come before `entered`.
    pub left: Vec<GeofenceId>,
    encoded: OnceLock<Box<str>>,
}

impl VehicleUpdate {
    pub(crate) fn new(
        vehicle_id: VehicleId,
        organization_id: OrganizationId,
        before: Option<&VehicleState>,
        state: Arc<VehicleState>,
    ) -> Self {
        // By visit: within one commit a vehicle may leave a fence and come back.
        let stays = before.iter().flat_map(|before| before.open_stays());
        let mut left: HashMap<VisitId, GeofenceId> =
            stays.map(|stay| (stay.visit_id, stay.geofence_id)).collect();
        let mut entered = Vec::new();
        for stay in state.open_stays() {
            if left.remove(&stay.visit_id).is_none() {
                entered.push(HeldFence::from(stay));
            }
        }
        let left = left.into_values().collect();
        Self { vehicle_id, organization_id, state, entered, left, encoded: OnceLock::new() }
    }

    /// The wire form of the vehicle's position, made by the first who asks.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> String) -> &str {
        self.encoded.get_or_init(|| encode(self).into_boxed_str())
    }
}

/// What one commit changed for a watcher's audience.
#[derive(Debug)]
pub struct Update {
    /// Vehicles with their state after the commit; each once.
    pub vehicles: Vec<Arc<VehicleUpdate>>,
    /// Vehicles that were taken out of use.
    pub removed: Vec<VehicleId>,
    /// Events, by number.
    pub events: Vec<Arc<CommittedEvent>>,
    /// Refuels and drains, by number; one order with `events`.
    pub fuel_events: Vec<Arc<CommittedEvent<FuelRecord>>>,
    /// The number of the next event of the log.
    pub next_sequence: i64,
}

impl Update {
    pub(crate) fn is_empty(&self) -> bool {
        let Self { vehicles, removed, events, fuel_events, .. } = self;
        vehicles.is_empty() && removed.is_empty() && events.is_empty() && fuel_events.is_empty()
    }
}

/// A watcher's beginning: everything as it is, and the channel on which each later commit comes.
/// The channel is bounded; a watcher that lets it fill finds it closed, and must watch anew.
#[derive(Debug)]
pub struct Watch {
    /// Every vehicle of the audience with its newest committed state.
    pub vehicles: Vec<(VehicleId, OrganizationId, Arc<VehicleState>)>,
    /// The number of the first event that the channel will bring: the log holds all before it.
    pub next_sequence: i64,
    /// Every commit from here on.
    pub updates: mpsc::Receiver<Arc<Update>>,
}
