//! Positions are found wherever they are: in the fix log, in chunks, or as rows of their own.

use std::collections::BTreeMap;

use waypost::domain::position::{AfterFix, HistoryRequest, StoredPosition};
use waypost::store::position_history::list;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{Fix, FuelReading, Place};
use waypost_actors::tracking::{Freshness, PositionRow, Quarantine};

use waypost_test_support::{TestStore, for_each_engine, stored_positions};

use crate::driven::{Driven, driving};
use crate::fix_log::start;
use crate::fleet::{VEHICLE, at, commit, fix, row, stand, stored, write};

for_each_engine!(
    fixes_of_any_order_are_read_back_whole,
    fixes_in_order_take_a_row_for_many,
    a_vehicle_taken_out_of_use_keeps_its_fixes,
    a_tail_is_bounded_though_there_is_one_vehicle,
    a_list_ends_early_after_many_fixes_that_do_not_count,
);

const DAY: i64 = 86_400;

/// Numbers that look random, the same in each run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// What should be stored.
#[derive(Default)]
struct Expected(BTreeMap<(i64, i64, i64), Fix>);

impl Expected {
    fn key(fix: &Fix) -> (i64, i64, i64) {
        let parts = |degrees: f64| (degrees * 1e7).round() as i64;
        (fix.recorded_at.as_micros(), parts(fix.place.latitude), parts(fix.place.longitude))
    }

    fn report(&mut self, fix: &Fix) {
        let known = self.0.entry(Self::key(fix)).or_insert(*fix);
        known.merge(fix);
    }

    fn any(&self, dice: &mut Dice) -> Option<Fix> {
        let nth = dice.below(self.0.len().max(1) as u64) as usize;
        self.0.values().nth(nth).copied()
    }

    fn fixes(&self) -> Vec<Fix> {
        self.0.values().copied().collect()
    }
}

fn fix_of(position: &StoredPosition) -> Fix {
    let percent = position.fuel.as_ref().and_then(|fuel| fuel.percent);
    Fix {
        speed_kmh: position.speed_kmh,
        heading_degrees: position.heading_degrees,
        altitude_meters: position.altitude_meters,
        accuracy_meters: position.accuracy_meters,
        odometer_km: position.odometer_km,
        ignition: position.ignition,
        fuel: percent.map(FuelReading::Percent),
        fuel_cumulative: None,
        ..Fix::new(
            position.recorded_at,
            position.received_at,
            Place::new(position.latitude, position.longitude),
        )
    }
}

/// All pages of a list.
async fn pages(store: &TestStore, track: &Track, request: &HistoryRequest, limit: i64) -> Vec<Fix> {
    let (mut fixes, mut after) = (Vec::new(), None);
    loop {
        let (page, ended_at) = list(&store.db, track, VEHICLE, request, after, limit).await.expect("read");
        assert_eq!(ended_at, None, "they are few");
        let Some(StoredPosition { recorded_at, latitude, longitude, .. }) = page.last().cloned() else {
            break;
        };
        assert!(page.len() <= limit as usize);
        after = Some(AfterFix { recorded_at, latitude, longitude });
        fixes.extend(page.iter().map(fix_of));
    }
    fixes
}

/// Reads everything, and a part of it in either order.
async fn check(store: &TestStore, track: &Track, expected: &Expected, dice: &mut Dice) {
    let whole = stored_positions(&store.db).await.expect("read");
    let whole: Vec<Fix> = whole.iter().map(|(_, position)| fix_of(position)).collect();
    assert!(whole == expected.fixes(), "{} of {}", whole.len(), expected.0.len());
    let select = "select recorded_at, ended_at from position_chunk order by recorded_at";
    let chunks: Vec<(Time, Time)> = store.db.read().sql(select).all().await.expect("read");
    let is_apart = |pair: &[(Time, Time)]| pair[0].1 < pair[1].0;
    assert!(chunks.windows(2).all(is_apart), "chunks overlap: {chunks:?}");
    for is_newest_first in [false, true] {
        let (one, other) = (expected.any(dice).expect("some"), expected.any(dice).expect("some"));
        let (from, to) = (one.recorded_at.min(other.recorded_at), one.recorded_at.max(other.recorded_at));
        let request =
            HistoryRequest { from: Some(from), to: Some(to), with_quarantined: true, is_newest_first };
        let in_range = |fix: &Fix| fix.recorded_at >= from && fix.recorded_at < to;
        let mut wanted: Vec<Fix> = expected.fixes().into_iter().filter(in_range).collect();
        if is_newest_first {
            wanted.reverse();
        }
        let limit = 1 + dice.below(300) as i64;
        let found = pages(store, track, &request, limit).await;
        let instants = |fixes: &[Fix]| fixes.iter().map(|fix| fix.recorded_at).collect::<Vec<_>>();
        assert!(
            instants(&found) == instants(&wanted),
            "{request:?}, {limit} a page: {} of {}",
            found.len(),
            wanted.len()
        );
        assert!(found == wanted, "{request:?}, {limit} a page: they differ");
    }
}

