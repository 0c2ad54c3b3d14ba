//! Turns a run of edges into a change with a beginning and an end, and decides whether it is a refuel, a drain or
//! neither (docs/fuel.md §4).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::edges::{MIN_CELLS, Run, SIGNIFICANT_ERRORS, Windows, least_change};
use super::event::{FuelEvent, FuelEventKind, FuelMotion, event_id};
use super::smoothing::Robust;
use super::tank::Tank;
use super::wander::Wander;
use crate::model::{Place, Timestamp, VehicleId};

/// The old level lasts until a cell is off it by this share of the whole change, or by [`EDGE_DEVIATIONS`] of its
/// noise; the new level is bounded in the same way.
const EDGE_SHARE: f64 = 0.05;
/// The noise counts up to this share of the change: a window that reaches into the slope scatters for another
/// reason.
const MAX_EDGE_SHARE: f64 = 0.2;
const EDGE_DEVIATIONS: f64 = 2.0;
/// Each pass moves an edge out of the slope and looks again; from the middle of the longest slope a
/// window reaches its end in a few.
const EDGE_PASSES: usize = 8;
/// Opening a tank, filling it and closing it takes at least this long. Seconds.
const MIN_STOP_SECONDS: f64 = 60.0;
/// Litres a second while it stands: two high-flow nozzles for lorries, 100 l/min each, in two tanks.
const MAX_REFUEL_LITERS_PER_SECOND: f64 = 200.0 / 60.0;
/// Litres an hour: a pump or a hose empties a tank at 2 l/min and more; no engine of a road vehicle
/// burns a tenth of that at idle, and the largest burn half of it at full load.
const MIN_DRAIN_LITERS_PER_HOUR: f64 = 120.0;
/// Litres an hour a standing vehicle may burn: a large diesel at idle, with its air conditioning.
const IDLE_LITERS_PER_HOUR: f64 = 3.0;
/// Metres a parked receiver strays.
const SAME_PLACE_METERS: f64 = 100.0;
/// The highest confidence in a fall during which nothing was reported.
const MAX_SILENT_DRAIN_CONFIDENCE: f64 = 0.5;
/// The factor on the confidence in an event of a vehicle whose motion is unknown.
const UNKNOWN_MOTION_FACTOR: f64 = 0.8;

/// A change of the level from one plateau to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) before_liters: f64,
    pub(super) after_liters: f64,
    pub(super) place: Option<Place>,
    pub(super) motion: FuelMotion,
    pub(super) confidence: f64,
    /// Whether it is a refuel or a drain; if not, it can still be the return of an earlier change.
    pub(super) counts: bool,
}

impl Candidate {
    pub(super) fn change(&self) -> f64 {
        self.after_liters - self.before_liters
    }

    /// Its record, if it counts as an event.
    pub(super) fn event(&self, vehicle: VehicleId) -> Option<FuelEvent> {
        let kind = if self.change() > 0.0 { FuelEventKind::Refuel } else { FuelEventKind::Drain };
        self.counts.then(|| FuelEvent {
            id: event_id(vehicle, kind, self.started_at),
            kind,
            started_at: self.started_at,
            ended_at: self.ended_at,
            level_before_liters: self.before_liters,
            level_after_liters: self.after_liters,
            volume_liters: self.change().abs(),
            place: self.place,
            motion: self.motion,
            confidence: self.confidence,
        })
    }
}

/// The change behind a run of edges; none that begins within the first three cells, which are no level yet.
pub(super) fn candidate(windows: &Windows<'_>, run: &Run, wander: Wander, tank: &Tank) -> Option<Candidate> {
    let (start, end) = locate(windows, run)?;
    if windows.before(start + 1).len() < MIN_CELLS {
        return None;
    }
    let slope = Slope::new(windows, (start, end), wander, tank)?;
    let change = slope.new.level - slope.old.level;
    let verdict = if change > 0.0 { slope.refuel(tank) } else { slope.drain(tank) };
    Some(Candidate {
        started_at: windows.cells[start].to,
        ended_at: windows.cells[end].from,
        before_liters: slope.old.level,
        after_liters: slope.new.level,
        place: windows.cells[end].place.or(windows.cells[start].place),
        motion: slope.motion(),
        confidence: verdict.unwrap_or(0.0),
        counts: verdict.is_some(),
    })
}

