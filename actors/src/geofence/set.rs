//! The fences of one organization, as a snapshot that answers "which are near".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use super::{FenceTimeline, GeoBox};
use crate::model::{GeofenceId, Place, Timestamp};

/// An immutable snapshot of one organization's fences with its spatial index.
///
/// A large base is shared between snapshots; the edits since lie in a small overlay that is
/// looked through entry by entry.
#[derive(Clone, Default)]
pub struct FenceSet {
    base: Arc<Base>,
    /// Fences newer than the base, each once.
    overlay: Vec<Arc<FenceTimeline>>,
    /// Numbers of the fences of the base that the overlay replaces, ascending.
    replaced: Vec<u32>,
    /// How many fences infer passages.
    inferring: usize,
    last_effective_from: Option<Timestamp>,
}

#[derive(Default)]
struct Base {
    fences: Vec<Arc<FenceTimeline>>,
    numbers: HashMap<GeofenceId, u32>,
    tree: RTree<Entry>,
}

/// A box of a fence. A fence has several where it crosses the antimeridian or was moved.
type Entry = GeomWithData<Rectangle<[f64; 2]>, Slot>;

#[derive(Clone, Copy)]
struct Slot {
    number: u32,
    /// Whether this is the fence's only box.
    sole: bool,
}

impl Base {
    fn build(fences: Vec<Arc<FenceTimeline>>) -> Self {
        let numbers = fences.iter().zip(0..).map(|(fence, number)| (fence.id, number)).collect();
        let entries = fences.iter().zip(0..).flat_map(|(fence, number)| {
            let slot = Slot { number, sole: fence.boxes().len() == 1 };
            fence.boxes().iter().map(move |area| Entry::new(rectangle(area), slot))
        });
        let tree = RTree::bulk_load(entries.collect());
        Self { fences, numbers, tree }
    }
}

impl FenceSet {
    /// Edits that may wait in the overlay before they are folded into a new base.
    const MAX_OVERLAY: usize = 64;

    /// A set without fences.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Indexes fences, all of them at once. Of several with one id the last one counts.
    #[must_use]
    pub fn new(fences: Vec<Arc<FenceTimeline>>) -> Self {
        let mut seen = HashMap::with_capacity(fences.len());
        let mut kept: Vec<Arc<FenceTimeline>> = Vec::with_capacity(fences.len());
        for fence in fences {
            match seen.get(&fence.id) {
                Some(&at) => kept[at] = fence,
                None => {
                    seen.insert(fence.id, kept.len());
                    kept.push(fence);
                }
            }
        }
        let inferring = kept.iter().filter(|fence| fence.infers_passages()).count();
        let last_effective_from = kept.iter().filter_map(|fence| fence.last_effective_from()).max();
        Self {
            base: Arc::new(Base::build(kept)),
            overlay: Vec::new(),
            replaced: Vec::new(),
            inferring,
            last_effective_from,
        }
    }

    /// This set with a fence added, in place of one with the same id. Cheap but for every 65th
    /// time, when the edits are folded into a new index.
    #[must_use]
    pub fn with(&self, fence: Arc<FenceTimeline>) -> Self {
        let mut next = self.clone();
        let before = self.get(fence.id);
        next.inferring += usize::from(fence.infers_passages());
        next.inferring -= usize::from(before.is_some_and(|before| before.infers_passages()));
        next.last_effective_from = self.last_effective_from_with(before, &fence);
        if let Some(&number) = self.base.numbers.get(&fence.id)
            && let Err(at) = next.replaced.binary_search(&number)
        {
            next.replaced.insert(at, number);
        }
        match next.overlay.iter_mut().find(|other| other.id == fence.id) {
            Some(other) => *other = fence,
            None => next.overlay.push(fence),
        }
        if next.overlay.len() > Self::MAX_OVERLAY { Self::new(next.iter().cloned().collect()) } else { next }
    }

    fn last_effective_from_with(
        &self,
        before: Option<&Arc<FenceTimeline>>,
        fence: &FenceTimeline,
    ) -> Option<Timestamp> {
        let (lost, gained) = (before.and_then(|f| f.last_effective_from()), fence.last_effective_from());
        if lost.is_some() && lost == self.last_effective_from && gained < lost {
            let others = self.iter().filter(|other| other.id != fence.id);
            others.filter_map(|other| other.last_effective_from()).max().max(gained)
        } else {
            self.last_effective_from.max(gained)
        }
    }

    /// The fence of an id, if it is in the set.
    #[must_use]
    pub fn get(&self, id: GeofenceId) -> Option<&Arc<FenceTimeline>> {
        self.overlay
            .iter()
            .find(|fence| fence.id == id)
            .or_else(|| self.base.numbers.get(&id).map(|&number| &self.base.fences[number as usize]))
    }

    /// Every fence once, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FenceTimeline>> {
        let kept = self.base.fences.iter().zip(0..).filter(|(_, number)| !self.is_replaced(*number));
        kept.map(|(fence, _)| fence).chain(&self.overlay)
    }

    /// How many fences there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.base.fences.len() - self.replaced.len() + self.overlay.len()
    }

    /// Whether there are none.
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

    /// The latest instant from which any version in the set is in force; `None` when all are in
    /// force always. Two later fixes have no change of fences between them.
    #[must_use]
    pub fn last_effective_from(&self) -> Option<Timestamp> {
        self.last_effective_from
    }

    /// Calls `each` once for every fence one of whose versions has a box that holds the place.
    pub fn for_each_near(&self, place: Place, each: impl FnMut(&Arc<FenceTimeline>)) {
        self.for_each_near_segment(place, place, each);
    }

    /// Calls `each` once for every fence one of whose versions has a box that meets the box of
    /// the way, the shorter way round.
    pub fn for_each_near_segment(&self, from: Place, to: Place, mut each: impl FnMut(&Arc<FenceTimeline>)) {
        let (first, second) = GeoBox::of_way(from, to);
        let mut seen = HashSet::new();
        for area in std::iter::once(&first).chain(&second) {
            for entry in self.base.tree.locate_in_envelope_intersecting(&envelope(area)) {
                let Slot { number, sole } = entry.data;
                if self.is_replaced(number) {
                    continue;
                }
                let may_recur = !sole || second.is_some();
                if may_recur && !seen.insert(number) {
                    continue;
                }
                each(&self.base.fences[number as usize]);
            }
        }
        let meets = |area: &GeoBox| area.meets(&first) || second.is_some_and(|second| area.meets(&second));
        self.overlay.iter().filter(|fence| fence.boxes().iter().any(meets)).for_each(each);
    }

    fn is_replaced(&self, number: u32) -> bool {
        !self.replaced.is_empty() && self.replaced.binary_search(&number).is_ok()
    }
}

impl std::fmt::Debug for FenceSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FenceSet({} fences, {} in the overlay)", self.len(), self.overlay.len())
    }
}

fn rectangle(area: &GeoBox) -> Rectangle<[f64; 2]> {
    Rectangle::from_corners([area.west, area.south], [area.east, area.north])
}

fn envelope(area: &GeoBox) -> AABB<[f64; 2]> {
    AABB::from_corners([area.west, area.south], [area.east, area.north])
}
