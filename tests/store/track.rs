//! The writer's half of the store: a batch is committed whole, once, by the one writer there is.

use std::sync::Arc;

use uuid::Uuid;
use waypost::store::partitions::make_partitions;
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::model::{
    Analytics, Cause, Event, EventFix, EventId, EventKind, EventStatus, Fix, FuelReading, GeofenceId,
    OrganizationId, Origin, Place, Timestamp, VehicleId, VisitId,
};
use waypost_actors::ports::{Batch, Counts, EventLog, StoreError, TrackStore, VehicleWrite};
use waypost_actors::tracking::{Effects, PositionRow, Quarantine, Standing, VehicleState, VisitRow};
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, for_each_engine};

for_each_engine!(
    a_batch_is_read_back_as_it_was_written,
    a_fix_is_stored_once_and_what_it_lacked_is_filled_in,
    a_new_late_fix_marks_its_vehicle_and_a_repeated_one_does_not,
    a_quarantine_is_lifted,
    events_are_numbered_by_the_one_writer,
    an_event_is_written_once_and_a_repeated_one_stops_nobody,
    a_server_that_was_taken_over_cannot_commit,
    a_batch_of_thousands_is_one_transaction,
    fixes_of_any_year_find_their_place,
);

const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(1));
const VEHICLE: VehicleId = VehicleId(Uuid::from_u128(2));
const FENCE: GeofenceId = GeofenceId(Uuid::from_u128(3));

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + seconds * 1000).expect("in range")
}

fn fix(seconds: i64) -> Fix {
    Fix::new(at(seconds), at(seconds + 1), Place::new(30.25, -97.75))
}

fn row(fix: Fix, standing: Standing) -> PositionRow {
    PositionRow { fix, quarantine: None, standing }
}

fn write(rows: Vec<PositionRow>) -> VehicleWrite {
    let state = VehicleState { last: rows.last().map(|row| row.fix), ..VehicleState::default() };
    VehicleWrite {
        vehicle_id: VEHICLE,
        organization_id: ORGANIZATION,
        effects: Effects { rows, ..Effects::default() },
        state: Arc::new(state),
    }
}

const ANALYTICS: Analytics = Analytics {
    duration_seconds: 61.003,
    distance_meters: 812.345,
    avg_speed_kmh: Some(47.938),
    max_speed_kmh: None,
    moving_seconds: 60.003,
    stopped_seconds: 1.0,
    gap_seconds: 0.0,
    fix_count: 3,
    stops: 0,
    overspeed_seconds: Some(12.5),
    fuel_used_liters: None,
};

fn batch(writes: Vec<VehicleWrite>, first_sequence: i64) -> Batch {
    let event_count = writes.iter().map(|write| write.effects.events.len() as i64).sum();
    Batch { writes, next_sequence: first_sequence + event_count, event_count }
}

fn entry(sequence: i64, seconds: i64) -> Event {
    Event {
        id: EventId(Uuid::from_u128(100 + sequence as u128)),
        sequence,
        kind: EventKind::Entry,
        status: EventStatus::Active,
        revision: 1,
        visit_id: VisitId(Uuid::from_u128(50)),
        organization_id: ORGANIZATION,
        vehicle_id: VEHICLE,
        vehicle_name: "Bus 1".into(),
        geofence_id: FENCE,
        geofence_name: "Depot".into(),
        geofence_version: 1,
        driver_id: None,
        occurred_at: at(seconds),
        time_uncertainty_seconds: 2.5,
        detected_at: at(seconds + 1),
        origin: Origin::Live,
        cause: Cause::Crossing,
        inferred: false,
        location: Place::new(30.25, -97.75),
        fix: EventFix::from(&fix(seconds)),
        // An entry has none, but the store does not know that.
        analytics: (sequence % 2 == 1).then_some(ANALYTICS),
    }
}

/// An organization with one vehicle and one fence, and the writer of their data.
async fn stand(store: &TestStore) -> Track {
    let now = Time(at(0));
    let sql = "insert into organization (id, name, search_key, slug, contact_email, status, settings, \
        subscription, created_at, updated_at) values ($1, 'O', 'o', 'o', 'o@example.org', 'active', $2, $2, $3, $3)";
    let empty = sqlx::types::Json(serde_json::json!({}));
    store
        .db
        .write()
        .sql(sql)
        .bind(ORGANIZATION.0)
        .bind(empty.clone())
        .bind(now)
        .run()
        .await
        .expect("organization");
    let sql = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
        updated_at) values ($1, $2, 'Bus 1', 'bus', 'active', $3, $3, $4, $4)";
    let vehicle =
        store.db.write().sql(sql).bind(VEHICLE.0).bind(ORGANIZATION.0).bind(empty.clone()).bind(now);
    vehicle.run().await.expect("vehicle");
    let sql = "insert into geofence (id, organization_id, name, search_key, enabled, shape, rules, west, south, \
        east, north, area_square_meters, version, created_at, updated_at) \
        values ($1, $2, 'Depot', 'depot', true, $3, $3, $4, $4, $4, $4, $4, 1, $5, $5)";
    let fence = store.db.write().sql(sql).bind(FENCE.0).bind(ORGANIZATION.0).bind(empty).bind(0.0).bind(now);
    fence.run().await.expect("fence");
    Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over")
}

