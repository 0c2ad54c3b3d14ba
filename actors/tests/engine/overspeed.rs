//! Overspeed: what counts, how it ends, whose limit it is; compared with another way of computing it, in any order.

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::model::{EventStatus, Fence, Fix, GeofenceId, Place, Rules, Timestamp};
use waypost_actors::tracking::{OverspeedEvent, Record, RecordView, catch_up};

use crate::late::Life;
use crate::script::{Script, at, square, version};
use crate::timelines::{Step, THE_END};

fn overspeeds<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<OverspeedEvent> {
    let overspeed = |record| match RecordView::from(record) {
        RecordView::Overspeed(event) => Some(event),
        _ => None,
    };
    let mut found: Vec<OverspeedEvent> = records.into_iter().filter_map(overspeed).collect();
    found.sort_by_key(|event| event.started_at);
    found
}

fn second(instant: Timestamp) -> f64 {
    instant.seconds_since(at(0.0))
}

/// A vehicle on the parallel of 0.005° with a limit of its own, and the fence with another.
fn script(own: Option<f64>, of_fence: Option<f64>) -> Script {
    let mut script = Script::new(Rules { speed_limit_kmh: of_fence, ..Rules::EXACT });
    script.vehicle.limits.overspeed_kmh = own;
    script
}

/// Fixes that report a speed: (seconds, km/h), far from every fence.
fn fast(script: &mut Script, fixes: &[(f64, f64)]) {
    for (seconds, kmh) in fixes {
        fast_at(script, *seconds, 500.0, *kmh);
    }
}

fn fast_at(script: &mut Script, seconds: f64, east: f64, kmh: f64) {
    let place = Place::new(0.005, east / 1000.0);
    script.fix(Fix { speed_kmh: Some(kmh), ..Fix::new(at(seconds), script.now, place) });
}

/// From, to and the highest speed, of the last record of each id, as a reader of the log keeps them.
fn told(script: &Script) -> Vec<(f64, Option<f64>, f64)> {
    let mut told: Vec<OverspeedEvent> = Vec::new();
    for event in script.effects.records.iter().flat_map(|record| overspeeds([record])) {
        told.retain(|known| known.id != event.id);
        told.push(event);
    }
    told.iter().map(|e| (second(e.started_at), e.ended_at.map(second), e.max_speed_kmh)).collect()
}

#[test]
fn it_counts_after_ten_seconds_and_is_told_then() {
    let mut script = script(Some(100.0), None);
    fast(&mut script, &[(0.0, 90.0), (1.0, 101.0), (6.0, 120.0), (10.9, 110.0)]);
    assert_eq!(told(&script), []);
    fast(&mut script, &[(11.0, 105.0)]);
    assert_eq!(told(&script), [(1.0, None, 120.0)]);
    let [open] = &overspeeds(&script.effects.records)[..] else { panic!() };
    assert_eq!((open.limit_kmh, open.geofence_id, open.duration_seconds), (100.0, None, 10.0));
    assert_eq!(open.location, Place::new(0.005, 0.5), "where the first fix over the limit was");
    assert_eq!(script.effects.records[0].confirmed_at, at(11.0));
    // What comes after that is reported only with its end.
    fast(&mut script, &[(20.0, 130.0), (30.0, 102.0)]);
    assert_eq!(script.effects.records.len(), 1);
    fast(&mut script, &[(40.0, 50.0)]);
    assert_eq!(told(&script), [(1.0, Some(40.0), 130.0)]);
    let end = overspeeds(&script.effects.records[1..]).remove(0);
    assert_eq!((end.id, end.duration_seconds), (open.id, 39.0));
}

#[test]
fn a_short_or_broken_one_leaves_nothing() {
    let mut script = script(Some(100.0), None);
    fast(
        &mut script,
        &[(0.0, 101.0), (9.9, 101.0), (10.0, 100.0), (15.0, 101.0), (24.0, 101.0), (30.0, 0.0)],
    );
    assert_eq!(told(&script), []);
    assert!(script.state.overspeed.is_none());
}

/// Until it counts, falling below the limit ends it; from then on, falling 3 km/h below does.
#[test]
fn it_goes_on_down_to_three_below() {
    let mut script = script(Some(100.0), None);
    fast(&mut script, &[(0.0, 101.0), (10.0, 101.0), (20.0, 97.1), (30.0, 97.0), (31.0, 99.0)]);
    assert_eq!(told(&script), [(0.0, Some(30.0), 101.0)]);
    assert!(script.state.overspeed.is_none(), "the next one begins above the limit");
}

