//! Clients that know nothing of us, while the store is away and the server is killed: nothing that one of them has
//! forgotten is missing, nothing is stored twice, and no token is in any line of the log.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use waypost_client::{Api, Method};
use waypost_test_support::{Engine, Program, TestStore, eventually, for_each_engine, run, text};

use crate::server::{DEADLINE, Server, launch};
use crate::stand_in::{KINDS, Point, StandIn};
use crate::tracker::Stuck;

for_each_engine!(what_a_client_forgets_is_stored_once_whatever_happens);

/// 2026-05-01T10:00:00Z.
const START: i64 = 1_777_629_600;
/// Longer than a phone is silent that reports every five seconds.
const SILENCE: Duration = Duration::from_secs(7);
/// Points of each client, of which one is refused for good.
const POINTS: i64 = 24;

/// A drive to the east; in its middle, the phone has no fix and says 0,0.
fn points() -> Vec<Point> {
    let point = |number: i64| Point {
        second: START + 10 * number,
        latitude: if number == POINTS / 2 { 0.0 } else { 48.1 },
        longitude: if number == POINTS / 2 { 0.0 } else { 11.5 + number as f64 / 1e3 },
    };
    (0..POINTS).map(point).collect()
}

/// A stand-in of each kind, with a vehicle of its own: the vehicle's id beside it.
async fn stand_ins(api: &Api) -> Vec<(String, StandIn)> {
    let body = json!({ "name": "fleet", "contactEmail": "fleet@example.org",
        "admin": { "email": "admin@example.org", "firstName": "A", "lastName": "B" } });
    let organization = text(&api.send(Method::POST, "/v1/organizations", &body).await.unwrap()["id"]);
    let activate = format!("/v1/organizations/activate/{organization}");
    api.send(Method::PUT, &activate, &json!({})).await.unwrap();
    let mut stand_ins = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        let tracker = json!({ "uniqueId": format!("device-{number}") });
        let body = json!({ "organizationId": organization, "name": kind.name, "tracker": tracker });
        let made = api.send(Method::POST, "/v1/vehicles", &body).await.unwrap();
        let client = StandIn::new(kind, text(&made["tracker"]["token"]), &points());
        stand_ins.push((text(&made["id"]), client));
    }
    stand_ins
}

/// What is stored of a vehicle, as seconds of Unix time.
async fn stored(store: &TestStore, vehicle: &str) -> Option<Vec<i64>> {
    let all = waypost_test_support::stored_positions(&store.db).await.ok()?;
    let own = all.iter().filter(|(id, _)| id.to_string() == vehicle);
    Some(own.map(|(_, position)| position.recorded_at.as_millis() / 1000).collect())
}

async fn until_stored(store: &TestStore, vehicle: &str, sent: &[Point]) {
    eventually(DEADLINE, || async {
        let stored = stored(store, vehicle).await.unwrap_or_default();
        sent.iter().filter(|point| point.latitude != 0.0).all(|point| stored.contains(&point.second))
    })
    .await;
}

fn tells_no_token(server: &Program, clients: &[(String, StandIn)]) {
    let log = server.log();
    assert!(log.contains("/in/{token}"), "what was asked for is logged, without the token");
    for (_, client) in clients {
        assert!(!log.contains(&client.token), "{}'s token is in the log", client.kind.name);
    }
}

/// Everybody sends, nobody hears an answer.
async fn send_all(url: &str, clients: &mut [(String, StandIn)]) -> Vec<(TcpStream, Vec<Point>)> {
    let mut sent = Vec::new();
    for (_, client) in clients {
        sent.push(client.send(url).await);
    }
    sent
}

