//! A dry run makes the stays that the engine makes of the same fixes, in whatever pieces it is given them.

use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{FenceVersion, Fix, Place, Rules, Timestamp};
use waypost_actors::tracking::{Context, DryRun};

use crate::script::{Script, at, version};

type Stays = Vec<(Timestamp, Option<Timestamp>)>;

/// The stays of a dry run that is given the fixes piece by piece.
fn dry_run(script: &Script, pieces: &[&[Fix]], until: Timestamp) -> Stays {
    let timelines = script.fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect();
    let fences = FenceSet::new(timelines);
    let context = Context { vehicle: &script.vehicle, fences: &fences, detected_at: script.now };
    let mut run = DryRun::default();
    for piece in pieces {
        run.judge(piece.to_vec(), &context);
    }
    run.settle(until, &context);
    run.stays().to_vec()
}

/// In at 5 s, out at 24.444 s, in again at 45.455 s, by the ways between the fixes.
const TRACK: &[(f64, f64)] =
    &[(0.0, -5.0), (10.0, 5.0), (20.0, 6.0), (30.0, 15.0), (40.0, 16.0), (50.0, 5.0)];

fn fixes() -> Vec<Fix> {
    let fix =
        |(seconds, east): &(f64, f64)| Fix::new(at(*seconds), at(100.0), Place::new(0.005, east / 1000.0));
    TRACK.iter().map(fix).collect()
}

#[test]
fn stays_are_those_of_the_engine_and_what_goes_on_is_open() {
    let mut script = Script::new(Rules::EXACT);
    let fixes = fixes();
    let stays = vec![(at(5.0), Some(at(24.444))), (at(45.455), None)];
    assert_eq!(dry_run(&script, &[&fixes], at(60.0)), stays);
    script.drive(TRACK);
    assert_eq!(script.events(), ["entry@5", "exit@24.444", "entry@45.455"]);
    // One fix at a time, and cut at every place.
    let single: Vec<&[Fix]> = fixes.chunks(1).collect();
    assert_eq!(dry_run(&script, &single, at(60.0)), stays);
    for cut in 0..=fixes.len() {
        let (first, second) = fixes.split_at(cut);
        assert_eq!(dry_run(&script, &[first, second], at(60.0)), stays, "cut at {cut}");
    }
}

#[test]
fn of_fixes_of_one_instant_one_counts_though_they_come_in_two_pieces() {
    let script = Script::new(Rules::EXACT);
    let fix = |seconds: f64, east: f64| Fix::new(at(seconds), at(100.0), Place::new(0.005, east / 1000.0));
    let (inside, outside) = (fix(10.0, 5.0), fix(10.0, 15.0));
    let around = [fix(0.0, -5.0), fix(20.0, 25.0)];
    let whole = dry_run(&script, &[&[around[0], inside, outside, around[1]]], at(60.0));
    assert_eq!(whole, dry_run(&script, &[&[around[0], outside], &[inside], &[around[1]]], at(60.0)));
    assert_eq!(whole, dry_run(&script, &[&[around[0], inside], &[outside], &[around[1]]], at(60.0)));
}

#[test]
fn a_version_that_ends_behind_the_last_fix_ends_the_stay() {
    let mut script = Script::new(Rules::EXACT);
    let ends = Some(at(55.0));
    let deleted =
        FenceVersion { active: false, deleted: true, effective_from: ends, ..version(2, Rules::EXACT) };
    script.fences[0].versions.push(deleted);
    let first = (at(5.0), Some(at(24.444)));
    assert_eq!(dry_run(&script, &[&fixes()], at(54.0)), [first, (at(45.455), None)]);
    assert_eq!(dry_run(&script, &[&fixes()], at(60.0)), [first, (at(45.455), ends)]);
}

#[test]
fn a_dwell_neither_ends_a_stay_nor_begins_one() {
    let script = Script::new(Rules { dwell_after_seconds: Some(3.0), ..Rules::EXACT });
    let single: Vec<Fix> = fixes();
    let single: Vec<&[Fix]> = single.chunks(1).collect();
    assert_eq!(dry_run(&script, &single, at(60.0)), [(at(5.0), Some(at(24.444))), (at(45.455), None)]);
}
