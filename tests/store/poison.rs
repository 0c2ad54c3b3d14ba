//! Rows that the database never takes: distinguished from a database that is away, and kept.

use waypost::store::refused_fix;
use waypost::store::sql::is_never_taken;
use waypost_actors::model::{Fix, Timestamp};
use waypost_actors::ports::{RefusedFix, StoreError, TrackStore};
use waypost_actors::tracking::Freshness;
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{VEHICLE, batch, fix, row, stand, stored, write};

for_each_engine!(
    a_batch_with_a_poison_row_is_refused_whole_and_its_halves_tell_which,
    a_refused_fix_is_kept_once,
    an_outage_is_no_refusal,
);

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

async fn an_outage_is_no_refusal(store: TestStore) {
    let track = stand(&store).await;
    store.db.close().await;
    let away = track.commit(&batch(vec![write(vec![row(fix(0), Freshness::Fresh)])])).await;
    assert!(matches!(away, Err(StoreError::Away(_))), "{away:?}");
    for error in [sqlx::Error::PoolTimedOut, sqlx::Error::PoolClosed, sqlx::Error::RowNotFound] {
        assert!(!is_never_taken(&error), "{error:?}");
    }
}