async fn what_a_client_forgets_is_stored_once_whatever_happens(store: TestStore) {
    let mut launch = launch(&store);
    launch.settings.push(("WAYPOST_COMMIT_TIMEOUT".to_owned(), "1s".to_owned()));
    launch.settings.push(("WAYPOST_LOG".to_owned(), "trace".to_owned()));
    let mut server = Program::start(&launch).await;
    let url = launch.url();
    let mut clients = stand_ins(&server.operator().await).await;
    for (_, client) in &mut clients {
        assert_eq!(client.exchange(&url).await, 200, "{}", client.kind.name);
    }

    // A wrong token, as after a rotation. Two kinds of client delete what is answered by a 4xx, which is known; no other one does.
    for (_, client) in &mut clients {
        let name = client.kind.name;
        let own = std::mem::replace(&mut client.token, format!("wpt_{}", "x".repeat(43)));
        let sent = client.exchange(&url).await;
        let deleted = usize::from(client.deletes_on_4xx());
        assert_eq!((sent, client.lost.len()), (401, deleted), "{name}");
        client.token = own;
        assert_eq!(client.exchange(&url).await, 200, "{name}, with its own again");
    }

    // The answer is lost on its way.
    let sent = send_all(&url, &mut clients).await;
    for ((vehicle, _), (_, points)) in clients.iter().zip(&sent) {
        until_stored(&store, vehicle, points).await;
    }
    drop(sent);
    for (_, client) in &mut clients {
        assert_eq!(client.exchange(&url).await, 200, "{}, again", client.kind.name);
    }

    // The store is away. One kind of client deletes on every answer, which is known (docs/devices.md).
    let stuck = Stuck::hold(&store).await;
    for (_, client) in clients.iter_mut().filter(|(_, client)| !client.deletes_on_5xx()) {
        assert_eq!(client.exchange(&url).await, 503, "{}", client.kind.name);
    }
    stuck.release().await;
    eventually(DEADLINE, || server.is_ready()).await;
    for (_, client) in clients.iter_mut().filter(|(_, client)| !client.deletes_on_5xx()) {
        let until_taken = async { while client.exchange(&url).await != 200 {} };
        timeout(DEADLINE, until_taken).await.expect("it is stored again");
    }
    tells_no_token(&server, &clients);

    // Killed after the commit, before any client has heard of it; and killed at any moment.
    for is_committed in [true, false] {
        let sent = send_all(&url, &mut clients).await;
        for ((vehicle, _), (_, points)) in clients.iter().zip(&sent).filter(|_| is_committed) {
            until_stored(&store, vehicle, points).await;
        }
        server.kill();
        server = Program::start(&launch).await;
    }

    for (vehicle, client) in &mut clients {
        let name = client.kind.name;
        while !client.is_done() {
            assert_eq!(client.exchange(&url).await, 200, "{name}");
        }
        let deleted = usize::from(client.deletes_on_4xx());
        assert_eq!(
            (client.lost.len(), client.forgotten.len()),
            (deleted, POINTS as usize - deleted),
            "{name}"
        );
        let stored = stored(&store, vehicle).await.expect("the store is there");
        let once: BTreeSet<i64> = stored.iter().copied().collect();
        let expected: BTreeSet<i64> =
            client.forgotten.iter().filter(|point| point.latitude != 0.0).map(|point| point.second).collect();
        assert_eq!((once.len(), &once), (stored.len(), &expected), "{name}");
    }
    tells_no_token(&server, &clients);
}

#[test]
fn a_phone_keeps_its_connection_from_one_report_to_the_next() {
    run(Engine::Sqlite, async |store: TestStore| {
        let server = Server::start(&store).await;
        let phone = server.fleet("fleet").await.bus("phone").await;
        let mut socket = TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
        for second in [START, START + 5] {
            let path = format!("/in/{}?lat=48.1&lon=11.5&timestamp={second}", phone.token);
            socket
                .write_all(format!("GET {path} HTTP/1.1\r\nHost: waypost\r\n\r\n").as_bytes())
                .await
                .unwrap();
            let mut answer = [0; 1024];
            let length = timeout(DEADLINE, socket.read(&mut answer)).await.expect("an answer").unwrap();
            let said = String::from_utf8_lossy(&answer[..length]);
            assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("\r\n\r\n"), "{said}");
            if second == START {
                let silent = timeout(SILENCE, socket.peek(&mut [0])).await;
                assert!(silent.is_err(), "the server hangs up on a phone that is silent");
            }
        }
        server.stop().await;
    });
}
