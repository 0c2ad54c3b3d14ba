//! Trips and stops over more than ten minutes of silence, out of service, and in their sums (docs/tracking.md, "Trips and
//! stops").

use waypost_actors::tracking::{TripKind, TripSummary, catch_up};

use crate::script::{Script, at};
use crate::trips::{METERS_PER_DEGREE, drive, fix, leg, script, stands, told, trips};

type Fixes = Vec<(f64, f64, Option<f64>)>;

fn after(parts: &[Fixes]) -> Script {
    let mut script = script();
    parts.iter().for_each(|part| drive(&mut script, part));
    script
}

/// What the ended ones of a kind did.
fn summaries(script: &Script, of: TripKind) -> Vec<TripSummary> {
    let ended = trips(&script.effects.records).into_iter().filter(|event| event.kind == of);
    ended.filter_map(|event| event.summary).collect()
}

#[test]
fn who_rested_before_a_silence_stood_until_it_is_seen_elsewhere() {
    let arrived = [leg((0, 200, 10), 0.0, 36.0, true), stands((200, 300, 10), 2_000.0, true)];
    let [to, rest] = arrived;
    // Found there, and farther off than noise is: it stands, so it stood.
    for meters in [2_000.0, 2_030.0] {
        let there = after(&[to.clone(), rest.clone(), vec![(2_000.0, meters, Some(0.0))]]);
        assert_eq!(told(&there), [("trip", 0.0, Some(200.0)), ("stop", 200.0, None)], "{meters}");
    }
    let elsewhere = after(&[to, rest, vec![(2_000.0, 9_000.0, Some(36.0)), (2_010.0, 9_100.0, Some(36.0))]]);
    assert_eq!(
        told(&elsewhere),
        [("trip", 0.0, Some(200.0)), ("stop", 200.0, Some(2_000.0)), ("trip", 2_000.0, None)]
    );
    let ends = trips(&elsewhere.effects.records).into_iter().filter_map(|event| event.end_location);
    let ends: Vec<f64> = ends.map(|place| (place.longitude * METERS_PER_DEGREE).round()).collect();
    assert_eq!(ends, [2_000.0, 2_000.0], "the stop ended where it was, not where it was found");
    let last =
        trips(&elsewhere.effects.records).last().expect("a trip").location.longitude * METERS_PER_DEGREE;
    assert!((last - 9_000.0).abs() < 1.0, "{last}");
}

#[test]
fn who_drove_without_saying_so_is_where_it_was_last_seen() {
    // Without speeds it is looked at each half minute, at 190 s for the last time; it drove on until 210 s.
    let lost = after(&[leg((0, 220, 10), 0.0, 36.0, false), vec![(2_000.0, 2_100.0, None)]]);
    let [trip, stop] = told(&lost)[..] else { panic!("{:?}", told(&lost)) };
    assert_eq!((trip.0, trip.2, stop), ("trip", Some(210.0), ("stop", 210.0, None)));
}

#[test]
fn a_stop_goes_on_over_a_silence_unless_the_vehicle_had_set_off_or_is_seen_elsewhere() {
    let stop = stands((0, 600, 10), 0.0, true);
    let there = |meters: f64| vec![(2_000.0, meters, Some(0.0))];
    let elsewhere = vec![(2_000.0, 5_000.0, Some(36.0)), (2_010.0, 5_100.0, Some(36.0))];
    for meters in [0.0, 30.0] {
        assert_eq!(told(&after(&[stop.clone(), there(meters)])), [("stop", 0.0, None)], "{meters}");
    }
    let moved = [("stop", 0.0, Some(2_000.0)), ("trip", 2_000.0, None)];
    assert_eq!(told(&after(&[stop.clone(), elsewhere.clone()])), moved);
    // It had begun to move, and was not away yet.
    let sets_off = vec![(600.0, 40.0, Some(8.0))];
    assert_eq!(told(&after(&[stop.clone(), sets_off.clone(), there(40.0)])), [("stop", 0.0, None)]);
    let left = [("stop", 0.0, Some(590.0)), ("trip", 2_000.0, None)];
    assert_eq!(told(&after(&[stop, sets_off, elsewhere])), left);
}

