//! Many fences prepared at once, on every core.

use std::collections::HashMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use crate::geofence::{FenceSet, FenceTimeline};
use crate::model::{Fence, OrganizationId};

/// Fences of one organization, prepared and indexed.
#[must_use]
pub fn fences(fences: &[Fence]) -> FenceSet {
    FenceSet::new(prepared(fences))
}

/// The fences of each organization that has any, prepared and indexed.
#[must_use]
pub fn fences_by_organization(fences: &[Fence]) -> HashMap<OrganizationId, FenceSet> {
    let mut by_organization: HashMap<OrganizationId, Vec<Arc<FenceTimeline>>> = HashMap::new();
    for fence in prepared(fences) {
        by_organization.entry(fence.organization_id).or_default().push(fence);
    }
    let set = |(organization, fences)| (organization, FenceSet::new(fences));
    by_organization.into_iter().map(set).collect()
}

fn prepared(fences: &[Fence]) -> Vec<Arc<FenceTimeline>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let prepare = |some: &[Fence]| -> Vec<_> {
        some.iter().map(|fence| Arc::new(FenceTimeline::prepare(fence))).collect()
    };
    thread::scope(|scope| {
        let parts = fences.chunks(fences.len().div_ceil(cores).max(1));
        let parts: Vec<_> = parts.map(|some| scope.spawn(move || prepare(some))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
