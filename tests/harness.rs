//! What the other tests build on does what they rely on.

use std::cell::Cell;
use std::time::Duration;

use waypost_test_support::{Engine, TestStore, eventually, for_each_engine, postgres, redis};

for_each_engine!(each_test_has_a_store_of_its_own, the_store_is_durable_as_in_production);

async fn each_test_has_a_store_of_its_own(store: TestStore) {
    let epoch: i64 = store.db.read().sql("select epoch from writer").scalar().await.expect("read");
    assert_eq!(epoch, 0, "another test has written here");
    store.db.write().sql("update writer set epoch = $1").bind(1_i64).run().await.expect("written");
    let tables = match store.engine() {
        Engine::Postgres => "select count(*) from pg_tables where schemaname = 'public'",
        Engine::Sqlite => "select count(*) from sqlite_schema where type = 'table'",
    };
    let empty = waypost::store::open::open(&store.empty().await).await.expect("opened");
    assert_eq!(empty.read().sql(tables).scalar::<i64>().await.expect("read"), 0);
    empty.close().await;
}

async fn the_store_is_durable_as_in_production(store: TestStore) {
    let setting = match store.engine() {
        Engine::Postgres => "select current_setting('fsync') || current_setting('synchronous_commit')",
        Engine::Sqlite => "select synchronous || journal_mode from pragma_synchronous, pragma_journal_mode",
    };
    let value: String = store.db.write().sql(setting).scalar().await.expect("read");
    assert!(["onon", "2wal"].contains(&value.as_str()), "{value}");
}

#[test]
fn the_private_servers_ask_for_a_password() {
    let Some(server) = postgres() else { return println!("skipped: not installed") };
    let stranger = server.url("postgres").replacen("waypost:", "waypost:wrong", 1);
    actix_rt::System::new().block_on(async {
        let options = waypost::store::open::Options::new(waypost::store::open::Location::Postgres(stranger));
        assert!(waypost::store::open::open(&options).await.is_err(), "a wrong password is let in");
    });
}

#[test]
fn each_test_has_a_redis_database_of_its_own() {
    let Some(server) = redis() else { return println!("skipped: not installed") };
    actix_rt::System::new().block_on(async {
        for _ in 0..2 {
            let client = redis::Client::open(server.url()).expect("the URL is one");
            let mut connection = client.get_multiplexed_async_connection().await.expect("it answers");
            let before: i64 = redis::cmd("DBSIZE").query_async(&mut connection).await.expect("counted");
            assert_eq!(before, 0, "another test has written here");
            let () = redis::cmd("SET").arg("k").arg("v").query_async(&mut connection).await.expect("written");
        }
    });
}

#[actix_rt::test]
async fn eventually_answers_the_first_value_there_is() {
    let looks = Cell::new(0);
    let value = eventually(Duration::from_secs(60), || async {
        looks.set(looks.get() + 1);
        (looks.get() == 3).then_some("there")
    });
    assert_eq!(value.await, "there");
    assert_eq!(looks.get(), 3);
}

#[actix_rt::test]
#[should_panic(expected = "the last error was \"still closed\"")]
async fn eventually_tells_what_it_saw_last() {
    eventually(Duration::ZERO, || async { Err::<(), _>("still closed") }).await;
}
