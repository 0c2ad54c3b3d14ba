//! Rows that the database never takes: distinguished from a database that is away, and kept.

use uuid::Uuid;
use waypost::store::refused_fix;
use waypost::store::sql::is_never_taken;
use waypost_actors::model::{Fix, Timestamp, VehicleId};
use waypost_actors::ports::{RefusedFix, StoreError, TrackStore};
use waypost_actors::tracking::Freshness;
use waypost_test_support::{Engine, TestStore, for_each_engine};

use crate::fleet::{VEHICLE, batch, fix, row, stand, stored, write};

for_each_engine!(
    a_batch_with_a_poison_row_is_refused_whole_and_its_halves_tell_which,
    a_refused_fix_is_kept_once,
    a_thousand_refused_fixes_of_a_vehicle_are_kept,
    a_damaged_chunk_refuses_what_it_may_have_and_nothing_else,
    an_outage_is_no_refusal,
);

const OTHER: VehicleId = VehicleId(Uuid::from_u128(9));

/// From now on the database takes no single fix of this instant: as if its row broke a constraint.
async fn poison(store: &TestStore, seconds: i64) {
    store.refuse_positions_at(fix(seconds).recorded_at.as_micros()).await;
}

async fn a_batch_with_a_poison_row_is_refused_whole_and_its_halves_tell_which(store: TestStore) {
    let track = stand(&store).await;
    poison(&store, 10).await;
    let one = |seconds| write(vec![row(fix(seconds), Freshness::Fresh)]);
    let timeless = Fix { recorded_at: Timestamp::MAX, ..fix(10) };
    for (poison, said) in [
        (row(timeless, Freshness::Fresh), "recorded 9223372036854775807 µs after 1970"),
        (row(fix(10), Freshness::Recheck { late: true }), "poison"),
    ] {
        let all = batch(vec![one(0), write(vec![poison]), one(20)]);
        let refused = track.commit(&all).await.expect_err("refused");
        assert!(
            matches!(&refused, StoreError::Refused(why) if why.to_string().contains(said)),
            "{refused:?}"
        );
        assert_eq!(stored(&store).await, 0, "nothing of it is stored");
    }
    track.commit(&batch(vec![one(0), one(20)])).await.expect("the rest is taken");
    assert_eq!(stored(&store).await, 2);
}

async fn a_refused_fix_is_kept_once(store: TestStore) {
    let track = stand(&store).await;
    for reason in ["first", "second"] {
        let refused = RefusedFix { vehicle_id: VEHICLE, fix: fix(10), reason: reason.to_owned() };
        track.keep_refused_fix(&refused).await.expect("kept");
    }
    assert_eq!(refused_fix::count(store.db.read()).await.expect("counted"), 1);
    let read = store.db.read().sql("select reason from refused_fix").scalar::<String>().await;
    assert_eq!(read.expect("read"), "first");
}

async fn a_thousand_refused_fixes_of_a_vehicle_are_kept(store: TestStore) {
    let track = stand(&store).await;
    let fill = match store.engine() {
        Engine::Sqlite => {
            "insert into refused_fix with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) \
             select $1, i, 0, 0, i, 'poison', '{}' from n"
        }
        Engine::Postgres => {
            "insert into refused_fix select $1, to_timestamp(i), 0, 0, to_timestamp(i), 'poison', '{}'::jsonb \
             from generate_series(1, 1000) i"
        }
    };
    store.db.write().sql(fill).bind(VEHICLE.0).run().await.expect("filled");
    for vehicle_id in [VEHICLE, OTHER] {
        let refused = RefusedFix { vehicle_id, fix: fix(10), reason: "one more".to_owned() };
        track.keep_refused_fix(&refused).await.expect("kept, or not needed");
    }
    assert_eq!(refused_fix::count(store.db.read()).await.expect("counted"), 1_001, "and the other's");
}

async fn a_damaged_chunk_refuses_what_it_may_have_and_nothing_else(store: TestStore) {
    let track = stand(&store).await;
    let fresh = |seconds| write(vec![row(fix(seconds), Freshness::Fresh)]);
    let again = || write(vec![row(fix(0), Freshness::Recheck { late: true })]);
    track.commit(&batch(vec![fresh(0), fresh(10)])).await.expect("committed");
    track.save_states().await.expect("in a chunk");
    let damage = async |bytes: Vec<u8>| {
        let damage = store.db.write().sql("update position_chunk set fixes = $1").bind(bytes);
        assert_eq!(damage.run().await.expect("damaged"), 1);
    };
    damage(vec![0]).await;
    for all in [vec![again()], vec![fresh(20), again()]] {
        let refused = track.commit(&batch(all)).await.expect_err("refused");
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    }
    track.commit(&batch(vec![fresh(20)])).await.expect("the rest is taken");
    // A newer version wrote it, to which this server will leave the store: nothing is to be set aside.
    damage(vec![2]).await;
    let away = track.commit(&batch(vec![again()])).await.expect_err("not read");
    assert!(matches!(away, StoreError::Away(_)), "{away:?}");
}

async fn an_outage_is_no_refusal(store: TestStore) {
    let track = stand(&store).await;
    store.db.close().await;
    let away = track.commit(&batch(vec![write(vec![row(fix(0), Freshness::Fresh)])])).await;
    assert!(matches!(away, Err(StoreError::Away(_))), "{away:?}");
    for error in [sqlx::Error::PoolTimedOut, sqlx::Error::PoolClosed, sqlx::Error::RowNotFound] {
        assert!(!is_never_taken(&error), "{error:?}");
    }
}
