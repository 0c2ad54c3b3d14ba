//! Fuel as the writer keeps it: rows of the log, refuels and drains, and corrections of both.

use uuid::Uuid;
use waypost::store::time::Time;
use waypost_actors::fuel::{FuelEventKind, FuelMotion, FuelRow, FuelUnit, Quality, log_id};
use waypost_actors::model::{EventId, EventStatus, OrganizationId, Origin, Place};
use waypost_actors::ports::{Committed, RecordLog, TrackStore, VehicleWrite};
use waypost_actors::tracking::{Correction, Detail, Freshness, FuelDetail, Quarantine, Record};
use waypost_actors::watch::Audience;
use waypost_test_support::{Engine, TestStore, for_each_engine};

use crate::driver_at::{FIRST, assign, hire};
use crate::fleet::{
    FENCE, FOUND, ORGANIZATION, VEHICLE, at, batch, correcting, correction, entry, fix, row, stand, write,
};

for_each_engine!(
    rows_and_records_are_read_back_as_they_were_written,
    both_kinds_of_events_are_numbered_from_one_row,
    a_record_that_holds_already_is_neither_numbered_nor_told,
    a_correction_leaves_the_log_it_found,
    a_correction_puts_refuels_and_drains_right,
    whoever_drove_is_in_the_log_by_the_assignments_as_they_are,
    a_calibration_is_owed_until_it_is_settled,
);

pub(crate) fn reading(seconds: i64, percent: f64) -> FuelRow {
    FuelRow {
        recorded_at: at(seconds),
        received_at: at(seconds + 1),
        place: Place::new(30.25, -97.75),
        speed_kmh: Some(0.1 + 0.2),
        odometer_km: None,
        ignition: Some(true),
        distance_meters: (seconds % 20 == 0).then_some(1.0 / 3.0),
        unit: FuelUnit::Percent,
        raw_value: percent,
        level_raw_liters: Some(percent * 4.0),
        level_liters: Some(percent * 4.0 + 0.1),
        level_percent: Some(percent),
        counter_liters: None,
        quality: Quality::Ok,
        calibration_version: Some(1),
    }
}

fn record(number: u128, seconds: i64) -> Record {
    let detail = FuelDetail {
        level_before_liters: 100.1,
        level_after_liters: 300.3,
        volume_liters: 200.2,
        motion: FuelMotion::Stopped,
        confidence: 0.1 + 0.2,
        geofence_ids: vec![FENCE],
        calibration_version: 1,
    };
    Record {
        id: EventId(Uuid::from_u128(700 + number)),
        sequence: 0,
        status: EventStatus::Active,
        revision: 1,
        organization_id: ORGANIZATION,
        vehicle_id: VEHICLE,
        vehicle_name: "Bus 1".into(),
        driver_id: None,
        occurred_at: at(seconds),
        ended_at: Some(at(seconds + 300)),
        location: number.is_multiple_of(2).then_some(Place::new(1.0 / 3.0, -1.0)),
        detected_at: at(FOUND),
        origin: Origin::Live,
        confirmed_at: at(seconds + 1_200),
        detail: Detail::Fuel(FuelEventKind::Refuel, detail),
    }
}

pub(crate) fn fueled(rows: Vec<FuelRow>, records: Vec<Record>) -> VehicleWrite {
    let mut written = write(vec![]);
    (written.effects.fuel_rows, written.effects.records) = (rows, records);
    written
}

pub(crate) fn corrected(until: Option<i64>, rows: Vec<FuelRow>, records: Vec<Record>) -> VehicleWrite {
    correcting(Correction { fuel_rows: rows, ..correction(None, until, records) })
}

/// The log: instants and raw values.
async fn log(store: &TestStore) -> Vec<(i64, f64)> {
    let sql = "select recorded_at, raw_value from fuel_log order by recorded_at";
    let rows: Vec<(Time, f64)> = store.db.read().sql(sql).all().await.expect("read");
    rows.into_iter().map(|(when, said)| (when.0.seconds_since(at(0)) as i64, said)).collect()
}

/// From now on, every write to the log fails.
async fn refuse_changes(store: &TestStore) {
    let statements: &[&str] = match store.engine() {
        Engine::Sqlite => &[
            "create trigger refuse_i before insert on fuel_log begin select raise(abort, 'written'); end",
            "create trigger refuse_d before delete on fuel_log begin select raise(abort, 'written'); end",
        ],
        Engine::Postgres => &[
            "create function refuse() returns trigger language plpgsql as \
             $$ begin raise exception 'written'; end $$",
            "create trigger refuse before insert or update or delete on fuel_log \
             for each row execute function refuse()",
        ],
    };
    for statement in statements {
        store.db.write().sql(*statement).run().await.expect("made");
    }
}

