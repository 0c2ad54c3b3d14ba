//! Opening and migrating, by several at once, and the refusal of a store that would not keep its word.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use waypost::store::open::{Location, OpenError, Options, open, open_and_migrate};
use waypost::store::probe::Probe;
use waypost::store::sql::{Durability, is_unavailable};
use waypost_test_support::{Engine, TestStore, for_each_engine, postgres, run};

for_each_engine!(
    eight_simultaneous_first_starts_succeed,
    a_second_start_changes_nothing,
    what_was_committed_is_there_after_reopening,
    a_store_that_is_not_there_is_an_error,
    a_list_that_does_not_end_is_given_up,
    a_store_that_was_put_back_is_told_from_one_that_was_taken_over,
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

async fn a_store_that_was_put_back_is_told_from_one_that_was_taken_over(store: TestStore) {
    for (epoch, why) in [(6, "put back to an earlier state"), (8, "another server has taken over")] {
        let mut probe = Probe::new(&store.options, &store.db, Some(7), Durability::default()).expect("made");
        store.db.write().sql("update writer set epoch = 7").run().await.expect("written");
        probe.look(true).await.expect("it is this server's");
        store.db.write().sql("update writer set epoch = $1").bind(epoch).run().await.expect("written");
        let told = probe.look(false).await.expect_err("it is not").to_string();
        assert!(told.contains(why), "{told}");
    }
}

async fn a_list_that_does_not_end_is_given_up(store: TestStore) {
    let options = Options { statement_timeout: Duration::from_millis(100), ..store.options.clone() };
    let db = open(&options).await.expect("opened again");
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    // The second one is given up on a connection that was used before.
    for _ in 0..2 {
        let error = db.lists().sql(endless).scalar::<i64>().await.expect_err("it does not end");
        assert!(is_unavailable(&error), "{error:?}");
    }
    let one: i64 =
        db.lists().sql("select cast(1 as bigint)").scalar().await.expect("the next one has its time");
    db.close().await;
    assert_eq!(one, 1);
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

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_embedded_store_is_its_owners_alone() {
    run(Engine::Sqlite, async |_| {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("data");
        let options = Options::new(Location::Embedded(directory.clone()));
        let files =
            ["waypost.sqlite", "waypost.sqlite-wal", "waypost.sqlite-shm"].map(|name| directory.join(name));
        let db = open_and_migrate(&options).await.expect("opened");
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
        // As servers before made them, or as they came out of a backup.
        for file in &files {
            set_permissions(file, Permissions::from_mode(0o644)).expect("set");
        }
        let again = open_and_migrate(&options).await.expect("opened again");
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
        set_permissions(&files[0], Permissions::from_mode(0o640)).expect("set");
        again.close().await;
        open_and_migrate(&options).await.expect("opened").close().await;
        assert_eq!(mode(&files[0]), 0o640, "whose group was let in keeps it");
        db.close().await;
    });
}
