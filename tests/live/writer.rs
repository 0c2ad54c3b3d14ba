//! The writer and its connection: a connection that goes silent, refuses or is taken over costs seconds, and
//! nothing is acknowledged that the database would not keep.

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::join;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::{Instant, sleep};
use waypost::clock::new_id;
use waypost::config::Secret;
use waypost::store::track::Track;
use waypost_test_support::{Engine, PrivatePostgres, TestStore, eventually, for_each_engine, run};

use crate::away::Coming;
use crate::proxy::{url_by, way_to};
use crate::server::{Bus, DEADLINE, INSIDE, Server, settings, stored_positions};
use crate::tracker::{Stuck, end_connections};
use crate::wire::items;

for_each_engine!(
    an_edit_at_a_server_that_was_taken_over_is_refused,
    a_line_of_changes_is_bounded,
    a_new_vehicle_with_a_tank_owes_nothing,
);

pub(crate) const START: i64 = 1_790_000_000_000;
/// Acknowledgements are back within this time of a new connection being possible.
pub(crate) const BACK_WITHIN: Duration = Duration::from_secs(10);
/// The longest time that two servers are both ready.
const BOTH_READY: Duration = Duration::from_secs(2);

/// Runs a statement without going through the server.
async fn tell(url: &str, text: impl Into<String>) {
    let mut session = PgConnection::connect(url).await.unwrap();
    sqlx::query(AssertSqlSafe(text.into())).execute(&mut session).await.unwrap();
    session.close().await.unwrap();
}

async fn ask<T>(url: &str, text: &'static str) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let mut session = PgConnection::connect(url).await.unwrap();
    let value = sqlx::query_scalar::<_, T>(text).fetch_one(&mut session).await.unwrap();
    session.close().await.unwrap();
    value
}

/// Reports until it is accepted; returns when it was.
async fn accepted(server: &Server, bus: &Bus, from: i64, to: i64) -> Instant {
    eventually(DEADLINE, || async {
        let body = json!({ "items": items(from, to, START) });
        server.post("/v1/positions", &bus.token, body).await.status == 200
    })
    .await;
    Instant::now()
}

fn fence(name: &str) -> serde_json::Value {
    json!({ "name": name, "shape": { "type": "circle", "radiusMeters": 500.0,
        "center": { "latitude": INSIDE, "longitude": -97.74 } } })
}

#[test]
fn lines_that_go_silent_in_a_commit_cost_seconds() {
    run(Engine::Postgres, async |store| {
        let port = waypost_test_support::port_for_restarts();
        let way = way_to(&store, port).await;
        let by = Secret::new(url_by(&store, port));
        let server = Server::start_with(&store, |settings| settings.database_url = Some(by)).await;
        let fleet = server.fleet("org").await;
        let bus = fleet.bus("one").await;
        bus.report(&server, items(1, 2, START)).await;
        // The batch waits in the middle of its transaction.
        let stuck = Stuck::hold(&store).await;
        let late = server.post("/v1/positions", &bus.token, json!({ "items": items(3, 4, START) }));
        let late = async { late.await.status };
        let silenced = async {
            eventually(DEADLINE, || async {
                let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                    and query like 'update writer%' and datname = current_database()";
                ask::<i64>(store.url(), waiting).await > 0
            })
            .await;
            way.swallow();
            stuck.release().await;
            Instant::now()
        };
        let (status, silenced) = tokio::join!(late, silenced);
        assert_eq!(status, 503);
        let back = accepted(&server, &bus, 3, 4).await.duration_since(silenced);
        assert!(back < BACK_WITHIN, "acknowledged again after {back:?}");
        server.post("/v1/geofences", &fleet.admin, fence("after")).await.ok(201);
        assert_eq!(stored_positions(&store).await, 4);
        server.stop().await;
    });
}

#[test]
fn sessions_that_were_read_only_are_not_used_again() {
    run(Engine::Postgres, async |store| {
        let server = Server::start(&store).await;
        let fleet = server.fleet("org").await;
        let bus = fleet.bus("one").await;
        let name: String = ask(store.url(), "select current_database()::text").await;
        tell(store.url(), format!("alter database {name} set default_transaction_read_only = on")).await;
        end_connections(store.url()).await;
        let why = eventually(DEADLINE, || async {
            let said = server.get("/readyz", "").await;
            let why = said.body["detail"].as_str().unwrap_or_default().to_owned();
            why.contains("read-only").then_some(why)
        });
        why.await;
        // Each of the pool's sessions has been in use meanwhile.
        for _ in 0..4 {
            server.post("/v1/geofences", &fleet.admin, fence("meanwhile")).await.problem(503, "unavailable");
        }
        let late = server.post("/v1/positions", &bus.token, json!({ "items": items(1, 2, START) })).await;
        late.problem(503, "unavailable");
        let mut session = PgConnection::connect(store.url()).await.unwrap();
        let reset = format!("alter database {name} reset default_transaction_read_only");
        for text in ["set default_transaction_read_only = off".to_owned(), reset] {
            sqlx::query(AssertSqlSafe(text)).execute(&mut session).await.unwrap();
        }
        let reset = Instant::now();
        let back = accepted(&server, &bus, 1, 2).await.duration_since(reset);
        assert!(back < BACK_WITHIN, "acknowledged again after {back:?}");
        eventually(DEADLINE, || async { server.get("/readyz", "").await.status == 200 }).await;
        for number in 0..8 {
            server.post("/v1/geofences", &fleet.admin, fence(&format!("{number}"))).await.ok(201);
        }
        server.stop().await;
    });
}