async fn rows_and_records_are_read_back_as_they_were_written(store: TestStore) {
    let track = stand(&store).await;
    let bad = FuelRow {
        quality: Quality::SensorError,
        level_raw_liters: None,
        level_liters: None,
        level_percent: None,
        ..reading(20, 655.35)
    };
    let counter = FuelRow {
        unit: FuelUnit::Cumulative,
        counter_liters: Some(0.1 + 0.2),
        calibration_version: None,
        ..reading(30, 7.0)
    };
    let rows = vec![reading(0, 40.1), reading(10, 40.2), bad, counter];
    let records = vec![record(1, 0), record(2, 400)];
    let committed = track.commit(&batch(vec![fueled(rows.clone(), records)])).await.expect("committed");
    let told = &committed[0].records;
    assert_eq!(told.iter().map(|record| record.sequence).collect::<Vec<_>>(), [1, 2]);
    let read = track.records_from(Audience::Organization(ORGANIZATION), 1, 10).await.expect("read");
    assert_eq!(read, *told);
    let others = Audience::Organization(OrganizationId(Uuid::from_u128(99)));
    assert!(track.records_from(others, 1, 10).await.expect("read").is_empty());
    let reread = track.reread(&[VEHICLE], 2).await.expect("read");
    assert_eq!((reread.records, reread.next_sequence), (told[1..].to_vec(), 3));
    let ids: Vec<(Uuid,)> =
        store.db.read().sql("select id from fuel_log order by recorded_at").all().await.expect("read");
    let expected: Vec<(Uuid,)> = rows.iter().map(|row| (log_id(VEHICLE, row.recorded_at),)).collect();
    assert_eq!(ids, expected);
    // A correction that finds the same reads every column back, and writes none.
    refuse_changes(&store).await;
    let same = corrected(None, rows, told.clone());
    let committed = track.commit(&batch(vec![same])).await.expect("nothing is written");
    assert_eq!(committed[0].records, []);
}

async fn both_kinds_of_events_are_numbered_from_one_row(store: TestStore) {
    let track = stand(&store).await;
    let mut both = write(vec![row(fix(0), Freshness::Fresh)]);
    both.effects.records = vec![entry(1, 0), record(1, 0)];
    let committed = track.commit(&batch(vec![both])).await.expect("committed");
    let numbers = |write: &Committed| write.records.iter().map(|r| r.sequence).collect::<Vec<_>>();
    assert_eq!(numbers(&committed[0]), [1, 2]);
    let mut next = write(vec![row(fix(10), Freshness::Fresh)]);
    next.effects.records = vec![entry(3, 10)];
    let committed = track.commit(&batch(vec![next])).await.expect("committed");
    assert_eq!(numbers(&committed[0]), [3]);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 4);
}

async fn a_record_that_holds_already_is_neither_numbered_nor_told(store: TestStore) {
    let track = stand(&store).await;
    let twice = vec![fueled(vec![], vec![record(1, 0)]), fueled(vec![], vec![record(1, 0), record(2, 50)])];
    let committed = track.commit(&batch(twice)).await.expect("committed");
    let told = |write: usize| committed[write].records.iter().map(|r| r.sequence).collect::<Vec<_>>();
    assert_eq!((told(0), told(1)), (vec![1], vec![2]));
    // Retracted, and found again.
    let none = corrected(None, vec![], vec![record(2, 50)]);
    let committed =
        track.commit(&batch(vec![none, fueled(vec![], vec![record(1, 0)])])).await.expect("committed");
    let told = |write: usize| {
        let told = committed[write].records.iter();
        told.map(|record| (record.sequence, record.revision, record.status)).collect::<Vec<_>>()
    };
    assert_eq!(told(0), [(3, 2, EventStatus::Retracted)]);
    assert_eq!(told(1), [(4, 3, EventStatus::Active)]);
    assert_eq!(track.seeds().await.expect("read").next_sequence, 5);
}

async fn a_correction_leaves_the_log_it_found(store: TestStore) {
    let track = stand(&store).await;
    let rows = (0..6).map(|number| reading(number * 10, 40.0 - number as f64)).collect();
    let fixes = (0..6).map(|number| row(fix(number * 10), Freshness::Fresh)).collect();
    track.commit(&batch(vec![write(fixes), fueled(rows, vec![])])).await.expect("committed");
    // After 10 and up to 40: one stays, one has another value, one is new, one is gone, one is undecided.
    let mut part = correction(Some(10), Some(40), vec![]);
    part.fuel_rows = vec![reading(20, 38.0), reading(25, 33.0), reading(30, 30.0)];
    part.undecided = Some(at(40));
    // And one from before the part was believed, and is not any more.
    part.quarantines = vec![(fix(10), Some(Quarantine::Speed))];
    track.commit(&batch(vec![correcting(part)])).await.expect("committed");
    let expected = [(0, 40.0), (20, 38.0), (25, 33.0), (30, 30.0), (40, 36.0), (50, 35.0)];
    assert_eq!(log(&store).await, expected);
    let all = corrected(None, vec![reading(0, 40.0)], vec![]);
    track.commit(&batch(vec![all])).await.expect("committed");
    assert_eq!(log(&store).await, [(0, 40.0)]);
}

