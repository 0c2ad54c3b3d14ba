//! Twenty seconds of readings merged into one cell, which bounds the detector's memory whatever the reporting rate.

use serde::{Deserialize, Serialize};

use super::reading::Reading;
use super::smoothing::median;
use crate::model::{Place, Timestamp};

/// Cells begin at multiples of this since 1970, so that they are the same wherever a replay begins.
/// Seconds: shorter than any refuel, and a sixth of the two minutes edges must be placed within.
pub(super) const CELL_SECONDS: f64 = 20.0;
const CELL_MICROS: i64 = 20_000_000;
/// Levels of a cell that count; more than this many in twenty seconds add nothing.
const MAX_LEVELS: usize = 64;
/// Between two moving readings closer than this, a vehicle cannot have braked, stood for a minute and come up to
/// speed again. Seconds.
const MAY_HIDE_A_STOP_SECONDS: f64 = 120.0;

/// What happened between two levels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Travel {
    /// Seconds in which the vehicle may have stood.
    pub(super) still_seconds: f64,
    /// Whether it moved at any time.
    pub(super) moved: bool,
    /// Whether anything is known of its motion.
    pub(super) known: bool,
    /// How far it went, if that is known throughout.
    pub(super) meters: Option<f64>,
}

impl Default for Travel {
    fn default() -> Self {
        Self { still_seconds: 0.0, moved: false, known: false, meters: Some(0.0) }
    }
}

impl Travel {
    /// Advances from a reading to the next one.
    pub(super) fn proceed(
        &mut self,
        from: Option<bool>,
        to: Option<bool>,
        seconds: f64,
        meters: Option<f64>,
    ) {
        let moving = Some(true);
        if !(from == moving && to == moving && seconds < MAY_HIDE_A_STOP_SECONDS) {
            self.still_seconds += seconds;
        }
        self.moved |= from == moving || to == moving;
        self.known |= from.is_some() || to.is_some();
        self.meters = self.meters.zip(meters).map(|(so_far, more)| so_far + more);
    }

    /// Whether it moved, or its motion is unknown.
    pub(super) fn may_have_moved(&self) -> bool {
        self.moved || !self.known
    }

    fn add(&mut self, other: Self) {
        self.still_seconds += other.still_seconds;
        self.moved |= other.moved;
        self.known |= other.known;
        self.meters = self.meters.zip(other.meters).map(|(so_far, more)| so_far + more);
    }
}

/// A closed cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Packed", into = "Packed")]
pub(super) struct Cell {
    /// Its first reading.
    pub(super) from: Timestamp,
    /// Its last reading.
    pub(super) to: Timestamp,
    /// The median of its readings.
    pub(super) liters: f64,
    /// From the last reading of the previous cell to its own last one.
    pub(super) travel: Travel,
    /// Where its last reading was.
    pub(super) place: Option<Place>,
}

/// A cell as it is stored: a tuple instead of named members, since a vehicle's state has about a hundred of them.
type Packed = (i64, i64, f64, f64, bool, bool, Option<f64>, Option<(f64, f64)>);

impl From<Packed> for Cell {
    fn from((from, to, liters, still_seconds, moved, known, meters, place): Packed) -> Self {
        Self {
            from: Timestamp::from_micros(from),
            to: Timestamp::from_micros(to),
            liters,
            travel: Travel { still_seconds, moved, known, meters },
            place: place.map(|(latitude, longitude)| Place::new(latitude, longitude)),
        }
    }
}

impl From<Cell> for Packed {
    fn from(cell: Cell) -> Self {
        let Travel { still_seconds, moved, known, meters } = cell.travel;
        let place = cell.place.map(|place| (place.latitude, place.longitude));
        (cell.from.as_micros(), cell.to.as_micros(), cell.liters, still_seconds, moved, known, meters, place)
    }
}

/// The cell that still takes readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenCell {
    from: Timestamp,
    pub(super) to: Timestamp,
    levels: Vec<f64>,
    #[serde(rename = "way")]
    travel: Travel,
    place: Option<Place>,
}

impl OpenCell {
    pub(super) fn begin(reading: &Reading, liters: f64, travel: Travel) -> Self {
        Self { from: reading.at, to: reading.at, levels: vec![liters], travel, place: reading.place }
    }

    /// Whether a reading of this instant belongs to it.
    pub(super) fn holds(&self, at: Timestamp) -> bool {
        at.as_micros().div_euclid(CELL_MICROS) == self.from.as_micros().div_euclid(CELL_MICROS)
    }

    pub(super) fn add(&mut self, reading: &Reading, liters: f64, travel: Travel) {
        if self.levels.len() < MAX_LEVELS {
            self.levels.push(liters);
        }
        self.to = reading.at;
        self.travel.add(travel);
        self.place = reading.place.or(self.place);
    }

    /// The cell as it stands now, closed.
    pub(super) fn closed(&self) -> Option<Cell> {
        let liters = median(&mut self.levels.clone())?;
        Some(Cell { from: self.from, to: self.to, liters, travel: self.travel, place: self.place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn travel(moving: Option<bool>, meters: Option<f64>) -> Travel {
        let mut travel = Travel::default();
        travel.proceed(moving, moving, 10.0, meters);
        travel
    }

    #[test]
    fn what_is_known_of_a_part_is_known_of_the_whole_but_for_the_way() {
        let stood = travel(Some(false), Some(0.0));
        let (moved, unknown) = (travel(Some(true), Some(50.0)), travel(None, None));
        for (a, b, whole) in [
            (stood, moved, Travel { moved: true, known: true, still_seconds: 10.0, meters: Some(50.0) }),
            (stood, unknown, Travel { moved: false, known: true, still_seconds: 20.0, meters: None }),
            (moved, unknown, Travel { moved: true, known: true, still_seconds: 10.0, meters: None }),
        ] {
            for (first, second) in [(a, b), (b, a)] {
                let mut sum = first;
                sum.add(second);
                assert_eq!(sum, whole);
            }
        }
    }
}