async fn an_edit_at_a_server_that_was_taken_over_is_refused(store: TestStore) {
    // Within a second the server ends by itself, now and then before it has heard both edits.
    for _ in 0..10 {
        if edits_when_taken_over(&store).await {
            return;
        }
    }
    panic!("no server lived long enough to answer");
}

/// Whether the server answered two edits after another one took its store. It kept neither, and ended, either way.
async fn edits_when_taken_over(store: &TestStore) -> bool {
    let server = Server::start(store).await;
    let fleet = server.fleet(&new_id().to_string()).await;
    let bus = fleet.bus("one").await;
    let taken = Instant::now();
    Track::take_over(store.db.clone(), store.db.clone()).await.unwrap();
    let path = format!("/v1/vehicles/{}", bus.vehicle);
    let late = fence("late").to_string().into_bytes();
    let (made, deleted) = join(
        server.try_send_as("application/json", "POST", "/v1/geofences", &fleet.admin, late),
        server.try_send_as("application/json", "DELETE", &path, &fleet.admin, Vec::new()),
    )
    .await;
    let answered = made.is_ok() && deleted.is_ok();
    if let Ok(made) = made {
        let refused = made.problem(503, "unavailable");
        assert!(refused["detail"].as_str().unwrap().contains("another server has taken over"), "{refused}");
    }
    if let Ok(deleted) = deleted {
        deleted.problem(503, "unavailable");
    }
    let kept = "select (select count(*) from geofence) + (select count(*) from vehicle where deleted_at is not null)";
    assert_eq!(store.db.read().sql(kept).scalar::<i64>().await.unwrap(), 0);
    eventually(DEADLINE, || async { server.context.readiness.trouble().is_some() }).await;
    assert!(taken.elapsed() < BOTH_READY, "ready for {:?} beside another", taken.elapsed());
    assert_eq!(server.ended().await, waypost::app::Ended::TakenOver);
    answered
}

