//! The fuel log, by the same rules.

use std::collections::{BTreeMap, BTreeSet};

use waypost_actors::fuel::FuelRow;
use waypost_actors::model::Timestamp;
use waypost_actors::tracking::{Correction, Effects};

use super::Ledger;

impl Ledger {
    pub(super) fn write_fuel(&mut self, effects: &Effects) {
        self.fuel_rows.extend(effects.fuel_rows.iter().map(|row| (row.recorded_at, *row)));
        if let Some(correction) = &effects.correction {
            self.correct_rows(correction);
        }
    }

    fn correct_rows(&mut self, correction: &Correction) {
        let found: BTreeSet<Timestamp> = correction.fuel_rows.iter().map(|row| row.recorded_at).collect();
        self.fuel_rows.retain(|at, _| {
            !correction.covers(*at) || found.contains(at) || correction.undecided == Some(*at)
        });
        for (fix, _) in correction.quarantines.iter().filter(|(_, why)| why.is_some()) {
            self.fuel_rows.remove(&fix.recorded_at);
        }
        self.fuel_rows.extend(correction.fuel_rows.iter().map(|row| (row.recorded_at, *row)));
    }

    /// The law: the log is what in-order input left.
    pub(super) fn keeps_the_law_of_fuel(&self, in_order: &Effects) {
        let rows: BTreeMap<Timestamp, FuelRow> =
            in_order.fuel_rows.iter().map(|row| (row.recorded_at, *row)).collect();
        assert_eq!(self.fuel_rows, rows);
    }
}
