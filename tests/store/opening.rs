//! Opening and migrating, by several at once, and the refusal of a store that would not keep its word.

use futures_util::future::{join_all, try_join_all};
use waypost::store::open::{Location, OpenError, open, open_and_migrate};
use waypost_test_support::{Engine, TestStore, for_each_engine, postgres};

for_each_engine!(
    eight_simultaneous_first_starts_succeed,
    a_second_start_changes_nothing,
    what_was_committed_is_there_after_reopening,
    a_store_that_is_not_there_is_an_error,
);

async fn eight_simultaneous_first_starts_succeed(store: TestStore) {
    for _ in 0..3 {
        let options = store.empty().await;
        let opened = try_join_all((0..8).map(|_| open_and_migrate(&options))).await;
        let opened = opened.unwrap_or_else(|error| panic!("a start failed: {error:?}"));
        for db in &opened {
            let rows: i64 =
                db.read().sql("select count(*) from writer").scalar().await.expect("the table is there");
            assert_eq!(rows, 1, "the migrations ran more than once");
        }
        join_all(opened.iter().map(|db| db.close())).await;
    }
}

async fn a_second_start_changes_nothing(store: TestStore) {
    let before: i64 = applied(&store).await;
    assert!(before > 0, "no migration is noted");
    open_and_migrate(&store.options).await.expect("a second start").close().await;
    assert_eq!(applied(&store).await, before);
}

async fn applied(store: &TestStore) -> i64 {
    store.db.read().sql("select count(*) from _sqlx_migrations").scalar().await.expect("counted")
}

async fn what_was_committed_is_there_after_reopening(store: TestStore) {
    let update = store.db.write().sql("update writer set epoch = $1").bind(41_i64);
    assert_eq!(update.run().await.expect("written"), 1);
    let again = open(&store.options).await.expect("opened again");
    let epoch: i64 = again.read().sql("select epoch from writer").scalar().await.expect("read");
    again.close().await;
    assert_eq!(epoch, 41);
}

async fn a_store_that_is_not_there_is_an_error(store: TestStore) {
    let mut options = store.options.clone();
    match store.engine() {
        Engine::Postgres => {
            let server = postgres().expect("this test runs on it");
            options.location = Location::Postgres(server.url("no_such_database"));
            assert!(matches!(open(&options).await, Err(OpenError::Postgres(..))));
        }
        Engine::Sqlite => {
            // A file where the directory should be.
            let Location::Embedded(directory) = &options.location else {
                panic!("the embedded store has a directory")
            };
            options.location = Location::Embedded(directory.join("waypost.sqlite"));
            assert!(matches!(open(&options).await, Err(OpenError::Directory(_, _))));
        }
    }
}
