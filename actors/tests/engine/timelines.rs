//! Everything that can happen to a vehicle, in any order: reports of a track that come late or again, versions of
//! its fences with any date, times out of service, steps of corrections.

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::model::{Fix, FuelReading, Rules, ShapeSpec, Timestamp};

use crate::fences::{any_rules, grid, shapes};
use crate::script::at;

/// The server's clock at the end.
pub(crate) const THE_END: f64 = 100_000.0;

/// A fix of the track, as it was drawn: its place is a step from the previous one, or anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) after: u32,
    pub(crate) step: (i32, i32),
    pub(crate) jump: Option<(i32, i32)>,
    pub(crate) reports: Vec<FixReport>,
}

/// One report of a fix: how late it arrives, and its members besides place and instant.
#[derive(Clone, Debug)]
pub(crate) struct FixReport {
    pub(crate) late: u32,
    pub(crate) accuracy: Option<f64>,
    pub(crate) speed: Option<f64>,
    pub(crate) heading: Option<f64>,
    pub(crate) also: Also,
}

/// Members that no record of a geofence depends on: fuel, and what is read with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Also {
    fuel: Option<FuelReading>,
    cumulative: Option<f64>,
    odometer: Option<f64>,
    ignition: Option<bool>,
}

fn also() -> impl Strategy<Value = Also> {
    let fuel = prop_oneof![
        3 => Just(None),
        2 => (0_u32..110).prop_map(|percent| Some(FuelReading::Percent(f64::from(percent)))),
        1 => (0_u32..80).prop_map(|liters| Some(FuelReading::Liters(f64::from(liters)))),
        1 => Just(Some(FuelReading::Raw(7.0))),
    ];
    let cumulative = prop_oneof![4 => Just(None), 1 => (0_u32..9).prop_map(|liters| Some(f64::from(liters)))];
    let odometer = prop_oneof![3 => Just(None), 1 => (0_u32..9).prop_map(|km| Some(f64::from(km)))];
    let ignition = prop_oneof![3 => Just(None), 1 => Just(Some(false)), 1 => Just(Some(true))];
    let plain = Also { fuel: None, cumulative: None, odometer: None, ignition: None };
    let some = (fuel, cumulative, odometer, ignition)
        .prop_map(|(fuel, cumulative, odometer, ignition)| Also { fuel, cumulative, odometer, ignition });
    prop_oneof![1 => Just(plain), 2 => some]
}

/// From when a version is in force, relative to when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dated {
    Always,
    Back(u32),
    Now,
    Ahead(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Report(Vec<Fix>),
    Change {
        fence: usize,
        shape: ShapeSpec,
        active: bool,
        deleted: bool,
        rules: Rules,
        dated: Dated,
    },
    /// Another tank.
    Calibrate {
        liters: u32,
        dated: Dated,
    },
    /// A version dated ahead takes effect.
    TakesEffect(Timestamp),
    Out,
    Back,
    /// One step of a correction of `fixes` fixes, whose slice is read `waits` steps before its end.
    Correct {
        fixes: usize,
        waits: usize,
    },
}

fn report(late: impl Strategy<Value = u32>) -> impl Strategy<Value = FixReport> {
    let accuracy = prop_oneof![
        6 => Just(None),
        2 => Just(Some(5.0)),
        2 => Just(Some(15.0)),
        2 => Just(Some(60.0)),
        1 => Just(Some(150.0)),
        1 => Just(Some(400.0)),
    ];
    let speed = prop_oneof![
        3 => Just(None),
        1 => Just(Some(0.0)),
        1 => Just(Some(2.5)),
        2 => Just(Some(30.0)),
        1 => Just(Some(50.0)),
        1 => Just(Some(130.0)),
    ];
    let heading = prop_oneof![4 => Just(None), 1 => Just(Some(90.0)), 1 => Just(Some(270.0))];
    (late, accuracy, speed, heading, also()).prop_map(|(late, accuracy, speed, heading, also)| FixReport {
        late,
        accuracy,
        speed,
        heading,
        also,
    })
}

/// Driving, parked with jitter, or so fast that a fence lies between two fixes; often within seconds,
/// sometimes behind a gap.
pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let late = prop_oneof![3 => Just(0_u32), 2 => 0_u32..60, 2 => 0_u32..1500];
    let place = prop_oneof![8 => Just(None), 1 => (-70..70, -70..70).prop_map(Some)];
    let step = prop_oneof![3 => (-14..15, -14..15), 2 => (-1..2, -1..2), 2 => (-60..61, -60..61)];
    let after = prop_oneof![1 => Just(0_u32), 8 => 1_u32..60, 1 => 1_u32..900, 1 => 600_u32..1500];
    (after, step, place, vec(report(late), 1..3)).prop_map(|(after, step, jump, reports)| Drawn {
        after,
        step,
        jump,
        reports,
    })
}

