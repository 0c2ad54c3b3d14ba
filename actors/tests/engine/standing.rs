//! A vehicle that stands neither enters nor leaves (docs/tracking.md, "Standing"), by hand.
//!
//! Distances are metres east of the fence's eastern edge; below 0 is inside.

use waypost_actors::model::{EventKind, FenceVersion, Fix, Place, Rules, VehicleLimits};
use waypost_actors::tracking::{Refusal, Reported, accept};

use crate::script::{Script, at, square, version};

const METERS_PER_DEGREE: f64 = 111_319.49;
const BELIEVED: Rules = Rules { hold_while_standing: false, ..DEFAULT };
const DEFAULT: Rules =
    Rules { exit_margin_meters: 20.0, infer_passages: true, hold_while_standing: true, ..Rules::EXACT };

fn fix(seconds: f64, meters: f64, speed_kmh: Option<f64>) -> Fix {
    let place = Place::new(0.005, 0.01 + meters / METERS_PER_DEGREE);
    Fix { speed_kmh, ..Fix::new(at(seconds), at(1_000_000.0), place) }
}

/// (seconds, metres east of the edge, km/h).
type FixSpec = (f64, f64, Option<f64>);

fn after(rules: Rules, specs: &[FixSpec]) -> Script {
    let mut script = Script::new(rules);
    specs.iter().for_each(|(seconds, meters, kmh)| script.fix(fix(*seconds, *meters, *kmh)));
    script
}

fn kinds(script: &Script) -> Vec<EventKind> {
    script.geofence_events().iter().map(|event| event.kind).collect()
}

/// Fixes of a stop, one each half minute; noise of a few metres.
fn stop(from: f64, count: u32, meters: f64, kmh: Option<f64>) -> Vec<FixSpec> {
    let noise = |n: u32| [0.0, 4.0, -3.0, 2.0, -4.0][n as usize % 5];
    (0..count).map(|n| (from + 30.0 * f64::from(n), meters + noise(n), kmh)).collect()
}

fn together(parts: &[&[FixSpec]]) -> Vec<FixSpec> {
    parts.concat()
}

/// Checks that both rules give the same result.
fn assert_believed(specs: &[FixSpec]) -> Vec<String> {
    let held = after(DEFAULT, specs).events();
    assert_eq!(held, after(BELIEVED, specs).events());
    held
}

#[test]
fn a_single_fix_outside_is_not_believed_against_the_stop() {
    for kmh in [None, Some(0.0)] {
        let specs =
            together(&[&stop(0.0, 8, -12.0, kmh), &[(240.0, 26.0, kmh)], &stop(270.0, 8, -12.0, kmh)]);
        assert_eq!(kinds(&after(BELIEVED, &specs)), [EventKind::Entry, EventKind::Exit, EventKind::Entry]);
        assert_eq!(kinds(&after(DEFAULT, &specs)), [EventKind::Entry]);
    }
}

#[test]
fn a_single_fix_inside_is_no_entry_and_a_stop_inside_is() {
    let specs = together(&[&stop(0.0, 8, 12.0, None), &[(240.0, -6.0, None)], &stop(270.0, 3, 12.0, None)]);
    assert!(!after(BELIEVED, &specs).events().is_empty());
    assert!(after(DEFAULT, &specs).events().is_empty());
    // Only its first fix was outside: it stands inside, once several fixes over two minutes show it.
    let specs = together(&[&[(0.0, 5.0, None)], &stop(30.0, 4, -12.0, None)]);
    assert!(after(DEFAULT, &specs).events().is_empty());
    let specs = together(&[&specs, &[(150.0, -11.0, None)]]);
    assert_eq!(assert_believed(&specs).len(), 1);
}

#[test]
fn who_drives_off_left_where_the_way_crossed() {
    for kmh in [None, Some(0.0)] {
        let stood = stop(0.0, 8, -12.0, kmh);
        // The fix of 240 s is held back; the one of 250 s reports that it moves, or is too far for noise.
        for last in [(250.0, 60.0, Some(25.0)), (250.0, 90.0, kmh)] {
            let events = assert_believed(&together(&[&stood, &[(240.0, 30.0, kmh), last]]));
            assert!(events.len() == 2 && events[1].starts_with("exit@2"), "{events:?}");
        }
    }
}

