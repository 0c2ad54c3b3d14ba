//! The fences of an organization by id, in pages that snapshots share.

use std::collections::HashMap;
use std::sync::Arc;

use super::timeline::FenceTimeline;
use crate::model::GeofenceId;

/// Never changes under its readers: an edit copies the one page it touches.
#[derive(Clone)]
pub(super) struct PagedMap {
    /// Their number is a power of two.
    pages: Arc<[Arc<Page>]>,
    len: usize,
}

type Page = HashMap<GeofenceId, Arc<FenceTimeline>>;

impl Default for PagedMap {
    fn default() -> Self {
        Self::with_pages(1)
    }
}

impl PagedMap {
    /// The average number of fences per page right after the number of pages was doubled.
    const PAGE_LENGTH: usize = 256;

    /// An empty map with room for `len` fences.
    pub(super) fn for_len(len: usize) -> Self {
        Self::with_pages((len / Self::PAGE_LENGTH).next_power_of_two())
    }

    fn with_pages(count: usize) -> Self {
        Self { pages: (0..count).map(|_| Arc::default()).collect(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, id: GeofenceId) -> Option<&Arc<FenceTimeline>> {
        self.pages[self.page(id)].get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<FenceTimeline>> {
        self.pages.iter().flat_map(|page| page.values())
    }

    /// Puts a fence in and returns the one of the same id that was there.
    pub(super) fn insert(&mut self, fence: Arc<FenceTimeline>) -> Option<Arc<FenceTimeline>> {
        if self.len >= 2 * Self::PAGE_LENGTH * self.pages.len() {
            let mut larger = Self::for_len(self.len);
            self.iter().cloned().for_each(|fence| _ = larger.insert(fence));
            *self = larger;
        }
        let page = self.page(fence.id);
        let before = Arc::make_mut(&mut Arc::make_mut(&mut self.pages)[page]).insert(fence.id, fence);
        self.len += usize::from(before.is_none());
        before
    }

    fn page(&self, id: GeofenceId) -> usize {
        // Fibonacci hashing: the upper bits of the product depend on all bits of the id.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let (high, low) = id.0.as_u64_pair();
        let product = (high ^ low).wrapping_mul(GOLDEN);
        (product >> 32) as usize & (self.pages.len() - 1)
    }
}
