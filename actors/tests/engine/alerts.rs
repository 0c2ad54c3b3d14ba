//! Alerts: raised with their cause, ended with it, taken back with it, in any order of fixes; and silence, which is one
//! alert for all who fall silent at once.

use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;
use waypost_actors::model::{
    Connection, EventKind, EventStatus, Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Rules,
    VehicleId,
};
use waypost_actors::tracking::{
    AlertEvent, AlertRule, ConnectionChange, Record, RecordView, TOGETHER_SECONDS, silent_while_moving,
};

use crate::late::Life;
use crate::ledger::geofence_events;
use crate::script::{at, square, version};
use crate::timelines::{Dated, Step, THE_END};

const OWN_KMH: f64 = 70.0;
const DWELL: f64 = 45.0;
const LIMITED: Rules = Rules { dwell_after_seconds: Some(DWELL), ..Rules::EXACT };

fn alerts<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<AlertEvent> {
    let alert = |record| match RecordView::from(record) {
        RecordView::Alert(event) => Some(event),
        _ => None,
    };
    let mut found: Vec<AlertEvent> = records.into_iter().filter_map(alert).collect();
    found.sort_by_key(|event| (event.started_at, event.id));
    found
}

/// By rule: from, to, in seconds.
type Told = (AlertRule, f64, Option<f64>);

fn told(life: &Life) -> Vec<Told> {
    let second = |instant: waypost_actors::model::Timestamp| instant.seconds_since(at(0.0));
    let told = |event: &AlertEvent| (event.rule, second(event.started_at), event.ended_at.map(second));
    let mut told: Vec<Told> = alerts(life.ledger.active().values()).iter().map(told).collect();
    told.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.as_str().cmp(b.0.as_str())));
    told
}

/// A fence around 0.005° east, with a limit on stays; the vehicle has one on speed.
fn life(keeps: usize) -> Life {
    life_by(LIMITED, keeps)
}