#[test]
fn the_lowest_limit_holds_and_names_its_fence() {
    let mut script = script(Some(80.0), Some(50.0));
    for (number, east) in [-5.0, -1.0, 1.0, 3.0, 5.0, 7.0, 11.0, 13.0, 15.0].into_iter().enumerate() {
        fast_at(&mut script, 10.0 * number as f64, east, 90.0);
    }
    fast_at(&mut script, 90.0, 17.0, 60.0);
    let expected = [(0.0, Some(20.0), 90.0), (20.0, Some(60.0), 90.0), (60.0, Some(90.0), 90.0)];
    assert_eq!(told(&script), expected);
    let found = overspeeds(&script.effects.records);
    let whose: Vec<_> = found.iter().map(|event| (event.limit_kmh, event.geofence_name.as_deref())).collect();
    let (own, fence) = ((80.0, None), (50.0, Some("F")));
    assert_eq!(whose, [own, own, fence, fence, own, own]);
    let names_fence = |record: &Record| record.is_in(|fence| fence == GeofenceId(uuid::Uuid::from_u128(3)));
    let of_fence = script.effects.records.iter().filter(|record| record.geofence().is_none());
    assert_eq!(of_fence.filter(|record| names_fence(record)).count(), 2);
}

#[test]
fn a_silence_and_going_out_of_service_end_it_where_it_was_last_seen() {
    let mut silent = script(Some(100.0), None);
    fast(&mut silent, &[(0.0, 120.0), (600.0, 120.0), (1_201.0, 120.0), (1_205.0, 120.0)]);
    assert_eq!(told(&silent), [(0.0, Some(600.0), 120.0)]);
    assert!(silent.state.overspeed.is_some(), "another one began");
    let mut out = script(Some(100.0), None);
    fast(&mut out, &[(0.0, 120.0), (20.0, 120.0)]);
    out.now = at(100.0);
    out.vehicle.out_of_service = vec![(at(50.0), None)];
    out.run(catch_up);
    assert_eq!(told(&out), [(0.0, Some(20.0), 120.0)]);
    assert_eq!(out.effects.records.last().map(|record| record.confirmed_at), Some(at(50.0)));
}

/// Without speeds, a leg's length divided by its time counts; its length is the record's distance.
#[test]
fn without_a_reported_speed_the_way_tells() {
    let mut script = script(Some(100.0), None);
    script.drive(&[(0.0, 500.0), (10.0, 505.0), (20.0, 510.0), (30.0, 515.0), (40.0, 515.5)]);
    let kmh = 5.0 * 111.319 / 10.0 * 3.6; // 556.6 m in 10 s
    let [(from, Some(to), fastest)] = told(&script)[..] else { panic!("{:?}", told(&script)) };
    assert_eq!((from, to), (10.0, 40.0));
    assert!((fastest - kmh).abs() < 0.1, "{fastest}");
    let way = overspeeds(&script.effects.records).pop().unwrap().distance_meters;
    assert!((way - 10.5 * 111.319).abs() < 1.0, "{way}");
}

#[test]
fn without_a_limit_there_is_nothing() {
    let mut script = script(None, None);
    fast(&mut script, &[(0.0, 300.0), (60.0, 300.0)]);
    assert!(script.effects.records.is_empty() && script.state.overspeed.is_none());
}

/// A fix of a drive: seconds after the one before, km/h, and whether it is in the fence.
type Drawn = (u32, u32, bool);

/// An episode: from, to, its limit, whether the fence's, the highest speed.
type Episode = (f64, Option<f64>, f64, bool, f64);

const OWN_KMH: f64 = 70.0;
const FENCE_KMH: f64 = 50.0;

fn drive(drawn: &[Drawn]) -> Vec<Fix> {
    let mut seconds = 0.0;
    let fix = |(after, kmh, inside): &Drawn| {
        seconds += f64::from(*after);
        let place = Place::new(0.005, if *inside { 0.005 } else { 0.5 });
        Fix { speed_kmh: Some(f64::from(*kmh)), ..Fix::new(at(seconds), at(THE_END), place) }
    };
    drawn.iter().map(fix).collect()
}

