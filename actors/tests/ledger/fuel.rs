//! The fuel log, refuels and drains, by the same rules.

use std::collections::{BTreeMap, BTreeSet};

use waypost_actors::fuel::{FuelRecord, FuelRow};
use waypost_actors::model::{EventId, EventStatus, Origin, Timestamp};
use waypost_actors::tracking::{Correction, Effects, compare};

use super::Ledger;

impl Ledger {
    pub(super) fn write_fuel(&mut self, effects: &Effects, next_sequence: &mut i64) -> Vec<FuelRecord> {
        self.fuel_rows.extend(effects.fuel_rows.iter().map(|row| (row.recorded_at, *row)));
        let mut told: Vec<FuelRecord> = Vec::new();
        for record in &effects.fuel_events {
            match self.fuel_events.get(&record.event.id) {
                Some(stored) if stored.status == EventStatus::Active => {}
                stored => {
                    let revision = stored.map_or(1, |stored| stored.revision + 1);
                    told.push(FuelRecord { revision, ..record.clone() });
                }
            }
        }
        if let Some(correction) = &effects.correction {
            self.correct_rows(correction);
            told.extend(self.correct_fuel(correction));
        }
        for record in &mut told {
            record.sequence = *next_sequence;
            *next_sequence += 1;
            self.fuel_events.insert(record.event.id, record.clone());
        }
        told
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

    fn correct_fuel(&mut self, correction: &Correction) -> Vec<FuelRecord> {
        let asked =
            |record: &&FuelRecord| correction.fuel_events.iter().any(|made| made.event.id == record.event.id);
        let in_part = |record: &&FuelRecord| {
            record.status == EventStatus::Active && correction.covers(record.confirmed_at)
        };
        let stored = self.fuel_events.values().filter(|record| asked(record) || in_part(record));
        let stored: Vec<FuelRecord> = stored.cloned().collect();
        let (told, moved) = compare(&stored, &correction.fuel_events, correction);
        self.fuel_events.extend(moved.into_iter().map(|record| (record.event.id, record)));
        told
    }

    /// The refuels and drains that hold, by id.
    pub(crate) fn active_fuel(&self) -> BTreeMap<EventId, FuelRecord> {
        let active = self.fuel_events.values().filter(|record| record.status == EventStatus::Active);
        active.map(|record| (record.event.id, record.clone())).collect()
    }

    /// The law: the log, the refuels and the drains are what in-order input left.
    pub(super) fn keeps_the_law_of_fuel(&self, in_order: &Effects) {
        let rows: BTreeMap<Timestamp, FuelRow> =
            in_order.fuel_rows.iter().map(|row| (row.recorded_at, *row)).collect();
        assert_eq!(self.fuel_rows, rows);
        let found = in_order.fuel_events.iter().cloned().map(|record| (record.event.id, record)).collect();
        assert_eq!(plain(self.active_fuel()), plain(found));
    }
}

/// Records without what says how and when they were found.
fn plain(records: BTreeMap<EventId, FuelRecord>) -> BTreeMap<EventId, FuelRecord> {
    let plain = |record: FuelRecord| FuelRecord {
        sequence: 0,
        revision: 0,
        origin: Origin::Live,
        detected_at: Timestamp::FIRST,
        ..record
    };
    records.into_iter().map(|(id, record)| (id, plain(record))).collect()
}
