//! The fences of an organization on the cells of the world: a look-up of a place finds at once which fences hold it
//! for certain, and which few may.
//!
//! A tree of blocks that never changes under its readers: an edit copies the blocks it passes through and shares
//! the rest. So its cost depends on the cells of its fence, however many other fences there are, and nothing has to
//! be rebuilt.

use std::sync::Arc;

use super::boxes::GeoBox;
use super::cell_rasterizer::{CellRasterizer, Masks, RasterizedCells, cell_bits};
use super::cells::{Block, Mask, Segment, Spot, cells};
use super::timeline::FenceTimeline;

/// The cells of a block, and what lies in them.
#[derive(Clone, Default)]
pub(super) struct Cover {
    /// Cells that are divided into smaller ones, which are in `blocks` in the order of these bits.
    divided: Mask,
    blocks: Arc<[Self]>,
    /// How these cells relate to fences. No place is in two cells of one fence.
    holdings: Arc<[Holding]>,
}

#[derive(Clone)]
struct Holding {
    fence: Arc<FenceTimeline>,
    masks: Masks,
}

impl Cover {
    /// Fences added together, so that a block they share is copied once for all of them.
    const TOGETHER: usize = 64;

    /// Adds fences that are not in it.
    pub(super) fn insert(&mut self, fences: &[Arc<FenceTimeline>]) {
        for some in fences.chunks(Self::TOGETHER) {
            let rasterizers: Vec<CellRasterizer<'_>> = some.iter().map(CellRasterizer::of).collect();
            self.insert_in(&Block::WORLD, &rasterizers);
        }
    }

    fn insert_in(&mut self, block: &Block, rasterizers: &[CellRasterizer<'_>]) {
        let rasterized: Vec<RasterizedCells<'_, '_>> =
            rasterizers.iter().map(|rasterizer| rasterizer.rasterize(block)).collect();
        let new = rasterized.iter().filter(|raster| raster.masks.inside | raster.masks.maybe != 0);
        let new: Vec<Holding> =
            new.map(|raster| Holding { fence: Arc::clone(raster.fence()), masks: raster.masks }).collect();
        if !new.is_empty() {
            self.holdings = self.holdings.iter().cloned().chain(new).collect();
        }
        let divided = rasterized.iter().fold(0, |all, raster| all | raster.to_subdivide);
        self.divide(divided);
        if divided != 0 {
            let blocks = Arc::make_mut(&mut self.blocks);
            for cell in cells(divided) {
                let to_subdivide = rasterized.iter().filter(|raster| raster.to_subdivide & (1 << cell) != 0);
                let closer: Vec<CellRasterizer<'_>> =
                    to_subdivide.map(|raster| raster.within(cell)).collect();
                blocks[position(self.divided, cell)].insert_in(&block.within(cell), &closer);
            }
            // A closer look may find that nothing is there.
            self.drop_empty();
        }
    }

    /// Removes a fence that was inserted in its present form.
    pub(super) fn remove(&mut self, fence: &FenceTimeline) {
        self.remove_in(&Block::WORLD, fence, fence.boxes(), cell_bits(fence));
    }

    /// `boxes`: those of the fence that come into the block.
    fn remove_in(&mut self, block: &Block, fence: &FenceTimeline, boxes: &[GeoBox], cell_bits: u32) {
        if self.holdings.iter().any(|held| held.fence.id == fence.id) {
            self.holdings = self.holdings.iter().filter(|held| held.fence.id != fence.id).cloned().collect();
        }
        let is_divided = block.cell_bits() > cell_bits;
        let each = if is_divided { block.touched_by_each(boxes) } else { Vec::new() };
        let within = self.divided & each.iter().fold(0, |all, mask| all | mask);
        if within != 0 {
            let blocks = Arc::make_mut(&mut self.blocks);
            for cell in cells(within) {
                let near = boxes.iter().zip(&each).filter(|(_, mask)| **mask & (1 << cell) != 0);
                let near: Vec<GeoBox> = near.map(|(area, _)| *area).collect();
                let held = &mut blocks[position(self.divided, cell)];
                held.remove_in(&block.within(cell), fence, &near, cell_bits);
            }
            self.drop_empty();
        }
    }

    /// Gives each of the wanted cells a block of its own if it has none.
    fn divide(&mut self, wanted: Mask) {
        if wanted & !self.divided == 0 {
            return;
        }
        let all = self.divided | wanted;
        let known = |cell: u32| self.divided & (1 << cell) != 0;
        let block = |cell| {
            if known(cell) { self.blocks[position(self.divided, cell)].clone() } else { Self::default() }
        };
        self.blocks = cells(all).map(block).collect();
        self.divided = all;
    }

    fn drop_empty(&mut self) {
        let is_empty = |block: &Self| block.divided == 0 && block.holdings.is_empty();
        if self.blocks.iter().any(is_empty) {
            let kept = cells(self.divided).zip(self.blocks.iter()).filter(|(_, block)| !is_empty(block));
            let (divided, blocks): (Vec<u32>, Vec<Self>) =
                kept.map(|(cell, block)| (cell, block.clone())).unzip();
            self.divided = divided.into_iter().fold(0, |all, cell| all | 1 << cell);
            self.blocks = blocks.into();
        }
    }

    /// Calls `each` once for every fence that may hold a spot, with whether all of its shapes certainly do.
    pub(super) fn for_each_at<'a>(&'a self, spot: Spot, mut each: impl FnMut(&'a Arc<FenceTimeline>, bool)) {
        let (mut here, mut block) = (self, Block::WORLD);
        loop {
            let cell = block.cell(spot);
            let bit = 1 << cell;
            for held in here.holdings.iter() {
                if (held.masks.inside | held.masks.maybe) & bit != 0 {
                    each(&held.fence, held.masks.inside & bit != 0);
                }
            }
            if here.divided & bit == 0 {
                break;
            }
            here = &here.blocks[position(here.divided, cell)];
            block = block.within(cell);
        }
    }

    /// Lists every fence whose edge a segment may meet, some of them more than once.
    pub(super) fn list_met<'a>(&'a self, segment: &Segment, into: &mut Vec<&'a Arc<FenceTimeline>>) {
        self.list_met_in(&Block::WORLD, segment, into);
    }

    fn list_met_in<'a>(&'a self, block: &Block, segment: &Segment, into: &mut Vec<&'a Arc<FenceTimeline>>) {
        let touched = block.touched(segment);
        let met = self.holdings.iter().filter(|held| held.masks.maybe & touched != 0);
        into.extend(met.map(|held| &held.fence));
        for cell in cells(self.divided & touched) {
            self.blocks[position(self.divided, cell)].list_met_in(&block.within(cell), segment, into);
        }
    }

    /// Bytes on the heap, excluding the fences.
    pub(super) fn heap_bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        let slices = [size_of_val(&*self.holdings), size_of_val(&*self.blocks)];
        slices.into_iter().filter(|bytes| *bytes > 0).map(|bytes| bytes + COUNTS).sum::<usize>()
            + self.blocks.iter().map(Self::heap_bytes).sum::<usize>()
    }
}

/// The index of a cell's block among those of a mask.
const fn position(mask: Mask, cell: u32) -> usize {
    (mask & ((1 << cell) - 1)).count_ones() as usize
}