#[test]
fn of_a_pair_only_one_is_ready_whatever_becomes_of_the_lock() {
    run(Engine::Postgres, async |store| {
        let mut first = Coming::build(settings(&store));
        first.ready().await;
        for _ in 0..3 {
            // The session of the server that took over was ended along with the others.
            eventually(DEADLINE, || async { ask::<i64>(store.url(), HOLDER).await > 0 }).await;
            let second = Coming::build(settings(&store));
            second.waits().await;
            // Its session ends over and over, until the other one has the lock.
            let mut both: Option<Instant> = None;
            loop {
                let holders = "select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' \
                    and database = (select oid from pg_database where datname = current_database())";
                let (is_first, is_second) = (first.is_ready().await, second.is_ready().await);
                both = if is_first && is_second { both.or_else(|| Some(Instant::now())) } else { None };
                let long = both.map_or(Duration::ZERO, |since| since.elapsed());
                assert!(long < BOTH_READY, "both were ready for {long:?}");
                if is_second && !is_first {
                    break;
                }
                if !is_second {
                    ask::<i64>(store.url(), holders).await;
                }
                sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(first.ended().await, waypost::app::Ended::TakenOver);
            first = second;
        }
        first.stop().await;
    });
}

const HOLDER: &str = "select coalesce(max(pid), 0)::bigint from pg_locks where locktype = 'advisory' and granted \
    and database = (select oid from pg_database where datname = current_database())";

#[test]
fn a_lost_lock_is_taken_again_and_one_at_rest_is_kept() {
    run(Engine::Postgres, async |store| {
        let name: String = ask(store.url(), "select current_database()::text").await;
        tell(store.url(), format!("alter database {name} set idle_session_timeout = '200ms'")).await;
        let server = Server::start(&store).await;
        let holder: i64 = ask(store.url(), HOLDER).await;
        assert!(holder > 0);
        // The session is checked once a second, so it was idle for longer than other sessions may be.
        let looked = "select (extract(epoch from max(state_change)) * 1000000)::bigint from pg_stat_activity a \
            join pg_locks l on l.pid = a.pid where l.locktype = 'advisory' and a.datname = current_database()";
        let first: i64 = ask(store.url(), looked).await;
        eventually(DEADLINE, || async {
            ask::<Option<i64>>(store.url(), looked).await.is_none_or(|now| now > first + 1_500_000)
        })
        .await;
        assert_eq!(ask::<i64>(store.url(), HOLDER).await, holder, "the same session has it");
        tell(store.url(), format!("select pg_terminate_backend({holder})")).await;
        let again = eventually(DEADLINE, || async {
            let again: i64 = ask(store.url(), HOLDER).await;
            (again > 0 && again != holder).then_some(again)
        });
        again.await;
        server.stop().await;
    });
}

/// A server on a PostgreSQL of the test's own.
async fn on_its_own(store: &TestStore) -> (PrivatePostgres, String, Server) {
    let postgres = PrivatePostgres::own().expect("it was there before");
    postgres.create_database("own", None).await;
    let url = postgres.url("own");
    let mut settings = settings(store);
    settings.database_url = Some(Secret::new(url.clone()));
    (postgres, url, Server::start_on(settings).await)
}

#[test]
fn what_is_acknowledged_is_kept_though_others_commit_without_waiting() {
    run(Engine::Postgres, async |store| {
        let (mut postgres, url, server) = on_its_own(&store).await;
        let bus = server.fleet("org").await.bus("one").await;
        for text in ["alter system set synchronous_commit = off", "alter system set wal_writer_delay = '10s'"]
        {
            tell(&url, text).await;
        }
        tell(&url, "select pg_reload_conf()").await;
        eventually(DEADLINE, || async {
            ask::<String>(&url, "select current_setting('synchronous_commit')").await == "off"
        })
        .await;
        for second in 0..20 {
            bus.report(&server, items(second + 1, second + 1, START)).await;
        }
        postgres.kill();
        postgres.start_again();
        let db = &server.context.db;
        let stored = eventually(DEADLINE, || waypost_test_support::stored_positions(db)).await;
        assert_eq!(stored.len(), 20, "acknowledged fixes are gone");
        server.stop().await;
    });
}

#[test]
fn a_database_that_would_lose_what_it_has_stored_is_not_acknowledged_by() {
    run(Engine::Postgres, async |store| {
        let (_postgres, url, server) = on_its_own(&store).await;
        let bus = server.fleet("org").await.bus("one").await;
        bus.report(&server, items(1, 2, START)).await;
        tell(&url, "alter system set fsync = off").await;
        tell(&url, "select pg_reload_conf()").await;
        eventually(DEADLINE, || async {
            let said = server.get("/readyz", "").await;
            said.status == 503 && said.body["detail"].as_str().is_some_and(|why| why.contains("fsync = off"))
        })
        .await;
        let late = server.post("/v1/positions", &bus.token, json!({ "items": items(3, 4, START) })).await;
        late.problem(503, "unavailable");
        tell(&url, "alter system reset fsync").await;
        tell(&url, "select pg_reload_conf()").await;
        accepted(&server, &bus, 3, 4).await;
        server.stop().await;
    });
}

async fn a_line_of_changes_is_bounded(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let id = fleet.fence("one").await;
    let path = format!("/v1/geofences/{id}");
    let turn = server.context.keyed_lock.lock(id.parse().unwrap()).await;
    let change = async |number: usize| {
        let body = json!({ "name": format!("name {number}") });
        server.put(&path, &fleet.admin, body).await
    };
    let answered = Cell::new(false);
    let many = futures_util::future::join_all((0..20).map(async |number| {
        let said = change(number).await;
        answered.set(true);
        said
    }));
    let free = async {
        // While the turn is held, only what is refused is answered.
        eventually(DEADLINE, || async { answered.get() }).await;
        drop(turn);
    };
    let (answers, ()) = tokio::join!(many, free);
    let (done, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|said| said.status == 200);
    assert!(!done.is_empty() && !refused.is_empty(), "{} of 20 were done", done.len());
    for said in refused {
        said.problem(503, "busy");
    }
    // The places are given back.
    for number in 100..110 {
        change(number).await.ok(200);
    }
    server.stop().await;
}

async fn a_new_vehicle_with_a_tank_owes_nothing(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    for number in 0..3 {
        let body = json!({ "name": format!("bus {number}"), "category": "bus", "fuel": { "tankCapacityLiters": 80 } });
        server.post("/v1/vehicles", &fleet.admin, body).await.ok(201);
    }
    let owed = "select count(*) from fuel_calibration where not settled";
    let made = "select count(*) from fuel_calibration";
    assert_eq!(store.db.read().sql(made).scalar::<i64>().await.unwrap(), 3);
    assert_eq!(store.db.read().sql(owed).scalar::<i64>().await.unwrap(), 0);
    server.stop().await;
}