/// The last cell of the old level and the first of the new one.
fn locate(windows: &Windows<'_>, run: &Run) -> Option<(usize, usize)> {
    let around = windows.before(run.first).start..windows.after(run.last).0.end;
    let mut old = windows.middle(windows.before(run.first))?;
    let mut new = windows.middle(windows.after(run.last).0)?;
    let way = run.change.signum();
    let mut found = None;
    for _ in 0..EDGE_PASSES {
        let change = (new.level - old.level).abs();
        let off = |side: Robust| {
            (EDGE_DEVIATIONS * side.deviation).clamp(EDGE_SHARE * change, MAX_EDGE_SHARE * change)
        };
        let off_old = |cell: usize| (windows.cells[cell].liters - old.level) * way > off(old);
        let off_new = |cell: usize| (new.level - windows.cells[cell].liters) * way > off(new);
        let half = f64::midpoint(old.level, new.level);
        let middle = split(around.clone(), |cell| (windows.cells[cell].liters - half) * way > 0.0);
        let start = (around.start..middle).rev().find(|cell| !off_old(*cell)).unwrap_or(around.start);
        let end = (middle..around.end).find(|cell| !off_new(*cell)).unwrap_or(around.end - 1);
        if found == Some((start, end)) || start >= end {
            break;
        }
        found = Some((start, end));
        old = windows.middle(windows.before(start + 1))?;
        new = windows.middle(windows.after(end).0)?;
    }
    found
}

/// The first cell of the new level, by the split with the fewest cells on the wrong side.
fn split(cells: Range<usize>, is_new: impl Fn(usize) -> bool) -> usize {
    let (mut best, mut right_by) = (cells.start + 1, f64::NEG_INFINITY);
    let mut balance = 0.0;
    for cell in cells.start..cells.end - 1 {
        balance += if is_new(cell) { -1.0 } else { 1.0 };
        if balance > right_by {
            (best, right_by) = (cell + 1, balance);
        }
    }
    best
}

/// The stretch between two plateaus.
struct Slope<'a, 'w> {
    windows: &'a Windows<'w>,
    /// The last cell of the old level and the first of the new one.
    start: usize,
    end: usize,
    old: Robust,
    new: Robust,
    /// The change, in litres, that chance alone explains.
    noise: f64,
}

impl<'a, 'w> Slope<'a, 'w> {
    fn new(
        windows: &'a Windows<'w>,
        (start, end): (usize, usize),
        wander: Wander,
        tank: &Tank,
    ) -> Option<Self> {
        let mut before = standing_end(windows, windows.before(start + 1));
        let mut after = standing_start(windows, windows.after(end).0);
        // A cell at an edge may be a little way down the slope; it is used only if there are too few others.
        before.end -= usize::from(before.len() > MIN_CELLS);
        after.start += usize::from(after.len() > MIN_CELLS);
        let (old, new) = windows.middle(before.clone()).zip(windows.middle(after.clone()))?;
        let mut slope = Self { windows, start, end, old, new, noise: 0.0 };
        let mut variance = windows.variance(before.clone(), old) + windows.variance(after.clone(), new);
        let drove =
            |cells: Range<usize>| windows.cells[cells].iter().any(|cell| cell.travel.may_have_moved());
        if !slope.in_one_place() || drove(before.clone()) || drove(after.clone()) {
            variance = slope.lean(before, old, wander, tank) + slope.lean(after, new, wander, tank);
        }
        slope.noise = SIGNIFICANT_ERRORS * variance.sqrt();
        Some(slope)
    }

    /// The variance of a plateau compared with one of another place, where the tank leans differently.
    fn lean(&self, cells: Range<usize>, found: Robust, wander: Wander, tank: &Tank) -> f64 {
        let drove = self.windows.cells[cells.clone()].iter().any(|cell| cell.travel.may_have_moved());
        if drove {
            let deviation = found.deviation.max(wander.driving_liters(tank));
            self.windows.variance(cells, Robust { deviation, ..found })
        } else {
            self.windows.variance(cells, found) + wander.parked_liters(tank).powi(2)
        }
    }

    /// Whether the vehicle is known not to have moved, or nothing is known of its motion at all.
    fn in_one_place(&self) -> bool {
        let stayed = self.meters().is_some_and(|meters| meters < SAME_PLACE_METERS);
        !self.moved() && (stayed || !self.is_silent())
    }

