//! Who drove by card: the readers in the vehicles, whose the cards are, and what dispatchers said, in any order.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;
use waypost::store::change_log::{self, DriverRevision};
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{
    Change, ChangeKind, ChangedResource, DriverId, EventId, Fix, NewAttributes, Place, VehicleId,
};
use waypost_actors::ports::{TrackStore, VehicleWrite};
use waypost_actors::tracking::{Freshness, PositionRow, Quarantine, Record, VehicleState};
use waypost_test_support::{Engine, TestStore, for_each_engine, run};

use crate::driver_at::{FIRST, SECOND, hire};
use crate::fleet::{ORGANIZATION, VEHICLE, at, commit, entry, fix, log, recording, row, stand, write};

for_each_engine!(
    who_drove_by_card_never_depends_on_the_order,
    a_card_that_comes_late_far_back_is_found_in_slices,
    a_fix_without_a_card_asks_and_writes_nothing,
    a_card_ahead_of_the_clock_says_nothing_however_often_it_comes,
    what_stood_since_a_purge_stands_when_the_driver_comes_again,
);

/// What the fixes say, by second, place and card. An instant may come with two places, and a fix twice, once without its card.
const FIXES: [(i64, f64, Option<&str>); 16] = [
    (5, 0.0, None),
    (10, 0.0, Some("a-1")),
    (20, 0.0, None),
    (30, 0.0, Some("A1")),
    (40, 0.0, Some("B2")),
    (40, 0.1, Some("A1")),
    (50, 0.0, Some("")),
    (60, 0.0, None),
    (60, 0.0, Some("A1")),
    (70, 0.0, Some("unknown")),
    (80, 0.0, Some("B2")),
    (90, 0.0, None),
    (100, 0.0, Some("C3")),
    (110, 0.0, Some("C3")),
    (130, 0.0, Some("A1")),
    (150, 0.0, Some("B2")),
];

/// What is done to cards and by dispatchers, one after the other.
const EDITS: [&str; 6] = ["assign", "give C3", "correct", "assign for long", "take B2", "remove"];

/// Who drives at which second, once all of it is known: SECOND has B2 up to 155; SECOND was assigned by hand from 12 to 33,
/// and FIRST had C3 from 105 on.
const EXPECTED: [(i64, Option<DriverId>); 18] = [
    (5, None),
    (10, Some(FIRST)),
    (11, Some(FIRST)),
    (12, Some(SECOND)),
    (32, Some(SECOND)),
    (33, Some(FIRST)),
    (39, Some(FIRST)),
    (40, Some(SECOND)),
    (49, Some(SECOND)),
    (50, None),
    (60, Some(FIRST)),
    (70, None),
    (95, Some(SECOND)),
    (100, None),
    (106, Some(FIRST)),
    (140, Some(FIRST)),
    (152, Some(SECOND)),
    (155, None),
];

/// The assignments by card that are left then.
const EXPECTED_MADE: [(DriverId, i64, Option<i64>); 7] = [
    (FIRST, 10, Some(12)),
    (FIRST, 33, Some(40)),
    (SECOND, 40, Some(50)),
    (FIRST, 60, Some(70)),
    (SECOND, 80, Some(100)),
    (FIRST, 105, Some(150)),
    (SECOND, 150, Some(155)),
];

/// A card of a driver from a second on.
async fn hold(store: &TestStore, key: &str, driver: DriverId, from: i64) {
    let insert = "insert into card_holding (id, organization_id, card_key, driver_id, held_from, unsettled_from) \
        values ($1, $2, $3, $4, $5, $5)";
    let stmt = store.db.write().sql(insert).bind(Uuid::now_v7()).bind(ORGANIZATION.0).bind(key.to_owned());
    stmt.bind(driver.0).bind(Time(at(from))).run().await.expect("a card");
}

/// An assignment by hand, as an edit makes it.
async fn assign(store: &TestStore, vehicle: VehicleId, (from, to): (i64, i64)) {
    for text in [
        "update assignment set ended_at = $2, end_reason = 'reassigned' where origin = 'card' and vehicle_id = $1 \
            and started_at < $2 and (ended_at is null or ended_at > $2) and started_at < $3",
        "delete from assignment where origin = 'card' and vehicle_id = $1 and started_at >= $2 and started_at < $3",
    ] {
        let stmt = store.db.write().sql(text).bind(vehicle.0).bind(Time(at(from))).bind(Time(at(to)));
        stmt.run().await.expect("out of the way");
    }
    let insert = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, \
        assigned_by, end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $2, 'unassigned', $5, $5)";
    let stmt = store.db.write().sql(insert).bind(Uuid::now_v7()).bind(ORGANIZATION.0).bind(SECOND.0);
    let stmt = stmt.bind(vehicle.0).bind(Time(at(from))).bind(Time(at(to)));
    stmt.run().await.expect("an assignment");
}

