//! One subscription: its watch on the live core, and where its events go on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use waypost_actors::fuel::FuelRecord;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{OrganizationId, VehicleId};
use waypost_actors::tracking::VehicleState;
use waypost_actors::watch::{Audience, CommittedEvent, Update, Watch};

use super::changes::Changes;
use super::filter::Filter;
use super::protocol::{Subscribe, Topic};
use super::wire;

/// An event of either kind; both are numbered in one order.
pub(super) enum Told {
    Geofence(Arc<CommittedEvent>),
    Fuel(Arc<CommittedEvent<FuelRecord>>),
}

impl Told {
    pub(super) fn sequence(&self) -> i64 {
        match self {
            Self::Geofence(event) => event.event.sequence,
            Self::Fuel(event) => event.event.sequence,
        }
    }

    /// Its JSON, made once for all who ask.
    pub(super) fn encoded(&self) -> &str {
        match self {
            Self::Geofence(event) => event.encoded(wire::json),
            Self::Fuel(event) => event.encoded(wire::json),
        }
    }
}

/// What a snapshot is made of.
pub(super) type SnapshotVehicles = Vec<(VehicleId, OrganizationId, Arc<VehicleState>)>;

/// A subscription that stands.
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) audience: Audience,
    pub(super) topics: HashSet<Topic>,
    pub(super) filter: Filter,
    pub(super) min_interval: Duration,
    pub(super) watch: Watch,
    /// The next event this client has not been sent.
    pub(super) next_sequence: i64,
    pub(super) changes: Changes,
    next_delta: Instant,
}

impl Subscription {
    /// Begins to watch; events begin with the next to come.
    pub(super) async fn begin(
        asked: &Subscribe,
        filter: Filter,
        audience: Audience,
        live: &Live,
    ) -> Result<Self, LiveError> {
        let watch = live.watch(audience).await?;
        Ok(Self {
            id: asked.id.clone(),
            audience,
            topics: asked.topics.iter().copied().collect(),
            filter,
            min_interval: Duration::from_millis(asked.min_interval_ms),
            next_sequence: watch.next_sequence,
            watch,
            changes: Changes::default(),
            next_delta: Instant::now(),
        })
    }

    /// Watches anew after having lagged behind; events go on where they were.
    pub(super) async fn begin_anew(&mut self, live: &Live) -> Result<(), LiveError> {
        self.watch = live.watch(self.audience).await?;
        Ok(())
    }

    /// The vehicles a new snapshot shows; changes count from it on.
    pub(super) fn take_snapshot(&mut self) -> SnapshotVehicles {
        let mut vehicles = std::mem::take(&mut self.watch.vehicles);
        vehicles.retain(|(id, ..)| self.filter.vehicle(*id));
        let place = |state: &VehicleState| state.last.is_none_or(|fix| self.filter.place(fix.place));
        let shown = vehicles.iter().filter(|(.., state)| place(state)).map(|(id, ..)| *id);
        self.changes = Changes::from_snapshot(shown, &self.filter);
        vehicles.sort_unstable_by_key(|(id, ..)| *id);
        vehicles
    }

    /// Whether events between what was sent and what the watch will bring must come from the log.
    pub(super) fn is_behind(&self) -> bool {
        (self.wants(Topic::Events) || self.wants(Topic::Fuel))
            && self.next_sequence < self.watch.next_sequence
    }

    pub(super) fn wants(&self, topic: Topic) -> bool {
        self.topics.contains(&topic)
    }

    /// Whether it is told of vehicles: of all of them, or of those that report fuel.
    pub(super) fn wants_vehicle(&self, state: &VehicleState) -> bool {
        self.wants(Topic::Positions) || (self.wants(Topic::Fuel) && state.fuel.is_some())
    }

    /// Takes in a commit; answers the events to send.
    pub(super) fn take(&mut self, update: &Update) -> Vec<Told> {
        for vehicle in &update.vehicles {
            self.changes.add(vehicle, &self.topics, &self.filter);
        }
        if self.wants(Topic::Positions) || self.wants(Topic::Fuel) {
            for vehicle in update.removed.iter().filter(|vehicle| self.filter.vehicle(**vehicle)) {
                self.changes.remove(*vehicle);
            }
        }
        let events = self.unseen(&update.events, &update.fuel_events);
        self.next_sequence = self.next_sequence.max(update.next_sequence);
        events
    }

    /// Those of some events that it wants and was not sent, by number.
    pub(super) fn unseen(
        &self,
        events: &[Arc<CommittedEvent>],
        fuel_events: &[Arc<CommittedEvent<FuelRecord>>],
    ) -> Vec<Told> {
        let events =
            events.iter().filter(|event| self.wants(Topic::Events) && self.filter.event(&event.event));
        let fuel_events = fuel_events
            .iter()
            .filter(|event| self.wants(Topic::Fuel) && self.filter.fuel_event(&event.event));
        let both = events.cloned().map(Told::Geofence).chain(fuel_events.cloned().map(Told::Fuel));
        let mut unseen: Vec<Told> = both.filter(|told| told.sequence() >= self.next_sequence).collect();
        unseen.sort_by_key(Told::sequence);
        unseen
    }

    /// When the next delta is due, if there is anything to say.
    pub(super) fn delta_due(&self) -> Option<Instant> {
        (!self.changes.is_empty()).then_some(self.next_delta)
    }

    pub(super) fn delta_sent(&mut self) {
        self.next_delta = Instant::now() + self.min_interval;
    }
}
