//! How past data is deleted: never before its state is kept, in steps and slices, and by whole weeks where
//! possible.

use uuid::Uuid;
use waypost::domain::organization_settings::Settings;
use waypost::store::partitions::{compact_partitions, drop_partitions, make_partitions};
use waypost::store::retention::{
    Past, Timeline, cut_chunks, delete_events, horizons, keep_from, vehicles_due,
};
use waypost::store::sql::{Engine, is_unavailable};
use waypost::store::time::Time;
use waypost::store::track::Track;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::{Freshness, Mark, Record};
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{
    ORGANIZATION, VEHICLE, at, checkpoint, commit, entry, fix, mark, recording, row, stand, stored, write,
};

for_each_engine!(
    a_long_past_without_checkpoints_goes_in_steps,
    what_awaits_a_correction_or_an_edit_waits,
    records_that_wait_are_looked_at_once,
    a_correction_of_before_begins_at_what_is_kept,
    weeks_that_nobody_keeps_are_dropped,
    what_is_free_of_a_week_that_somebody_keeps_is_given_back,
    weeks_with_nothing_but_what_the_deleted_had_are_dropped,
    who_reads_for_long_holds_up_no_change_of_weeks_and_nobody_behind_it,
    a_chunk_that_straddles_the_horizon_is_cut_once_a_day,
    a_chunk_is_cut_though_more_is_kept_of_its_vehicle,
    single_fixes_go_too,
    a_deleted_organization_is_told_apart,
);

const DAY: i64 = 86_400;

/// The checkpoints' instants, oldest first.
async fn kept(store: &TestStore) -> Vec<Time> {
    let select = "select at from checkpoint order by at";
    let rows: Vec<(Time,)> = store.db.read().sql(select).all().await.expect("read");
    rows.into_iter().map(|(at,)| at).collect()
}

/// Keeps the one vehicle's state as of a second, in steps; returns how many steps it took.
async fn keep(store: &TestStore, track: &Track, second: i64) -> usize {
    let fences = FenceSet::empty();
    let mut steps = 1;
    while !keep_from(&store.db, track, VEHICLE, at(second), &fences, at(second + DAY)).await.expect("kept") {
        steps += 1;
    }
    steps
}

/// The vehicles whose positions may be deleted, and up to when, if the horizon is a second.
async fn past(store: &TestStore, second: i64) -> Vec<(VehicleId, Timestamp)> {
    Timeline::Chunks.vehicles_with_past(&store.db, ORGANIZATION, at(second)).await.expect("read")
}

async fn a_long_past_without_checkpoints_goes_in_steps(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![write((0..4_500).map(|second| row(fix(second), Freshness::Fresh)).collect())]).await;
    track.save_states().await.expect("saved");
    let due = async || vehicles_due(&store.db, ORGANIZATION, at(4_400)).await.expect("read");
    assert_eq!(due().await, [VEHICLE]);
    assert!(past(&store, 4_400).await.is_empty());
    assert_eq!(keep(&store, &track, 4_400).await, 3);
    assert_eq!(kept(&store).await, [Time(at(4_400))]);
    assert!(due().await.is_empty());

    assert_eq!(past(&store, 4_400).await, [(VEHICLE, at(4_400))]);
    let mut sizes = Vec::new();
    loop {
        let gone = Timeline::Chunks.delete(&store.db, VEHICLE, at(4_400), 15).await.expect("deleted");
        if gone == 0 {
            break;
        }
        sizes.push(gone);
    }
    // 64 fixes each; the one that reaches beyond the horizon stays.
    assert_eq!((sizes, stored(&store).await), (vec![15, 15, 15, 15, 8], 148));
    assert!(past(&store, 4_400).await.is_empty());
    // No farther than its state is kept, whatever the horizon.
    assert_eq!(past(&store, 4_499).await, []);
}