async fn unassign(store: &TestStore, vehicle: VehicleId, from: i64) {
    let delete = "delete from assignment where origin = 'manual' and vehicle_id = $1 and started_at = $2";
    store.db.write().sql(delete).bind(vehicle.0).bind(Time(at(from))).run().await.expect("gone");
}

async fn edit(store: &TestStore, vehicle: VehicleId, what: &str) {
    match what {
        "assign" => assign(store, vehicle, (15, 45)).await,
        "correct" => {
            unassign(store, vehicle, 15).await;
            assign(store, vehicle, (12, 33)).await;
        }
        "assign for long" => assign(store, vehicle, (35, 300)).await,
        "remove" => unassign(store, vehicle, 35).await,
        "give C3" => return hold(store, "C3", FIRST, 105).await,
        _ => {
            let update = "update card_holding set held_until = $1, unsettled_from = coalesce(unsettled_from, $1) \
                where card_key = 'B2'";
            store.db.write().sql(update).bind(Time(at(155))).run().await.expect("taken");
            return;
        }
    }
    let mut tx = store.db.begin().await.expect("a transaction");
    let change = Change {
        sequence: 0,
        organization_id: Some(ORGANIZATION),
        resource: ChangedResource::Assignment,
        resource_id: Uuid::from_u128(7),
        kind: ChangeKind::Updated,
        changed_at: at(0),
    };
    change_log::insert(&mut tx, &[change]).await.expect("logged");
    let driven =
        DriverRevision { assignment_id: Uuid::from_u128(7), vehicle_id: vehicle, from: at(12), to: at(999) };
    change_log::queue_driver_revision(&mut tx, &[driven]).await.expect("left");
    tx.commit().await.expect("committed");
}

/// A fix of a vehicle with what it says.
fn said((second, aside, card): (i64, f64, Option<&str>), freshness: Freshness) -> PositionRow {
    let place = Place::new(30.25, -97.75 + aside);
    let mut attributes = NewAttributes::default();
    attributes.note("driverCard", card);
    let fix = Fix { place, ..fix(second) };
    PositionRow { attributes: attributes.seal().expect("it fits"), ..row(fix, freshness) }
}

fn of(vehicle: VehicleId, write: VehicleWrite) -> VehicleWrite {
    VehicleWrite { vehicle_id: vehicle, ..write }
}

fn record(vehicle: VehicleId, round: i64, place: usize, second: i64) -> Record {
    let number = round * 100 + place as i64;
    Record { id: EventId(Uuid::from_u128(10_000 + number as u128)), vehicle_id: vehicle, ..entry(2, second) }
}

async fn settle(track: &Track) {
    track.number_changes().await.expect("numbered");
    while track.revise_drivers().await.expect("put right").1 {}
    track.number_changes().await.expect("numbered");
}

/// A vehicle's assignments by card: who, and from which second to which.
async fn made(store: &TestStore, vehicle: VehicleId) -> Vec<(DriverId, i64, Option<i64>)> {
    let select = "select driver_id, started_at, ended_at from assignment where vehicle_id = $1 and origin = 'card' \
        order by started_at";
    let rows: Vec<(Uuid, Time, Option<Time>)> =
        store.db.read().sql(select).bind(vehicle.0).all().await.expect("read");
    let second = |Time(instant): Time| instant.seconds_since(at(0)) as i64;
    rows.into_iter().map(|(driver, from, to)| (DriverId(driver), second(from), to.map(second))).collect()
}