/// Drives and stops: at a stop each fix is off by up to a step or two, and mostly without a speed or with none.
pub(crate) fn tracks(most: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let drive = vec(drawn(), 1..8);
    let quiet = prop_oneof![3 => Just(None), 3 => Just(Some(0.0)), 1 => Just(Some(30.0))];
    let off = prop_oneof![5 => (-1..2, -1..2), 1 => (-3..4, -3..4)];
    let stop = ((-70..70, -70..70), quiet, vec((drawn(), off, any::<bool>()), 3..14)).prop_map(
        |((north, east), quiet, fixes)| {
            let at = |(mut drawn, off, keeps): (Drawn, (i32, i32), bool)| {
                drawn.after = drawn.after.min(240);
                drawn.jump = Some((north + off.0, east + off.1));
                if keeps {
                    drawn.reports.iter_mut().for_each(|report| report.speed = quiet);
                }
                drawn
            };
            fixes.into_iter().map(at).collect()
        },
    );
    (vec(prop_oneof![drive, stop], 1..7), any::<bool>()).prop_map(move |(phases, has_fuel)| {
        let mut track: Vec<Drawn> = phases.into_iter().flatten().take(most).collect();
        // Without a fuel sensor, additions by a second report are judged differently.
        for report in track.iter_mut().flat_map(|drawn| &mut drawn.reports).filter(|_| !has_fuel) {
            (report.also.fuel, report.also.cumulative) = (None, None);
        }
        track
    })
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<(u32, Step)>> {
    let dated = || {
        prop_oneof![
            1 => Just(Dated::Always),
            2 => (0_u32..800).prop_map(Dated::Back),
            3 => Just(Dated::Now),
            1 => (1_u32..500).prop_map(Dated::Ahead),
        ]
    };
    let change = (0_usize..4, shapes(), any::<bool>(), 0..8, any_rules(), dated()).prop_map(
        |(fence, shape, active, deleted, rules, dated)| Step::Change {
            fence,
            shape,
            active,
            deleted: deleted == 0,
            rules,
            dated,
        },
    );
    let step = (1_usize..9, 0_usize..6).prop_map(|(fixes, waits)| Step::Correct { fixes, waits });
    let out = prop_oneof![Just(Step::Out), Just(Step::Back)];
    let calibrate = (40_u32..90, dated()).prop_map(|(liters, dated)| Step::Calibrate { liters, dated });
    vec((0_u32..2500, prop_oneof![3 => change, 4 => step, 1 => out, 1 => calibrate]), 0..25)
}

/// Everything that happens, by the server's clock.
pub(crate) fn schedule(track: &[Drawn], changes: &[(u32, Step)], together: usize) -> Vec<(f64, Step)> {
    let (mut seconds, mut place) = (0.0, (0, 0));
    let mut reports: Vec<(f64, Fix)> = Vec::new();
    for drawn in track {
        seconds += f64::from(drawn.after);
        let near = |to: i32| to.clamp(-90, 90);
        place = drawn.jump.unwrap_or((near(place.0 + drawn.step.0), near(place.1 + drawn.step.1)));
        for report in &drawn.reports {
            let mut fix = Fix::new(at(seconds), at(THE_END), grid(place.0, place.1));
            (fix.accuracy_meters, fix.speed_kmh, fix.heading_degrees) =
                (report.accuracy, report.speed, report.heading);
            (fix.fuel, fix.fuel_cumulative) = (report.also.fuel, report.also.cumulative);
            (fix.odometer_km, fix.ignition) = (report.also.odometer, report.also.ignition);
            reports.push((seconds + f64::from(report.late), fix));
        }
    }
    reports.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut schedule: Vec<(f64, Step)> = reports
        .chunks(together)
        .map(|some| {
            let arrives = some.last().map_or(0.0, |(at, _)| *at);
            (arrives, Step::Report(some.iter().map(|(_, fix)| *fix).collect()))
        })
        .collect();
    for (seconds, step) in changes {
        let seconds = f64::from(*seconds);
        schedule.push((seconds, step.clone()));
        if let Step::Change { dated: Dated::Ahead(ahead), .. } = step {
            let from = seconds + f64::from(*ahead);
            schedule.push((from, Step::TakesEffect(at(from))));
        }
    }
    schedule.sort_by(|a, b| a.0.total_cmp(&b.0));
    schedule
}
