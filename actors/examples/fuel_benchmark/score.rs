//! What was found against what was there.

use uuid::Uuid;
use waypost_actors::fuel::{FuelEvent, FuelState, Reading, Tank, step};
use waypost_actors::model::VehicleId;

use crate::input::{Arguments, Expected};

/// Past the end of a log, so that its last event becomes certain. Seconds.
const AFTERMATH_SECONDS: i32 = 3600;

/// The events in a log.
pub(crate) fn detect(readings: &[Reading], tank_liters: f64) -> Vec<FuelEvent> {
    let tank = Tank { capacity_liters: tank_liters, window_seconds: 300.0, version: 1 };
    let mut state = FuelState::default();
    let vehicle = VehicleId(Uuid::nil());
    let mut found: Vec<FuelEvent> =
        readings.iter().flat_map(|reading| step(&mut state, reading, &tank, vehicle)).collect();
    // The log ends; the tank does not: the last level is taken to stay.
    let Some(last) = readings.iter().rev().find(|reading| reading.level_liters.is_some()) else {
        return found;
    };
    let level = state.level_liters(&tank).or(last.level_liters);
    for second in (20..AFTERMATH_SECONDS).step_by(20) {
        let reading = Reading {
            at: last.at.plus_seconds(f64::from(second)),
            level_liters: level,
            speed_kmh: Some(0.0),
            distance_meters: Some(0.0),
            ..*last
        };
        found.extend(step(&mut state, &reading, &tank, vehicle));
    }
    found
}

/// Counts over all vehicles.
#[derive(Default)]
pub(crate) struct Score {
    right: u32,
    not_expected: u32,
    missed: u32,
}

impl Score {
    /// Adds a vehicle, and prints what was found, right or not, and what was missed.
    pub(crate) fn add(&mut self, found: &[FuelEvent], expected: &[Expected], arguments: &Arguments) {
        let mut open: Vec<&Expected> = expected.iter().collect();
        for event in found {
            let of_it = open.iter().position(|expected| is_of(event, expected, arguments.tolerance_seconds));
            let labelled = of_it.map(|index| open.remove(index).volume_liters);
            let (word, labelled) = match labelled {
                Some(liters) => ("right", format!("labelled {liters:6.2} l")),
                None => ("FALSE", String::new()),
            };
            if of_it.is_some() {
                self.right += 1
            } else {
                self.not_expected += 1
            }
            println!("  {word}   {} {labelled}", described(event, arguments.tank_liters));
        }
        self.missed += open.len() as u32;
        for missed in open {
            println!("  MISSED  {} {} {:6.2} l", missed.kind.as_str(), missed.seen_at, missed.volume_liters);
        }
    }

    /// Prints precision and recall.
    pub(crate) fn print(&self) {
        let share = |part: u32, whole: u32| if whole == 0 { 1.0 } else { f64::from(part) / f64::from(whole) };
        println!(
            "right {}, false {}, missed {}: precision {:.3}, recall {:.3}",
            self.right,
            self.not_expected,
            self.missed,
            share(self.right, self.right + self.not_expected),
            share(self.right, self.right + self.missed),
        );
    }
}

fn is_of(event: &FuelEvent, expected: &Expected, tolerance_seconds: f64) -> bool {
    let early = event.started_at.seconds_since(expected.seen_at) <= tolerance_seconds;
    let late = expected.seen_at.seconds_since(event.ended_at) <= tolerance_seconds;
    event.kind == expected.kind && early && late
}

fn described(event: &FuelEvent, tank_liters: f64) -> String {
    let points = |liters: f64| liters / tank_liters * 100.0;
    format!(
        "{:6} {} to {}  {:5.1} % to {:5.1} %, {:6.2} l, confidence {:.2}, {}",
        event.kind.as_str(),
        event.started_at,
        event.ended_at,
        points(event.level_before_liters),
        points(event.level_after_liters),
        event.volume_liters,
        event.confidence,
        event.motion.as_str(),
    )
}