/// The other way: the whole drive is cut where the limit changes or nothing is known for ten minutes; in each piece
/// every run of fixes above the limit is examined, and extended by the fixes above the limit less three.
fn reckoned(drawn: &[Drawn]) -> Vec<Episode> {
    let mut all = Vec::new();
    let mut seconds = 0.0;
    for (after, kmh, inside) in drawn {
        seconds += f64::from(*after);
        all.push((seconds, f64::from(*kmh), *inside));
    }
    let mut found = Vec::new();
    let together = |a: &(f64, f64, bool), b: &(f64, f64, bool)| a.2 == b.2 && b.0 - a.0 <= 600.0;
    let mut done = 0;
    for piece in all.chunk_by(together) {
        let limit = if piece[0].2 { FENCE_KMH } else { OWN_KMH };
        done += piece.len();
        let mut begin = 0;
        while begin < piece.len() {
            let run = piece[begin..].iter().take_while(|fix| fix.1 > limit);
            let counts = run.clone().find(|fix| fix.0 - piece[begin].0 >= 10.0);
            let mut next = begin + run.count().max(1);
            if let Some(counts) = counts {
                let from = piece.iter().position(|fix| fix == counts).expect("one of the piece");
                let on = piece[from..].iter().take_while(|fix| fix.1 > limit - 3.0).count();
                next = from + on;
                let silent = all.get(done).is_some_and(|fix| fix.0 - piece[piece.len() - 1].0 > 600.0);
                let end = match piece.get(next) {
                    Some(fix) => Some(fix.0),
                    None if silent => Some(piece[piece.len() - 1].0),
                    None => all.get(done).map(|fix| fix.0),
                };
                let until = if end.is_none() { from + 1 } else { next };
                let fastest = piece[begin..until].iter().map(|fix| fix.1).fold(0.0, f64::max);
                found.push((piece[begin].0, end, limit, piece[0].2, fastest));
            }
            begin = next;
        }
    }
    found
}

fn drives() -> impl Strategy<Value = Vec<Drawn>> {
    let after = prop_oneof![6 => 1_u32..9, 2 => 1_u32..40, 1 => 590_u32..700];
    let kmh = prop_oneof![4 => 45_u32..76, 1 => 0_u32..140];
    // Long stretches in and out.
    vec((vec((after, kmh), 1..12), any::<bool>()), 1..8).prop_map(|stretches| {
        let one = |(fixes, inside): (Vec<(u32, u32)>, bool)| {
            fixes.into_iter().map(move |(after, kmh)| (after, kmh, inside)).collect::<Vec<_>>()
        };
        stretches.into_iter().flat_map(one).collect()
    })
}

/// The fence of the scripts, which any crossing enters and leaves at once.
fn life(keeps: usize) -> Life {
    let rules = Rules { speed_limit_kmh: Some(FENCE_KMH), ..Rules::EXACT };
    let fence = Fence {
        id: GeofenceId(uuid::Uuid::from_u128(3)),
        organization_id: waypost_actors::model::OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![waypost_actors::model::FenceVersion {
            shape: square(0.0, 0.0, 0.01),
            ..version(1, rules)
        }],
    };
    let mut life = Life::new(&[fence], None, keeps);
    life.vehicle.limits.overspeed_kmh = Some(OWN_KMH);
    life
}