async fn fixes_of_any_order_are_read_back_whole(store: TestStore) {
    let mut track = stand(&store).await;
    let (mut bus, mut expected, mut dice) = (Driven::new(VEHICLE), Expected::default(), Dice(7));
    let mut now = 0;
    for step in 0..150 {
        let mut reports = Vec::new();
        for _ in 0..=dice.below(12) {
            now += 1 + dice.below(20) as i64 + if dice.one_in(60) { 3 * DAY } else { 0 };
            let mut report = driving(if dice.one_in(8) { dice.below(now as u64) as i64 } else { now });
            report.place =
                Place::new(30.25 + (report.recorded_at.as_millis() % 1_000_000) as f64 / 1e7, -97.75);
            if let Some(known) = expected.any(&mut dice).filter(|_| dice.one_in(6)) {
                report = known;
                report.speed_kmh = Some(dice.below(60) as f64);
                report.ignition = dice.one_in(2).then(|| dice.one_in(2));
            }
            if dice.one_in(10) {
                // Another place at the same instant.
                report.place.longitude += 1e-4;
            }
            if dice.one_in(5) {
                report.fuel = Some(FuelReading::Percent(dice.below(1_000) as f64 / 10.0));
            }
            report.received_at = at(now + 1);
            expected.report(&report);
            reports.push(report);
        }
        commit(&track, vec![bus.report(&reports)]).await;
        if dice.one_in(10) {
            track.save_states().await.expect("saved");
        }
        if dice.one_in(15) {
            track = start(&store).await.0;
        }
        if step % 10 == 9 {
            check(&store, &track, &expected, &mut dice).await;
        }
    }
}

async fn fixes_in_order_take_a_row_for_many(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    for minute in 0..30 {
        let fixes: Vec<Fix> = (0..10).map(|n| driving(minute * 60 + n * 6)).collect();
        commit(&track, vec![bus.report(&fixes)]).await;
    }
    track.save_states().await.expect("saved");
    let bytes = "select cast(sum(length(fixes)) as bigint) from position_chunk";
    let count = async |sql: &'static str| store.db.read().sql(sql).scalar::<i64>().await.expect("counted");
    assert_eq!(count("select count(*) from position_chunk").await, 5, "64 in a chunk");
    assert_eq!(count("select count(*) from position").await, 0);
    let bytes = count(bytes).await;
    assert!(bytes < 300 * 20, "{bytes} bytes");
    // Saved again, nothing is stored again.
    commit(&track, vec![bus.report(&[driving(9_000)])]).await;
    track.save_states().await.expect("saved");
    track.save_states().await.expect("saved");
    assert_eq!((count("select count(*) from position_chunk").await, stored(&store).await), (6, 301));
}

async fn a_vehicle_taken_out_of_use_keeps_its_fixes(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0), driving(10)])]).await;
    let gone = "update vehicle set deleted_at = $1";
    store.db.write().sql(gone).bind(Time(at(20))).run().await.expect("deleted");
    let (track, vehicles) = start(&store).await;
    assert!(vehicles.is_empty());
    track.save_states().await.expect("saved");
    let logged: i64 = store.db.read().sql("select count(*) from fix_log").scalar().await.expect("counted");
    assert_eq!((logged, stored(&store).await), (0, 2));
}

async fn a_tail_is_bounded_though_there_is_one_vehicle(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    let chunks = async || -> i64 {
        store.db.read().sql("select count(*) from position_chunk").scalar().await.expect("counted")
    };
    for hundred in 0..10 {
        let fixes: Vec<Fix> = (0..100).map(|n| driving(hundred * 100 + n)).collect();
        commit(&track, vec![bus.report(&fixes)]).await;
    }
    assert_eq!(chunks().await, 0, "a thousand wait");
    let fixes: Vec<Fix> = (0..100).map(|n| driving(1_000 + n)).collect();
    commit(&track, vec![bus.report(&fixes)]).await;
    assert_eq!((chunks().await, stored(&store).await), (18, 1_100));
}

async fn a_list_ends_early_after_many_fixes_that_do_not_count(store: TestStore) {
    const DOUBTFUL: i64 = 22_000;
    let track = stand(&store).await;
    let fresh = |second| row(fix(second), Freshness::Fresh);
    let doubtful = |second| PositionRow { quarantine: Some(Quarantine::Accuracy), ..fresh(second) };
    for thousand in 0..DOUBTFUL / 1_000 {
        let rows = (0..1_000).map(|n| doubtful(thousand * 1_000 + n)).collect();
        commit(&track, vec![write(rows)]).await;
    }
    commit(&track, vec![write(vec![fresh(DOUBTFUL)])]).await;
    let request = HistoryRequest::default();
    let read = async |after| list(&store.db, &track, VEHICLE, &request, after, 10).await.expect("read");
    let (none, ended_at) = read(None).await;
    let ended_at = ended_at.expect("not all is read at once");
    assert!(none.is_empty() && ended_at.recorded_at < at(DOUBTFUL - 1), "{ended_at:?}");
    let (one, ended_at) = read(Some(ended_at)).await;
    assert_eq!((one.len(), one[0].recorded_at, ended_at), (1, at(DOUBTFUL), None));
}
