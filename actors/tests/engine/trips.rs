//! Trips and stops: what begins and ends them, what a parked vehicle makes of its noise, and the same ones in any order.

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::model::{
    EventStatus, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Rules, Timestamp,
};
use waypost_actors::tracking::{Record, RecordView, TripEvent, TripKind, catch_up};

use crate::late::Life;
use crate::script::{Noise, Script, at, square, version};
use crate::timelines::{Dated, Step, THE_END};

pub(crate) const METERS_PER_DEGREE: f64 = 111_319.5;

pub(crate) fn trips<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<TripEvent> {
    let trip = |record| match RecordView::from(record) {
        RecordView::Trip(event) => Some(event),
        _ => None,
    };
    let mut found: Vec<TripEvent> = records.into_iter().filter_map(trip).collect();
    found.sort_by_key(|event| event.started_at);
    found
}

/// Kind, from and to, of the last record of each id, as a reader of the log keeps them.
pub(crate) fn told(script: &Script) -> Vec<(&'static str, f64, Option<f64>)> {
    let mut told: Vec<TripEvent> = Vec::new();
    for event in script.effects.records.iter().flat_map(|record| trips([record])) {
        told.retain(|known| known.id != event.id);
        told.push(event);
    }
    told.sort_by_key(|event| event.started_at);
    told.iter().map(|e| (e.kind.as_str(), second(e.started_at), e.ended_at.map(second))).collect()
}

fn second(instant: Timestamp) -> f64 {
    instant.seconds_since(at(0.0))
}

pub(crate) fn script() -> Script {
    let mut script = Script::new(Rules::default());
    script.vehicle.limits.max_speed_kmh = Some(250.0);
    script
}

/// A fix so many metres east of the beginning.
pub(crate) fn fix(seconds: f64, meters: f64, kmh: Option<f64>) -> Fix {
    let place = Place::new(0.0, meters / METERS_PER_DEGREE);
    Fix { speed_kmh: kmh, ..Fix::new(at(seconds), at(THE_END), place) }
}

pub(crate) fn drive(script: &mut Script, fixes: &[(f64, f64, Option<f64>)]) {
    for (seconds, meters, kmh) in fixes {
        script.fix(fix(*seconds, *meters, *kmh));
    }
}

/// One fix per `step` seconds, at a constant speed; with or without saying so.
pub(crate) fn leg(
    (from, to, step): (u32, u32, u32),
    meters: f64,
    kmh: f64,
    says: bool,
) -> Vec<(f64, f64, Option<f64>)> {
    let at = |second: u32| {
        let way = meters + f64::from(second - from) * kmh / 3.6;
        (f64::from(second), way, says.then_some(kmh))
    };
    (from..to).step_by(step as usize).map(at).collect()
}

pub(crate) fn stands(
    (from, to, step): (u32, u32, u32),
    meters: f64,
    says: bool,
) -> Vec<(f64, f64, Option<f64>)> {
    leg((from, to, step), meters, 0.0, says)
}