async fn who_drove_by_card_never_depends_on_the_order(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    let mut random = 7_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    let rounds: i64 = std::env::var("WAYPOST_TEST_ORDERS").map_or(24, |text| text.parse().expect("a number"));
    for round in 0..rounds {
        for delete in
            ["delete from card_holding", "delete from card_run", "delete from change", "delete from records"]
        {
            store.db.write().sql(delete).run().await.expect("emptied");
        }
        let vehicle = VehicleId(Uuid::from_u128(1_000 + round as u128));
        let insert = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
            updated_at) values ($1, $2, 'v', 'bus', 'active', '{}', '{}', $3, $3)";
        let stmt = store.db.write().sql(insert).bind(vehicle.0).bind(ORGANIZATION.0).bind(Time(at(0)));
        stmt.run().await.expect("a vehicle");
        hold(&store, "A1", FIRST, 0).await;
        hold(&store, "B2", SECOND, 0).await;
        // Fixes and records in any order, some of them twice, and edits in theirs, drawn together.
        let (mut fixes, mut records) = (FIXES.to_vec(), (0..EXPECTED.len()).collect::<Vec<_>>());
        let (mut edits, mut newest, mut known) = (EDITS.iter(), i64::MIN, HashMap::new());
        let is_in_order = round % 4 == 0;
        if is_in_order {
            fixes.reverse();
        }
        while !fixes.is_empty() || !records.is_empty() || edits.len() > 0 {
            let place = below(fixes.len() + records.len() + edits.len());
            if place < fixes.len() {
                let mut rows = Vec::new();
                for _ in 0..=below(5).min(fixes.len() - 1) {
                    let next = if is_in_order { fixes.len() - 1 } else { below(fixes.len()) };
                    let sent = if below(5) == 0 { fixes[next] } else { fixes.swap_remove(next) };
                    let is_again = known.insert((sent.0, sent.1.to_bits()), ()).is_some();
                    let freshness = match sent.0 {
                        second if second > newest => Freshness::Fresh,
                        second if second == newest && is_again => Freshness::Repeat,
                        _ => Freshness::Recheck { late: true },
                    };
                    newest = newest.max(sent.0);
                    rows.push(said(sent, freshness));
                    if fixes.is_empty() {
                        break;
                    }
                }
                commit(&track, vec![of(vehicle, write(rows))]).await;
            } else if place < fixes.len() + records.len() {
                let mut some = Vec::new();
                for _ in 0..=below(5).min(records.len() - 1) {
                    let which = records.swap_remove(below(records.len()));
                    some.push(record(vehicle, round, which, EXPECTED[which].0));
                }
                commit(&track, vec![of(vehicle, recording(some))]).await;
            } else if let Some(next) = edits.next() {
                edit(&store, vehicle, next).await;
            }
            if below(2) == 0 {
                track.number_changes().await.expect("numbered");
            }
            if below(3) == 0 {
                track.revise_drivers().await.expect("put right");
            }
        }
        settle(&track).await;
        let mut found = log(&track).await;
        found.sort_by_key(|record| record.occurred_at);
        let found: Vec<_> = found.iter().map(|record| (record.occurred_at, record.driver_id)).collect();
        let expected: Vec<_> = EXPECTED.iter().map(|(second, driver)| (at(*second), *driver)).collect();
        assert_eq!(found, expected, "round {round}");
        assert_eq!(made(&store, vehicle).await, EXPECTED_MADE, "round {round}");
        assert_eq!(track.revise_drivers().await.expect("nothing waits"), (Vec::new(), false));
    }
}

/// A write of fixes that come in order and say nothing of a card.
fn many(seconds: impl Iterator<Item = i64>) -> VehicleWrite {
    let rows: Vec<PositionRow> = seconds.map(|second| said((second, 0.0, None), Freshness::Fresh)).collect();
    let state = VehicleState { last: rows.last().map(|row| row.fix), ..VehicleState::default() };
    VehicleWrite { state: Arc::new(state), ..write(rows) }
}

async fn a_card_that_comes_late_far_back_is_found_in_slices(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    hold(&store, "A1", FIRST, 0).await;
    hold(&store, "B2", SECOND, 0).await;
    commit(&track, vec![write(vec![said((10, 0.0, Some("A1")), Freshness::Fresh)])]).await;
    for from in (20..6_000).step_by(500) {
        commit(&track, vec![many(from..from + 500)]).await;
    }
    // The same card, in the middle of all that: without a change of the reader nobody noted it.
    commit(&track, vec![write(vec![said((7_000, 0.0, Some("A1")), Freshness::Fresh)])]).await;
    commit(&track, vec![recording(vec![entry(2, 5_000), entry(4, 7_001)])]).await;
    commit(&track, vec![write(vec![said((15, 0.0, Some("B2")), Freshness::Recheck { late: true })])]).await;
    settle(&track).await;
    let expected = [(FIRST, 10, Some(15)), (SECOND, 15, Some(7_000)), (FIRST, 7_000, None)];
    assert_eq!(made(&store, VEHICLE).await, expected);
    let drivers: Vec<_> = log(&track).await.iter().map(|record| record.driver_id).collect();
    assert_eq!(drivers.len(), 2);
    assert!(drivers.contains(&Some(SECOND)) && drivers.contains(&Some(FIRST)), "{drivers:?}");
}

