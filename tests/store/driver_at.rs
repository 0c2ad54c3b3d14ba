//! Who drove, resolved when a record is written.

use uuid::Uuid;
use waypost::store::change_log::{self, DriverRevision};
use waypost::store::time::Time;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, DriverId, EventStatus};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::Record;
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{
    ORGANIZATION, VEHICLE, at, commit, correcting, correction, entry, exit, log, recording, stand, told_as,
};

for_each_engine!(
    a_record_has_the_driver_of_its_instant,
    a_revision_has_the_driver_of_the_assignments_as_they_are,
    a_record_that_holds_again_on_the_live_path_has_the_driver_of_now,
    who_drove_never_depends_on_the_order,
);

pub(crate) const FIRST: DriverId = DriverId(Uuid::from_u128(201));
pub(crate) const SECOND: DriverId = DriverId(Uuid::from_u128(202));

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

async fn a_revision_has_the_driver_of_the_assignments_as_they_are(store: TestStore) {
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
        (exit(2, 150).id, active, Some(SECOND)),
        (moved.id, active, Some(SECOND)),
    ];
    assert_eq!(said, expected);
    // One that holds again, at another instant and at its own.
    let back = Record { occurred_at: at(120), ..exit(4, 90) };
    let events = vec![later(entry(1, 50)), later(exit(2, 150)), moved, back];
    let told = commit(&track, vec![correcting(correction(None, None, events))]).await.remove(0).records;
    assert_eq!(drivers(&told), [Some(SECOND)]);
    assert_eq!(drivers(&log(&track).await), [Some(FIRST), Some(SECOND), Some(SECOND), Some(SECOND)]);
}

async fn a_record_that_holds_again_on_the_live_path_has_the_driver_of_now(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    commit(&track, vec![recording(vec![entry(1, 50)])]).await;
    assign(&store, FIRST, 0, None).await;
    commit(&track, vec![correcting(correction(None, None, Vec::new()))]).await;
    let committed = commit(&track, vec![recording(vec![entry(1, 50), exit(2, 60)])]).await;
    assert_eq!(drivers(&committed[0].records), [Some(FIRST), Some(FIRST)]);
    assert_eq!(drivers(&log(&track).await), [Some(FIRST), Some(FIRST)]);
}

/// What is done to assignments, one after the other, with the time whose drivers that may change.
const EDITS: [(&str, i64, i64); 5] = [
    ("assign FIRST", 0, 100),
    ("assign SECOND", 100, 999),
    ("correct FIRST", 0, 100),
    ("end SECOND", 150, 999),
    ("assign FIRST again", 180, 999),
];

async fn edit(store: &TestStore, (what, from, to): (&str, i64, i64)) {
    let update = "update assignment set started_at = $2, ended_at = $3, end_reason = 'unassigned' where driver_id = $1";
    match what {
        "assign FIRST" => assign(store, FIRST, 0, Some(100)).await,
        "assign SECOND" => assign(store, SECOND, 100, None).await,
        "assign FIRST again" => assign(store, FIRST, 180, None).await,
        what => {
            let (driver, from, to) =
                if what == "correct FIRST" { (FIRST, 30, 80) } else { (SECOND, 100, 150) };
            let update = store.db.write().sql(update).bind(driver.0);
            update.bind(Time(at(from))).bind(Time(at(to))).run().await.expect("an update");
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
    let (from, to) = (at(from), at(to));
    let driven = DriverRevision { assignment_id: Uuid::from_u128(7), vehicle_id: VEHICLE, from, to };
    change_log::queue_driver_revision(&mut tx, &[driven]).await.expect("left");
    tx.commit().await.expect("committed");
}

async fn who_drove_never_depends_on_the_order(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    let instants = [10, 40, 79, 80, 95, 120, 150, 170, 200];
    let expected = [None, Some(FIRST), Some(FIRST), None, None, Some(SECOND), None, None, Some(FIRST)];
    let mut random = 1_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    for round in 0..200 {
        for delete in ["delete from records", "delete from assignment", "delete from change"] {
            store.db.write().sql(delete).run().await.expect("emptied");
        }
        // Records in any order, and edits in theirs, drawn together.
        let (mut records, mut edits) = ((0..instants.len()).collect::<Vec<_>>(), EDITS.iter());
        while !records.is_empty() || edits.len() > 0 {
            if below(records.len() + edits.len()) < records.len() {
                let place = records.swap_remove(below(records.len()));
                commit(&track, vec![recording(vec![entry(place as i64, instants[place])])]).await;
            } else if let Some(next) = edits.next() {
                edit(&store, *next).await;
            }
            if below(2) == 0 {
                track.number_changes().await.expect("numbered");
            }
            if below(3) == 0 {
                track.revise_drivers().await.expect("put right");
            }
        }
        track.number_changes().await.expect("numbered");
        while track.revise_drivers().await.expect("put right").1 {}
        let mut found = log(&track).await;
        found.sort_by_key(|record| record.occurred_at);
        assert_eq!(drivers(&found), expected, "round {round}");
        assert_eq!(track.revise_drivers().await.expect("nothing waits"), (Vec::new(), false));
    }
}