#[test]
fn a_trip_leads_from_one_stop_to_the_next() {
    for says in [true, false] {
        let mut script = script();
        drive(&mut script, &stands((0, 600, 10), 0.0, says));
        assert_eq!(told(&script), [("stop", 0.0, None)], "told after five minutes");
        let record = script.effects.records.iter().find(|record| record.geofence().is_none());
        assert_eq!(record.unwrap().confirmed_at, at(300.0));
        drive(&mut script, &leg((600, 1_200, 10), 0.0, 36.0, says));
        assert_eq!(told(&script)[1].0, "trip", "told as it goes on");
        let open = trips(&script.effects.records).pop().unwrap();
        assert!(open.open && open.summary.is_none());
        drive(&mut script, &stands((1_200, 1_490, 10), 6_000.0, says));
        assert_eq!(told(&script).len(), 2, "not yet");
        drive(&mut script, &stands((1_490, 1_600, 10), 6_000.0, says));
        let [first, trip, last] = told(&script)[..] else { panic!("{:?}", told(&script)) };
        // Without speeds the vehicle has to be away before it is believed to go.
        let begin = if says { 590.0 } else { 600.0 };
        assert!((first.2.unwrap() - begin).abs() <= 10.0, "{first:?}");
        assert_eq!((trip.1, Some(trip.1)), (first.2.unwrap(), first.2), "it begins where the stop ends");
        let arrived = trip.2.unwrap();
        assert!((1_200.0..=1_230.0).contains(&arrived), "{trip:?}");
        assert_eq!(last, ("stop", arrived, None));
        let event = trips(&script.effects.records)
            .into_iter()
            .find(|e| e.summary.is_some() && e.kind == TripKind::Trip);
        let event = event.unwrap();
        let summary = event.summary.unwrap();
        assert!((summary.distance_meters - 6_000.0).abs() < 110.0, "{summary:?}");
        assert!((summary.max_speed_kmh - 36.0).abs() < 0.1, "{summary:?}");
        assert!((summary.moving_seconds - 600.0).abs() <= 30.0, "{summary:?}");
        assert_eq!(summary.duration_seconds, arrived - trip.1);
        assert!((event.end_location.unwrap().longitude * METERS_PER_DEGREE - 6_000.0).abs() < 1.0);
    }
}

#[test]
fn a_short_rest_is_part_of_the_trip_and_idling_is_counted() {
    let mut script = script();
    let mut all = stands((0, 400, 10), 0.0, true);
    all.extend(leg((400, 600, 10), 0.0, 36.0, true));
    all.extend(stands((600, 890, 10), 2_000.0, true));
    all.extend(leg((890, 1_000, 10), 2_000.0, 36.0, true));
    all.extend(stands((1_000, 1_400, 10), 3_100.0, true));
    for (seconds, meters, kmh) in all {
        script.fix(Fix { ignition: Some(true), ..fix(seconds, meters, kmh) });
    }
    assert_eq!(
        told(&script),
        [("stop", 0.0, Some(390.0)), ("trip", 390.0, Some(1_000.0)), ("stop", 1_000.0, None)]
    );
    let trip = trips(&script.effects.records)
        .into_iter()
        .find_map(|e| e.summary.filter(|_| e.kind == TripKind::Trip));
    let trip = trip.unwrap();
    assert_eq!((trip.stopped_seconds, trip.idling_seconds), (280.0, 280.0), "{trip:?}");
    assert_eq!((trip.moving_seconds, trip.gap_seconds, trip.fix_count), (330.0, 0.0, 62));
}

#[test]
fn with_the_ignition_off_a_minute_is_enough() {
    let mut script = script();
    drive(&mut script, &leg((0, 200, 10), 0.0, 36.0, true));
    for (seconds, meters, kmh) in stands((200, 280, 10), 2_000.0, true) {
        let ignition = Some(seconds < 210.0);
        script.fix(Fix { ignition, ..fix(seconds, meters, kmh) });
        assert_eq!(told(&script).len(), if seconds < 270.0 { 1 } else { 2 }, "{seconds}");
    }
    assert_eq!(told(&script), [("trip", 0.0, Some(200.0)), ("stop", 200.0, None)]);
    // A vehicle that moves with its ignition off is on a trip all the same: it may be wired wrongly, or towed.
    let mut towed = self::script();
    for (seconds, meters, kmh) in leg((0, 400, 10), 0.0, 36.0, true) {
        towed.fix(Fix { ignition: Some(false), ..fix(seconds, meters, kmh) });
    }
    assert_eq!(told(&towed), [("trip", 0.0, None)]);
}

#[test]
fn a_vehicle_that_shuffles_about_is_on_no_trip() {
    let mut script = script();
    drive(&mut script, &stands((0, 400, 10), 0.0, true));
    drive(&mut script, &[(400.0, 20.0, Some(8.0)), (410.0, 40.0, Some(8.0)), (420.0, 45.0, Some(0.0))]);
    drive(&mut script, &stands((430, 900, 10), 45.0, true));
    assert_eq!(told(&script), [("stop", 0.0, None)]);
    // One wild fix is no trip either; two of them are.
    drive(&mut script, &[(900.0, 400.0, Some(0.0)), (910.0, 45.0, Some(0.0)), (920.0, 45.0, Some(0.0))]);
    assert_eq!(told(&script), [("stop", 0.0, None)]);
    drive(&mut script, &[(930.0, 400.0, Some(0.0)), (940.0, 400.0, Some(0.0))]);
    assert_eq!(told(&script), [("stop", 0.0, Some(920.0)), ("trip", 920.0, None)]);
}

