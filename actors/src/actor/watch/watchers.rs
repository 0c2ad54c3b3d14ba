//! The watchers, and which part of a commit each of them gets. Knows nothing of what is committed or why.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc;

use super::hub::HubState;
use crate::meters::Meters;
use crate::model::{Change, OrganizationId, VehicleId};
use crate::watch::{Audience, CommittedRecord, Interest, Update, VehicleUpdate};

struct Watcher {
    interest: Interest,
    updates: mpsc::Sender<Arc<Update>>,
}

/// All watchers.
pub(super) struct Watchers {
    all: Vec<Watcher>,
    /// The number of the first record that watchers were not yet sent.
    told_up_to: Arc<AtomicI64>,
    meters: Meters,
}

/// What watchers are to be sent.
pub(super) struct Commit<'a> {
    pub(super) vehicles: &'a [Arc<VehicleUpdate>],
    pub(super) removed: Option<(VehicleId, OrganizationId)>,
    pub(super) records: &'a [Arc<CommittedRecord>],
    pub(super) changes: &'a [Change],
    pub(super) next_sequence: i64,
}

impl<'a> Commit<'a> {
    /// A commit without records and changes of master data.
    pub(super) const fn of(
        vehicles: &'a [Arc<VehicleUpdate>],
        removed: Option<(VehicleId, OrganizationId)>,
        next_sequence: i64,
    ) -> Self {
        Self { vehicles, removed, records: &[], changes: &[], next_sequence }
    }

    /// The parts of it that some audiences may see, without those that are empty. Goes through it once, however many they are.
    fn parts(
        &self,
        audiences: impl Iterator<Item = Audience>,
    ) -> HashMap<Audience, Arc<Update>, FxBuildHasher> {
        let empty = |audience| (audience, Update { next_sequence: self.next_sequence, ..Update::default() });
        let mut parts: HashMap<Audience, Update, FxBuildHasher> = audiences.map(empty).collect();
        let mut put = |organization: Option<OrganizationId>, add: &dyn Fn(&mut Update)| {
            for audience in organization.map(Audience::Organization).into_iter().chain([Audience::Everyone]) {
                if let Some(part) = parts.get_mut(&audience) {
                    add(part);
                }
            }
        };
        for vehicle in self.vehicles {
            put(Some(vehicle.organization_id), &|part| part.vehicles.push(Arc::clone(vehicle)));
        }
        if let Some((vehicle, organization)) = self.removed {
            put(Some(organization), &|part| part.removed.push(vehicle));
        }
        for told in self.records {
            put(Some(told.record.organization_id), &|part| part.records.push(Arc::clone(told)));
        }
        for change in self.changes {
            put(change.organization_id, &|part| part.changes.push(*change));
        }
        parts.retain(|_, part| !part.is_empty());
        parts.into_iter().map(|(audience, part)| (audience, Arc::new(part))).collect()
    }
}

impl Watchers {
    pub(super) fn new(next_sequence: i64, meters: Meters) -> Self {
        Self { all: Vec::new(), told_up_to: Arc::new(AtomicI64::new(next_sequence)), meters }
    }

    pub(super) fn told_up_to(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.told_up_to)
    }

    pub(super) fn add(&mut self, interest: Interest, capacity: usize) -> mpsc::Receiver<Arc<Update>> {
        // Drops the watchers that left while nothing was committed.
        self.all.retain(|watcher| !watcher.updates.is_closed());
        let (updates, receiver) = mpsc::channel(capacity.max(1));
        self.all.push(Watcher { interest, updates });
        receiver
    }

    /// Whether any watcher wants updates of vehicles that neither entered nor left a fence.
    pub(super) fn follow_states(&self) -> bool {
        self.all.iter().any(|watcher| watcher.interest.states())
    }

    /// Whether any watcher wants updates of vehicles that entered or left a fence.
    pub(super) fn follow_crossings(&self) -> bool {
        self.all.iter().any(|watcher| watcher.interest.states() || watcher.interest.occupancy)
    }

    /// Sends each watcher its part, if any of it is of interest. A watcher whose channel is full is dropped, and
    /// has to watch anew. Called under the hub's lock, so that positions published later arrive later.
    pub(super) fn tell(&mut self, commit: &Commit<'_>, _order: &HubState) {
        let meter = &self.meters.watchers;
        let parts = commit.parts(self.all.iter().map(|watcher| watcher.interest.audience));
        self.all.retain(|Watcher { interest, updates }| match parts.get(&interest.audience) {
            Some(part) if interest.wants(part) => meter.try_send(updates, Arc::clone(part)),
            _ => !updates.is_closed(),
        });
        // Stored after sending: a watcher that reads this number and finds its channel empty has received
        // everything before it.
        self.told_up_to.store(commit.next_sequence, Ordering::Release);
    }
}