async fn a_correction_puts_refuels_and_drains_right(store: TestStore) {
    let track = stand(&store).await;
    let written = vec![record(1, 0), record(2, 1_000), record(3, 2_000), record(4, 9_000)];
    track.commit(&batch(vec![fueled(vec![], written)])).await.expect("committed");
    let mut more = record(2, 1_000);
    let Detail::Fuel(_, detail) = &mut more.detail else { panic!("{more:?}") };
    detail.volume_liters = 210.0;
    let later = Record { confirmed_at: at(3_500), ..record(3, 2_000) };
    // Up to 4,000: the first is gone, the second says more, the third was made later, the fifth is new.
    let part = corrected(Some(4_000), vec![], vec![more, later.clone(), record(5, 2_500)]);
    let committed = track.commit(&batch(vec![part])).await.expect("committed");
    let told = committed[0].records.iter();
    let told: Vec<_> = told
        .map(|record| (record.id.0.as_u128() - 700, record.sequence, record.revision, record.status))
        .collect();
    let (active, retracted) = (EventStatus::Active, EventStatus::Retracted);
    assert_eq!(told, [(1, 5, 2, retracted), (2, 6, 2, active), (5, 7, 1, active)]);
    let stored = track.records_from(Audience::Everyone, 1, 10).await.expect("read");
    let numbers: Vec<(u128, i64)> =
        stored.iter().map(|record| (record.id.0.as_u128() - 700, record.sequence)).collect();
    assert_eq!(numbers, [(3, 3), (4, 4), (1, 5), (2, 6), (5, 7)]);
    assert_eq!((stored[0].confirmed_at, stored[0].revision), (later.confirmed_at, 1));
    assert_eq!(stored[3].origin, Origin::Backfill);
}

async fn whoever_drove_is_in_the_log_by_the_assignments_as_they_are(store: TestStore) {
    let track = stand(&store).await;
    hire(&store).await;
    assign(&store, FIRST, 5, None).await;
    let written = fueled(vec![reading(0, 40.0), reading(10, 39.0)], vec![record(1, 6)]);
    let committed = track.commit(&batch(vec![written])).await.expect("committed");
    assert_eq!(committed[0].records[0].driver_id, Some(FIRST));
    let drove = "select driver_id from fuel_log order by recorded_at";
    let expected = [(None,), (Some(FIRST.0),)];
    let found: Vec<(Option<Uuid>,)> = store.db.read().sql(drove).all().await.expect("read");
    assert_eq!(found, expected);
    store.db.write().sql("delete from assignment").run().await.expect("deleted");
    let again = corrected(None, vec![reading(0, 41.0), reading(10, 42.0)], vec![record(1, 6)]);
    track.commit(&batch(vec![again])).await.expect("committed");
    let found: Vec<(Option<Uuid>,)> = store.db.read().sql(drove).all().await.expect("read");
    assert_eq!(found, [(None,), (None,)]);
}

async fn a_calibration_is_owed_until_it_is_settled(store: TestStore) {
    let track = stand(&store).await;
    let sql = "insert into fuel_calibration (vehicle_id, version, effective_from, tank_capacity_liters, created_at, \
        settled) values ($1, $2, $3, 60.0, $4, $5)";
    for (version, from) in [(1_i64, None), (2, Some(Time(at(50)))), (3, Some(Time(at(60))))] {
        let stmt = store.db.write().sql(sql).bind(VEHICLE.0).bind(version).bind(from);
        stmt.bind(Time(at(0))).bind(version == 1).run().await.expect("version");
    }
    let seeds = track.seeds().await.expect("read");
    assert_eq!(seeds.uncalibrated, [(VEHICLE, 2, at(50)), (VEHICLE, 3, at(60))]);
    assert_eq!(seeds.vehicles[0].vehicle.calibrations.len(), 3);
    track.mark_calibrated(VEHICLE, 2).await.expect("noted");
    assert_eq!(track.seeds().await.expect("read").uncalibrated, [(VEHICLE, 3, at(60))]);
}