#[test]
fn a_silence_ends_a_trip_where_it_was_last_seen_and_no_stop() {
    // Lost on its way, and found elsewhere: nothing is known of the time between.
    let mut lost = script();
    drive(&mut lost, &leg((0, 200, 10), 0.0, 36.0, true));
    drive(&mut lost, &leg((1_000, 1_300, 10), 9_000.0, 36.0, true));
    assert_eq!(told(&lost), [("trip", 0.0, Some(190.0)), ("trip", 1_000.0, None)]);
    // Lost on its way, and found there: it stood.
    let mut found = script();
    drive(&mut found, &leg((0, 200, 10), 0.0, 36.0, true));
    drive(&mut found, &stands((1_000, 1_100, 10), 1_905.0, true));
    assert_eq!(told(&found), [("trip", 0.0, Some(190.0)), ("stop", 190.0, None)]);
    // It stood when it was last seen: it stood until it is seen elsewhere.
    let mut stood = script();
    drive(&mut stood, &leg((0, 200, 10), 0.0, 36.0, true));
    drive(&mut stood, &[(200.0, 2_000.0, Some(0.0))]);
    drive(&mut stood, &leg((9_000, 9_100, 10), 4_000.0, 36.0, true));
    assert_eq!(
        told(&stood),
        [("trip", 0.0, Some(200.0)), ("stop", 200.0, Some(9_000.0)), ("trip", 9_000.0, None)]
    );
    let stop = trips(&stood.effects.records)
        .into_iter()
        .find_map(|e| e.summary.filter(|_| e.kind == TripKind::Stop));
    assert_eq!(stop.unwrap().gap_seconds, 8_800.0);
}

#[test]
fn out_of_service_what_goes_on_ends() {
    let mut script = script();
    drive(&mut script, &leg((0, 200, 10), 0.0, 36.0, true));
    script.now = at(1_000.0);
    script.vehicle.out_of_service = vec![(at(500.0), None)];
    script.run(catch_up);
    assert_eq!(told(&script), [("trip", 0.0, Some(190.0))]);
    assert_eq!(script.effects.records.last().unwrap().confirmed_at, at(500.0));
    assert!(script.state.journey.is_none());
}

#[test]
fn the_fences_at_both_ends_are_named() {
    let mut script = Script::new(Rules::EXACT); // the square of 0.01° on the equator
    let within = |(seconds, meters, kmh)| {
        let known = fix(seconds, meters, kmh);
        Fix { place: Place::new(0.005, known.place.longitude), ..known }
    };
    let mut all = stands((0, 400, 10), 500.0, true);
    all.extend(leg((400, 600, 10), 500.0, 36.0, true));
    all.extend(stands((600, 1_000, 10), 2_500.0, true));
    all.into_iter().for_each(|told| script.fix(within(told)));
    let trip =
        trips(&script.effects.records).into_iter().find(|e| e.kind == TripKind::Trip && !e.open).unwrap();
    let fence = GeofenceId(uuid::Uuid::from_u128(3));
    assert_eq!((trip.start_geofence_ids, trip.end_geofence_ids), (vec![fence], vec![]));
}

