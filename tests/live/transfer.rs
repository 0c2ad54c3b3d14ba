//! `waypost transfer`: a store that a server filled, moved into PostgreSQL by the real program. Nothing is lost, no
//! answer changes, and if it is killed in the middle, the target is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::json;
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use waypost::app::Application;
use waypost::clock::Clock;
use waypost::config::Settings;
use waypost::store::mqtt_cursor;
use waypost::store::open::{Location, Options, open};
use waypost::store::sql::{Db, Engine, Pools};
use waypost_actors::model::{OrganizationId, Timestamp};
use waypost_client::simulate;
use waypost_test_support::{TestStore, eventually, run};

use crate::answers::{Filled, answers};
use crate::feed::subscribe;
use crate::fuel;
use crate::server::{DEADLINE, Server, settings, text, until_clean};
use crate::slice::{bundled, options};
use crate::wire::Wire;

/// Fixes of one made-up vehicle.
const FIXES_EACH: u32 = 1_000;

/// How many fixes are moved: `WAYPOST_TEST_FIXES`, or 4,000.
fn fixes() -> u32 {
    std::env::var("WAYPOST_TEST_FIXES")
        .map_or(4_000, |text| text.parse().expect("WAYPOST_TEST_FIXES is a number"))
}

/// A data directory that is filled, and an empty database on the test's PostgreSQL.
struct Move {
    directory: TempDir,
    target: Options,
    settings: Settings,
}