fn life_by(rules: Rules, keeps: usize) -> Life {
    let fence = Fence {
        id: GeofenceId(Uuid::from_u128(3)),
        organization_id: OrganizationId(Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![FenceVersion { shape: square(0.0, 0.0, 0.01), ..version(1, rules) }],
    };
    let mut life = Life::new(&[fence], None, keeps);
    life.vehicle.limits.overspeed_kmh = Some(OWN_KMH);
    life
}

fn fix(seconds: f64, kmh: f64, inside: bool) -> Fix {
    let place = Place::new(0.005, if inside { 0.005 } else { 0.5 });
    Fix { speed_kmh: Some(kmh), ..Fix::new(at(seconds), at(THE_END), place) }
}

fn report(life: &mut Life, fixes: &[Fix]) {
    life.through(&[(THE_END, Step::Report(fixes.to_vec()))]);
    life.keeps_the_law();
}

#[test]
fn a_stay_that_is_too_long_is_one_until_it_ends() {
    let mut life = life(4);
    report(&mut life, &[fix(0.0, 20.0, false), fix(10.0, 20.0, true), fix(40.0, 20.0, true)]);
    assert_eq!(told(&life), []);
    report(&mut life, &[fix(80.0, 20.0, true)]);
    let [(AlertRule::Dwell, since, None)] = told(&life)[..] else { panic!("{:?}", told(&life)) };
    let [alert] = &alerts(life.ledger.active().values())[..] else { panic!() };
    let dwell = geofence_events(life.ledger.active().values());
    let dwell = dwell.iter().find(|event| event.kind == EventKind::Dwell).expect("told");
    assert_eq!((alert.cause_id, alert.geofence_name.as_deref()), (dwell.id.0, Some("F")));
    assert_eq!((alert.geofence_id, alert.location), (Some(dwell.geofence_id), Some(dwell.location)));
    assert_eq!((alert.started_at, alert.revision), (dwell.occurred_at, 1));
    report(&mut life, &[fix(100.0, 20.0, true), fix(120.0, 20.0, false)]);
    let [(AlertRule::Dwell, again, Some(until))] = told(&life)[..] else { panic!("{:?}", told(&life)) };
    assert!(again == since && (100.0..120.0).contains(&until), "{until}");
    // It was outside in between, so none of the two stays was too long.
    report(&mut life, &[fix(45.0, 20.0, false), fix(79.0, 20.0, false)]);
    assert_eq!(told(&life), []);
    let taken_back = life.ledger.records.values().filter(|record| record.as_alert().is_some());
    assert!(taken_back.map(|record| (record.status, record.revision)).eq([(EventStatus::Retracted, 3)]));
}

/// However small the parts are that a correction looks at: what goes on at the end of a part is not gone.
#[test]
fn a_stay_that_goes_on_in_a_fence_that_was_larger_is_revised_once() {
    for slice in 1..6 {
        let mut life = life(4);
        life.slice = slice;
        let beside = |seconds| Fix { place: Place::new(0.005, 0.015), ..fix(seconds, 20.0, false) };
        let inside = [10.0, 40.0, 80.0, 100.0].map(|seconds| fix(seconds, 20.0, true));
        let fixes = [&[fix(0.0, 20.0, false)], &inside[..], &[120.0, 130.0, 140.0, 150.0].map(beside)];
        report(&mut life, &fixes.concat());
        let [(AlertRule::Dwell, since, Some(_))] = told(&life)[..] else { panic!("{:?}", told(&life)) };
        let revision = |life: &Life| alerts(life.ledger.active().values())[0].revision;
        let before = revision(&life);
        life.through(&[(
            THE_END,
            Step::Change {
                fence: 0,
                shape: square(0.0, 0.0, 0.02),
                active: true,
                deleted: false,
                rules: LIMITED,
                dated: Dated::Back(THE_END as u32 - 60),
            },
        )]);
        life.keeps_the_law();
        assert_eq!(told(&life), [(AlertRule::Dwell, since, None)], "{slice}");
        assert_eq!(revision(&life), before + 1, "{slice}");
    }
}

/// A leap waits for the fix that confirms it; so does what it shows, whatever part of the past is judged anew.
#[test]
fn a_stay_that_a_leap_shows_to_be_too_long_is_confirmed_with_the_leap() {
    for slice in 1..6 {
        let mut life = life(100);
        life.slice = slice;
        life.vehicle.limits.max_speed_kmh = Some(200.0);
        let at_place = |seconds, east| Fix { place: Place::new(0.005, east), ..fix(seconds, 20.0, true) };
        let fixes = [(0.0, 0.001), (40.0, 0.001), (46.0, 0.009), (50.0, 0.009), (55.0, 0.009)];
        report(&mut life, &fixes.map(|(seconds, east)| at_place(seconds, east)));
        let told = |life: &Life| {
            let mut alerts = life.ledger.records.values().filter(|record| record.as_alert().is_some());
            let alert = alerts.next().expect("raised");
            (alert.occurred_at, alert.confirmed_at, alert.revision, alert.is_open())
        };
        let expected = (at(45.0), at(50.0), 1, true);
        assert_eq!(told(&life), expected);
        report(&mut life, &[at_place(20.0, 0.001)]);
        assert_eq!(told(&life), expected, "{slice}");
    }
}

#[test]
fn speeding_is_one_after_a_minute() {
    let mut life = life(4);
    report(&mut life, &[fix(0.0, 90.0, false), fix(30.0, 90.0, false), fix(59.0, 95.0, false)]);
    assert_eq!(told(&life), []);
    report(&mut life, &[fix(60.0, 90.0, false)]);
    assert_eq!(told(&life), [(AlertRule::Overspeed, 0.0, None)]);
    report(&mut life, &[fix(70.0, 120.0, false), fix(80.0, 10.0, false)]);
    assert_eq!(told(&life), [(AlertRule::Overspeed, 0.0, Some(80.0))]);
    let [alert] = &alerts(life.ledger.active().values())[..] else { panic!() };
    assert_eq!((alert.limit_kmh, alert.max_speed_kmh), (Some(OWN_KMH), Some(120.0)));
    assert_eq!((alert.geofence_id, alert.geofence_name.as_deref()), (None, None));
    // It was slow in between.
    report(&mut life, &[fix(31.0, 20.0, false)]);
    assert_eq!(told(&life), []);
}

#[test]
fn speeding_in_a_fence_with_a_limit_says_which() {
    let mut life = life_by(Rules { speed_limit_kmh: Some(50.0), ..Rules::EXACT }, 4);
    report(&mut life, &[fix(0.0, 60.0, true), fix(30.0, 60.0, true), fix(60.0, 60.0, true)]);
    let alerts = alerts(life.ledger.active().values());
    let alert = alerts.iter().find(|alert| alert.rule == AlertRule::Overspeed).expect("told");
    let whose = (alert.limit_kmh, alert.geofence_id, alert.geofence_name.as_deref());
    assert_eq!(whose, (Some(50.0), Some(GeofenceId(Uuid::from_u128(3))), Some("F")));
}

/// What the active records of another kind and the fixes say that there must be.
fn reckoned(life: &Life, drawn: &[Fix]) -> Vec<Told> {
    let second = |instant: waypost_actors::model::Timestamp| instant.seconds_since(at(0.0));
    let active = life.ledger.active();
    let events = geofence_events(active.values());
    let exit = |visit| events.iter().find(|event| event.kind == EventKind::Exit && event.visit_id == visit);
    let dwells = events.iter().filter(|event| event.kind == EventKind::Dwell);
    let mut found: Vec<Told> = dwells
        .map(|dwell| {
            let left = exit(dwell.visit_id).map(|exit| second(exit.occurred_at));
            (AlertRule::Dwell, second(dwell.occurred_at), left)
        })
        .collect();
    for record in active.values() {
        let RecordView::Overspeed(over) = RecordView::from(record) else { continue };
        let (from, to) = (second(over.started_at), over.ended_at.map(second));
        let mut fixes = drawn.iter().map(|fix| (second(fix.recorded_at), fix.speed_kmh.expect("reported")));
        // A fix that is slow enough ends it, and shows nothing of it.
        let shows =
            |(at, kmh): (f64, f64)| at >= from + 60.0 && to.is_none_or(|to| at <= to) && kmh > OWN_KMH - 3.0;
        if fixes.any(shows) {
            found.push((AlertRule::Overspeed, from, to));
        }
    }
    found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.as_str().cmp(b.0.as_str())));
    found
}

