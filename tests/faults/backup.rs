//! The documented backup of the embedded store, taken under load and read back.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::time::Instant;
use waypost::store::open::Location;
use waypost_test_support::{Engine, scratch};

use crate::drill::{Drill, Load};
use crate::figures::figure;
use crate::ground::on;
use crate::ledger::at_any_moment;
use crate::seed::seed;
use crate::shelf::Shelf;

#[test]
fn a_backup_under_load_holds_all_that_was_acknowledged_before() {
    let seed = seed();
    on(Engine::Sqlite, async |ground| {
        let mut drill = Drill::begin(ground, seed, Load::every(8)).await;
        let Location::Embedded(running) = drill.launch.location.clone() else {
            unreachable!("it runs on SQLite")
        };
        let folder = scratch("backup");
        for (number, moment) in drill.moments(2).into_iter().enumerate() {
            drill.answered(moment).await;
            let restored = folder.join(format!("{number}"));
            std::fs::create_dir(&restored).unwrap();
            let before = drill.book.transcript();
            let began = Instant::now();
            assert_eq!(back_up(&running, &restored).await, "ok");
            figure("backup of the embedded store under load", &format!("{:.1?}", began.elapsed()), "told");
            let shelf = Shelf::open(&Location::Embedded(restored)).await;
            let stored = shelf.keys().await;
            shelf.close().await;
            let missing = at_any_moment(&before, &stored);
            assert!(missing.is_empty(), "seed {seed}: {} of {:?}", missing.len(), drill.summary());
        }
        let counts = drill.finish(ground).await;
        assert!(counts.retries == 0, "the load was held up: {:?}", counts.ends);
    });
}

/// Runs the statement that docs/operations.md names, as its command does: in a session of its own. Returns the
/// result of the integrity check of the copy.
async fn back_up(running: &Path, restored: &Path) -> String {
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).unwrap();
    let command = docs.lines().find(|line| line.starts_with("sqlite3 waypost-data/waypost.sqlite")).unwrap();
    let statement = command.split('"').nth(1).unwrap();
    let copy = restored.join("waypost.sqlite");
    let statement = statement.replace("backup.sqlite", copy.to_str().unwrap());
    let session = SqliteConnectOptions::new().filename(running.join("waypost.sqlite"));
    let mut session = session.connect().await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).execute(&mut session).await.unwrap();
    session.close().await.unwrap();
    let mut copy = SqliteConnectOptions::new().filename(copy).connect().await.unwrap();
    let said = sqlx::query_scalar("pragma integrity_check").fetch_one(&mut copy).await.unwrap();
    copy.close().await.unwrap();
    said
}