#[test]
fn an_exit_that_waits_since_before_the_stop_is_confirmed_while_it_stands() {
    let specs = [(0.0, -50.0, Some(30.0)), (10.0, 10.0, Some(30.0)), (20.0, 12.0, Some(0.0))];
    let events = assert_believed(&together(&[&specs, &[(30.0, 30.0, Some(0.0))]]));
    assert!(events.len() == 2 && events[1].starts_with("exit@8"), "{events:?}");
}

#[test]
fn who_drives_off_from_the_edge_left_when_the_stop_ended() {
    // Not far enough from the stop to be away from it.
    let specs = together(&[&stop(0.0, 8, -12.0, Some(0.0)), &[(240.0, 25.0, Some(0.0))]]);
    assert_eq!(kinds(&after(DEFAULT, &specs)), [EventKind::Entry]);
    let events = assert_believed(&together(&[&specs, &[(250.0, 60.0, Some(25.0))]]));
    assert!(events.len() == 2 && events[1].starts_with("exit@2"), "{events:?}");
}

#[test]
fn towing_and_ferries_leave() {
    // Neither speed nor ignition: 2 m/s, a fix each 10 s.
    let mut script = Script::new(DEFAULT);
    let mut without = Script::new(BELIEVED);
    for n in 0..60 {
        let meters = if n < 20 { -40.0 } else { 20.0f64.mul_add(f64::from(n - 20), -40.0) };
        let fix = Fix { ignition: Some(false), ..fix(10.0 * f64::from(n), meters, None) };
        script.fix(fix);
        without.fix(fix);
    }
    assert_eq!(script.events(), without.events());
    assert_eq!(script.events(), ["entry@0", "exit@220"]);
}

#[test]
fn who_was_put_elsewhere_nearby_left_after_two_minutes_there() {
    let stood = stop(0.0, 8, -20.0, None);
    let moved = together(&[&stood, &stop(240.0, 4, 30.0, None)]);
    assert_eq!(kinds(&after(DEFAULT, &moved)), [EventKind::Entry]);
    let events = assert_believed(&together(&[&moved, &[(360.0, 30.0, None)]]));
    assert!(events.len() == 2 && events[1].starts_with("exit@223"), "{events:?}");
    // One fix back where it stood before, so it was noise.
    let back = together(&[&moved, &[(345.0, -20.0, None), (360.0, 30.0, None)]]);
    assert_eq!(kinds(&after(DEFAULT, &back)), [EventKind::Entry]);
}

#[test]
fn what_was_held_back_counts_once_the_vehicle_was_on_its_way() {
    let off = (450.0, 500.0, Some(40.0));
    // In for one fix, away from the stop, and off again: as if it had been believed at once.
    let dip = together(&[&stop(0.0, 12, 30.0, Some(0.0)), &[(420.0, -25.0, Some(0.0)), off]]);
    assert_eq!(assert_believed(&dip).len(), 2);
    // So near the stop it is noise.
    let noise = together(&[&stop(0.0, 12, 12.0, Some(0.0)), &[(420.0, -12.0, Some(0.0)), off]]);
    assert!(after(DEFAULT, &noise).events().is_empty());
    // Unless there was hardly a stop.
    let short = [(0.0, 200.0, Some(30.0)), (60.0, 12.0, Some(0.0)), (120.0, -12.0, Some(0.0)), off];
    assert_eq!(assert_believed(&short).len(), 2);
    // Out for one fix, and back in on its way.
    let stood = stop(0.0, 12, -25.0, Some(0.0));
    let back = together(&[&stood, &[(420.0, 40.0, Some(0.0)), (450.0, -60.0, Some(30.0))]]);
    assert_eq!(assert_believed(&back).len(), 3);
}

