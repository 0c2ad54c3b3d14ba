//! Transactions, the read pool, conflicts and statements of many rows.

use std::time::Duration;

use futures_util::StreamExt;
use uuid::Uuid;
use waypost::store::open::Location;
use waypost::store::sql::{self, On, Pools, is_conflict};
use waypost::store::track::Track;
use waypost::store::wal;
use waypost_actors::ports::TrackStore;
use waypost_test_support::{Engine, TestStore, eventually, for_each_engine};

for_each_engine!(
    a_dropped_transaction_rolls_back,
    a_committed_transaction_is_seen_by_others,
    readers_cannot_write_to_the_embedded_store,
    a_taken_key_is_a_conflict_and_nothing_else_is,
    a_thousand_rows_go_in_one_statement,
    a_value_that_cannot_be_sent_is_an_error_and_not_a_null,
    simultaneous_writers_lose_no_update,
    a_stream_left_early_leaves_nothing_locked,
    what_a_server_of_an_earlier_epoch_changes_is_refused,
    what_fails_at_its_end_is_an_error_and_not_its_first_row,
    a_log_that_is_read_all_the_time_is_given_back,
);

async fn add_key(on: On<'_>, kid: &str) -> sql::Result<u64> {
    let insert = on.sql("insert into signing_key (kid, secret, created_at) values ($1, $2, $3)");
    let now = waypost::store::time::Time(waypost_actors::model::Timestamp::from_micros(0));
    insert.bind(kid.to_owned()).bind(vec![0_u8, 255]).bind(now).run().await
}

async fn what_a_server_of_an_earlier_epoch_changes_is_refused(store: TestStore) {
    let first = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let db = first.db().clone();
    let mut tx = db.begin().await.expect("begun");
    add_key(tx.on(), "in time").await.expect("written");
    // Neither waits for the other.
    let next = async {
        match store.engine() {
            Engine::Postgres => first.reread(&[], 1).await.map(|_| ()),
            Engine::Sqlite => Ok(()),
        }
    };
    next.await.expect("a batch goes on beside an edit");
    tx.commit().await.expect("committed");
    let mut tx = db.begin().await.expect("begun");
    add_key(tx.on(), "late").await.expect("written");
    let tx = match store.engine() {
        Engine::Postgres => Some(tx),
        // Meanwhile its one writing connection is needed.
        Engine::Sqlite => {
            drop(tx);
            None
        }
    };
    Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let tx = match tx {
        Some(tx) => tx,
        None => {
            let mut tx = db.begin().await.expect("begun");
            add_key(tx.on(), "late").await.expect("written");
            tx
        }
    };
    let refused = tx.commit().await.expect_err("another server has taken over");
    assert!(sql::is_taken_over(&refused) && sql::is_unavailable(&refused), "{refused}");
    assert_eq!(count(&store).await, 1);
    add_key(store.db.write(), "other").await.expect("the connection is free again");
}

/// A statement that returns a row and then cannot be made durable.
async fn what_fails_at_its_end_is_an_error_and_not_its_first_row(store: TestStore) {
    let Pools::Sqlite { writer, .. } = &store.db.pools else { return };
    // One connection: a setting made here holds for the next statement.
    sqlx::query("pragma defer_foreign_keys = on").execute(writer).await.expect("set");
    let orphan = store
        .db
        .write()
        .sql("insert into installation (id, tracker_id, vehicle_id) values ($1, $2, $3) returning id");
    let orphan = orphan.bind(Uuid::now_v7()).bind(Uuid::now_v7()).bind(Uuid::now_v7());
    let written = orphan.optional::<(Uuid,)>().await;
    assert!(written.is_err(), "a row was answered that is not stored: {written:?}");
}

/// Readers follow one another without a pause, as corrections do.
async fn a_log_that_is_read_all_the_time_is_given_back(store: TestStore) {
    let Location::Embedded(folder) = &store.options.location else { return };
    let length = || std::fs::metadata(folder.join("waypost.sqlite-wal")).map_or(0, |found| found.len());
    let mut reading = store.db.begin_snapshot().await.expect("begun");
    let count_keys = "select count(*) from signing_key";
    assert_eq!(reading.on().sql(count_keys).scalar::<i64>().await.expect("read"), 0);
    let size = |bytes: u64| bytes + 1_000_000;
    let before = length();
    let mut written = 0;
    while length() < size(before) {
        for _ in 0..100 {
            written += 1;
            add_key(store.db.write(), &format!("{written}")).await.expect("written");
        }
    }
    assert!(!wal::give_back(&store.db, size(0)).await.expect("tried"), "somebody reads from it");
    let give_back = eventually(Duration::from_secs(10), async || {
        wal::give_back(&store.db, size(0)).await.expect("tried")
    });
    let readers = async {
        loop {
            let mut next = store.db.begin_snapshot().await.expect("begun");
            next.on().sql(count_keys).scalar::<i64>().await.expect("read");
            reading = next;
            tokio::task::yield_now().await;
        }
    };
    tokio::select! { () = give_back => {}, () = readers => {} }
    assert_eq!(length(), 0);
    add_key(store.db.write(), "more").await.expect("the writer goes on");
}