impl Move {
    async fn new(store: &TestStore) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let embedded =
            Settings { data_dir: directory.path().to_owned(), database_url: None, ..settings(store) };
        Self { directory, target: store.empty().await, settings: embedded }
    }

    fn url(&self) -> &str {
        match &self.target.location {
            Location::Postgres(url) => url,
            Location::Embedded(_) => panic!("the test runs on PostgreSQL"),
        }
    }

    fn on_target(&self) -> Settings {
        let url = waypost::config::Secret::new(self.url().to_owned());
        Settings { database_url: Some(url), ..self.settings.clone() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
        command.args(["transfer", "--to", self.url(), "--data-dir"]).arg(self.directory.path());
        command.env_clear().current_dir(self.directory.path());
        command
    }

    /// Runs the program to its end.
    async fn transfer(&self) -> Output {
        let mut command = self.command();
        actix_rt::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    /// The whole error of a server that does not start.
    async fn refused(settings: Settings) -> String {
        match Application::build(settings, Clock::system()).await {
            Ok(_) => panic!("the server starts"),
            Err(error) => error.to_string(),
        }
    }

    /// Fills a store with master data of each kind and tracks; returns the cursor of a feed that has seen none of
    /// the events, and tokens.
    async fn fill(&self, store: &TestStore) -> Filled {
        let server = Server::start_with(store, |settings| *settings = self.settings.clone()).await;
        let fleet = server.fleet("org").await;
        let (bus, gone) = (fleet.bus("one").await, fleet.bus("gone").await);
        let fence = fleet.fence("depot").await;
        let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
        wire.say(&subscribe("all")).await;
        let cursor = wire.hear("subscribed").await["cursor"].clone();
        drop(wire);
        let license = json!({ "number": "B 072.RRE", "country": "DE", "expiresAt": "2031-01-01" });
        let driver = json!({ "firstName": "Ana", "lastName": "Ruiz", "license": license });
        let driver = text(&server.post("/v1/drivers", &fleet.admin, driver).await.ok(201)["id"]);
        let assign = format!("/v1/drivers/{driver}/assign-vehicle");
        server.post(&assign, &fleet.dispatcher, json!({ "vehicleId": bus.vehicle })).await.ok(200);
        bus.cross(&server, 21, 40).await;
        // Late, so that something was corrected; ancient, so that the default partition has something.
        bus.cross(&server, 1, 10).await;
        bus.report(
            &server,
            vec![json!({ "recordedAt": 1_000_000_000_000_i64, "latitude": 1.5, "longitude": 2.5 })],
        )
        .await;
        let (lorry, day) = (fuel::lorry(&fleet, "lorry").await, fuel::day());
        lorry.report(&server, fuel::items(&day)).await;
        let path = format!("/v1/geofences/{fence}");
        server.put(&path, &fleet.admin, json!({ "name": "Dépôt \"Ω\"", "enabled": false })).await.ok(200);
        server.send("DELETE", &format!("/v1/vehicles/{}", gone.vehicle), &fleet.admin, "").await.ok(204);
        let robot =
            json!({ "name": "Robot", "email": "robot@example.org", "password": "correct horse battery" });
        server.post("/v1/system-users", "", robot).await.ok(201);
        let webhook =
            json!({ "url": "https://example.org/hook", "eventTypes": ["geofence.*"], "enabled": false });
        server.post("/v1/webhooks", &fleet.admin, webhook).await.ok(201);
        let organization = OrganizationId(fleet.id.parse().unwrap());
        mqtt_cursor::begin(
            &server.context.db,
            organization,
            "broker:1883/waypost",
            Timestamp::from_micros(1),
        )
        .await
        .unwrap();
        let strangers = json!({ "name": "Strangers", "contactEmail": "s@example.org",
            "admin": { "email": "s@example.org", "firstName": "S", "lastName": "T" } });
        server.post("/v1/organizations", "", strangers).await.ok(201);

        let mut made_up = options(&server.url, &bundled("traces.csv.gz"), &bundled("events_expected.csv.gz"));
        (made_up.files, made_up.expect) = (Vec::new(), None);
        (made_up.vehicles, made_up.fixes_per_vehicle) = (Some(fixes().div_ceil(FIXES_EACH)), FIXES_EACH);
        let summary = simulate::run(made_up).await.unwrap();
        assert!(summary.passed(), "{summary}");
        until_clean(&server.context.db).await;
        // The lorry's tank was emptied.
        let alerts = server.get("/v1/alerts?rule=drain", &fleet.dispatcher).await.ok(200);
        let seen = format!("/v1/alerts/{}/acknowledge", text(&alerts["data"][0]["id"]));
        server.post(&seen, &fleet.dispatcher, json!({})).await.ok(200);
        let filled = Filled {
            cursor,
            fuel: format!(
                "vehicleId={}&from={}&to={}",
                lorry.vehicle,
                day.readings[0].at,
                day.readings[day.readings.len() - 1].at
            ),
            events: fleet.events().await,
            dispatcher: fleet.dispatcher.clone(),
            admin: fleet.admin.clone(),
            root: server.root.clone(),
            now: server.context.clock.now(),
        };
        server.stop().await;
        filled
    }
}

/// The names of a store's own tables.
async fn embedded_tables(directory: &Path) -> BTreeSet<String> {
    let db = open(&Options::new(Location::Embedded(directory.to_owned()))).await.unwrap();
    let names: Vec<(String,)> = db
        .read()
        .sql("select name from sqlite_schema where type = 'table' and name not like 'sqlite%' and name not like '@_sqlx%' escape '@'")
        .all()
        .await
        .unwrap();
    db.close().await;
    names.into_iter().map(|(name,)| name).collect()
}

#[test]
fn nothing_is_lost_and_no_answer_changes() {
    run(Engine::Postgres, async |store: TestStore| {
        let moving = Move::new(&store).await;
        let filled = moving.fill(&store).await;
        let before = answers(moving.settings.clone(), &filled).await;
        let tables = embedded_tables(moving.directory.path()).await;

        let began = Instant::now();
        let output = moving.transfer().await;
        let took = began.elapsed();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("set DATABASE_URL"), "{told}");
        assert!(!told.contains("postgres://"), "a password is told: {told}");
        let (_, sums) = told.split_once("equal on both sides").unwrap();
        let sums: BTreeMap<&str, i64> = sums
            .lines()
            .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                [table, rows, sum] if sum.len() == 32 => Some((table, rows.parse().unwrap())),
                _ => None,
            })
            .collect();
        assert_eq!(sums.keys().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), tables);
        // What trackers, dispatchers and administrators left is all there to be compared.
        for table in [
            "position_chunk",
            "position",
            "records",
            "visit",
            "checkpoint",
            "assignment",
            "audit",
            "fuel_log",
        ] {
            assert!(sums[table] > 0, "{table} is empty: {told}");
        }

        let refused = Move::refused(moving.settings.clone()).await;
        assert!(refused.contains("moved to PostgreSQL") && refused.contains("DATABASE_URL"), "{refused}");
        let after = answers(moving.on_target(), &filled).await;
        for (asked, answer) in &before {
            let (here, there) =
                (String::from_utf8_lossy(&answer.1), String::from_utf8_lossy(&after[asked].1));
            assert_eq!((answer.0, here), (after[asked].0, there), "{asked:?}");
        }
        assert_eq!(before.len(), after.len());
        let ok = before.values().filter(|(status, _)| *status == 200).count();
        let bytes: usize = before.values().map(|(_, bytes)| bytes.len()).sum();
        println!(
            "{told}{} answers ({ok} with status 200, {bytes} bytes) are the same to the byte; moved in {:.1} s",
            before.len(),
            took.as_secs_f64()
        );

        // A feed continues where it was, from a cursor of the old store.
        let server = Server::start_with(&store, |settings| *settings = moving.on_target()).await;
        let mut wire = Wire::feed(&server, &filled.dispatcher).await;
        let mut resumed = subscribe("all");
        resumed["cursor"] = filled.cursor.clone();
        wire.say(&resumed).await;
        assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
        assert!(filled.events.len() > 20, "hardly anything to go on with");
        for id in &filled.events {
            wire.until(|said| said["type"] == "event" && said["event"]["id"] == **id).await;
        }
        server.stop().await;
    });
}

