//! The writer's half of the store: a batch is committed whole, once, by the one writer there is.

use uuid::Uuid;
use waypost::store::partitions::make_partitions;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{EventStatus, Fix, OrganizationId, Origin, Timestamp, VehicleId};
use waypost_actors::ports::{Committed, Counts, RecordLog, StoreError, TrackStore, VehicleWrite};
use waypost_actors::tracking::{Freshness, PositionRow, Quarantine, Record, VisitRow};
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, for_each_engine};

use crate::fleet::{
    FENCE, ORGANIZATION, VEHICLE, at, batch, dirty_from, entry, exit, fix, quarantine_at, row, stand, stored,
    told_as, write,
};

for_each_engine!(
    a_batch_is_read_back_as_it_was_written,
    a_new_late_fix_marks_its_vehicle_and_a_repeated_one_does_not,
    a_quarantine_is_lifted,
    events_are_numbered_without_gaps,
    a_repeated_event_is_neither_numbered_nor_told,
    an_event_that_was_taken_back_and_happens_again_is_active_again,
    a_server_that_was_taken_over_cannot_commit,
    a_batch_of_thousands_is_one_transaction,
    what_is_held_to_be_new_and_is_stored_does_not_fail_its_batch,
    states_of_new_vehicles_and_of_known_ones_are_put_together,
    fixes_of_any_year_find_their_place,
);

async fn a_batch_is_read_back_as_it_was_written(store: TestStore) {
    let track = stand(&store).await;
    let mut written = write(vec![row(fix(0), Freshness::Fresh), row(fix(10), Freshness::Fresh)]);
    let events = [entry(1, 0), exit(2, 10)];
    written.effects.records = events.to_vec();
    let visit = VisitRow {
        id: events[0].geofence().expect("an entry").visit_id,
        geofence_id: FENCE,
        entry_event_id: events[0].id,
        entered_at: at(0),
        exit: None,
    };
    let ended = VisitRow { exit: Some((events[1].id, at(10))), ..visit };
    written.effects.visits = vec![visit, ended];
    let committed = track.commit(&batch(vec![written.clone()])).await.expect("committed");
    let counts = Counts { stored: 2, duplicates: 0 };
    assert_eq!(committed, [Committed { counts, records: events.to_vec(), ..Committed::default() }]);

    let read = track.records_from(Audience::Organization(ORGANIZATION), 1, 10).await.expect("read");
    assert_eq!(read, events);
    let others = Audience::Organization(OrganizationId(Uuid::from_u128(99)));
    assert!(track.records_from(others, 1, 10).await.expect("read").is_empty());
    let reread = track.reread(&[VEHICLE], 2).await.expect("read");
    assert_eq!(reread.states, [(VEHICLE, (*written.state).clone())]);
    assert_eq!((reread.records, reread.next_sequence), (events[1..].to_vec(), 3));
    let seeds = track.seeds().await.expect("read");
    assert_eq!((seeds.vehicles[0].state.clone(), seeds.next_sequence), ((*written.state).clone(), 3));
    let exited: Option<Time> =
        store.db.read().sql("select exited_at from visit").scalar().await.expect("read");
    assert_eq!(exited, Some(Time(at(10))));
}

async fn a_new_late_fix_marks_its_vehicle_and_a_repeated_one_does_not(store: TestStore) {
    let track = stand(&store).await;
    let late = |seconds| row(fix(seconds), Freshness::Recheck { late: true });
    let fresh = |seconds| row(fix(seconds), Freshness::Fresh);
    track.commit(&batch(vec![write(vec![fresh(0), fresh(100)])])).await.expect("committed");
    track.commit(&batch(vec![write(vec![late(0), late(100)])])).await.expect("committed");
    assert_eq!(dirty_from(&store).await, None, "both were stored before");
    // The same new late fix twice in one batch, over two writes.
    let twice = batch(vec![write(vec![late(50)]), write(vec![late(50)])]);
    let committed = track.commit(&twice).await.expect("committed");
    let total: u64 = committed.iter().map(|write| write.counts.stored).sum();
    assert!(committed.iter().all(|write| write.is_dirty()), "{committed:?}");
    assert_eq!((total, stored(&store).await), (1, 3));
    assert_eq!(dirty_from(&store).await, Some(Time(at(50))));
    track.commit(&batch(vec![write(vec![late(70)])])).await.expect("committed");
    assert_eq!(dirty_from(&store).await, Some(Time(at(50))), "the earlier instant stands");
    track.commit(&batch(vec![write(vec![late(20)])])).await.expect("committed");
    track.commit(&batch(vec![write(vec![fresh(200)])])).await.expect("committed");
    assert_eq!(dirty_from(&store).await, Some(Time(at(20))), "a fix in order does not clear it");
}

