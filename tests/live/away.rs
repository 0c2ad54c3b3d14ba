//! A store that is not there yet, is another server's, hangs, or is away while the server stops.

use awc::Client;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;
use waypost::app::{Application, Ended};
use waypost::clock::Clock;
use waypost::config::{Secret, Settings};
use waypost_test_support::{Engine, Proxy, TestStore, eventually, for_each_engine, port_for_restarts, run};

use crate::events::Events;
use crate::proxy::{url_by, way_to};
use crate::server::{DEADLINE, Server, settings};
use crate::wire::{Wire, items};

for_each_engine!(
    a_second_server_says_that_it_waits_and_takes_over,
    a_dispatcher_is_told_when_nothing_is_stored_any_more,
);

const START: i64 = 1_790_000_000_000;

/// Status and body of a GET; `None` without an answer.
async fn get(port: u16, path: &str) -> Option<(u16, Value)> {
    let answer = Client::default().get(format!("http://127.0.0.1:{port}{path}")).send().await;
    let mut answer = answer.ok()?;
    let body = answer.body().await.ok()?;
    Some((answer.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
}

/// Why the server at a port is not ready, once it reports that.
async fn not_ready(port: u16) -> String {
    eventually(DEADLINE, || async {
        let (status, body) = get(port, "/readyz").await?;
        (status == 503).then(|| body["detail"].as_str().unwrap_or_default().to_owned())
    })
    .await
}

async fn says_that_it_waits(port: u16) {
    assert_eq!(get(port, "/healthz").await.unwrap().0, 200);
    for path in ["/readyz", "/", "/v1/vehicles", "/v1/ws/tracker", "/no/such/path"] {
        let (status, body) = get(port, path).await.unwrap();
        assert_eq!((status, &body["code"]), (503, &json!("unavailable")), "{path}");
    }
    a_stream_is_away(&format!("http://127.0.0.1:{port}"), "").await;
}

/// A stream of events is never refused for that, which would end its clients for good: it says so and ends.
async fn a_stream_is_away(url: &str, token: &str) {
    let mut events = Events::open(url, "topics=changes", token, "").await.unwrap();
    assert_eq!(events.hear("status").await, json!({ "type": "status", "storing": false }));
    let answer = Client::default().get(format!("{url}/v1/events/stream?topics=changes"));
    let mut answer = answer.bearer_auth(token).timeout(DEADLINE).send().await.unwrap();
    assert_eq!(answer.headers().get("content-type").unwrap(), "text/event-stream");
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.body().await.unwrap().starts_with(b"retry: "), "it ends");
}

/// A server that is being built; once it serves, it does so until it is stopped.
pub(crate) struct Coming {
    port: u16,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<Ended>,
}

impl Coming {
    pub(crate) fn build(mut settings: Settings) -> Self {
        let port = port_for_restarts();
        settings.listen = format!("127.0.0.1:{port}").parse().unwrap();
        let (stop, asked) = oneshot::channel::<()>();
        let ended = actix_rt::spawn(async move {
            let application = Application::build(settings, Clock::system()).await.unwrap();
            let asked = async {
                asked.await.ok();
            };
            application.run(asked).await.unwrap()
        });
        Self { port, stop, ended }
    }

    pub(crate) async fn is_ready(&self) -> bool {
        get(self.port, "/readyz").await.is_some_and(|(status, _)| status == 200)
    }

    pub(crate) async fn ready(&self) {
        eventually(DEADLINE, || self.is_ready()).await;
    }

    /// Waits until it waits for another server.
    pub(crate) async fn waits(&self) {
        eventually(DEADLINE, || async { not_ready(self.port).await.contains("another server") }).await;
    }

    /// Waits until it ends by itself; returns why.
    pub(crate) async fn ended(self) -> Ended {
        timeout(DEADLINE, self.ended).await.expect("it ends").unwrap()
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        assert_eq!(timeout(DEADLINE, self.ended).await.expect("it stops").unwrap(), Ended::Asked);
    }
}

async fn a_second_server_says_that_it_waits_and_takes_over(store: TestStore) {
    let first = Server::start(&store).await;
    let second = Coming::build(settings(&store));
    let why = not_ready(second.port).await;
    assert!(why.contains("another server has this store"), "{why}");
    says_that_it_waits(second.port).await;
    first.stop().await;
    second.ready().await;
    assert_eq!(get(second.port, "/v1/vehicles").await.unwrap().0, 401, "it serves");
    second.stop().await;
}

async fn a_dispatcher_is_told_when_nothing_is_stored_any_more(store: TestStore) {
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = std::time::Duration::from_millis(300);
    })
    .await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let mut feed = Wire::feed(&server, &fleet.dispatcher).await;
    feed.say(&json!({ "type": "subscribe", "id": "all", "topics": ["events"] })).await;
    feed.hear("subscribed").await;
    let mut events = Events::open(&server.url, "", &fleet.dispatcher, "").await.unwrap();
    events.hear("subscribed").await;
    let stuck = crate::tracker::Stuck::hold(&store).await;
    let mut wire = Wire::bus(&server, &bus).await;
    wire.report(items(1, 2, START)).await;
    assert_eq!(feed.hear("status").await["storing"], false);
    assert_eq!(events.hear("status").await["storing"], false);
    stuck.release().await;
    assert_eq!(feed.hear("status").await["storing"], true);
    assert_eq!(events.hear("status").await["storing"], true);
    server.stop().await;
}

