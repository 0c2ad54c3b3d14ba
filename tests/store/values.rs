//! Values come back as they went in, and sort the same, on both engines.

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use uuid::Uuid;
use waypost::store::sql::Record;
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;
use waypost_test_support::{Engine, TestStore, for_each_engine};

for_each_engine!(
    ids_and_flags_come_back,
    integers_and_texts_come_back,
    floats_come_back_to_the_last_bit,
    documents_come_back,
    instants_come_back,
    what_is_absent_comes_back_absent,
    instants_sort_as_time_does,
    ids_sort_as_their_bytes_do,
    absent_values_sort_where_the_text_says,
);

/// A table in the words of each engine, as the migrations write them.
const POSTGRES_TABLE: &str = "create table sample (
    id uuid not null, flag boolean, number bigint, measure double precision, words text, document jsonb, instant timestamptz)";
const SQLITE_TABLE: &str = "create table sample (
    id blob not null, flag integer, number integer, measure real, words text, document text, instant integer) strict";

async fn make_table(store: &TestStore) {
    let text = match store.engine() {
        Engine::Postgres => POSTGRES_TABLE,
        Engine::Sqlite => SQLITE_TABLE,
    };
    store.db.write().sql(text).run().await.expect("the table is made");
}

/// Writes one value by `insert` (its id is `$1`, the value `$2`) and reads it back by `select`.
macro_rules! assert_comes_back {
    ($store:expr, $column:literal, $value:expr, $ty:ty) => {{
        let (id, value): (Uuid, $ty) = (Uuid::now_v7(), $value);
        let insert = concat!("insert into sample (id, ", $column, ") values ($1, $2)");
        $store.db.write().sql(insert).bind(id).bind(value.clone()).run().await.expect("it is written");
        let select = concat!("select ", $column, " from sample where id = $1");
        let back: $ty = $store.db.read().sql(select).bind(id).scalar().await.expect("it is read");
        assert_eq!(back, value, "column {}", $column);
    }};
}

async fn ids_and_flags_come_back(store: TestStore) {
    make_table(&store).await;
    for id in [Uuid::nil(), Uuid::max(), Uuid::now_v7()] {
        store.db.write().sql("insert into sample (id) values ($1)").bind(id).run().await.expect("written");
        let read = store.db.read().sql("select id from sample where id = $1").bind(id);
        assert_eq!(read.scalar::<Uuid>().await.expect("read"), id);
    }
    assert_comes_back!(store, "flag", true, bool);
    assert_comes_back!(store, "flag", false, bool);
}

async fn integers_and_texts_come_back(store: TestStore) {
    make_table(&store).await;
    for number in [i64::MIN, -1, 0, 1, i64::MAX] {
        assert_comes_back!(store, "number", number, i64);
    }
    for words in ["", " ", "O'Hara \"x\" \\ %_", "Łódź 東京 🚍", "line\nbreak"] {
        assert_comes_back!(store, "words", words.to_owned(), String);
    }
}

async fn floats_come_back_to_the_last_bit(store: TestStore) {
    make_table(&store).await;
    let extremes =
        [f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::EPSILON, f64::INFINITY, f64::NEG_INFINITY];
    for measure in [0.0, 0.1, -97.743_061_234_567_9, 1.0 / 3.0].into_iter().chain(extremes) {
        assert_comes_back!(store, "measure", measure, f64);
    }
}

async fn documents_come_back(store: TestStore) {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Document {
        names: Vec<String>,
        limit: Option<f64>,
    }
    make_table(&store).await;
    let document = Document { names: vec!["é".to_owned(), "\"".to_owned()], limit: Some(0.1) };
    assert_comes_back!(store, "document", Json(document.clone()), Json<Document>);
    assert_comes_back!(store, "document", Json(Document { limit: None, ..document }), Json<Document>);
}

fn instant(text: &str) -> Time {
    Time(Timestamp::parse(text).expect("an instant of the test"))
}

async fn instants_come_back(store: TestStore) {
    make_table(&store).await;
    let texts = [
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00Z",
        "2026-05-01T12:00:00.123Z",
        "0001-01-01T00:00:00Z",
        "9999-12-30T21:59:59.999Z",
    ];
    for text in texts {
        assert_comes_back!(store, "instant", instant(text), Time);
    }
    // Finer than Waypost speaks of, as a store may hold it: around 1970, and around PostgreSQL's year 2000.
    for micros in [-1_500_001, -1, 0, 1, 946_684_799_999_999, 946_684_800_000_001, 1_777_636_800_123_456] {
        assert_comes_back!(store, "instant", Time(Timestamp::from_micros(micros)), Time);
    }
}

async fn what_is_absent_comes_back_absent(store: TestStore) {
    make_table(&store).await;
    assert_comes_back!(store, "flag", None, Option<bool>);
    assert_comes_back!(store, "number", None, Option<i64>);
    assert_comes_back!(store, "measure", Some(-0.5), Option<f64>);
    assert_comes_back!(store, "words", None, Option<String>);
    assert_comes_back!(store, "instant", None, Option<Time>);
    assert_comes_back!(store, "instant", Some(instant("2026-05-01T12:00:00Z")), Option<Time>);
}

async fn column<T>(store: &TestStore, text: &'static str) -> Vec<T>
where
    (T,): Record,
{
    let rows: Vec<(T,)> = store.db.read().sql(text).all().await.expect("read");
    rows.into_iter().map(|(value,)| value).collect()
}

async fn instants_sort_as_time_does(store: TestStore) {
    make_table(&store).await;
    // As texts, `20Z` sorts after `20.1Z`, and the years before 1970 after everything.
    let texts = [
        "1950-01-01T00:00:00Z",
        "2026-05-01T12:00:20Z",
        "2026-05-01T12:00:20.001Z",
        "2026-05-01T12:00:20.1Z",
    ];
    let sorted = texts.map(instant);
    for moment in [sorted[2], sorted[0], sorted[3], sorted[1]] {
        let insert = store.db.write().sql("insert into sample (id, instant) values ($1, $2)");
        insert.bind(Uuid::now_v7()).bind(moment).run().await.expect("written");
    }
    assert_eq!(column::<Time>(&store, "select instant from sample order by instant").await, sorted);
    let later = store.db.read().sql("select count(*) from sample where instant > $1").bind(sorted[1]);
    assert_eq!(later.scalar::<i64>().await.expect("read"), 2);
}

async fn ids_sort_as_their_bytes_do(store: TestStore) {
    make_table(&store).await;
    let mut ids: Vec<Uuid> = [3_u128, 1 << 127, 255, 256, u128::MAX].map(Uuid::from_u128).to_vec();
    for id in &ids {
        store.db.write().sql("insert into sample (id) values ($1)").bind(*id).run().await.expect("written");
    }
    ids.sort();
    assert_eq!(column::<Uuid>(&store, "select id from sample order by id").await, ids);
}

async fn absent_values_sort_where_the_text_says(store: TestStore) {
    make_table(&store).await;
    for number in [Some(2_i64), None, Some(1)] {
        let insert = store.db.write().sql("insert into sample (id, number) values ($1, $2)");
        insert.bind(Uuid::now_v7()).bind(number).run().await.expect("written");
    }
    let last = column::<Option<i64>>(&store, "select number from sample order by number nulls last").await;
    assert_eq!(last, [Some(1), Some(2), None]);
    let first =
        column::<Option<i64>>(&store, "select number from sample order by number desc nulls first").await;
    assert_eq!(first, [None, Some(2), Some(1)]);
}