async fn what_awaits_a_correction_or_an_edit_waits(store: TestStore) {
    let track = stand(&store).await;
    let mut written = write(vec![row(fix(10), Freshness::Fresh), row(fix(20), Freshness::Fresh)]);
    written.effects.late = Some(mark(10, 10));
    commit(&track, vec![written]).await;
    assert!(vehicles_due(&store.db, ORGANIZATION, at(15)).await.expect("read").is_empty());
    keep(&store, &track, 15).await;
    assert!(kept(&store).await.is_empty(), "it is dirty");
    store.db.write().sql("update vehicle_state set dirty_from = null").run().await.expect("clean");

    let version = "insert into geofence_version (geofence_id, version, effective_from, changed_at, active, deleted, \
        shape, rules, settled) select id, $1, $2, created_at, true, false, shape, rules, false from geofence";
    store.db.write().sql(version).bind(1_i64).bind(Time(at(15))).run().await.expect("version");
    keep(&store, &track, 15).await;
    assert!(kept(&store).await.is_empty(), "an edit of the past is not settled");
    let later = store.db.write().sql("update geofence_version set effective_from = $1").bind(Time(at(16)));
    later.run().await.expect("set");

    let calibration = "insert into fuel_calibration (vehicle_id, version, effective_from, tank_capacity_liters, \
        created_at, settled) select id, 1, $1, 400, created_at, false from vehicle";
    store.db.write().sql(calibration).bind(Time(at(15))).run().await.expect("calibration");
    keep(&store, &track, 15).await;
    assert!(kept(&store).await.is_empty(), "a calibration dated back needs the readings until it is settled");
    // Changes that only come later do not hold it up.
    let later = store.db.write().sql("update fuel_calibration set effective_from = $1").bind(Time(at(16)));
    later.run().await.expect("set");
    keep(&store, &track, 15).await;
    assert_eq!(kept(&store).await, [Time(at(10))], "as of its newest fix until then");
}

async fn records_that_wait_are_looked_at_once(store: TestStore) {
    let track = stand(&store).await;
    commit(&track, vec![write(vec![row(fix(1_000), Freshness::Fresh)])]).await;
    track.save_states().await.expect("saved");
    let kept = store.db.write().sql("update vehicle_state set kept_from = $1").bind(Time(at(1_000)));
    assert_eq!(kept.run().await.expect("kept"), 1);
    // Nothing is kept of the vehicle that has the oldest ones.
    let other = VehicleId(Uuid::from_u128(77));
    let insert = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, updated_at) \
        select $1, organization_id, 'Bus', category, status, fuel, tracking, created_at, updated_at from vehicle";
    store.db.write().sql(insert).bind(other.0).run().await.expect("a vehicle");
    let of = |number: i64| Record {
        vehicle_id: if number <= 25 { other } else { VEHICLE },
        ..entry(number, number)
    };
    commit(&track, vec![recording((1..=50).map(of).collect())]).await;
    let (mut parts, mut next) = (Vec::new(), Some(Timestamp::FIRST));
    while let Some(from) = next {
        let past = Past { organization: ORGANIZATION, from, horizon: at(40), rows: 10 };
        let (gone, behind) = delete_events(&store.db, past, at(20 * DAY)).await.expect("deleted");
        parts.push(gone);
        next = behind;
    }
    assert_eq!(parts, [0, 0, 5, 9]);
    let left = "select count(*) from records";
    assert_eq!(store.db.read().sql(left).scalar::<i64>().await.expect("read"), 36);
}

async fn a_correction_of_before_begins_at_what_is_kept(store: TestStore) {
    let track = stand(&store).await;
    let mut written = write((0..10).map(|n| row(fix(10 * n), Freshness::Fresh)).collect());
    written.effects.checkpoints = [20, 40, 60, 80].map(|second| checkpoint(second, second)).to_vec();
    commit(&track, vec![written]).await;
    track.save_states().await.expect("saved");
    keep(&store, &track, 65).await;
    assert_eq!(kept(&store).await, [Time(at(60)), Time(at(80))]);
    for (from, begin) in [(5, 60), (65, 60), (70, 60), (85, 80)] {
        let mut late = write(Vec::new());
        late.effects.late = Some(mark(from, from));
        commit(&track, vec![late]).await;
        let slice = track.slice(VEHICLE).await.expect("read").expect("it is dirty");
        let Mark { from: marked, .. } = slice.mark;
        assert_eq!((marked, slice.checkpoint.expect("one").at), (at(from), at(begin)));
        store.db.write().sql("update vehicle_state set dirty_from = null").run().await.expect("clean");
    }
}