/// Noise of 10 m on either axis, white or correlated over a minute, for a day.
#[test]
fn a_parked_vehicle_makes_no_trip() {
    for (number, (step, says, kept)) in [1_u32, 10, 60]
        .into_iter()
        .flat_map(|step| [(step, true), (step, false)])
        .flat_map(|(step, says)| [(step, says, 0.0), (step, says, (-f64::from(step) / 60.0).exp())])
        .enumerate()
    {
        let mut script = script();
        let mut noise = Noise::new(0x9E37_79B9_7F4A_7C15 + number as u64);
        let mut off = [noise.normal() * 10.0, noise.normal() * 10.0];
        for second in (0..86_400).step_by(step as usize) {
            let fresh = (1.0_f64 - kept * kept).sqrt() * 10.0;
            off = off.map(|off| kept * off + fresh * noise.normal());
            let place = Place::new(off[0] / METERS_PER_DEGREE, off[1] / METERS_PER_DEGREE);
            let fix = Fix { place, ..fix(f64::from(second), 0.0, says.then_some(0.0)) };
            script.fix(fix);
            script.effects.rows.clear();
            script.effects.checkpoints.clear();
        }
        assert_eq!(told(&script), [("stop", 0.0, None)], "each {step} s, speed {says}, correlated {kept}");
    }
}

fn fence() -> Fence {
    Fence {
        id: GeofenceId(uuid::Uuid::from_u128(3)),
        organization_id: OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![version(1, Rules::EXACT)],
    }
}

fn held(life: &Life) -> Vec<TripEvent> {
    trips(life.ledger.records.values().filter(|record| record.status == EventStatus::Active))
}

/// A part of a day: how long, how far apart its fixes are, and how fast.
type Part = (u32, u32, u32);

fn days() -> impl Strategy<Value = (Vec<Part>, Vec<bool>, Vec<Option<bool>>)> {
    let seconds = prop_oneof![3 => 20_u32..200, 2 => 250_u32..700, 1 => 700_u32..1_500];
    let apart = prop_oneof![3 => 5_u32..40, 1 => 40_u32..130, 1 => 290_u32..320, 1 => 590_u32..800];
    let kmh = prop_oneof![3 => Just(0_u32), 1 => 1_u32..9, 3 => 20_u32..90];
    let ignition = prop_oneof![2 => Just(None), 1 => Just(Some(false)), 2 => Just(Some(true))];
    (vec((seconds, apart, kmh), 1..9), vec(any::<bool>(), 1..5), vec(ignition, 1..7))
}

fn day((parts, says, ignition): &(Vec<Part>, Vec<bool>, Vec<Option<bool>>)) -> Vec<Fix> {
    let (mut second, mut meters, mut fixes) = (0, 0.0, Vec::new());
    for (number, (lasts, apart, kmh)) in parts.iter().enumerate() {
        let (end, kmh) = (second + lasts, f64::from(*kmh));
        while second < end {
            let told = says[number % says.len()].then_some(kmh);
            let ignition = ignition[fixes.len() / 3 % ignition.len()];
            fixes.push(Fix { ignition, ..fix(f64::from(second), meters, told) });
            second += apart;
            meters += f64::from(*apart) * kmh / 3.6;
        }
    }
    fixes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_order_and_split_makes_the_same_trips(
        drawn in days(), seed in any::<u64>(), together in 1_usize..9, keeps in 1_usize..9, again in 0_usize..9,
        far in prop_oneof![1 => Just(usize::MAX), 3 => 1_usize..12], slice in 1_usize..40,
    ) {
        let all = day(&drawn);
        let mut fixes = all.clone();
        fixes.extend_from_within(..again.min(fixes.len()));
        // Each fix comes at most `far` places too late or too early.
        let mut state = seed | 1;
        for i in (1..fixes.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = i.saturating_sub((state >> 33) as usize % far.min(i + 1));
            fixes.swap(i, other);
        }
        let mut life = Life::new(&[fence()], None, keeps);
        life.slice = slice;
        let steps: Vec<(f64, Step)> =
            fixes.chunks(together).map(|some| (THE_END, Step::Report(some.to_vec()))).collect();
        life.through(&steps);
        life.keeps_the_law();
        // They follow each other, each kind in its turn unless nothing is known in between.
        for pair in held(&life).windows(2) {
            prop_assert!(pair[0].ended_at.is_some_and(|end| end <= pair[1].started_at), "{pair:?}");
        }
        // What they count is in the fixes.
        for trip in held(&life) {
            let Some((summary, end)) = trip.summary.zip(trip.ended_at) else { continue };
            let within = all.iter().filter(|fix| fix.recorded_at >= trip.started_at && fix.recorded_at <= end);
            prop_assert_eq!(summary.fix_count, within.count() as i64);
            let parts = summary.moving_seconds + summary.stopped_seconds + summary.gap_seconds;
            prop_assert!((parts - summary.duration_seconds).abs() < 1e-3, "{summary:?}");
        }
    }
}