#[test]
fn what_was_held_back_is_no_part_of_what_comes_after_it() {
    let stopped = [(0.0, 200.0, Some(30.0)), (60.0, -15.0, Some(0.0)), (120.0, 40.0, Some(0.0))];
    // Through the whole fence to its other side.
    let through = together(&[&stopped, &[(420.0, -1_200.0, Some(50.0))]]);
    let events = assert_believed(&through);
    assert!(events.len() == 4 && events[1].starts_with("exit@7") && events[2].ends_with('i'), "{events:?}");
    // Within the margin first, and then in.
    let back = together(&[&stopped, &[(150.0, 10.0, Some(20.0)), (180.0, -50.0, Some(20.0))]]);
    assert_eq!(assert_believed(&back).len(), 3);
    // Far away at once, which no way explains.
    let mut script = Script::new(DEFAULT);
    script.vehicle.limits.max_speed_kmh = Some(250.0);
    let far = [(121.0, 50_000.0, Some(30.0)), (131.0, 50_100.0, Some(30.0))];
    together(&[&stopped, &far]).iter().for_each(|spec| script.fix(fix(spec.0, spec.1, spec.2)));
    assert_eq!(kinds(&script), [EventKind::Entry, EventKind::Exit]);
    // Within the margin all the while.
    let jitter = together(&[&stopped[..2], &[(120.0, 10.0, Some(0.0)), (180.0, -50.0, Some(20.0))]]);
    assert_eq!(assert_believed(&jitter).len(), 1);
}

#[test]
fn an_edit_believes_the_stop_too() {
    let edit = |number, rules| FenceVersion { effective_from: Some(at(250.0)), ..version(number, rules) };
    let off = FenceVersion { active: false, ..version(1, DEFAULT) };
    let mut inside = after(DEFAULT, &together(&[&stop(0.0, 8, -12.0, None), &[(240.0, 22.0, None)]]));
    inside.change(edit(2, Rules { speed_limit_kmh: Some(30.0), ..DEFAULT }));
    assert_eq!(inside.events(), ["entry@0"]);
    for (rules, entries) in [(BELIEVED, 1), (DEFAULT, 0)] {
        let mut jitters = after(rules, &together(&[&stop(0.0, 8, -12.0, None), &[(240.0, 10.0, None)]]));
        jitters.change(edit(2, Rules { exit_margin_meters: 5.0, ..rules }));
        assert_eq!(jitters.events()[1..], vec!["exit@250"; entries]);
        let mut outside = Script::with(vec![off.clone()]);
        let specs = together(&[&stop(0.0, 8, 12.0, None), &[(240.0, -6.0, None)]]);
        specs.iter().for_each(|(seconds, meters, kmh)| outside.fix(fix(*seconds, *meters, *kmh)));
        outside.change(edit(2, rules));
        assert_eq!(kinds(&outside), vec![EventKind::Entry; entries]);
    }
    // Where it stands is no longer in any fence, or in a new one; or there is hardly a stop.
    for (meters, count) in [(-12.0, 8), (-12.0, 3), (12.0, 1)] {
        let mut script = Script::with(vec![off.clone()]);
        let specs = together(&[&stop(0.0, count, meters, None), &[(240.0, -6.0, None)]]);
        specs.iter().for_each(|(seconds, meters, kmh)| script.fix(fix(*seconds, *meters, *kmh)));
        script.change(edit(2, DEFAULT));
        assert_eq!(script.events(), ["entry@250"], "{meters} {count}");
        script.change(FenceVersion {
            shape: square(0.5, 0.5, 0.1),
            effective_from: Some(at(260.0)),
            ..edit(3, DEFAULT)
        });
        assert_eq!(script.events(), ["entry@250", "exit@260"]);
    }
}