    /// The cells of the slope, each with the travel up to it.
    fn between(&self) -> Range<usize> {
        self.start + 1..self.end + 1
    }

    fn is_silent(&self) -> bool {
        self.between().any(|cell| self.windows.silence_at(cell))
    }

    fn moved(&self) -> bool {
        self.windows.cells[self.between()].iter().any(|cell| cell.travel.moved)
    }

    fn meters(&self) -> Option<f64> {
        self.windows.cells[self.between()].iter().map(|cell| cell.travel.meters).sum()
    }

    /// The confidence that this is a refuel, if it is one: a rise beyond noise, around a stop.
    fn refuel(&self, tank: &Tank) -> Option<f64> {
        let least = least_change(tank).max(self.noise);
        let rise = self.new.level - self.old.level;
        let pumped =
            self.windows.cells[self.between()].iter().map(|cell| cell.travel.still_seconds).sum::<f64>();
        let can_be = self.stop_seconds() >= MIN_STOP_SECONDS && rise <= pumped * MAX_REFUEL_LITERS_PER_SECOND;
        let counts = rise >= least && can_be;
        counts.then(|| confidence(rise / least) * self.motion_factor())
    }

    /// The confidence that this is a drain, if it is one: a fall of a standing vehicle beyond what it may have
    /// burnt, faster than any engine burns; or, during a silence, in a place it did not leave.
    fn drain(&self, tank: &Tank) -> Option<f64> {
        let cells = self.windows.cells;
        let hours = (cells[self.end].from.seconds_since(cells[self.start].to) / 3600.0).max(1.0 / 3600.0);
        let fall = self.old.level - self.new.level - IDLE_LITERS_PER_HOUR * hours;
        let least = least_change(tank).max(self.noise);
        let fast = fall / hours >= MIN_DRAIN_LITERS_PER_HOUR;
        let unwatched = self.is_silent() && self.meters().is_some_and(|meters| meters < SAME_PLACE_METERS);
        let stood = !self.moved() && !cells[self.start].travel.moved;
        if fall < least || !stood || !(fast || unwatched) {
            return None;
        }
        let believed = confidence(fall / least) * self.motion_factor();
        Some(if self.is_silent() { believed.min(MAX_SILENT_DRAIN_CONFIDENCE) } else { believed })
    }

    /// Seconds the vehicle may have stood without a break, around and within the slope.
    fn stop_seconds(&self) -> f64 {
        let cells = self.windows.cells;
        let earlier = (1..=self.start).rev().take_while(|cell| !cells[*cell].travel.moved);
        let later = (self.end + 1..cells.len()).take_while(|cell| !cells[*cell].travel.moved);
        let around = earlier.chain(later).map(|cell| cells[cell].travel.still_seconds).sum::<f64>();
        around + cells[self.between()].iter().map(|cell| cell.travel.still_seconds).sum::<f64>()
    }

    fn motion(&self) -> FuelMotion {
        let known = self.windows.cells[self.between()].iter().all(|cell| cell.travel.known);
        if known && (self.in_one_place() || !self.is_silent()) {
            FuelMotion::Stopped
        } else {
            FuelMotion::Unknown
        }
    }

    fn motion_factor(&self) -> f64 {
        if self.motion() == FuelMotion::Stopped { 1.0 } else { UNKNOWN_MOTION_FACTOR }
    }
}

/// One half at the smallest change that counts, and higher the larger the change is.
fn confidence(times_least: f64) -> f64 {
    1.0 - 0.5 / times_least.max(1.0)
}

/// The standing cells at the end of `cells`, if there are enough of them: in a standing vehicle the tank does not
/// slosh, and leans as it does afterwards.
fn standing_end(windows: &Windows<'_>, cells: Range<usize>) -> Range<usize> {
    let standing = cells.clone().rev().take_while(|cell| !windows.cells[*cell].travel.moved).count();
    if standing >= MIN_CELLS { cells.end - standing..cells.end } else { cells }
}

/// The standing cells at the start of `cells`, if there are enough of them.
fn standing_start(windows: &Windows<'_>, cells: Range<usize>) -> Range<usize> {
    let standing = cells.clone().take_while(|cell| !windows.cells[*cell].travel.moved).count();
    if standing >= MIN_CELLS { cells.start..cells.start + standing } else { cells }
}
