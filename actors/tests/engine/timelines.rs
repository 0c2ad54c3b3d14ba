//! What happens to a vehicle in any order: reports of a track that come late and again, versions of its
//! fences dated anyhow, times out of service, steps of corrections.

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::model::{Fix, Rules, ShapeSpec, Timestamp};

use crate::properties::{any_rules, grid, shapes};
use crate::script::at;

/// The server's clock when all is over.
pub(crate) const THE_END: f64 = 100_000.0;

/// A fix of the track, as it was drawn: its place is a step from the one before, or anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) after: u32,
    pub(crate) step: (i32, i32),
    pub(crate) jump: Option<(i32, i32)>,
    pub(crate) accuracy: Option<f64>,
    /// Each report of it: how late it arrives, and what it says of the speed.
    pub(crate) reports: Vec<(u32, Option<f64>)>,
}

/// From when a version is in force, seen from when it is made.
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
    /// A version dated ahead takes effect.
    TakesEffect(Timestamp),
    Out,
    Back,
    /// One step of a correction of so many fixes, whose slice is read so many steps before its end.
    Correct {
        fixes: usize,
        waits: usize,
    },
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let accuracy =
        prop_oneof![3 => Just(None), 2 => Just(Some(5.0)), 1 => Just(Some(60.0)), 1 => Just(Some(400.0))];
    let late = prop_oneof![3 => Just(0_u32), 2 => 0_u32..60, 2 => 0_u32..1500];
    let speed = prop_oneof![Just(None), Just(Some(30.0)), Just(Some(50.0))];
    let place = prop_oneof![8 => Just(None), 1 => (-70..70, -70..70).prop_map(Some)];
    let after = prop_oneof![1 => Just(0_u32), 8 => 1_u32..60, 1 => 1_u32..900];
    (after, (-14..15, -14..15), place, accuracy, vec((late, speed), 1..3))
        .prop_map(|(after, step, jump, accuracy, reports)| Drawn { after, step, jump, accuracy, reports })
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<(u32, Step)>> {
    let dated = prop_oneof![
        1 => Just(Dated::Always),
        2 => (0_u32..800).prop_map(Dated::Back),
        3 => Just(Dated::Now),
        1 => (1_u32..500).prop_map(Dated::Ahead),
    ];
    let change = (0_usize..4, shapes(), any::<bool>(), 0..8, any_rules(), dated).prop_map(
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
    vec((0_u32..2500, prop_oneof![3 => change, 4 => step, 1 => out]), 0..25)
}

/// Everything that happens, by the server's clock.
pub(crate) fn schedule(track: &[Drawn], changes: &[(u32, Step)], together: usize) -> Vec<(f64, Step)> {
    let (mut seconds, mut place) = (0.0, (0, 0));
    let mut reports: Vec<(f64, Fix)> = Vec::new();
    for drawn in track {
        seconds += f64::from(drawn.after);
        place = drawn.jump.unwrap_or((place.0 + drawn.step.0, place.1 + drawn.step.1));
        for (late, speed) in &drawn.reports {
            let mut fix = Fix::new(at(seconds), at(THE_END), grid(place.0, place.1));
            (fix.accuracy_meters, fix.speed_kmh) = (drawn.accuracy, *speed);
            reports.push((seconds + f64::from(*late), fix));
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
