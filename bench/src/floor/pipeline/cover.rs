//! A grid over the region: per cell the fences that meet it, and whether their edge does.

use std::collections::HashSet;

use geo::Coord;

use super::cell;
use super::stripes::Stripes;
use crate::world::{SOUTH, WEST, WIDTH};

/// Cells along a fence's side.
const CELLS_PER_FENCE: usize = 16;
const MOST_CELLS: usize = 8_192;

/// Per cell `fence << 1 | its edge is here`.
pub(super) struct Cover {
    side: usize,
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Cover {
    pub(super) fn new(rings: &[Vec<Coord>], stripes: &[Stripes]) -> Self {
        let fences_along = (rings.len() as f64 / 1.5).sqrt().max(1.0);
        let side = ((fences_along.ceil() as usize) * CELLS_PER_FENCE).min(MOST_CELLS);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut met = HashSet::new();
        for (number, (ring, stripes)) in rings.iter().zip(stripes).enumerate() {
            let entry = (number as u32) << 1;
            met.clear();
            for edge in ring.windows(2) {
                met.extend(cells(edge[0], edge[1], side));
            }
            let (low, high) = stripes.corners();
            for cell in cells(low, high, side) {
                let width = WIDTH / side as f64;
                let middle = (
                    WEST + ((cell % side) as f64 + 0.5) * width,
                    SOUTH + ((cell / side) as f64 + 0.5) * width,
                );
                if met.contains(&cell) {
                    pairs.push((cell as u32, entry | 1));
                } else if stripes.holds(middle.0, middle.1) {
                    pairs.push((cell as u32, entry));
                }
            }
        }
        pairs.sort_unstable();
        let mut starts = vec![0_u32; side * side + 1];
        for (cell, _) in &pairs {
            starts[*cell as usize + 1] += 1;
        }
        for cell in 0..side * side {
            starts[cell + 1] += starts[cell];
        }
        Self { side, starts, entries: pairs.into_iter().map(|(_, entry)| entry).collect() }
    }

    /// The entries of a place's cell, and whether it is within that cell: beyond the region it is the nearest one, in which fences
    /// at the border are, and what is said of the whole cell is not said of the place.
    pub(super) fn at(&self, x: f64, y: f64) -> (&[u32], bool) {
        let (cell, is_within) = cell(x, y, self.side);
        (&self.entries[self.starts[cell] as usize..self.starts[cell + 1] as usize], is_within)
    }
}

/// The cells of the box of two points.
fn cells(a: Coord, b: Coord, side: usize) -> impl Iterator<Item = usize> {
    let clamp = |offset: f64| ((offset / WIDTH * side as f64).floor().max(0.0) as usize).min(side - 1);
    let columns = clamp(a.x.min(b.x) - WEST)..=clamp(a.x.max(b.x) - WEST);
    let rows = clamp(a.y.min(b.y) - SOUTH)..=clamp(a.y.max(b.y) - SOUTH);
    rows.flat_map(move |row| columns.clone().map(move |column| row * side + column))
}