/// A fix that comes late is judged with those around it alone, however long the trip; its end is told with the new sums.
#[test]
fn a_late_fix_costs_its_window_and_puts_the_sums_right() {
    let mut all: Vec<Fix> =
        leg((0, 6_000, 10), 0.0, 36.0, true).into_iter().map(|(s, m, k)| fix(s, m, k)).collect();
    all.extend(stands((6_000, 6_400, 10), 60_000.0, true).into_iter().map(|(s, m, k)| fix(s, m, k)));
    // Off the road, so that the way is longer, and faster than ever.
    let mut late = all.remove(100);
    late.place.latitude += 0.001;
    late.speed_kmh = Some(40.0);
    let mut life = Life::new(&[fence()], None, 5);
    let report = |fixes: Vec<Fix>| Step::Report(fixes);
    let steps: Vec<(f64, Step)> = all.chunks(5).map(|some| (THE_END, report(some.to_vec()))).collect();
    life.through(&steps);
    let before = held(&life)[0].clone();
    life.slice = 2_000;
    life.through(&[(THE_END, report(vec![late]))]);
    life.keeps_the_law();
    let after = held(&life)[0].clone();
    let (was, is) = (before.summary.unwrap(), after.summary.unwrap());
    assert_eq!((before.id, before.ended_at), (after.id, after.ended_at));
    assert_eq!((is.fix_count, was.max_speed_kmh, is.max_speed_kmh), (was.fix_count + 1, 36.0, 40.0));
    assert!(is.distance_meters > was.distance_meters + 50.0, "{was:?} {is:?}");
    assert_eq!(after.revision, before.revision + 1);
    let until = life.corrected.last().copied().flatten().expect("it ended before the present");
    assert!(second(until) < 1_700.0, "{}", second(until));
    // And what was patched is a beginning for the next one.
    let mut other = all[400];
    other.recorded_at = other.recorded_at.plus_seconds(3.0);
    other.place.latitude += 0.001;
    life.through(&[(THE_END, report(vec![other]))]);
    life.keeps_the_law();
}

/// A geofence dated back is settled with the part of the way near it; a trip that began there names it when it ends, far behind.
#[test]
fn a_trip_that_ends_behind_what_is_judged_anew_names_the_geofence_it_began_in() {
    let mut way = stands((0, 700, 10), 0.0, true);
    way.extend(leg((700, 1_700, 10), 0.0, 36.0, true));
    way.extend(stands((1_700, 4_000, 10), 10_000.0, true));
    let fixes: Vec<Fix> = way.into_iter().map(|(s, m, k)| fix(s, m, k)).collect();
    let elsewhere = FenceVersion { shape: square(1.0, 1.0, 0.01), ..version(1, Rules::EXACT) };
    let mut life = Life::new(&[Fence { versions: vec![elsewhere], ..fence() }], None, 1);
    let steps: Vec<(f64, Step)> =
        fixes.chunks(5).map(|some| (THE_END, Step::Report(some.to_vec()))).collect();
    life.through(&steps);
    let began_in = |life: &Life| {
        let trip = held(life).into_iter().find(|one| one.kind == TripKind::Trip).expect("a trip");
        assert_eq!(second(trip.ended_at.expect("it ended")), 1_700.0);
        trip.start_geofence_ids
    };
    assert_eq!(began_in(&life), []);
    life.slice = 2_000;
    let (shape, dated) = (square(-0.005, -0.005, 0.01), Dated::Always);
    let change = Step::Change { fence: 0, shape, active: true, deleted: false, rules: Rules::EXACT, dated };
    life.through(&[(THE_END, change)]);
    life.keeps_the_law();
    assert_eq!(began_in(&life), [fence().id]);
    let until = life.corrected.last().copied().flatten().expect("it ended before the present");
    assert!(second(until) < 3_000.0, "{}", second(until));
}