#[test]
fn a_first_stop_before_a_silence_is_told_if_it_is_known() {
    let elsewhere = vec![(2_000.0, 5_000.0, Some(36.0)), (2_010.0, 5_100.0, Some(36.0))];
    let trip = ("trip", 2_000.0, None);
    let one = stands((0, 10, 10), 0.0, true);
    let two = stands((0, 20, 10), 0.0, true);
    let there = vec![(2_000.0, 0.0, Some(0.0))];
    for seen in [&one, &two] {
        assert_eq!(told(&after(&[seen.clone(), there.clone()])), [("stop", 0.0, None)]);
    }
    assert_eq!(told(&after(&[one, elsewhere.clone()])), [trip], "a single fix is no stop");
    assert_eq!(told(&after(&[two, elsewhere])), [("stop", 0.0, Some(2_000.0)), trip]);
}

#[test]
fn out_of_service_a_trip_ends_where_it_rested() {
    let (none, rest) = (Vec::new(), stands((220, 300, 10), 2_200.0, true));
    for (says, rest, ended) in [(true, rest, 220.0), (true, none.clone(), 210.0), (false, none, 210.0)] {
        let mut script = after(&[leg((0, 220, 10), 0.0, 36.0, says), rest]);
        script.now = at(1_000.0);
        script.vehicle.out_of_service = vec![(at(500.0), None)];
        script.run(catch_up);
        let [trip] = told(&script)[..] else { panic!("{:?}", told(&script)) };
        assert_eq!((trip.0, trip.2), ("trip", Some(ended)), "{says}");
    }
}

#[test]
fn away_is_away_from_where_it_set_off_too() {
    // The stop's first fix was 60 m off.
    let mut parts = vec![vec![(0.0, -60.0, Some(0.0))], stands((10, 400, 10), 0.0, true)];
    parts.push(vec![(400.0, 20.0, Some(8.0)), (410.0, 20.0, Some(0.0)), (420.0, 0.0, Some(0.0))]);
    assert_eq!(told(&after(&parts)), [("stop", 0.0, None)]);
}

#[test]
fn a_trip_sums_up_its_speeds() {
    let mut script = script();
    script.vehicle.limits.overspeed_kmh = Some(50.0);
    drive(&mut script, &leg((0, 300, 10), 0.0, 36.0, true));
    drive(&mut script, &leg((300, 400, 10), 3_000.0, 72.0, true));
    drive(&mut script, &stands((400, 800, 10), 5_000.0, true));
    let [trip] = &summaries(&script, TripKind::Trip)[..] else { panic!() };
    // To the nine fixes behind the first one over the limit.
    assert_eq!((trip.max_speed_kmh, trip.overspeed_seconds), (72.0, 100.0));
    assert!((trip.avg_speed_kmh.unwrap() - 5_000.0 / 400.0 * 3.6).abs() < 0.1, "{trip:?}");
    assert_eq!((trip.moving_seconds, trip.stopped_seconds, trip.duration_seconds), (400.0, 0.0, 400.0));
}

#[test]
fn without_speeds_a_leg_of_five_seconds_tells_one() {
    for (seconds, fastest) in [(4.0, 36.0), (5.0, 144.0)] {
        let mut script = script();
        drive(&mut script, &leg((0, 200, 10), 0.0, 36.0, false));
        let jump = seconds * 40.0;
        drive(&mut script, &[(190.0 + seconds, 1_900.0 + jump, None)]);
        drive(&mut script, &stands((200, 800, 10), 1_900.0 + jump, false));
        let [trip] = &summaries(&script, TripKind::Trip)[..] else { panic!("{:?}", told(&script)) };
        assert!((trip.max_speed_kmh - fastest).abs() < 0.1, "{seconds}: {trip:?}");
    }
}

#[test]
fn a_silence_is_longer_than_ten_minutes() {
    for (seconds, gap) in [(600.0, 0.0), (601.0, 601.0)] {
        let mut script = after(&[stands((0, 400, 10), 0.0, true), vec![(390.0 + seconds, 0.0, Some(0.0))]]);
        drive(&mut script, &leg((1_000, 1_100, 10), 100.0, 36.0, true));
        let [stop] = &summaries(&script, TripKind::Stop)[..] else { panic!() };
        assert_eq!(stop.gap_seconds, gap);
    }
    // On a trip, ten minutes between two fixes are none.
    let slow = after(&[leg((0, 100, 10), 0.0, 36.0, true), vec![(690.0, 6_900.0, Some(36.0))]]);
    assert_eq!(told(&slow), [("trip", 0.0, None)]);
}

#[test]
fn an_ignition_before_counts_and_a_fix_alone_is_no_trip() {
    let mut script = script();
    script.fix(fix(0.0, 0.0, Some(36.0)));
    assert_eq!(told(&script), []);
    script.now = at(1_000.0);
    script.vehicle.out_of_service = vec![(at(500.0), None)];
    script.run(catch_up);
    assert_eq!(told(&script), [], "nothing was told, so nothing ends");
}