/// Long stretches in and out, fast and slow.
fn drives() -> impl Strategy<Value = Vec<Fix>> {
    let stretch = (vec(prop_oneof![6 => 1_u32..20, 1 => 590_u32..700], 1..14), any::<bool>(), any::<bool>());
    vec(stretch, 1..8).prop_map(|stretches| {
        let mut seconds = 0.0;
        let mut fixes = Vec::new();
        for (afters, inside, fast) in stretches {
            for after in afters {
                seconds += f64::from(after);
                fixes.push(fix(seconds, if fast { 90.0 } else { 30.0 }, inside));
            }
        }
        fixes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_order_and_split_makes_the_same_alerts(
        drawn in drives(), seed in any::<u64>(), together in 1_usize..9, keeps in 1_usize..9, again in 0_usize..9,
        slice in 1_usize..20,
    ) {
        let mut fixes = drawn.clone();
        fixes.extend_from_within(..again.min(fixes.len()));
        let mut state = seed | 1;
        for i in (1..fixes.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            fixes.swap(i, (state >> 33) as usize % (i + 1));
        }
        let (mut in_order, mut shuffled) = (life(keeps), life(keeps));
        shuffled.slice = slice;
        in_order.through(&[(THE_END, Step::Report(drawn.clone()))]);
        let steps: Vec<(f64, Step)> =
            fixes.chunks(together).map(|some| (THE_END, Step::Report(some.to_vec()))).collect();
        shuffled.through(&steps);
        shuffled.keeps_the_law();
        prop_assert_eq!(told(&shuffled), told(&in_order));
        prop_assert_eq!(told(&shuffled), reckoned(&shuffled, &drawn));
    }
}

/// A vehicle that falls silent.
fn silent(number: u128, organization: u128, seconds: f64, was_moving: bool) -> Record {
    let change = ConnectionChange {
        vehicle_id: VehicleId(Uuid::from_u128(number)),
        organization_id: OrganizationId(Uuid::from_u128(organization)),
        state: Connection::Offline,
        silent_since: at(seconds - 3_600.0),
        heard_at: at(seconds - 3_600.0),
        occurred_at: at(seconds),
        location: None,
        was_moving,
    };
    change.record(at(seconds))
}

/// What a store does: each answer is numbered, and is open from then on.
fn through(batches: &[&[Record]]) -> Vec<Record> {
    let mut open: Vec<Record> = Vec::new();
    let mut sequence = 0;
    for batch in batches {
        for mut alert in silent_while_moving(batch, &open) {
            sequence += 1;
            alert.sequence = sequence;
            open.retain(|known| known.id != alert.id);
            open.push(alert);
        }
    }
    open
}

#[test]
fn five_hundred_that_fall_silent_at_once_are_one() {
    let cut: Vec<Record> =
        (0..500).map(|n| silent(1_000 + (n * 7) % 500, 1, 60.0 * n as f64 / 500.0, true)).collect();
    let batches: Vec<&[Record]> = cut.chunks(37).collect();
    let [alert] = &through(&batches)[..] else { panic!("not one") };
    let [event] = &alerts([alert])[..] else { panic!("not an alert") };
    assert_eq!(
        (event.rule, event.vehicle_ids.len(), event.revision),
        (AlertRule::SilentWhileMoving, 500, 14)
    );
    assert_eq!((event.started_at, event.ended_at), (at(0.0), None));
    assert!(alert.is_of(|vehicle| vehicle == VehicleId(Uuid::from_u128(1_499))));
}

#[test]
fn who_stood_or_belongs_to_others_or_falls_silent_later_is_none_of_it() {
    let later = 10.0 + TOGETHER_SECONDS;
    let batch = [
        silent(1, 1, 10.0, true),
        silent(2, 1, 11.0, false),
        silent(3, 2, 12.0, true),
        silent(4, 1, later, true),
        silent(5, 1, later + 1.0, true),
    ];
    let told: Vec<Vec<u128>> = through(&[&batch[..2], &batch[2..]])
        .iter()
        .map(|alert| alerts([alert])[0].vehicle_ids.iter().map(|vehicle| vehicle.0.as_u128()).collect())
        .collect();
    assert_eq!(told, [vec![1, 4], vec![3], vec![5]]);
}
