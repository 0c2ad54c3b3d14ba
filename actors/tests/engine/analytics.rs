//! What is counted during a stay, by docs/tracking.md.

use waypost_actors::geofence::geodesic_meters;
use waypost_actors::model::{Analytics, Cause, EventKind, Fix, Motion, Place, Rules, VehicleLimits};
use waypost_actors::tracking::{VehicleState, catch_up};

use crate::script::{Script, at, version};

/// The analytics of each exit.
fn exits(script: &Script) -> Vec<Analytics> {
    let exits = script.geofence_events().into_iter().filter(|event| event.kind == EventKind::Exit);
    exits.map(|event| event.analytics.expect("every exit has them")).collect()
}

fn metres(from: f64, to: f64) -> f64 {
    geodesic_meters(Place::new(0.005, from / 1000.0), Place::new(0.005, to / 1000.0))
}

fn report(script: &mut Script, seconds: f64, east: f64, speed_kmh: f64) {
    let mut fix = Fix::new(at(seconds), script.now, Place::new(0.005, east / 1000.0));
    fix.speed_kmh = Some(speed_kmh);
    script.fix(fix);
}

#[test]
fn a_drive_through_is_clipped_at_both_crossings() {
    let mut script = Script::new(Rules { speed_limit_kmh: Some(150.0), ..Rules::EXACT });
    // 1 thousandth in a second is 400 km/h; half a thousandth 200 km/h.
    script.drive(&[(0.0, -5.0), (10.0, 5.0), (18.0, 9.0), (20.0, 11.0)]);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.moving_seconds, inside.fix_count), (14.0, 14.0, 2));
    assert!((inside.distance_meters - metres(0.0, 10.0)).abs() < 0.01, "{inside:?}");
    assert_eq!((inside.stopped_seconds, inside.gap_seconds, inside.stops), (0.0, 0.0, 0));
    let fastest = metres(-5.0, 5.0) / 10.0 * 3.6;
    // The last leg is as fast, but too short to tell.
    assert!((inside.max_speed_kmh.unwrap() - fastest).abs() < 0.01, "{inside:?}");
    assert_eq!(inside.overspeed_seconds, Some(14.0));
    assert!((inside.avg_speed_kmh.unwrap() - metres(0.0, 10.0) / 14.0 * 3.6).abs() < 0.001);
    assert!(script.geofence_events()[0].analytics.is_none(), "an entry has none");
}

#[test]
fn rest_silence_and_motion_add_up_to_the_duration() {
    let mut script = Script::new(Rules { exit_margin_meters: 0.0, ..Rules::default() });
    script.drive(&[(0.0, 1.0), (60.0, 4.0), (120.0, 4.01), (181.0, 4.0), (781.0, 4.0), (1400.0, 4.0)]);
    script.drive(&[(1500.0, 4.02), (1530.0, 8.0), (1560.0, 12.0)]);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!(inside.duration_seconds, 1545.0);
    // 600 s are no gap, 619 s are.
    assert_eq!((inside.moving_seconds, inside.stopped_seconds, inside.gap_seconds), (105.0, 821.0, 619.0));
    assert_eq!((inside.stops, inside.fix_count), (1, 8));
    let way = metres(1.0, 4.0) + metres(4.02, 10.0);
    assert!((inside.distance_meters - way).abs() < 0.01, "{inside:?} {way}");
}

#[test]
fn two_rests_with_a_drive_between_are_two_stops() {
    let mut script = Script::new(Rules::EXACT);
    for (seconds, east, speed) in [
        (0.0, 1.0, 0.0),
        (119.0, 1.0, 0.0),
        (120.0, 1.0, 0.0),
        (130.0, 3.0, 60.0),
        (240.0, 3.0, 0.0),
        (251.0, 3.0, 0.0),
    ] {
        report(&mut script, seconds, east, speed);
    }
    report(&mut script, 260.0, 13.0, 90.0);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!((inside.stops, inside.stopped_seconds), (2, 241.0));
    assert_eq!(inside.max_speed_kmh, Some(60.0), "the fix outside is not of the visit");
}

#[test]
fn a_rest_of_exactly_two_minutes_that_goes_on_is_one_stop() {
    let mut script = Script::new(Rules::EXACT);
    for seconds in [0.0, 120.0, 130.0, 140.0] {
        report(&mut script, seconds, 1.0, 0.0);
    }
    report(&mut script, 160.0, 13.0, 90.0);
    assert_eq!(exits(&script)[0].stops, 1);
}