/// Whether a session waits for a lock on a table of the target.
async fn is_waited_for(target: &Db) -> bool {
    let waiting = "select exists (select 1 from pg_locks where not granted and relation is not null \
        and database = (select oid from pg_database where datname = current_database()))";
    target.read().sql(waiting).scalar().await.unwrap()
}

/// Whether the target's lock is free again: PostgreSQL releases that of a program that is gone a moment later.
async fn is_unlocked(target: &Db) -> bool {
    let free = "select not exists (select 1 from pg_locks where locktype = 'advisory' \
        and database = (select oid from pg_database where datname = current_database()))";
    target.read().sql(free).scalar().await.unwrap()
}

/// Whether the target's tables are all without rows, but for the writer's own.
async fn is_empty(target: &Db, tables: &BTreeSet<String>) -> bool {
    for table in tables.iter().filter(|table| table.as_str() != "writer") {
        let count = format!("select count(*) from {table}");
        let count: i64 = target.read().sql(AssertSqlSafe(count)).scalar().await.unwrap();
        if count > 0 {
            return false;
        }
    }
    true
}

#[test]
fn killed_in_the_middle_nothing_is_there_and_it_can_be_done_again() {
    run(Engine::Postgres, async |store: TestStore| {
        let moving = Move::new(&store).await;
        let filled = moving.fill(&store).await;
        let tables = embedded_tables(moving.directory.path()).await;
        let target = open(&moving.target).await.unwrap();
        let Pools::Postgres { pool, .. } = &target.pools else { panic!("the test runs on PostgreSQL") };
        waypost::store::open::migrate(&target).await.unwrap();
        // At the beginning, in the middle, and at the last table.
        for table in ["account", "position", "visit"] {
            eventually(DEADLINE, || is_unlocked(&target)).await;
            // The table cannot be written to, so the program waits in front of it.
            let mut barrier = pool.begin().await.unwrap();
            let lock = format!("lock table {table} in share mode");
            sqlx::query(AssertSqlSafe(lock)).execute(&mut *barrier).await.unwrap();
            let mut program = moving.command().stdout(Stdio::null()).spawn().unwrap();
            eventually(DEADLINE, || is_waited_for(&target)).await;
            let busy = moving.transfer().await;
            assert!(String::from_utf8_lossy(&busy.stderr).contains("stop it first"), "{busy:?}");
            program.kill().unwrap();
            program.wait().unwrap();
            barrier.rollback().await.unwrap();
            // PostgreSQL notices that the program is gone when it next listens to it.
            let refused = Move::refused(moving.on_target()).await;
            assert!(refused.contains("run `waypost transfer` again"), "{refused}");
            assert!(is_empty(&target, &tables).await, "killed at {table}");
        }
        eventually(DEADLINE, || is_unlocked(&target)).await;
        let output = moving.transfer().await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        eventually(DEADLINE, || is_unlocked(&target)).await;
        let again = moving.transfer().await;
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(!again.status.success() && told.contains("was moved to PostgreSQL"), "{told}");
        std::fs::remove_file(moving.directory.path().join("waypost.moved")).unwrap();
        eventually(DEADLINE, || is_unlocked(&target)).await;
        let again = moving.transfer().await;
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(!again.status.success() && told.contains("is not empty"), "{told}");
        target.close().await;

        let (embedded, moved) =
            (answers(moving.settings.clone(), &filled).await, answers(moving.on_target(), &filled).await);
        assert!(embedded == moved, "the answers are not the same");
    });
}
