//! The fences of one organization, as a snapshot that finds those near a place.

use std::collections::HashSet;
use std::sync::Arc;

use super::cells::{Segment, Spot};
use super::cover::Cover;
use super::paged_map::PagedMap;
use super::place::eastward_degrees;
use super::plane::Point;
use super::timeline::{FenceTimeline, PreparedVersion};
use crate::model::{GeofenceId, Place, Timestamp};

/// An immutable snapshot of one organization's fences with its index.
///
/// Snapshots share what an edit did not touch, so each takes only a few kilobytes more than the previous one.
#[derive(Clone, Default)]
pub struct FenceSet {
    fences: PagedMap,
    cover: Cover,
    /// The number of fences that infer passages.
    inferring: usize,
    /// The number of fences that limit the speed.
    limiting: usize,
    last_effective_from: Option<Timestamp>,
}

/// A fence that a place may be in.
#[derive(Clone, Copy)]
pub struct Near<'a> {
    /// The fence.
    pub fence: &'a Arc<FenceTimeline>,
    place: Place,
    /// Whether the index knows that the place is in all of the fence's shapes.
    is_inside: bool,
}

impl Near<'_> {
    /// Whether the place is in the shape of a version of this fence: the result of [`Shape::covers`], without
    /// looking at its edges where the index knows.
    ///
    /// [`Shape::covers`]: super::Shape::covers
    #[must_use]
    pub fn is_in(&self, version: &PreparedVersion) -> bool {
        self.is_inside || version.shape.covers(self.place)
    }
}

impl FenceSet {
    /// A set without fences.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Indexes fences. If several have one id, the last one counts.
    #[must_use]
    pub fn new(mut fences: Vec<Arc<FenceTimeline>>) -> Self {
        let mut by_id = PagedMap::for_len(fences.len());
        for fence in &fences {
            by_id.insert(Arc::clone(fence));
        }
        let mut seen = HashSet::with_capacity(fences.len());
        fences.retain(|fence| {
            by_id.get(fence.id).is_some_and(|last| Arc::ptr_eq(last, fence)) && seen.insert(fence.id)
        });
        let mut cover = Cover::default();
        cover.insert(&fences);
        Self {
            inferring: fences.iter().filter(|fence| fence.infers_passages()).count(),
            limiting: fences.iter().filter(|fence| fence.limits_speed()).count(),
            last_effective_from: fences.iter().filter_map(|fence| fence.last_effective_from()).max(),
            fences: by_id,
            cover,
        }
    }

    /// This set with a fence added, replacing one with the same id. The cost depends on the cells and versions of
    /// the fence, not on the number of fences in the set.
    #[must_use]
    pub fn with(&self, fence: Arc<FenceTimeline>) -> Self {
        let mut next = self.clone();
        let before = next.fences.insert(Arc::clone(&fence));
        if let Some(before) = &before {
            next.cover.remove(before);
            next.inferring -= usize::from(before.infers_passages());
            next.limiting -= usize::from(before.limits_speed());
        }
        next.cover.insert(std::slice::from_ref(&fence));
        next.inferring += usize::from(fence.infers_passages());
        next.limiting += usize::from(fence.limits_speed());
        let (lost, gained) = (before.and_then(|f| f.last_effective_from()), fence.last_effective_from());
        next.last_effective_from = if lost.is_some() && lost == self.last_effective_from && gained < lost {
            next.iter().filter_map(|fence| fence.last_effective_from()).max()
        } else {
            self.last_effective_from.max(gained)
        };
        next
    }

    /// The fence of an id, if it is in the set.
    #[must_use]
    pub fn get(&self, id: GeofenceId) -> Option<&Arc<FenceTimeline>> {
        self.fences.get(id)
    }

    /// Every fence once, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FenceTimeline>> {
        self.fences.iter()
    }

    /// The number of fences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fences.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any active version of any fence infers passages; if not, ways between fixes need
    /// no search.
    #[must_use]
    pub fn infers_passages(&self) -> bool {
        self.inferring > 0
    }

    /// Whether any version of any fence limits the speed; if not, a vehicle has no other limit than its own.
    #[must_use]
    pub fn limits_speed(&self) -> bool {
        self.limiting > 0
    }

    /// The latest instant from which any version in the set is in force; `None` if all have always been in force.
    /// Between two later fixes no fence changes.
    #[must_use]
    pub fn last_effective_from(&self) -> Option<Timestamp> {
        self.last_effective_from
    }

    /// Calls `each` once for every fence of which a version holds the place, and for some that only come near it;
    /// in no order.
    pub fn for_each_near<'a>(&'a self, place: Place, mut each: impl FnMut(Near<'a>)) {
        self.cover.for_each_at(Spot::of(place), |fence, is_inside| each(Near { fence, place, is_inside }));
    }

    /// Calls `each` once for every fence of which a version's boundary meets the way, the shorter way round, and
    /// for some that only come near.
    pub fn for_each_near_segment<'a>(
        &'a self,
        from: Place,
        to: Place,
        each: impl FnMut(&'a Arc<FenceTimeline>),
    ) {
        let end = from.longitude + eastward_degrees(from.longitude, to.longitude);
        let segment =
            Segment::between(Point { x: from.longitude, y: from.latitude }, Point { x: end, y: to.latitude });
        let mut met = Vec::new();
        segment.turned().for_each(|segment| self.cover.list_met(&segment, &mut met));
        if met.len() > 1 {
            met.sort_unstable_by_key(|fence| fence.id);
            met.dedup_by_key(|fence| fence.id);
        }
        met.into_iter().for_each(each);
    }

    /// Bytes the index takes on the heap, excluding the fences.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.cover.heap_bytes()
    }
}

impl std::fmt::Debug for FenceSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FenceSet({} fences)", self.len())
    }
}