#[test]
fn what_a_vehicle_did_in_a_gap_is_neither_its_highest_speed_nor_over_a_limit() {
    let mut script =
        Script::new(Rules { max_gap_seconds: 20.0, speed_limit_kmh: Some(50.0), ..Rules::EXACT });
    // 20 km/h; 152 km/h over a gap of 21 s; 20 km/h; out at 14 km/h.
    script.drive(&[(0.0, 0.5), (10.0, 1.0), (31.0, 9.0), (41.0, 9.5), (61.0, 10.2)]);
    let [inside] = &exits(&script)[..] else { panic!() };
    let fastest = metres(0.5, 1.0) / 10.0 * 3.6;
    assert!((inside.max_speed_kmh.unwrap() - fastest).abs() < 0.01, "{inside:?}");
    assert_eq!((inside.overspeed_seconds, inside.gap_seconds), (Some(0.0), 21.0));
}

#[test]
fn a_speed_of_exactly_the_limit_is_not_over_it() {
    let mut script = Script::new(Rules { speed_limit_kmh: Some(50.0), ..Rules::EXACT });
    for (seconds, speed) in [(0.0, 50.0), (10.0, 50.0), (20.0, 50.1), (30.0, 50.0)] {
        report(&mut script, seconds, 1.0 + seconds / 10.0, speed);
    }
    assert_eq!(script.state.stays[0].running(at(30.0)).1.overspeed_seconds, Some(10.0));
}

#[test]
fn noise_is_twice_what_both_fixes_may_be_off() {
    for (meters, motion) in [(78.0, Motion::Stopped), (82.0, Motion::Moving)] {
        let mut script = Script::new(Rules::EXACT);
        for (seconds, east) in [(0.0, 1.0), (10.0, 1.0 + meters / metres(0.0, 1.0))] {
            let fix = Fix::new(at(seconds), script.now, Place::new(0.005, east / 1000.0));
            script.fix(Fix { accuracy_meters: Some(20.0), ..fix });
        }
        assert_eq!(script.state.trail.motion, motion, "{meters}");
    }
}

#[test]
fn a_reported_speed_decides_unless_the_way_belies_it() {
    let mut script = Script::new(Rules::EXACT);
    report(&mut script, 0.0, 1.0, 0.0);
    assert_eq!(script.state.trail.motion, Motion::Stopped);
    report(&mut script, 1.0, 1.02, 2.9);
    assert_eq!(script.state.trail.motion, Motion::Stopped);
    report(&mut script, 2.0, 1.04, 3.0);
    assert_eq!(script.state.trail.motion, Motion::Moving);
    // From stop to stop: 222 m in half a minute are no noise.
    report(&mut script, 32.0, 3.0, 0.0);
    assert_eq!(script.state.trail.motion, Motion::Moving);
    script.drive(&[(633.0, 3.0)]);
    assert_eq!(script.state.trail.motion, Motion::Unknown, "over a long silence");
}

#[test]
fn without_speeds_a_crawl_at_one_fix_a_second_is_motion() {
    let mut script = Script::new(Rules::EXACT);
    script.vehicle.limits = VehicleLimits::default();
    // 2.2 m/s, each step far below the noise of 20 m.
    let track: Vec<(f64, f64)> = (0..300).map(|i| (f64::from(i), 1.0 + f64::from(i) * 0.02)).collect();
    script.drive(&track);
    assert_eq!(script.state.trail.motion, Motion::Moving);
    let (as_of, running) = script.state.stays[0].running(at(299.0));
    assert_eq!((as_of, running.fix_count), (at(299.0), 300));
    assert!(
        running.moving_seconds > 260.0 && running.distance_meters > 0.87 * metres(1.0, 6.98),
        "{running:?}"
    );
    script.drive(&(300..420).map(|i| (f64::from(i), 6.98)).collect::<Vec<_>>());
    assert_eq!(script.state.trail.motion, Motion::Stopped);
}

#[test]
fn a_parked_vehicle_goes_no_way_whatever_its_noise() {
    let mut script = Script::new(Rules::default());
    let mut noise = crate::script::Noise::new(7);
    let correlated = (-1.0_f64 / 60.0).exp();
    let (mut north, mut east) = (0.0, 0.0);
    for second in 0..6 * 3600 {
        let step = 8.0 * (1.0 - correlated * correlated).sqrt();
        north = north * correlated + step * noise.normal();
        east = east * correlated + step * noise.normal();
        let place = Place::new(0.005 + north / 111_000.0, 0.005 + east / 111_000.0);
        let mut fix = Fix::new(at(f64::from(second)), script.now, place);
        fix.accuracy_meters = Some(12.0);
        script.fix(fix);
    }
    let (_, running) = script.state.stays[0].running(at(6.0 * 3600.0 - 1.0));
    assert_eq!((running.distance_meters, running.moving_seconds, running.stops), (0.0, 0.0, 1));
    assert_eq!(running.stopped_seconds, 6.0 * 3600.0 - 1.0);
}