async fn a_quarantine_is_lifted(store: TestStore) {
    let track = stand(&store).await;
    let suspect = PositionRow { quarantine: Some(Quarantine::Speed), ..row(fix(0), Freshness::Fresh) };
    track.commit(&batch(vec![write(vec![suspect])])).await.expect("committed");
    assert_eq!(quarantine_at(&store, 0).await, Some(Quarantine::Speed));
    let mut confirming = write(vec![row(fix(10), Freshness::Fresh)]);
    confirming.effects.confirmed = vec![fix(0)];
    track.commit(&batch(vec![confirming])).await.expect("committed");
    assert_eq!((quarantine_at(&store, 0).await, stored(&store).await), (None, 2));
}

async fn events_are_numbered_without_gaps(store: TestStore) {
    let track = stand(&store).await;
    let mut writes: Vec<_> = (0..3).map(|n| write(vec![row(fix(n), Freshness::Fresh)])).collect();
    for (write, n) in writes.iter_mut().zip([1, 3, 5]) {
        // Whatever they bring as a number, it is given here.
        write.effects.records =
            vec![Record { sequence: 77, ..entry(n, n) }, Record { sequence: 0, ..entry(n + 1, n) }];
    }
    let committed = track.commit(&batch(writes)).await.expect("committed");
    let told: Vec<Record> = committed.into_iter().flat_map(|write| write.records).collect();
    assert_eq!(told, (1..=6).map(|n| entry(n, n - (n + 1) % 2)).collect::<Vec<_>>());
    assert_eq!(track.records_from(Audience::Everyone, 1, 10).await.expect("read"), told);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 7);
}

async fn a_repeated_event_is_neither_numbered_nor_told(store: TestStore) {
    let track = stand(&store).await;
    let mut first = write(vec![row(fix(0), Freshness::Fresh)]);
    first.effects.records = vec![entry(1, 0)];
    track.commit(&batch(vec![first])).await.expect("committed");
    let again = Record { id: entry(1, 0).id, ..entry(2, 10) };
    let (mut second, mut third) =
        (write(vec![row(fix(10), Freshness::Fresh)]), write(vec![row(fix(20), Freshness::Fresh)]));
    second.effects.records = vec![again.clone(), entry(2, 10)];
    third.effects.records = vec![entry(2, 10), entry(3, 20)];
    let committed = track.commit(&batch(vec![second, third])).await.expect("committed all the same");
    assert_eq!((&committed[0].records, &committed[1].records), (&vec![entry(2, 10)], &vec![entry(3, 20)]));
    let log = track.records_from(Audience::Everyone, 1, 10).await.expect("read");
    assert_eq!(log, [entry(1, 0), entry(2, 10), entry(3, 20)]);
    assert_eq!((stored(&store).await, track.seeds().await.expect("read").next_sequence), (3, 4));
}

async fn an_event_that_was_taken_back_and_happens_again_is_active_again(store: TestStore) {
    let track = stand(&store).await;
    let mut first = write(vec![row(fix(0), Freshness::Fresh)]);
    first.effects.records = vec![entry(1, 0), entry(2, 5)];
    track.commit(&batch(vec![first])).await.expect("committed");
    let retracted = "update records set status = 'retracted', revision = 4 where sequence = 1";
    store.db.write().sql(retracted).run().await.expect("written");
    let mut second = write(vec![row(fix(10), Freshness::Fresh)]);
    let again = told_as(entry(1, 0), |detail| detail.time_uncertainty_seconds = 7.0);
    second.effects.records = vec![entry(2, 5), again.clone()];
    let committed = track.commit(&batch(vec![second])).await.expect("committed");
    let revived =
        Record { sequence: 3, revision: 5, status: EventStatus::Active, origin: Origin::Live, ..again };
    assert_eq!(committed[0].records, std::slice::from_ref(&revived));
    let log = track.records_from(Audience::Everyone, 1, 10).await.expect("read");
    assert_eq!(log, [entry(2, 5), revived]);
}

