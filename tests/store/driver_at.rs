//! Who drove, resolved when a record is written.

use uuid::Uuid;
use waypost::store::time::Time;
use waypost_actors::model::{DriverId, EventStatus};
use waypost_actors::tracking::Record;
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{
    ORGANIZATION, VEHICLE, at, commit, correcting, correction, entry, exit, log, recording, stand, told_as,
};

for_each_engine!(
    a_record_has_the_driver_of_its_instant,
    a_revision_keeps_the_driver_unless_it_happened_at_another_instant,
    a_record_that_holds_again_on_the_live_path_keeps_its_driver,
);

pub(crate) const FIRST: DriverId = DriverId(Uuid::from_u128(201));
const SECOND: DriverId = DriverId(Uuid::from_u128(202));

/// Two drivers.
pub(crate) async fn hire(store: &TestStore) {
    for driver in [FIRST, SECOND] {
        let insert = "insert into driver (id, creator_organization_id, first_name, last_name, search_key, \
             created_at, updated_at) values ($1, $2, 'a', 'b', 'a b', $3, $3)";
        let insert = store.db.write().sql(insert).bind(driver.0).bind(ORGANIZATION.0).bind(Time(at(0)));
        insert.run().await.expect("a driver");
    }
}

/// Who drives the one vehicle.
pub(crate) async fn assign(store: &TestStore, driver: DriverId, from: i64, to: Option<i64>) {
    let insert = "insert into assignment (id, organization_id, driver_id, vehicle_id, started_at, ended_at, \
         assigned_by, end_reason, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $2, $7, $5, $5)";
    let insert = store.db.write().sql(insert).bind(Uuid::now_v7()).bind(ORGANIZATION.0).bind(driver.0);
    let insert = insert.bind(VEHICLE.0).bind(Time(at(from))).bind(to.map(|to| Time(at(to))));
    insert.bind(to.map(|_| "unassigned")).run().await.expect("an assignment");
}

fn drivers(events: &[Record]) -> Vec<Option<DriverId>> {
    events.iter().map(|event| event.driver_id).collect()
}

async fn a_record_has_the_driver_of_its_instant(store: TestStore) {
    let track = stand(&store).await;
    let committed = commit(&track, vec![recording(vec![entry(1, 0)])]).await;
    assert_eq!(drivers(&committed[0].records), [None], "nobody ever drove");
    hire(&store).await;
    assign(&store, FIRST, 0, Some(100)).await;
    assign(&store, SECOND, 100, None).await;
    let writes = vec![
        recording(vec![exit(2, -1), entry(3, 99)]),
        correcting(correction(Some(150), None, vec![entry(4, 200)])),
        recording(vec![exit(5, 100)]),
    ];
    let committed = commit(&track, writes).await;
    assert_eq!(drivers(&committed[0].records), [None, Some(FIRST)]);
    assert_eq!(drivers(&committed[1].records), [Some(SECOND)], "corrections have one too");
    assert_eq!(drivers(&committed[2].records), [Some(SECOND)], "an assignment ends before its end");
    let stored = [None, None, Some(FIRST), Some(SECOND), Some(SECOND)];
    assert_eq!(drivers(&log(&track).await), stored, "what is told is what is stored");
}

async fn a_revision_keeps_the_driver_unless_it_happened_at_another_instant(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    assign(&store, FIRST, 0, Some(100)).await;
    commit(&track, vec![recording(vec![entry(1, 50), exit(2, 150), entry(3, 160), exit(4, 90)])]).await;
    // Written after the records, and about their past.
    assign(&store, SECOND, 100, None).await;
    let later = |event: Record| told_as(event, |detail| detail.time_uncertainty_seconds = 9.0);
    let moved = Record { occurred_at: at(170), ..entry(3, 160) };
    let part = correction(None, None, vec![later(entry(1, 50)), later(exit(2, 150)), moved.clone()]);
    let told = commit(&track, vec![correcting(part)]).await.remove(0).records;
    let said: Vec<_> = told.iter().map(|e| (e.id, e.status, e.driver_id)).collect();
    let active = EventStatus::Active;
    let expected = [
        (exit(4, 90).id, EventStatus::Retracted, Some(FIRST)),
        (entry(1, 50).id, active, Some(FIRST)),
        (exit(2, 150).id, active, None),
        (moved.id, active, Some(SECOND)),
    ];
    assert_eq!(said, expected);
    // One that holds again, at another instant and at its own.
    let back = Record { occurred_at: at(120), ..exit(4, 90) };
    let events = vec![later(entry(1, 50)), later(exit(2, 150)), moved, back];
    let told = commit(&track, vec![correcting(correction(None, None, events))]).await.remove(0).records;
    assert_eq!(drivers(&told), [Some(SECOND)]);
    assert_eq!(drivers(&log(&track).await), [Some(FIRST), None, Some(SECOND), Some(SECOND)]);
}

async fn a_record_that_holds_again_on_the_live_path_keeps_its_driver(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    commit(&track, vec![recording(vec![entry(1, 50)])]).await;
    assign(&store, FIRST, 0, None).await;
    commit(&track, vec![correcting(correction(None, None, Vec::new()))]).await;
    let committed = commit(&track, vec![recording(vec![entry(1, 50), exit(2, 60)])]).await;
    assert_eq!(drivers(&committed[0].records), [None, Some(FIRST)]);
    assert_eq!(drivers(&log(&track).await), [None, Some(FIRST)]);
}
