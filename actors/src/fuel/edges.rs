//! Finds the edges between cells across which the level changed: the middle of the cells before against the middle
//! of those after (docs/fuel.md §4).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cell::{CELL_SECONDS, Cell};
use super::smoothing::{Robust, robust};
use super::tank::Tank;

/// Nothing reported for longer than this is a silence: a window does not reach over one. Seconds.
pub(super) const SILENCE_SECONDS: f64 = 600.0;
/// The least number of cells in a window, so that one wild reading never decides.
pub(super) const MIN_CELLS: usize = 3;
/// While driving the level is off for as long as a hill or a row of bends lasts, so cells closer than
/// this repeat each other. Seconds.
const INDEPENDENT_SECONDS: f64 = 60.0;
/// The standard error of a median is this many times that of a mean: √(π/2).
pub(super) const MEDIAN_ERROR: f64 = 1.2533;
/// The least change that counts, in standard errors.
pub(super) const SIGNIFICANT_ERRORS: f64 = 4.0;
/// The smallest change that counts, in litres, and as a share of the tank (docs/fuel.md §4).
const MIN_CHANGE_LITERS: f64 = 5.0;
const MIN_CHANGE_SHARE: f64 = 0.03;

/// The smallest change in litres that counts for this tank, however quiet its sensor is.
pub(super) fn least_change(tank: &Tank) -> f64 {
    MIN_CHANGE_LITERS.max(MIN_CHANGE_SHARE * tank.capacity_liters)
}

/// Edges in a row across which the level changed the same way. Indices of cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) last: usize,
    /// By how much it changed across the first edge, in litres. Its sign is that of the whole run.
    pub(super) change: f64,
}

/// Cells seen through windows of `seconds`.
#[derive(Clone, Copy)]
pub(super) struct Windows<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) seconds: f64,
}

impl Windows<'_> {
    /// The cells before an edge: a window's worth, or three; fewer only at the very beginning.
    pub(super) fn before(&self, edge: usize) -> Range<usize> {
        let (mut first, mut seconds) = (edge, 0.0);
        while first > 0 && seconds < self.seconds && !(edge - first >= MIN_CELLS && self.silence_at(first)) {
            first -= 1;
            seconds += self.weight(first);
        }
        first..edge
    }

    /// The cells after an edge: a window's worth, or three before a silence; and whether it is full.
    pub(super) fn after(&self, edge: usize) -> (Range<usize>, bool) {
        let (mut end, mut seconds) = (edge, 0.0);
        while end < self.cells.len() {
            if seconds >= self.seconds || end - edge >= MIN_CELLS && self.silence_at(end) {
                return (edge..end, true);
            }
            seconds += self.weight(end);
            end += 1;
        }
        (edge..end, seconds >= self.seconds)
    }

    /// By how much the level changed across an edge, if that is more than noise explains; 0 if not. `None` while
    /// too little came after it.
    pub(super) fn change_at(&self, edge: usize, tank: &Tank) -> Option<f64> {
        let (after, full) = self.after(edge);
        if !full {
            return None;
        }
        let before = self.before(edge);
        if before.len() < MIN_CELLS {
            return Some(0.0);
        }
        let Some((old, new)) = self.middle(before.clone()).zip(self.middle(after.clone())) else {
            return Some(0.0);
        };
        let change = new.level - old.level;
        let noise = SIGNIFICANT_ERRORS * (self.variance(before, old) + self.variance(after, new)).sqrt();
        Some(if change.abs() >= least_change(tank).max(noise) { change } else { 0.0 })
    }

    /// The robust middle of these cells' levels.
    pub(super) fn middle(&self, cells: Range<usize>) -> Option<Robust> {
        robust(self.cells[cells].iter().map(|cell| cell.liters))
    }

    /// The variance of a window's middle, estimated from the scatter of its cells.
    pub(super) fn variance(&self, cells: Range<usize>, found: Robust) -> f64 {
        (MEDIAN_ERROR * found.deviation).powi(2) / self.independent(cells)
    }

    /// The number of independent cells in a window.
    pub(super) fn independent(&self, cells: Range<usize>) -> f64 {
        cells.map(|cell| (self.step(cell) / INDEPENDENT_SECONDS).min(1.0)).sum::<f64>().max(1.0)
    }

    /// Whether there was a silence before this cell.
    pub(super) fn silence_at(&self, cell: usize) -> bool {
        cell > 0 && self.cells[cell].from.seconds_since(self.cells[cell - 1].to) > SILENCE_SECONDS
    }

    /// Seconds since the previous cell.
    fn step(&self, cell: usize) -> f64 {
        if cell == 0 { CELL_SECONDS } else { self.cells[cell].from.seconds_since(self.cells[cell - 1].from) }
    }

    /// The seconds a cell adds to a window; a cell long after the previous one counts as a third of the window.
    fn weight(&self, cell: usize) -> f64 {
        self.step(cell).min(self.seconds / MIN_CELLS as f64)
    }
}
