//! Whether the fault is in what is written, or in the store.

use crate::model::VehicleId;

/// Writes of this many vehicles refused for good, without one accepted in between, mean that the fault is not in the writes.
const MOST_IN_A_ROW: u32 = 64;

/// Refused writes since the last one that was accepted. Many of one vehicle say nothing of the store: all of them may lie within one
/// damaged row.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    in_a_row: u32,
    last: Option<VehicleId>,
}

impl Refusals {
    pub(super) fn note(&mut self, vehicle: VehicleId) {
        if self.last.replace(vehicle) != Some(vehicle) {
            self.in_a_row += 1;
        }
    }

    /// Whether so many were refused that the store takes nothing.
    pub(super) const fn are_of_everything(&self) -> bool {
        self.in_a_row >= MOST_IN_A_ROW
    }
}
