//! Every fence and its spatial index: the only publisher of fence snapshots. Vehicles read the
//! snapshot of their organization without a message.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use arc_swap::ArcSwap;
use parking_lot::RwLock;

use crate::geofence::{FenceSet, FenceTimeline};
use crate::meters::Meters;
use crate::model::{Fence, GeofenceId, OrganizationId};

/// The newest snapshot of each organization's fences. A handle, once taken, shows every later snapshot.
#[derive(Clone)]
pub(crate) struct FenceSnapshots {
    snapshots: Arc<RwLock<HashMap<OrganizationId, Arc<ArcSwap<FenceSet>>>>>,
}

impl FenceSnapshots {
    /// The handle of an organization; empty at first.
    pub(crate) fn of(&self, organization: OrganizationId) -> Arc<ArcSwap<FenceSet>> {
        let known = self.snapshots.read().get(&organization).cloned();
        known.unwrap_or_else(|| {
            let mut snapshots = self.snapshots.write();
            let empty = || Arc::new(ArcSwap::from_pointee(FenceSet::empty()));
            Arc::clone(snapshots.entry(organization).or_insert_with(empty))
        })
    }

    /// Starts with these fences.
    pub(crate) fn new(fences: HashMap<OrganizationId, FenceSet>) -> Self {
        let handle = |(organization, fences)| (organization, Arc::new(ArcSwap::from_pointee(fences)));
        Self { snapshots: Arc::new(RwLock::new(fences.into_iter().map(handle).collect())) }
    }
}

/// The registry of fences.
pub(crate) struct GeofenceRegistry {
    snapshots: FenceSnapshots,
    meters: Meters,
}

impl GeofenceRegistry {
    pub(crate) const fn new(snapshots: FenceSnapshots, meters: Meters) -> Self {
        Self { snapshots, meters }
    }
}

impl Actor for GeofenceRegistry {
    type Context = Context<Self>;
}

/// Adds a fence's versions and publishes the snapshot that has them. From the edge, after their
/// commit; answered once every vehicle reads the new snapshot. Returns the fence as published.
#[derive(Message)]
#[rtype(result = "Arc<FenceTimeline>")]
pub(crate) struct Publish(pub(crate) Fence);

impl Handler<Publish> for GeofenceRegistry {
    type Result = MessageResult<Publish>;

    fn handle(&mut self, Publish(fence): Publish, _: &mut Context<Self>) -> MessageResult<Publish> {
        let snapshot = self.snapshots.of(fence.organization_id);
        let current = snapshot.load_full();
        let timeline = match current.get(fence.id) {
            Some(known) => known.with(&fence),
            None => FenceTimeline::prepare(&fence),
        };
        let timeline = Arc::new(timeline);
        snapshot.store(Arc::new(current.with(Arc::clone(&timeline))));
        self.meters.fence_snapshot.add(1);
        MessageResult(timeline)
    }
}

/// A fence as it is published. From the edge.
#[derive(Message)]
#[rtype(result = "Option<Arc<FenceTimeline>>")]
pub(crate) struct Published(pub(crate) OrganizationId, pub(crate) GeofenceId);

impl Handler<Published> for GeofenceRegistry {
    type Result = Option<Arc<FenceTimeline>>;

    fn handle(&mut self, Published(organization, fence): Published, _: &mut Context<Self>) -> Self::Result {
        self.snapshots.of(organization).load().get(fence).cloned()
    }
}