async fn count(store: &TestStore) -> i64 {
    store.db.read().sql("select count(*) from signing_key").scalar().await.expect("counted")
}

async fn a_dropped_transaction_rolls_back(store: TestStore) {
    let mut tx = store.db.begin().await.expect("begun");
    add_key(tx.on(), "a").await.expect("written");
    drop(tx);
    // The roll-back runs behind the drop; a writer must get the connection all the same.
    add_key(store.db.write(), "b").await.expect("the writer is free again");
    assert_eq!(count(&store).await, 1);
}

async fn a_committed_transaction_is_seen_by_others(store: TestStore) {
    let mut tx = store.db.begin().await.expect("begun");
    add_key(tx.on(), "a").await.expect("written");
    assert_eq!(count(&store).await, 0, "nobody sees it before the commit");
    tx.commit().await.expect("committed");
    assert_eq!(count(&store).await, 1);
}

async fn readers_cannot_write_to_the_embedded_store(store: TestStore) {
    let written = add_key(store.db.read(), "a").await;
    match store.engine() {
        Engine::Sqlite => {
            let refused = written.expect_err("a reader has written").to_string();
            assert!(refused.contains("readonly"), "{refused}");
        }
        // One pool serves both there; the rule is kept by the tests on SQLite.
        Engine::Postgres => assert_eq!(written.expect("written"), 1),
    }
}

async fn a_taken_key_is_a_conflict_and_nothing_else_is(store: TestStore) {
    add_key(store.db.write(), "a").await.expect("written");
    assert!(is_conflict(&add_key(store.db.write(), "a").await.expect_err("the key is taken")));
    let orphan =
        store.db.write().sql("insert into installation (id, tracker_id, vehicle_id) values ($1, $2, $3)");
    let orphan = orphan.bind(Uuid::now_v7()).bind(Uuid::now_v7()).bind(Uuid::now_v7()).run().await;
    assert!(!is_conflict(&orphan.expect_err("there is no such tracker")));
    let missing = store.db.read().sql("select kid from signing_key where kid = $1").bind("b".to_owned());
    assert!(!is_conflict(&missing.scalar::<String>().await.expect_err("there is no such key")));
}

async fn a_thousand_rows_go_in_one_statement(store: TestStore) {
    let now = waypost::store::time::Time(waypost_actors::model::Timestamp::from_micros(7));
    let insert = store.db.write().sql("insert into signing_key (kid, secret, created_at) values ");
    let insert = insert.push_each(0..1000_i64, |statement, number| {
        let statement = statement.push("(").push_bind(format!("{number:04}")).push(", ");
        statement.push_bind(number.to_be_bytes().to_vec()).push(", ").push_bind(now).push(")")
    });
    assert_eq!(insert.run().await.expect("written"), 1000);
    let rows: Vec<(String, Vec<u8>)> =
        store.db.read().sql("select kid, secret from signing_key order by kid").all().await.expect("read");
    let expected = (0..1000_i64).map(|number| (format!("{number:04}"), number.to_be_bytes().to_vec()));
    assert!(rows.into_iter().eq(expected), "a row differs from what was sent");
}

async fn a_value_that_cannot_be_sent_is_an_error_and_not_a_null(store: TestStore) {
    let number: Option<i64> = None;
    let insert =
        store.db.write().sql("insert into signing_key (kid, secret, created_at) values ($1, $2, $3)");
    let refused = insert.bind("a".to_owned()).bind(vec![0_u8]).bind(number).run().await;
    assert!(refused.is_err(), "a null went into a column that has none");
    assert_eq!(count(&store).await, 0);
}

async fn simultaneous_writers_lose_no_update(store: TestStore) {
    let add = |_| async {
        let mut tx = store.db.begin().await?;
        let next =
            tx.on().sql("update writer set next_sequence = next_sequence + $1 returning next_sequence");
        let next: i64 = next.bind(1_i64).scalar().await?;
        tx.commit().await?;
        sql::Result::Ok(next)
    };
    let mut given = futures_util::future::try_join_all((0..40).map(add)).await.expect("all are written");
    given.sort_unstable();
    assert!(given.into_iter().eq(2..=41), "each got a number of its own, without a gap");
}

async fn a_stream_left_early_leaves_nothing_locked(store: TestStore) {
    for kid in ["a", "b", "c"] {
        add_key(store.db.write(), kid).await.expect("written");
    }
    let mut rows = store.db.write().sql("select kid from signing_key order by kid").stream::<(String,)>();
    let first = rows.next().await.expect("there are rows").expect("read");
    assert_eq!(first.0, "a");
    drop(rows);
    eventually(Duration::from_secs(10), || add_key(store.db.write(), "d")).await;
    assert_eq!(count(&store).await, 4);
}