async fn a_server_that_was_taken_over_cannot_commit(store: TestStore) {
    let first = stand(&store).await;
    let second = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let some = batch(vec![write(vec![row(fix(0), Freshness::Fresh)])]);
    assert!(matches!(first.commit(&some).await, Err(StoreError::TakenOver)));
    assert!(matches!(first.reread(&[VEHICLE], 1).await, Err(StoreError::TakenOver)));
    assert_eq!(stored(&store).await, 0);
    second.commit(&some).await.expect("committed");
    assert_eq!(stored(&store).await, 1);
}

async fn a_batch_of_thousands_is_one_transaction(store: TestStore) {
    let track = stand(&store).await;
    let rows = (0..5_000).map(|second| row(fix(second), Freshness::Fresh)).collect();
    let mut written = write(rows);
    written.effects.records = (1..=1_000).map(|sequence| entry(sequence, sequence)).collect();
    let committed = track.commit(&batch(vec![written])).await.expect("committed");
    assert_eq!((committed[0].counts.stored, stored(&store).await), (5_000, 5_000));
    let log = track.records_from(Audience::Everyone, 500, 10_000).await.expect("read");
    assert!(log.iter().map(|event| event.sequence).eq(500..=1_000));
}

async fn what_is_held_to_be_new_and_is_stored_does_not_fail_its_batch(store: TestStore) {
    let track = stand(&store).await;
    let fresh = |seconds| row(fix(seconds), Freshness::Fresh);
    track.commit(&batch(vec![write(vec![fresh(0), fresh(10)])])).await.expect("committed");
    let mut again = write(vec![fresh(10), fresh(20)]);
    again.effects.records = vec![entry(1, 20)];
    let committed = track.commit(&batch(vec![again])).await.expect("committed all the same");
    assert_eq!(committed[0].records, [entry(1, 20)]);
    assert_eq!((stored(&store).await, track.seeds().await.expect("read").next_sequence), (3, 2));
}

async fn states_of_new_vehicles_and_of_known_ones_are_put_together(store: TestStore) {
    let track = stand(&store).await;
    let of = |number: u128, seconds| VehicleWrite {
        vehicle_id: VehicleId(Uuid::from_u128(number)),
        ..write(vec![row(fix(seconds), Freshness::Fresh)])
    };
    track.commit(&batch(vec![of(101, 0), of(102, 0)])).await.expect("committed");
    let mixed: Vec<VehicleWrite> = vec![of(102, 10), of(103, 10), of(104, 10)];
    let committed = track.commit(&batch(mixed.clone())).await.expect("committed");
    assert!(committed.iter().all(|write| !write.is_dirty()));
    let asked: Vec<VehicleId> = (101..=104).map(|number| VehicleId(Uuid::from_u128(number))).collect();
    let states = track.reread(&asked, 1).await.expect("read").states;
    let want = [of(101, 0)].into_iter().chain(mixed).map(|write| (write.vehicle_id, (*write.state).clone()));
    assert_eq!(states, want.collect::<Vec<_>>());
}

async fn fixes_of_any_year_find_their_place(store: TestStore) {
    let track = stand(&store).await;
    let old = Fix { recorded_at: Timestamp::parse("1901-12-13T20:45:52Z").expect("valid"), ..fix(0) };
    let rows = vec![row(old, Freshness::Fresh), row(fix(0), Freshness::Fresh)];
    track.commit(&batch(vec![write(rows)])).await.expect("committed");
    track.save_states().await.expect("saved");
    // A week whose partition is made after its fixes came takes them over.
    make_partitions(&store.db, at(0)).await.expect("made");
    make_partitions(&store.db, at(0)).await.expect("made again");
    track.commit(&batch(vec![write(vec![row(fix(60), Freshness::Fresh)])])).await.expect("committed");
    track.save_states().await.expect("saved");
    assert_eq!(stored(&store).await, 3);
    let repeated = write(vec![row(fix(0), Freshness::Recheck { late: true })]);
    let committed = track.commit(&batch(vec![repeated])).await.expect("committed");
    assert_eq!(committed[0].counts, Counts { stored: 0, duplicates: 1 });
    if store.engine() == Engine::Postgres {
        let left: i64 = store
            .db
            .read()
            .sql("select count(*) from position_chunk_default")
            .scalar()
            .await
            .expect("counted");
        assert_eq!(left, 1, "only the fix of 1901 is outside every partition");
    }
}
