//! Alerts in the store: with their cause under one commit, one for all who fall silent at once, and forgotten with retention.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use uuid::Uuid;
use waypost::clock::Clock;
use waypost::store::alert;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{Connection, EventId, EventStatus, Timestamp, VehicleId};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::{AlertDetail, AlertRule, ConnectionChange, Detail, Record};
use waypost_test_support::{Engine, TestStore, for_each_engine, run};

use crate::fleet::{
    FENCE, ORGANIZATION, VEHICLE, at, commit, correcting, correction, entry, log, recording, stand,
};
use crate::steps::count_steps;

for_each_engine!(
    one_is_stored_as_it_is_revised_and_taken_back,
    five_hundred_that_fall_silent_at_once_are_one,
    who_was_heard_again_and_is_silent_once_more_holds_none_open,
    what_was_done_with_one_goes_with_it,
);

fn dwelling(ended: Option<i64>) -> Record {
    let detail = AlertDetail {
        geofence_id: Some(FENCE),
        geofence_name: Some("Depot".into()),
        ..AlertDetail::new(AlertRule::Dwell, Uuid::from_u128(7))
    };
    Record {
        id: EventId(Uuid::from_u128(900)),
        ended_at: ended.map(at),
        confirmed_at: at(ended.unwrap_or(10)),
        detail: Detail::Alert(Box::new(detail)),
        ..entry(0, 5)
    }
}

async fn one_is_stored_as_it_is_revised_and_taken_back(store: TestStore) {
    let track = stand(&store).await;
    let raised = Record { sequence: 1, ..dwelling(None) };
    assert_eq!(commit(&track, vec![recording(vec![dwelling(None)])]).await[0].records, [raised]);
    let ended = Record { sequence: 2, revision: 2, ..dwelling(Some(60)) };
    let committed = commit(&track, vec![recording(vec![dwelling(Some(60))])]).await;
    assert_eq!(committed[0].records, std::slice::from_ref(&ended));
    assert_eq!(log(&track).await, [ended]);
    let committed = commit(&track, vec![correcting(correction(None, None, Vec::new()))]).await;
    let [gone] = &committed[0].records[..] else { panic!("{committed:?}") };
    assert_eq!((gone.status, gone.revision, gone.ended_at), (EventStatus::Retracted, 3, Some(at(60))));
}

/// A change of a vehicle's connection; it had been heard before, and moved.
fn changed(number: u128, state: Connection, seconds: i64) -> Record {
    let change = ConnectionChange {
        vehicle_id: VehicleId(Uuid::from_u128(1_000 + number)),
        organization_id: ORGANIZATION,
        state,
        silent_since: at(seconds - 3_600),
        heard_at: at(seconds - 3_600),
        occurred_at: at(seconds),
        location: None,
        was_moving: true,
    };
    change.record(at(seconds))
}

/// The alerts among what the store answers, in the order of their numbers, which follow those of the changes.
async fn told(track: &Track, changes: &[Record]) -> Vec<Record> {
    let logged = track.log_connections(changes).await.expect("stored");
    let numbers: Vec<i64> = logged.iter().map(|record| record.sequence).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    logged.into_iter().filter(|record| record.as_alert().is_some()).collect()
}

fn vehicles(alert: &Record) -> usize {
    alert.as_alert().expect("an alert").vehicle_ids.len()
}

/// What the store answers at a second.
async fn revised(track: &Track, clock: &AtomicI64, second: i64) -> (Vec<Record>, bool) {
    clock.store(at(second).as_micros(), Ordering::Relaxed);
    track.revise_drivers().await.expect("answered")
}

/// Vehicles of which changes can be told.
async fn known(store: &TestStore, many: u128) {
    let insert = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, updated_at) \
        select $1, organization_id, 'Bus', category, status, fuel, tracking, created_at, updated_at from vehicle limit 1";
    for number in 0..many {
        store.db.write().sql(insert).bind(Uuid::from_u128(1_000 + number)).run().await.expect("a vehicle");
    }
}