async fn stored(store: &TestStore) -> i64 {
    store.db.read().sql("select count(*) from position").scalar().await.expect("counted")
}

async fn dirty_from(store: &TestStore) -> Option<Time> {
    store.db.read().sql("select dirty_from from vehicle_state").scalar().await.expect("read")
}

async fn a_batch_is_read_back_as_it_was_written(store: TestStore) {
    let track = stand(&store).await;
    let mut written = write(vec![row(fix(0), Standing::Fresh), row(fix(10), Standing::Fresh)]);
    let events = [entry(1, 0), Event { kind: EventKind::Exit, ..entry(2, 10) }];
    written.effects.events = events.to_vec();
    let visit = VisitRow {
        id: events[0].visit_id,
        geofence_id: FENCE,
        entry_event_id: events[0].id,
        entered_at: at(0),
        exit: None,
    };
    let ended = VisitRow { exit: Some((events[1].id, at(10))), ..visit };
    written.effects.visits = vec![visit, ended];
    let counts = track.commit(&batch(vec![written.clone()], 1)).await.expect("committed");
    assert_eq!(counts, [Counts { stored: 2, duplicates: 0 }]);

    let read = track.events_from(Audience::Organization(ORGANIZATION), 1, 10).await.expect("read");
    assert_eq!(read, events);
    let others = Audience::Organization(OrganizationId(Uuid::from_u128(99)));
    assert!(track.events_from(others, 1, 10).await.expect("read").is_empty());
    let reread = track.reread(&[VEHICLE], 2).await.expect("read");
    assert_eq!(reread.states, [(VEHICLE, (*written.state).clone())]);
    assert_eq!((reread.events, reread.next_sequence), (events[1..].to_vec(), 3));
    let seeds = track.seeds().await.expect("read");
    assert_eq!((seeds.vehicles[0].state.clone(), seeds.next_sequence), ((*written.state).clone(), 3));
    let exited: Option<Time> =
        store.db.read().sql("select exited_at from visit").scalar().await.expect("read");
    assert_eq!(exited, Some(Time(at(10))));
}

async fn a_fix_is_stored_once_and_what_it_lacked_is_filled_in(store: TestStore) {
    let track = stand(&store).await;
    let first = Fix { speed_kmh: Some(30.0), ..fix(0) };
    track.commit(&batch(vec![write(vec![row(first, Standing::Fresh)])], 1)).await.expect("committed");
    let again = |speed: Option<f64>, ignition, fuel| Fix { speed_kmh: speed, ignition, fuel, ..fix(0) };
    let rows = vec![
        row(again(Some(99.0), Some(true), None), Standing::Recheck { late: true }),
        row(again(None, Some(false), Some(FuelReading::Liters(40.0))), Standing::Recheck { late: true }),
    ];
    let counts = track.commit(&batch(vec![write(rows)], 1)).await.expect("committed");
    assert_eq!(counts, [Counts { stored: 0, duplicates: 2 }]);
    type Row = (Option<f64>, Option<bool>, Option<f64>);
    let sql = "select speed_kmh, ignition, fuel_liters from position";
    let rows: Vec<Row> = store.db.read().sql(sql).all().await.expect("read");
    assert_eq!(rows, [(Some(30.0), Some(true), Some(40.0))]);
}

async fn a_new_late_fix_marks_its_vehicle_and_a_repeated_one_does_not(store: TestStore) {
    let track = stand(&store).await;
    let late = |seconds| row(fix(seconds), Standing::Recheck { late: true });
    let fresh = |seconds| row(fix(seconds), Standing::Fresh);
    track.commit(&batch(vec![write(vec![fresh(0), fresh(100)])], 1)).await.expect("committed");
    track.commit(&batch(vec![write(vec![late(0), late(100)])], 1)).await.expect("committed");
    assert_eq!(dirty_from(&store).await, None, "both were stored before");
    // The same new late fix twice in one batch, over two writes.
    let counts = track.commit(&batch(vec![write(vec![late(50)]), write(vec![late(50)])], 1)).await;
    let total: u64 = counts.expect("committed").iter().map(|counts| counts.stored).sum();
    assert_eq!((total, stored(&store).await), (1, 3));
    assert_eq!(dirty_from(&store).await, Some(Time(at(50))));
    track.commit(&batch(vec![write(vec![late(70)])], 1)).await.expect("committed");
    assert_eq!(dirty_from(&store).await, Some(Time(at(50))), "the earlier instant stands");
    track.commit(&batch(vec![write(vec![late(20)])], 1)).await.expect("committed");
    track.commit(&batch(vec![write(vec![fresh(200)])], 1)).await.expect("committed");
    assert_eq!(dirty_from(&store).await, Some(Time(at(20))), "a fix in order does not clear it");
}