fn postgres<F: Future<Output = ()>>(test: impl FnOnce(TestStore) -> F) {
    run(Engine::Postgres, test);
}

/// A server on PostgreSQL, and the proxy on the way there.
async fn behind_a_way(store: &TestStore) -> (Proxy, Server) {
    let database = port_for_restarts();
    let way = way_to(store, database).await;
    let url = Secret::new(url_by(store, database));
    (way, Server::start_with(store, |settings| settings.database_url = Some(url)).await)
}

#[test]
fn a_store_that_is_not_there_yet_is_waited_for() {
    postgres(async |store| {
        let database = port_for_restarts();
        let url = url_by(&store, database);
        let coming = Coming::build(Settings { database_url: Some(Secret::new(url)), ..settings(&store) });
        let why = not_ready(coming.port).await;
        let told = eventually(DEADLINE, || async {
            let why = not_ready(coming.port).await;
            why.contains("PostgreSQL").then_some(why)
        });
        let why = format!("{why}, {}", told.await);
        assert!(!why.contains("@"), "no password is told: {why}");
        says_that_it_waits(coming.port).await;
        let _way = way_to(&store, database).await;
        coming.ready().await;
        coming.stop().await;
    });
}

#[test]
fn who_asks_a_store_that_hangs_is_told_to_come_back_and_all_goes_on_by_itself() {
    postgres(async |store| {
        let (way, server) = behind_a_way(&store).await;
        let fleet = server.fleet("org").await;
        let bus = fleet.bus("one").await;
        bus.report(&server, items(1, 2, START)).await;
        way.hang(true);
        // One is under way when the failure is noticed, one comes after.
        for _ in 0..2 {
            server.get("/v1/vehicles", &fleet.dispatcher).await.problem(503, "unavailable");
        }
        server.get("/readyz", "").await.problem(503, "unavailable");
        a_stream_is_away(&server.url, &fleet.dispatcher).await;
        assert_eq!(server.get("/healthz", "").await.status, 200);
        let late = server.post("/v1/positions", &bus.token, json!({ "items": items(3, 4, START) })).await;
        late.problem(503, "unavailable");
        way.hang(false);
        eventually(DEADLINE, || async { server.get("/readyz", "").await.status == 200 }).await;
        bus.report(&server, items(3, 4, START)).await;
        server.stop().await;
    });
}

#[test]
fn a_database_that_is_gone_is_a_store_that_is_away() {
    postgres(async |store| {
        let server = Server::start(&store).await;
        let fleet = server.fleet("org").await;
        let bus = fleet.bus("one").await;
        bus.report(&server, items(1, 2, START)).await;
        let running = waypost_test_support::postgres().expect("it was there before");
        running.drop_database(store.url().rsplit('/').next().unwrap()).await;
        // A connection that was cut, then one that cannot be made.
        for _ in 0..3 {
            server.get("/v1/drivers", &fleet.dispatcher).await.problem(503, "unavailable");
        }
        eventually(DEADLINE, || async { server.get("/readyz", "").await.status == 503 }).await;
        let late = server.post("/v1/positions", &bus.token, json!({ "items": items(3, 4, START) })).await;
        late.problem(503, "unavailable");
        server.stop().await;
    });
}

#[test]
fn a_server_stops_while_its_store_hangs() {
    postgres(async |store| {
        let (way, server) = behind_a_way(&store).await;
        let bus = server.fleet("org").await.bus("one").await;
        let mut wire = Wire::bus(&server, &bus).await;
        wire.report(items(1, 2, START)).await;
        wire.hear("ack").await;
        way.hang(true);
        wire.report(items(3, 4, START)).await;
        server.stop().await;
        assert_eq!(wire.closed().await.code, 1012);
    });
}