#[test]
fn minimum_times_hold_for_what_was_held_back_too() {
    let rules = Rules { min_inside_seconds: 40.0, min_outside_seconds: 40.0, ..DEFAULT };
    let stood = stop(0.0, 8, 30.0, Some(0.0));
    let off = (330.0, 500.0, Some(40.0));
    let once = together(&[&stood, &[(270.0, -25.0, Some(0.0)), off]]);
    assert!(after(rules, &once).events().is_empty());
    let longer = together(&[&stood, &[(250.0, -25.0, Some(0.0)), (295.0, -25.0, Some(0.0)), off]]);
    assert_eq!(kinds(&after(rules, &longer)), [EventKind::Entry]);
    let stood = stop(0.0, 8, -25.0, Some(0.0));
    let off = (330.0, -90.0, Some(40.0));
    let once = together(&[&stood, &[(270.0, 40.0, Some(0.0)), off]]);
    assert_eq!(kinds(&after(rules, &once)), [EventKind::Entry]);
    let longer = together(&[&stood, &[(250.0, 40.0, Some(0.0)), (295.0, 40.0, Some(0.0)), off]]);
    assert_eq!(kinds(&after(rules, &longer)), [EventKind::Entry, EventKind::Exit]);
}

#[test]
fn a_vehicle_that_stands_passes_through_nothing() {
    let narrow = |rules| {
        let mut narrow = version(1, Rules { exit_margin_meters: 0.0, ..rules });
        narrow.shape = square(0.01, 0.0049, 0.0002);
        Script::with(vec![narrow])
    };
    let specs = together(&[&stop(0.0, 8, -12.0, None), &[(240.0, 34.0, None)], &stop(270.0, 3, -12.0, None)]);
    let through = |rules| {
        let mut script = narrow(rules);
        specs.iter().for_each(|(seconds, meters, kmh)| script.fix(fix(*seconds, *meters, *kmh)));
        script.events().len()
    };
    assert!(through(BELIEVED) >= 2);
    assert_eq!(through(DEFAULT), 0);
}

#[test]
fn a_poor_accuracy_needs_more_to_be_a_move() {
    let poor = |seconds, meters| Fix { accuracy_meters: Some(60.0), ..fix(seconds, meters, None) };
    let mut script = Script::new(Rules { exit_margin_meters: 20.0, ..DEFAULT });
    (0..10).for_each(|n| script.fix(poor(30.0 * f64::from(n), -60.0)));
    // 200 m off, four times the accuracy is 240 m.
    script.fix(poor(300.0, 140.0));
    script.fix(poor(330.0, -60.0));
    assert_eq!(kinds(&script), [EventKind::Entry]);
    script.fix(poor(360.0, 190.0));
    assert_eq!(kinds(&script), [EventKind::Entry, EventKind::Exit]);
}

#[test]
fn out_of_service_a_stop_ends() {
    let mut script = after(DEFAULT, &stop(0.0, 8, 12.0, None));
    script.vehicle.out_of_service = vec![(at(300.0), Some(at(400.0)))];
    // The first fix afterwards is believed on its own.
    script.fix(fix(410.0, -6.0, None));
    assert_eq!(kinds(&script), [EventKind::Entry]);
}

#[test]
fn a_speed_that_means_unknown_is_none() {
    let reported = |kmh| {
        let reported =
            Reported { latitude: 1.0, longitude: 1.0, speed_kmh: Some(kmh), ..Reported::default() };
        accept(&reported, at(0.0), at(1.0), None).unwrap().speed_kmh
    };
    assert_eq!([399.9, 400.0, 400.1, -1.0].map(reported), [Some(399.9), None, None, None]);
    assert_eq!(
        [Refusal::Coordinates, Refusal::NullIsland].map(Refusal::code),
        ["coordinatesOutOfRange", "nullIsland"]
    );
    let limits = VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: None, overspeed_kmh: None };
    // A speed that the vehicle cannot reach is ignored: it still stands.
    let mut script = Script::new(DEFAULT);
    script.vehicle.limits = limits;
    let specs = together(&[&stop(0.0, 8, -12.0, None), &[(240.0, 26.0, Some(399.0))]]);
    specs.iter().for_each(|(seconds, meters, kmh)| script.fix(fix(*seconds, *meters, *kmh)));
    assert_eq!(kinds(&script), [EventKind::Entry]);
}