async fn weeks_that_nobody_keeps_are_dropped(store: TestStore) {
    let track = stand(&store).await;
    // at(0) is a Thursday: the weeks from 2025-12-22 to 2026-01-29 have partitions.
    make_partitions(&store.db, at(0)).await.expect("made");
    commit(&track, vec![write((0..30).map(|n| row(fix(n * DAY), Freshness::Fresh)).collect())]).await;
    track.save_states().await.expect("saved");
    keep(&store, &track, 9 * DAY).await;
    let dropped = drop_partitions(&store.db, "position_chunk", at(20 * DAY)).await.expect("dropped");
    match store.engine() {
        // Of 2025-12-22 and 2025-12-29; the last day of the next one is kept.
        Engine::Postgres => assert_eq!((dropped, stored(&store).await), (2, 26)),
        Engine::Sqlite => assert_eq!((dropped, stored(&store).await), (0, 30)),
    }
    let dropped = drop_partitions(&store.db, "position_chunk", at(20 * DAY)).await.expect("dropped");
    assert_eq!(dropped, 0, "what is kept stays");
    keep(&store, &track, 25 * DAY).await;
    let dropped = drop_partitions(&store.db, "position_chunk", at(20 * DAY)).await.expect("dropped");
    match store.engine() {
        // Those that end by the 21st.
        Engine::Postgres => assert_eq!((dropped, stored(&store).await), (2, 12)),
        Engine::Sqlite => assert_eq!((dropped, stored(&store).await), (0, 30)),
    }
}

async fn what_is_free_of_a_week_that_somebody_keeps_is_given_back(store: TestStore) {
    let _track = stand(&store).await;
    if store.engine() == Engine::Sqlite {
        assert_eq!(compact_partitions(&store.db, at(30 * DAY)).await.expect("done"), 0);
        return;
    }
    make_partitions(&store.db, at(0)).await.expect("made");
    let run = async |text: &'static str| store.db.write().sql(text).run().await.expect(text);
    let size = async || {
        let text = "select pg_total_relation_size('position_chunk_20251229')";
        store.db.read().sql(text).scalar::<i64>().await.expect("its size")
    };
    let fill = async || {
        // Some of a kilobyte, and some that are stored aside.
        run("insert into position_chunk select v.id, at, at, decode(repeat(md5(n::text), 60 + n % 3 * 100), 'hex') \
            from vehicle v, generate_series(1, 4000) n, \
            lateral (select timestamptz '2025-12-29 00:00+00' + n * interval '1 minute' as at) at")
        .await;
        run("vacuum analyze position_chunk").await;
    };
    let thin_out = async || {
        run("delete from position_chunk where extract(minute from recorded_at)::int % 10 <> 0").await;
        run("vacuum analyze position_chunk").await;
    };
    fill().await;
    let compact = async |before| compact_partitions(&store.db, at(before)).await.expect("done");
    assert_eq!(compact(30 * DAY).await, 0, "it is full");
    thin_out().await;
    let (before, left) = (size().await, stored_chunks(&store).await);
    assert_eq!(compact(3 * DAY).await, 0, "the week is not over");
    assert_eq!((compact(30 * DAY).await, stored_chunks(&store).await), (1, left));
    assert!(size().await < before / 4, "{} of {before} bytes", size().await);
    assert_eq!(compact(30 * DAY).await, 0, "it is full again");
    // What others read at that moment is not waited for.
    run("delete from position_chunk").await;
    fill().await;
    thin_out().await;
    let mut reader = store.db.begin().await.expect("begun");
    let all = "select count(*) from position_chunk";
    assert_eq!(reader.on().sql(all).scalar::<i64>().await.expect("read"), left);
    assert_eq!(compact(30 * DAY).await, 0, "somebody reads it");
    reader.rollback().await.expect("ended");
    assert_eq!(compact(30 * DAY).await, 1);
}

async fn stored_chunks(store: &TestStore) -> i64 {
    store.db.read().sql("select count(*) from position_chunk").scalar().await.expect("counted")
}

async fn weeks_with_nothing_but_what_the_deleted_had_are_dropped(store: TestStore) {
    let track = stand(&store).await;
    make_partitions(&store.db, at(0)).await.expect("made");
    commit(&track, vec![write((0..30).map(|n| row(fix(n * DAY), Freshness::Fresh)).collect())]).await;
    track.save_states().await.expect("saved");
    let drop_weeks =
        async || drop_partitions(&store.db, "position_chunk", at(20 * DAY)).await.expect("dropped");
    assert_eq!(
        drop_weeks().await,
        u64::from(store.engine() == Engine::Postgres),
        "only the one before all fixes"
    );
    store.db.write().sql("update organization set status = 'deleted'").run().await.expect("deleted");
    match store.engine() {
        Engine::Postgres => assert_eq!((drop_weeks().await, stored(&store).await), (3, 12)),
        Engine::Sqlite => assert_eq!((drop_weeks().await, stored(&store).await), (0, 30)),
    }
}