fn held(life: &Life) -> Vec<Episode> {
    let active = life.ledger.records.values().filter(|record| record.status == EventStatus::Active);
    overspeeds(active)
        .iter()
        .map(|event| {
            let is_of_fence = event.geofence_id.is_some();
            let (from, to) = (second(event.started_at), event.ended_at.map(second));
            (from, to, event.limit_kmh, is_of_fence, event.max_speed_kmh)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_order_and_split_makes_the_reckoned_episodes(
        drawn in drives(), seed in any::<u64>(), together in 1_usize..9, keeps in 1_usize..9, again in 0_usize..9,
        is_shuffled in any::<bool>(), slice in 1_usize..20,
    ) {
        let mut fixes = drive(&drawn);
        fixes.extend_from_within(..again.min(fixes.len()));
        let mut state = seed | 1;
        for i in (1..fixes.len()).rev().filter(|_| is_shuffled) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            fixes.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut life = life(keeps);
        life.slice = slice;
        let steps: Vec<(f64, Step)> =
            fixes.chunks(together).map(|some| (THE_END, Step::Report(some.to_vec()))).collect();
        life.through(&steps);
        life.keeps_the_law();
        prop_assert_eq!(held(&life), reckoned(&drawn));
    }
}

#[test]
fn a_fix_that_comes_late_takes_one_back_or_makes_two_of_it() {
    let all: Vec<Drawn> = vec![(5, 90, false); 12];
    let mut life = life(3);
    let report = |fixes: Vec<Fix>| vec![(THE_END, Step::Report(fixes))];
    life.through(&report(drive(&all)));
    assert_eq!(held(&life), [(5.0, None, OWN_KMH, false, 90.0)]);
    let id = |life: &Life| overspeeds(life.ledger.active().values())[0].id;
    let first = id(&life);
    // In the middle it was slow: two, of which the first has an end now, as a revision.
    let slow = Fix { speed_kmh: Some(20.0), ..Fix::new(at(32.0), at(THE_END), Place::new(0.005, 0.5)) };
    life.through(&report(vec![slow]));
    assert_eq!(held(&life), [(5.0, Some(32.0), OWN_KMH, false, 90.0), (35.0, None, OWN_KMH, false, 90.0)]);
    assert_eq!((id(&life), life.ledger.records[&first].revision), (first, 2));
    // And before the tenth second too: the first never counted.
    let slow =
        |seconds| Fix { speed_kmh: Some(20.0), ..Fix::new(at(seconds), at(THE_END), Place::new(0.005, 0.5)) };
    life.through(&report(vec![slow(12.0), slow(22.0)]));
    assert_eq!(held(&life), [(35.0, None, OWN_KMH, false, 90.0)]);
    assert_eq!(life.ledger.records[&first].status, EventStatus::Retracted);
    life.keeps_the_law();
}

/// However small the parts are that a correction looks at: what goes on at the end of a part is not gone.
#[test]
fn one_that_goes_on_over_a_silence_that_was_filled_is_revised_once() {
    for slice in 1..6 {
        let fast = |seconds: u32| Fix {
            speed_kmh: Some(90.0),
            ..Fix::new(at(seconds.into()), at(THE_END), Place::new(0.005, 0.5))
        };
        let mut life = life(3);
        life.slice = slice;
        let report = |fixes: Vec<Fix>| vec![(THE_END, Step::Report(fixes))];
        let seconds = (5..65).step_by(5).chain((1_000..1_060).step_by(5));
        life.through(&report(seconds.map(fast).collect()));
        assert_eq!(
            held(&life),
            [(5.0, Some(60.0), OWN_KMH, false, 90.0), (1_000.0, None, OWN_KMH, false, 90.0)]
        );
        let first = overspeeds(life.ledger.active().values())[0].id;
        life.through(&report(vec![fast(500)]));
        assert_eq!(held(&life), [(5.0, None, OWN_KMH, false, 90.0)]);
        let alerts = life.ledger.records.values().filter(|record| record.as_alert().is_some());
        assert_eq!(life.ledger.records[&first].revision, 2, "{slice}");
        let raised = alerts.map(|alert| (alert.revision, alert.occurred_at, alert.ended_at));
        assert_eq!(raised.collect::<Vec<_>>(), [(1, at(5.0), None)]);
        life.keeps_the_law();
    }
}

/// A leap waits for the fix that confirms it; so does what it shows, whatever part of the past is judged anew.
#[test]
fn one_that_a_leap_shows_is_confirmed_with_the_leap() {
    for slice in 1..8 {
        let at_place = |seconds: f64, east: f64| Fix {
            speed_kmh: Some(90.0),
            ..Fix::new(at(seconds), at(THE_END), Place::new(0.005, east))
        };
        let mut life = life(100);
        life.slice = slice;
        life.vehicle.limits.max_speed_kmh = Some(200.0);
        let fixes =
            [(5.0, 0.5), (10.0, 0.5), (16.0, 0.6), (20.0, 0.6), (60.0, 0.6), (66.0, 0.7), (70.0, 0.7)];
        let report = |fixes: Vec<Fix>| vec![(THE_END, Step::Report(fixes))];
        life.through(&report(fixes.map(|(seconds, east)| at_place(seconds, east)).to_vec()));
        let told = |life: &Life| {
            let of_speed =
                |record: &&Record| record.as_alert().is_some() || !overspeeds([*record]).is_empty();
            let its = life.ledger.records.values().filter(of_speed);
            let mut told: Vec<_> =
                its.map(|its| (second(its.confirmed_at), its.revision, its.is_open())).collect();
            told.sort_by(|a, b| a.0.total_cmp(&b.0));
            told
        };
        let expected = [(20.0, 1, true), (70.0, 1, true)];
        assert_eq!(told(&life), expected);
        life.through(&report(vec![Fix { speed_kmh: Some(20.0), ..at_place(2.0, 0.5) }]));
        assert_eq!(told(&life), expected, "{slice}");
        life.keeps_the_law();
    }
}