#[test]
fn what_happens_on_the_way_out_counts_only_if_the_vehicle_comes_back() {
    let rules = Rules { min_outside_seconds: 60.0, ..Rules::EXACT };
    let way = [(0.0, 5.0), (10.0, 9.0), (20.0, 11.0), (50.0, 15.0)];
    let mut back = Script::new(rules);
    back.drive(&way).drive(&[(60.0, 9.0), (70.0, 11.0), (200.0, 15.0)]);
    let [inside] = &exits(&back)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.fix_count), (65.0, 5));
    let there_and_back = metres(5.0, 15.0) + metres(15.0, 9.0) + metres(9.0, 10.0);
    assert!((inside.distance_meters - there_and_back).abs() < 0.01);

    let mut gone = Script::new(rules);
    gone.drive(&way).drive(&[(80.0, 20.0)]);
    let [inside] = &exits(&gone)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.fix_count), (15.0, 2));
    assert!((inside.distance_meters - metres(5.0, 10.0)).abs() < 0.01);
}

#[test]
fn a_passage_has_analytics_without_a_fix() {
    let mut script = Script::new(Rules::default());
    script.drive(&[(0.0, -5.0), (40.0, 15.0)]);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.moving_seconds, inside.fix_count), (20.0, 20.0, 0));
    assert!((inside.distance_meters - metres(0.0, 10.0)).abs() < 0.01);
    assert_eq!(inside.avg_speed_kmh, inside.max_speed_kmh.map(|kmh| (kmh * 1e6).round() / 1e6));
}

#[test]
fn a_visit_between_two_edits_counts_what_no_fix_follows_as_gap() {
    let mut script = Script::with(vec![version(1, Rules::EXACT)]);
    script.fences[0].versions[0].active = false;
    script.drive(&[(0.0, 3.0), (60.0, 5.0)]);
    let edit = |number: i64, seconds: f64, active| {
        let mut edit = version(number, Rules::EXACT);
        (edit.effective_from, edit.changed_at) = (Some(at(seconds)), at(seconds));
        edit.active = active;
        edit
    };
    script.change(edit(2, 90.0, true));
    script.drive(&[(120.0, 8.0)]).change(edit(3, 200.0, false));
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.moving_seconds, inside.gap_seconds), (110.0, 30.0, 80.0));
    // The visit began half-way from 5 to 8.
    assert!((inside.distance_meters - metres(6.5, 8.0)).abs() < 0.01 && inside.fix_count == 1);
}

#[test]
fn a_vehicle_taken_out_of_use_has_its_analytics() {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 3.0), (60.0, 5.0)]);
    script.now = at(100.0);
    script.vehicle.out_of_service = vec![(at(100.0), None)];
    script.run(catch_up);
    let exit = script.geofence_events().pop().unwrap();
    assert_eq!(exit.cause, Cause::VehicleDeactivated);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert_eq!((inside.duration_seconds, inside.moving_seconds, inside.gap_seconds), (100.0, 60.0, 40.0));
}

#[test]
fn a_visit_shorter_than_a_second_has_no_average() {
    let mut script = Script::new(Rules { min_outside_seconds: 0.0, ..Rules::EXACT });
    script.drive(&[(0.0, 9.9), (10.0, 60.0)]);
    let [inside] = &exits(&script)[..] else { panic!() };
    assert!(inside.duration_seconds < 1.0 && inside.avg_speed_kmh.is_none(), "{inside:?}");
}

#[test]
fn a_state_written_before_there_were_tallies_is_read() {
    let mut script = Script::new(Rules::default());
    script.drive(&[(0.0, 5.0), (10.0, 10.1)]);
    let mut old = serde_json::to_value(&script.state).unwrap();
    old.as_object_mut().unwrap().remove("trail");
    let stay = old["stays"][0].as_object_mut().unwrap();
    stay.remove("tally");
    stay["phase"]["leaving"].as_object_mut().unwrap().remove("tally");
    let read: VehicleState = serde_json::from_value(old).unwrap();
    assert_eq!(read.stays[0].running(at(10.0)).1.gap_seconds, 10.0);
}