async fn a_quarantine_is_lifted(store: TestStore) {
    let track = stand(&store).await;
    let suspect = PositionRow { quarantine: Some(Quarantine::Speed), ..row(fix(0), Standing::Fresh) };
    track.commit(&batch(vec![write(vec![suspect])], 1)).await.expect("committed");
    let quarantined = "select quarantine from position where recorded_at = $1";
    let why: Option<String> =
        store.db.read().sql(quarantined).bind(Time(at(0))).scalar().await.expect("read");
    assert_eq!(why.as_deref(), Some("speed"));
    let mut confirming = write(vec![row(fix(10), Standing::Fresh)]);
    confirming.effects.confirmed = vec![fix(0)];
    track.commit(&batch(vec![confirming], 1)).await.expect("committed");
    let why: Option<String> =
        store.db.read().sql(quarantined).bind(Time(at(0))).scalar().await.expect("read");
    assert_eq!((why, stored(&store).await), (None, 2));
}

async fn events_are_numbered_by_the_one_writer(store: TestStore) {
    let track = stand(&store).await;
    let mut written = write(vec![row(fix(0), Standing::Fresh)]);
    written.effects.events = vec![entry(5, 0)];
    let refused = track.commit(&batch(vec![written], 5)).await;
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    assert_eq!(stored(&store).await, 0, "nothing of a batch out of order is stored");
}

async fn an_event_is_written_once_and_a_repeated_one_stops_nobody(store: TestStore) {
    let track = stand(&store).await;
    let mut first = write(vec![row(fix(0), Standing::Fresh)]);
    first.effects.events = vec![entry(1, 0)];
    track.commit(&batch(vec![first], 1)).await.expect("committed");
    let mut second = write(vec![row(fix(10), Standing::Fresh)]);
    second.effects.events = vec![Event { id: entry(1, 0).id, ..entry(2, 10) }, entry(3, 10)];
    track.commit(&batch(vec![second], 2)).await.expect("committed all the same");
    let log = track.events_from(Audience::Everyone, 1, 10).await.expect("read");
    assert_eq!(log, [entry(1, 0), entry(3, 10)]);
    assert_eq!(stored(&store).await, 2);
}

async fn a_server_that_was_taken_over_cannot_commit(store: TestStore) {
    let first = stand(&store).await;
    let second = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let some = batch(vec![write(vec![row(fix(0), Standing::Fresh)])], 1);
    assert!(matches!(first.commit(&some).await, Err(StoreError::TakenOver)));
    assert!(matches!(first.reread(&[VEHICLE], 1).await, Err(StoreError::TakenOver)));
    assert_eq!(stored(&store).await, 0);
    second.commit(&some).await.expect("committed");
    assert_eq!(stored(&store).await, 1);
}

async fn a_batch_of_thousands_is_one_transaction(store: TestStore) {
    let track = stand(&store).await;
    let rows = (0..5_000).map(|second| row(fix(second), Standing::Fresh)).collect();
    let mut written = write(rows);
    written.effects.events = (1..=1_000).map(|sequence| entry(sequence, sequence)).collect();
    let counts = track.commit(&batch(vec![written], 1)).await.expect("committed");
    assert_eq!((counts[0].stored, stored(&store).await), (5_000, 5_000));
    let log = track.events_from(Audience::Everyone, 500, 10_000).await.expect("read");
    assert!(log.iter().map(|event| event.sequence).eq(500..=1_000));
}

async fn fixes_of_any_year_find_their_place(store: TestStore) {
    let track = stand(&store).await;
    let old = Fix { recorded_at: Timestamp::parse("1901-12-13T20:45:52Z").expect("valid"), ..fix(0) };
    let rows = vec![row(old, Standing::Fresh), row(fix(0), Standing::Fresh)];
    track.commit(&batch(vec![write(rows)], 1)).await.expect("committed");
    // A week whose partition is made after its fixes came takes them over.
    make_partitions(&store.db, at(0)).await.expect("made");
    make_partitions(&store.db, at(0)).await.expect("made again");
    track.commit(&batch(vec![write(vec![row(fix(60), Standing::Fresh)])], 1)).await.expect("committed");
    assert_eq!(stored(&store).await, 3);
    let repeated = write(vec![row(fix(0), Standing::Recheck { late: true })]);
    let counts = track.commit(&batch(vec![repeated], 1)).await.expect("committed");
    assert_eq!(counts, [Counts { stored: 0, duplicates: 1 }]);
    if store.engine() == Engine::Postgres {
        let left: i64 =
            store.db.read().sql("select count(*) from position_default").scalar().await.expect("counted");
        assert_eq!(left, 1, "only the fix of 1901 is outside every partition");
    }
}