async fn a_fix_without_a_card_asks_and_writes_nothing(store: TestStore) {
    let track = stand(&store).await;
    let committed = commit(&track, vec![many(0..50)]).await;
    assert!(!committed[0].leaves_changes);
    let rows: i64 = store.db.read().sql("select count(*) from card_run").scalar().await.expect("read");
    assert_eq!(rows, 0);
    let one = |second, card| write(vec![said((second, 0.0, Some(card)), Freshness::Fresh)]);
    hire(&store).await;
    hold(&store, "A1", FIRST, 0).await;
    assert!(commit(&track, vec![one(60, "A1")]).await[0].leaves_changes, "an assignment");
    assert!(!commit(&track, vec![one(61, "a1")]).await[0].leaves_changes, "the same card once more");
    assert!(!commit(&track, vec![many(62..70)]).await[0].leaves_changes, "nothing is said of it");
    let rows: i64 = store.db.read().sql("select count(*) from card_run").scalar().await.expect("read");
    assert_eq!(rows, 1, "a row per change, not per fix");
}

async fn a_card_ahead_of_the_clock_says_nothing_however_often_it_comes(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    hold(&store, "A1", FIRST, 0).await;
    hold(&store, "B2", SECOND, 0).await;
    let perhaps_stored = Freshness::Recheck { late: false };
    let report = |card| said((500, 0.0, card), perhaps_stored);
    let ahead = PositionRow { quarantine: Some(Quarantine::Future), ..report(Some("B2")) };
    commit(&track, vec![write(vec![said((10, 0.0, Some("A1")), Freshness::Fresh), ahead])]).await;
    // Its time has come, and it comes again: without its card, and with it.
    for again in [report(None), report(Some("B2"))] {
        commit(&track, vec![write(vec![again])]).await;
        settle(&track).await;
        assert_eq!(made(&store, VEHICLE).await, [(FIRST, 10, None)]);
    }
    // Nor is it found where fixes are read again.
    let late = [(20, Some("B2")), (30, Some("A1"))];
    let late = late.map(|(second, card)| said((second, 0.0, card), Freshness::Recheck { late: true }));
    commit(&track, vec![write(late.into())]).await;
    settle(&track).await;
    let expected = [(FIRST, 10, Some(20)), (SECOND, 20, Some(30)), (FIRST, 30, None)];
    assert_eq!(made(&store, VEHICLE).await, expected);
}

async fn what_stood_since_a_purge_stands_when_the_driver_comes_again(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    hold(&store, "A1", FIRST, 0).await;
    let one = |second, card, freshness| write(vec![said((second, 0.0, Some(card)), freshness)]);
    commit(&track, vec![one(10, "A1", Freshness::Fresh)]).await;
    commit(&track, vec![one(20, "", Freshness::Fresh)]).await;
    settle(&track).await;
    let purge = "delete from card_holding where driver_id = $1";
    store.db.write().sql(purge).bind(FIRST.0).run().await.expect("purged");
    hold(&store, "B2", FIRST, 50).await;
    commit(&track, vec![one(60, "B2", Freshness::Fresh)]).await;
    // All of it is looked at again.
    commit(&track, vec![one(5, "unknown", Freshness::Recheck { late: true })]).await;
    settle(&track).await;
    assert_eq!(made(&store, VEHICLE).await, [(FIRST, 10, Some(20)), (FIRST, 60, None)]);
}

/// SQLite has one edit at a time.
#[test]
fn the_writer_waits_for_no_edit_of_a_vehicle_and_looks_again() {
    run(Engine::Postgres, async |store: TestStore| {
        let track = stand(&store).await;
        hire(&store).await;
        hold(&store, "A1", FIRST, 0).await;
        let mut edit = store.db.begin().await.expect("begun");
        let lock = "update vehicle set updated_at = updated_at where id = $1";
        edit.on().sql(lock).bind(VEHICLE.0).run().await.expect("locked");
        let first = write(vec![said((10, 0.0, Some("A1")), Freshness::Fresh)]);
        assert!(commit(&track, vec![first]).await[0].leaves_changes);
        commit(&track, vec![recording(vec![entry(2, 20), entry(4, 35)])]).await;
        for _ in 0..3 {
            track.number_changes().await.expect("numbered");
            assert_eq!(track.revise_drivers().await.expect("tried"), (Vec::new(), true));
        }
        assert_eq!(made(&store, VEHICLE).await, []);
        let insert = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, \
            assigned_by, end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $2, 'unassigned', $5, $5)";
        let stmt = edit.on().sql(insert).bind(Uuid::now_v7()).bind(ORGANIZATION.0).bind(SECOND.0);
        stmt.bind(VEHICLE.0).bind(Time(at(30))).bind(Time(at(40))).run().await.expect("an assignment");
        edit.commit().await.expect("committed");
        settle(&track).await;
        assert_eq!(made(&store, VEHICLE).await, [(FIRST, 10, Some(30)), (FIRST, 40, None)]);
        let mut drivers: Vec<_> =
            log(&track).await.iter().map(|record| (record.occurred_at, record.driver_id)).collect();
        drivers.sort_unstable();
        assert_eq!(drivers, [(at(20), Some(FIRST)), (at(35), Some(SECOND))]);
    });
}