async fn who_reads_for_long_holds_up_no_change_of_weeks_and_nobody_behind_it(store: TestStore) {
    if store.engine() == Engine::Sqlite {
        return;
    }
    make_partitions(&store.db, at(0)).await.expect("made");
    let mut reader = store.db.begin().await.expect("begun");
    for text in ["select count(*) from position", "select pg_advisory_xact_lock(1)"] {
        reader.on().sql(text).run().await.expect("read");
    }
    // Five weeks are over by then.
    let drop_weeks = async || drop_partitions(&store.db, "position", at(30 * DAY)).await.expect("asked");
    let changes = async {
        let made = make_partitions(&store.db, at(60 * DAY)).await;
        assert!(made.is_err_and(|error| is_unavailable(&error)), "somebody reads");
        assert_eq!(drop_weeks().await, 0, "somebody reads");
    };
    // Less than the time for which an ordinary statement waits.
    let patient = async {
        let mut tx = store.db.begin().await.expect("begun");
        tx.on().sql("set local lock_timeout = '2500ms'").run().await.expect("set");
        tx.on().sql("select pg_advisory_xact_lock(1)").run().await.expect_err("the reader has it");
    };
    tokio::select! {
        () = changes => {}
        () = patient => panic!("they waited for longer"),
    }
    reader.rollback().await.expect("ended");
    make_partitions(&store.db, at(60 * DAY)).await.expect("made");
    assert_eq!(drop_weeks().await, 5);
}

async fn a_chunk_that_straddles_the_horizon_is_cut_once_a_day(store: TestStore) {
    let track = stand(&store).await;
    // Four hours apart, within one week: one chunk.
    let begin = 4 * DAY;
    let rows = (0..18).map(|n| row(fix(begin + n * DAY / 6), Freshness::Fresh)).collect();
    commit(&track, vec![write(rows)]).await;
    track.save_states().await.expect("saved");
    for (horizon, left) in
        [(begin + DAY, 18), (begin + DAY + 1, 11), (begin + 2 * DAY, 11), (begin + 3 * DAY, 11)]
    {
        keep(&store, &track, horizon).await;
        cut_chunks(&store.db, ORGANIZATION, at(horizon)).await.expect("cut");
        assert_eq!(stored(&store).await, left, "{horizon}");
    }
    Timeline::Chunks.delete(&store.db, VEHICLE, at(begin + 3 * DAY), 10).await.expect("deleted");
    assert_eq!(stored(&store).await, 0);
}

async fn a_chunk_is_cut_though_more_is_kept_of_its_vehicle(store: TestStore) {
    let track = stand(&store).await;
    let begin = 4 * DAY;
    let rows = (0..12).map(|n| row(fix(begin + n * DAY / 6), Freshness::Fresh)).collect();
    commit(&track, vec![write(rows)]).await;
    track.save_states().await.expect("saved");
    // Events are kept for a shorter time than positions.
    keep(&store, &track, begin + 10 * DAY).await;
    cut_chunks(&store.db, ORGANIZATION, at(begin + DAY + 1)).await.expect("cut");
    assert_eq!(stored(&store).await, 5);
}

async fn single_fixes_go_too(store: TestStore) {
    let track = stand(&store).await;
    let late = |seconds| row(fix(seconds), Freshness::Recheck { late: true });
    commit(&track, vec![write(vec![row(fix(100), Freshness::Fresh), late(10), late(20), late(90)])]).await;
    store.db.write().sql("update vehicle_state set dirty_from = null").run().await.expect("clean");
    keep(&store, &track, 20).await;
    let past = Timeline::Positions.vehicles_with_past(&store.db, ORGANIZATION, at(20)).await.expect("read");
    assert_eq!(past, [(VEHICLE, at(20))]);
    assert_eq!(Timeline::Positions.delete(&store.db, VEHICLE, at(20), 10).await.expect("deleted"), 2);
    assert_eq!(stored(&store).await, 2);
}

async fn a_deleted_organization_is_told_apart(store: TestStore) {
    stand(&store).await;
    let settings = store.db.write().sql("update organization set settings = $1");
    settings.bind(sqlx::types::Json(Settings::starting())).run().await.expect("set");
    let is_deleted = async || horizons(&store.db, at(0)).await.expect("read")[0].is_deleted;
    assert!(!is_deleted().await);
    store.db.write().sql("update organization set status = 'deleted'").run().await.expect("deleted");
    assert!(is_deleted().await);
}