async fn five_hundred_that_fall_silent_at_once_are_one(store: TestStore) {
    let clock = Arc::new(AtomicI64::new(0));
    let tells = Arc::clone(&clock);
    let tell = Clock::from_fn(move || Timestamp::from_micros(tells.load(Ordering::Relaxed)));
    let track = stand(&store).await.with_clock(tell);
    known(&store, 500).await;
    let offline: Vec<Record> =
        (0..500).map(|number| changed(number, Connection::Offline, 4_000 + number as i64 / 10)).collect();
    let mut seen = Vec::new();
    for some in offline.chunks(200) {
        seen.extend(told(&track, some).await);
    }
    let revisions: Vec<_> = seen.iter().map(|alert| (alert.id, alert.revision, vehicles(alert))).collect();
    assert_eq!(revisions, [(seen[0].id, 1, 200), (seen[0].id, 2, 400), (seen[0].id, 3, 500)]);
    assert_eq!(told(&track, &offline).await, [], "what is stored is not told again");

    // Somebody has seen it; then one more falls silent.
    let acknowledge = "insert into alert_state (alert_id, organization_id, acknowledged_at, acknowledged_by, updated_at) \
        values ($1, $2, $3, $1, $3)";
    let stmt = store.db.write().sql(acknowledge).bind(seen[0].id.0).bind(ORGANIZATION.0);
    stmt.bind(Time(at(4_060))).run().await.expect("seen");
    let mut one_more = changed(0, Connection::Offline, 4_080);
    one_more.vehicle_id = VEHICLE;
    one_more.id = EventId(Uuid::from_u128(5));
    assert_eq!(told(&track, &[one_more]).await.iter().map(vehicles).collect::<Vec<_>>(), [501]);
    let unseen = "select count(*) from alert_state where acknowledged_at is null and acknowledged_by is null";
    assert_eq!(store.db.read().sql(unseen).scalar::<i64>().await.expect("read"), 1);

    // It goes on until the last one is heard again, or gone.
    let back: Vec<Record> =
        (0..500).map(|number| changed(number, Connection::Online, 5_000 + number as i64)).collect();
    assert_eq!(told(&track, &back).await, []);
    assert_eq!(revised(&track, &clock, 5_600).await, (Vec::new(), false));
    let delete = "update vehicle set deleted_at = $1 where id = $2";
    let stmt = store.db.write().sql(delete).bind(Time(at(5_700))).bind(VEHICLE.0);
    stmt.run().await.expect("deleted");
    let (ended, more) = revised(&track, &clock, 5_800).await;
    let ends: Vec<_> = ended.iter().map(|alert| (alert.id, alert.revision, alert.ended_at)).collect();
    assert_eq!((ends, more), (vec![(seen[0].id, 5, Some(at(5_800)))], false));
    assert_eq!(revised(&track, &clock, 5_900).await, (Vec::new(), false));
}

async fn who_was_heard_again_and_is_silent_once_more_holds_none_open(store: TestStore) {
    let track = stand(&store).await;
    known(&store, 2).await;
    let silent: Vec<Record> = (0..2).map(|number| changed(number, Connection::Offline, 4_000)).collect();
    let raised = told(&track, &silent).await;
    assert_eq!(raised.iter().map(vehicles).collect::<Vec<_>>(), [2]);
    // The first one is heard, and parks.
    for change in [changed(0, Connection::Online, 4_100), changed(0, Connection::Stale, 4_900)] {
        assert_eq!(told(&track, &[change]).await, []);
    }
    let ended = told(&track, &[changed(1, Connection::Online, 5_000)]).await;
    let ends: Vec<_> = ended.iter().map(|alert| (alert.id, alert.revision, alert.ended_at)).collect();
    assert_eq!(ends, [(raised[0].id, 2, Some(at(5_000)))]);
}

async fn what_was_done_with_one_goes_with_it(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![recording(vec![dwelling(None)])]).await;
    let insert = "insert into alert_state (alert_id, organization_id, updated_at) values ($1, $2, $3)";
    for id in [900, 901] {
        let stmt = store.db.write().sql(insert).bind(Uuid::from_u128(id)).bind(ORGANIZATION.0);
        stmt.bind(Time(at(0))).run().await.expect("seen");
    }
    assert_eq!(alert::forget(&store.db, 10).await.expect("forgotten"), 1);
    assert_eq!(alert::forget(&store.db, 10).await.expect("nothing to forget"), 0);
}

#[test]
fn alerts_that_are_over_are_not_gone_through() {
    run(Engine::Sqlite, async |store: TestStore| {
        let track = stand(&store).await;
        // Drains have no end, and stay as they are.
        let fill = "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, occurred_at, ended_at, \
            confirmed_at, detected_at, origin, cause) with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
            select unhex(printf('%032x', i)), i, 'alert', 'active', 1, $1, $2, i, case when i % 2 = 0 then i end, i, i, 'live', \
            case when i % 2 = 0 then 'silentWhileMoving' else 'drain' end from n";
        let stmt = store.db.write().sql(fill).bind(ORGANIZATION.0).bind(VEHICLE.0);
        assert_eq!(stmt.run().await.expect("filled"), 20_000);
        let steps = count_steps(&store.db).await;
        assert_eq!(track.revise_drivers().await.expect("answered"), (Vec::new(), false));
        let steps = steps.load(Ordering::Relaxed);
        assert!(steps < 20_000, "{steps} steps, though no alert goes on");
    });
}
