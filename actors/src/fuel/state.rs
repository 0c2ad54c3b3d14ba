//! What the detector remembers of a vehicle between readings. Stored as it is.

use serde::{Deserialize, Serialize};

use super::candidate::Candidate;
use super::cell::{Cell, OpenCell, Travel};
use super::edges::Run;
use super::event::FuelEvent;
use super::reading::Reading;
use super::smoothing::robust;
use super::tank::Tank;
use super::wander::Wander;
use crate::model::{Timestamp, VehicleId};

/// The newest reading of any quality.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    at: Timestamp,
    moving: Option<bool>,
}

/// A vehicle's tank between two readings. A function of the readings alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FuelState {
    /// The version of the configuration by which its levels were read.
    pub(super) version: Option<i64>,
    last: Option<Last>,
    /// What happened since the newest level.
    #[serde(rename = "way")]
    travel: Travel,
    open: Option<OpenCell>,
    /// The newest closed cells, in order.
    pub(super) cells: Vec<Cell>,
    /// The first edge that is not judged yet, by the index of the cell after it.
    pub(super) next: usize,
    /// The consecutive edges across which the level has changed so far.
    pub(super) run: Option<Run>,
    /// How far the level strays while the vehicle drives.
    pub(super) wander: Wander,
    /// A change that may still return, or continue.
    pub(super) held: Option<Candidate>,
    /// A later change that is no event, while what it leaves of the held one is not judged yet. It may itself return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) aside: Option<Candidate>,
}

impl FuelState {
    /// The newest reading's instant; a reading that is not newer is late, and left to a replay.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        self.last.map(|last| last.at)
    }

    /// The version of the configuration by which its levels were read.
    #[must_use]
    pub const fn version(&self) -> Option<i64> {
        self.version
    }

    /// The current level in litres, smoothed over the readings within the window up to the newest one.
    #[must_use]
    pub fn level_liters(&self, tank: &Tank) -> Option<f64> {
        let newest = self.last?.at;
        let recent = |cell: &&Cell| newest.seconds_since(cell.to) <= tank.window_seconds;
        let open = self.open.as_ref().and_then(OpenCell::closed);
        let cells = self.cells.iter().chain(open.as_ref()).filter(recent);
        robust(cells.map(|cell| cell.liters)).map(|found| found.level)
    }

    /// An event that was found but is not final yet: what happens within the next quarter of an hour can make it
    /// larger, or undo it. For a warning, not for a record.
    #[must_use]
    pub fn provisional(&self, vehicle: VehicleId) -> Option<FuelEvent> {
        self.held.as_ref().and_then(|held| held.event(vehicle))
    }

    /// Forgets every level; keeps the newest reading.
    pub(super) fn restart(&mut self, version: i64) {
        *self = Self { version: Some(version), last: self.last, ..Self::default() };
    }

    /// Appends a closed cell.
    pub(super) fn push(&mut self, cell: Cell, tank: &Tank) {
        if let Some(before) = self.cells.last() {
            self.wander.learn(before, &cell, tank);
        }
        self.cells.push(cell);
    }

    /// Advances to a reading that is newer than all before; returns `false` if it is not.
    pub(super) fn proceed(&mut self, reading: &Reading) -> bool {
        let seconds = self.last.map_or(0.0, |last| reading.at.seconds_since(last.at));
        if self.last.is_some() && seconds <= 0.0 {
            return false;
        }
        let moving = reading.moving(seconds);
        let before = self.last.map_or(moving, |last| last.moving);
        let meters = if self.last.is_none() { Some(0.0) } else { reading.distance_meters };
        self.travel.proceed(before, moving, seconds, meters);
        self.last = Some(Last { at: reading.at, moving });
        true
    }

    /// Takes in the level of the newest reading, if it has one. Returns the cell that it closes.
    pub(super) fn take(&mut self, reading: &Reading) -> Option<Cell> {
        let liters = reading.level_liters.filter(|liters| liters.is_finite())?;
        let travel = std::mem::take(&mut self.travel);
        match &mut self.open {
            Some(open) if open.holds(reading.at) => {
                open.add(reading, liters, travel);
                None
            }
            open => open.replace(OpenCell::begin(reading, liters, travel)).and_then(|full| full.closed()),
        }
    }
}
