//! The detector: `(state, reading) → (state, events)` (docs/fuel.md §4).
//!
//! Takes one reading at a time, in order of time. The same readings give the same events wherever the state was
//! stored and loaded in between, so a replay corrects what a late reading changed.

use super::candidate::{Candidate, candidate};
use super::cell::{CELL_SECONDS, Cell};
use super::edges::{MIN_CELLS, Run, Windows};
use super::event::{FuelEvent, FuelMotion};
use super::reading::Reading;
use super::smoothing::robust;
use super::state::FuelState;
use super::tank::Tank;
use crate::model::VehicleId;

/// Two changes of one kind closer than this are one: a pump that clicked off, a second canister. Seconds.
const JOIN_SECONDS: f64 = 600.0;
/// A change that returns within this time was fuel moving in the tank, not fuel coming or going. Seconds.
const RETURN_SECONDS: f64 = 900.0;
/// A change has returned if the level is back to within this share of it.
const RETURN_SHARE: f64 = 0.3;
/// The share of a change that must be left after that time: the rest may have been burnt (a lorry uphill, in a
/// quarter of an hour: 7 l).
const STAYING_SHARE: f64 = 0.5;
/// A longer run is no refuel but a drifting sensor; it is judged as it stands. Cells.
const MAX_RUN_CELLS: usize = 180;

/// Takes a reading newer than all before, and returns the events it made certain, in order. A reading that is not
/// newer changes nothing: it is late, and a replay puts it in its place.
pub fn step(state: &mut FuelState, reading: &Reading, tank: &Tank, vehicle: VehicleId) -> Vec<FuelEvent> {
    let mut certain = Vec::new();
    if state.version != Some(tank.version) {
        certain.extend(state.held.take());
        state.restart(tank.version);
    }
    if state.proceed(reading) {
        take(state, reading, tank, &mut certain);
    }
    certain.iter().filter_map(|candidate| candidate.event(vehicle)).collect()
}

/// Takes the level of the newest reading, which reached [`step`] without one, from a second message. The outcome is
/// that of one step with the level.
pub fn fill(state: &mut FuelState, reading: &Reading, tank: &Tank, vehicle: VehicleId) -> Vec<FuelEvent> {
    let mut certain = Vec::new();
    if state.version == Some(tank.version) && state.newest() == Some(reading.at) {
        take(state, reading, tank, &mut certain);
    }
    certain.iter().filter_map(|candidate| candidate.event(vehicle)).collect()
}

fn take(state: &mut FuelState, reading: &Reading, tank: &Tank, certain: &mut Vec<Candidate>) {
    if let Some(cell) = state.take(reading) {
        state.push(cell, tank);
        judge(state, tank, certain);
        release(state, tank, certain);
        forget(state, tank);
    }
}

/// Judges every edge that has a full window behind it.
fn judge(state: &mut FuelState, tank: &Tank, certain: &mut Vec<Candidate>) {
    state.next = state.next.max(1);
    while state.next < state.cells.len() {
        let windows = Windows { cells: &state.cells, seconds: tank.window_seconds };
        let Some(change) = windows.change_at(state.next, tank) else { break };
        let edge = state.next;
        let goes_on = state.run.filter(|run| run.change * change > 0.0 && edge - run.first < MAX_RUN_CELLS);
        let ended = if goes_on.is_none() { state.run.take() } else { None };
        let found = ended.and_then(|run| candidate(&windows, &run, state.wander, tank));
        if change != 0.0 {
            let run = goes_on.unwrap_or(Run { first: edge, last: edge, change });
            state.run = Some(Run { last: edge, ..run });
        }
        state.next += 1;
        if let Some(found) = found {
            hold_or_merge(state, found, tank, certain);
        }
    }
}

/// Handles a change after the one that is held: it may be the rest of it, its return, or another change. One that is
/// no event makes nothing certain: whether the held one stays is judged when its time has come.
fn hold_or_merge(state: &mut FuelState, found: Candidate, tank: &Tank, certain: &mut Vec<Candidate>) {
    if state.aside.take().is_some_and(|aside| has_returned(&aside, &found)) {
        return;
    }
    let Some(before) = state.held.take() else {
        state.held = Some(found);
        return;
    };
    if has_returned(&before, &found) {
        return;
    }
    let close = found.started_at.seconds_since(before.ended_at) <= JOIN_SECONDS;
    if is_same_way(&before, &found) && close && before.counts && found.counts {
        state.held = Some(joined(&before, &found));
        return;
    }
    if before.counts && !found.counts && is_soon(&before, &found) {
        (state.held, state.aside) = (Some(before), Some(found));
        return;
    }
    certain.extend((found.counts || has_stayed(&before, &state.cells, tank)).then_some(before));
    state.held = Some(found);
}

fn is_same_way(before: &Candidate, found: &Candidate) -> bool {
    before.change() * found.change() > 0.0
}

/// Whether a change is over so soon after another that it may undo that one.
fn is_soon(before: &Candidate, found: &Candidate) -> bool {
    found.ended_at.seconds_since(before.ended_at) <= RETURN_SECONDS
}

/// Whether a change brings the level back to where it was before another one.
fn has_returned(before: &Candidate, found: &Candidate) -> bool {
    let left_over = (found.after_liters - before.before_liters).abs();
    !is_same_way(before, found) && is_soon(before, found) && left_over <= RETURN_SHARE * before.change().abs()
}

fn joined(first: &Candidate, second: &Candidate) -> Candidate {
    Candidate {
        ended_at: second.ended_at,
        after_liters: second.after_liters,
        place: first.place.or(second.place),
        motion: if first.motion == second.motion { first.motion } else { FuelMotion::Unknown },
        confidence: first.confidence.max(second.confidence),
        ..*first
    }
}

/// The held change is certain once everything that could undo it is judged and the level has stayed.
fn release(state: &mut FuelState, tank: &Tank, certain: &mut Vec<Candidate>) {
    let Some(held) = state.held else { return };
    let judged_until = state.run.map_or(state.next, |run| run.first).saturating_sub(1);
    let newest = state.cells.get(judged_until);
    if newest.is_some_and(|cell| cell.from.seconds_since(held.ended_at) > RETURN_SECONDS) {
        state.held = state.aside.take();
        certain.extend(has_stayed(&held, &state.cells, tank).then_some(held));
    }
}

/// Whether the level was still the new one at the end of the quarter of an hour; taken for granted if there were
/// too few readings then.
fn has_stayed(held: &Candidate, cells: &[Cell], tank: &Tank) -> bool {
    let then = RETURN_SECONDS - tank.window_seconds.min(RETURN_SECONDS)..=RETURN_SECONDS;
    let levels: Vec<f64> = cells
        .iter()
        .filter(|cell| then.contains(&cell.from.seconds_since(held.ended_at)))
        .map(|cell| cell.liters)
        .collect();
    if levels.len() < MIN_CELLS {
        return true;
    }
    let left = robust(levels).map_or(held.change(), |then| then.level - held.before_liters);
    left / held.change() >= STAYING_SHARE
}

/// Drops the cells that no window reaches any more.
fn forget(state: &mut FuelState, tank: &Tank) {
    let window_cells = (tank.window_seconds / CELL_SECONDS).ceil() as usize;
    let needed = state.run.map_or(state.next, |run| run.first).saturating_sub(2 * window_cells + 3);
    state.cells.drain(..needed);
    state.next -= needed;
    if let Some(run) = &mut state.run {
        run.first -= needed;
        run.last -= needed;
    }
}
