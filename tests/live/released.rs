//! Stores of released versions, as their own programs left them (tests/fixtures/stores, made by tools/store_fixture.py): brought up to date
//! and served by this program, they hold what they held, every answer of then is still given, and their clients go on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use waypost::config::{Secret, Settings};
use waypost::store::open::{Location, Options, open, open_and_migrate};
use waypost::store::sql::Pools;
use waypost_actors::model::Timestamp;
use waypost_test_support::{PASSWORD, TestStore, for_each_engine};

use crate::server::{Server, settings};

for_each_engine!(nothing_of_a_released_store_is_lost);

/// What is known of a store besides its tables.
#[derive(Deserialize)]
struct Released {
    /// When its program gave the answers, in milliseconds since 1970.
    now: i64,
    /// Tables and their rows.
    rows: BTreeMap<String, i64>,
    /// Tokens by who holds them.
    tokens: BTreeMap<String, String>,
    /// By caller and path.
    answers: BTreeMap<String, BTreeMap<String, Value>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores")
}

fn versions() -> Vec<String> {
    let names =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_suffix(".json.gz")?.to_owned())).collect()
}

fn unpacked(version: &str, kind: &str) -> Vec<u8> {
    let packed = fs::read(folder().join(format!("{version}.{kind}.gz"))).unwrap();
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// Puts a store where nothing is.
async fn put(version: &str, options: &Options) {
    match &options.location {
        Location::Embedded(directory) => {
            fs::write(directory.join("waypost.sqlite"), unpacked(version, "sqlite")).unwrap();
        }
        Location::Postgres(_) => {
            let db = open(options).await.unwrap();
            let Pools::Postgres { pool, .. } = &db.pools else { panic!("it is on PostgreSQL") };
            let text = String::from_utf8(unpacked(version, "sql")).unwrap();
            sqlx::raw_sql(AssertSqlSafe(text)).execute(pool).await.unwrap();
            db.close().await;
        }
    }
}

/// The settings of a server on it; with PostgreSQL, letters go to a directory.
fn on(options: &Options, store: &TestStore, letters: &TempDir) -> Settings {
    let mut settings = Settings { data_dir: letters.path().to_owned(), ..settings(store) };
    match &options.location {
        Location::Embedded(directory) => settings.data_dir = directory.clone(),
        Location::Postgres(url) => settings.database_url = Some(Secret::new(url.clone())),
    }
    settings
}

/// Where an answer says less than before, or something else. New members are none of its business.
fn lost(at: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                lost(&format!("{at}/{name}"), value, after.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                lost(&format!("{at}/{index}"), before, after, found);
            }
        }
        (before, after) if before == after => {}
        _ => found.push(format!("{at}: {before} became {after}")),
    }
}

async fn nothing_of_a_released_store_is_lost(store: TestStore) {
    let versions = versions();
    assert!(versions.contains(&"0.1.0".to_owned()), "{versions:?}");
    for version in versions {
        let released: Released = serde_json::from_slice(&unpacked(&version, "json")).unwrap();
        let (options, letters) = (store.empty().await, tempfile::tempdir().unwrap());
        put(&version, &options).await;
        let db = open_and_migrate(&options).await.unwrap();
        for (table, rows) in &released.rows {
            let count = format!("select count(*) from {table}");
            let count: i64 = db.read().sql(AssertSqlSafe(count)).scalar().await.unwrap();
            assert!(count >= *rows, "{version}: {table} had {rows} rows and has {count}");
        }
        db.close().await;

        let now = Timestamp::from_micros(released.now * 1000);
        let server = Server::start_at(on(&options, &store, &letters), now).await;
        let mut found = Vec::new();
        for (caller, answers) in &released.answers {
            for (path, before) in answers {
                let after = server.get(path, &released.tokens[caller]).await;
                lost(&format!("{caller}: {path}: "), before, &after.body, &mut found);
            }
        }
        assert!(found.is_empty(), "{version}: {} losses:\n{}", found.len(), found.join("\n"));
        go_on(&server, &released).await;
        server.stop().await;
    }
}

/// Passwords, refresh tokens and trackers are good as before, and what a tracker sends again is known.
async fn go_on(server: &Server, released: &Released) {
    server.login("disp@example.org", PASSWORD).await;
    let refresh = json!({ "refreshToken": released.tokens["refresh"] });
    server.post("/v1/auth/refresh", "", refresh).await.ok(200);
    let fix = json!({ "items": [{ "recordedAt": released.now, "latitude": 30.5, "longitude": -97.7 }] });
    for (stored, duplicates) in [(1, 0), (0, 1)] {
        let said = server.post("/v1/positions", &released.tokens["tracker"], fix.clone()).await.ok(200);
        assert_eq!((&said["stored"], &said["duplicates"]), (&json!(stored), &json!(duplicates)), "{said}");
    }
}
