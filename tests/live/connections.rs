//! Who is heard of, told by the feed, in lists and to receivers; and not told, where only the server was away.

use serde_json::{Value, json};
use waypost_test_support::{TestStore, eventually, for_each_engine};

use crate::feed::subscribe;
use crate::receiver::Receiver;
use crate::server::{DEADLINE, Fleet, Server, text};
use crate::wire::{Wire, items};

for_each_engine!(
    silence_and_its_end_are_told_by_feed_list_and_webhook,
    a_restart_tells_nothing_and_forgets_nothing,
);

/// What is written of connections, oldest first, at least so many.
async fn told(fleet: &Fleet<'_>, many: usize) -> Vec<Value> {
    eventually(DEADLINE, async || {
        let path = "/v1/events?type=online,stale,offline&sort=sequence";
        let said = fleet.server.get(path, &fleet.dispatcher).await.ok(200);
        let found = said["data"].as_array().unwrap().clone();
        (found.len() >= many).then_some(found)
    })
    .await
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// All of it passes between two looks without being taken for a pause of the server.
async fn be_impatient(fleet: &Fleet<'_>) {
    let settings = json!({ "settings": { "staleAfterSeconds": 40, "offlineAfterSeconds": 80 } });
    fleet
        .server
        .put(&format!("/v1/organizations/organization/{}", fleet.id), &fleet.admin, settings)
        .await
        .ok(200);
}

/// Waits until the wheel has seen the clock as it is now.
async fn looked(server: &Server) {
    let looks = || server.context.live.meters().connection_looks.get();
    let before = looks();
    eventually(DEADLINE, async || looks() >= before + 2).await;
}

/// A vehicle is of a state in every list.
async fn is_everywhere(fleet: &Fleet<'_>, vehicle: &str, state: &str) {
    let get = async |path: String| fleet.server.get(&path, &fleet.dispatcher).await.ok(200);
    assert_eq!(get(format!("/v1/vehicles/{vehicle}")).await["live"]["state"], state);
    for path in ["/v1/positions", "/v1/vehicles"] {
        let found = get(format!("{path}?state={state}")).await;
        assert_eq!(found["data"].as_array().unwrap().len(), 1, "{path} {found}");
    }
}

async fn silence_and_its_end_are_told_by_feed_list_and_webhook(store: TestStore) {
    let set = |settings: &mut waypost::config::Settings| {
        settings.webhook_networks = vec!["127.0.0.0/8".parse().unwrap()];
    };
    let server = Server::start_with(&store, set).await;
    let (fleet, stranger) = (server.fleet("own").await, server.fleet("stranger").await);
    be_impatient(&fleet).await;
    let receiver = Receiver::start().await;
    let webhook = json!({ "url": receiver.url, "eventTypes": ["connection.*"] });
    server.post("/v1/webhooks", &fleet.admin, webhook).await.ok(201);
    let bus = fleet.bus("one").await;
    let mut foreign = Wire::feed(&server, &stranger.dispatcher).await;
    foreign.say(&subscribe("all")).await;
    foreign.hear("subscribed").await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe("all")).await;
    wire.hear("subscribed").await;
    let snapshot = wire.hear("snapshot").await;
    assert_eq!(snapshot["vehicles"][0]["state"], "offline", "it never reported");
    let begun = server.context.clock.now().as_millis();
    bus.report(&server, items(1, 1, begun - 60_000)).await;
    let delta = wire.hear("delta").await;
    assert_eq!(delta["vehicles"][0]["state"], "online", "{delta}");
    assert_eq!(delta["vehicles"][0]["settledThrough"], delta["vehicles"][0]["position"]["recordedAt"]);
    is_everywhere(&fleet, &bus.vehicle, "online").await;

    server.pass(40);
    let stale = wire.until(|said| said["type"] == "event").await;
    let event = &stale["event"];
    assert_eq!((&event["type"], &event["vehicleId"]), (&json!("stale"), &json!(bus.vehicle)));
    assert_eq!(
        (&event["vehicleName"], &event["revision"], &event["status"]),
        (&json!("one"), &json!(1), &json!("active"))
    );
    assert!(event["location"]["latitude"].is_number() && event["heardAt"].is_string(), "{event}");
    is_everywhere(&fleet, &bus.vehicle, "stale").await;
    let cursor = stale["cursor"].clone();
    // The vehicle is told as it is from then on too.
    wire.until(|said| said["type"] == "delta" && said["vehicles"][0]["state"] == "stale").await;
    drop(wire);
    server.pass(40);
    told(&fleet, 2).await;
    is_everywhere(&fleet, &bus.vehicle, "offline").await;
    bus.report(&server, items(2, 2, begun - 60_000)).await;
    let all = told(&fleet, 3).await;
    assert_eq!(kinds(&all), ["stale", "offline", "online"]);
    is_everywhere(&fleet, &bus.vehicle, "online").await;
    // What a reader missed meanwhile comes by its cursor, once.
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let mut asked = subscribe("all");
    asked["cursor"] = cursor;
    wire.say(&asked).await;
    assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
    for expected in &all[1..] {
        assert_eq!(wire.until(|said| said["type"] == "event").await["event"], *expected);
    }
    eventually(DEADLINE, async || receiver.got.borrow().len() >= 3).await;
    let got: Vec<(String, Value)> =
        receiver.got.borrow().iter().map(|got| (got.kind().to_owned(), got.body["data"].clone())).collect();
    let of_type = |event: &Value| (format!("connection.{}", text(&event["type"])), event.clone());
    assert_eq!(got, all.iter().map(of_type).collect::<Vec<_>>());
    // They are no geofence events, and narrowing to others leaves them out.
    assert_eq!(fleet.events().await.len(), 0);
    let other = server.get("/v1/events?type=entry,overspeed", &fleet.dispatcher).await.ok(200);
    assert_eq!(other["data"], json!([]));
    let theirs = server.get("/v1/events", &stranger.dispatcher).await.ok(200);
    assert_eq!(theirs["data"], json!([]));
    drop(foreign);
    server.stop().await;
}

async fn a_restart_tells_nothing_and_forgets_nothing(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("own").await;
    be_impatient(&fleet).await;
    let (silent, alive, gone) =
        (fleet.bus("silent").await, fleet.bus("alive").await, fleet.bus("gone").await);
    let begun = server.context.clock.now().as_millis();
    for bus in [&silent, &gone] {
        bus.report(&server, items(1, 1, begun - 60_000)).await;
    }
    server.pass(24);
    alive.report(&server, items(1, 1, begun)).await;
    server.send("DELETE", &format!("/v1/vehicles/{}", gone.vehicle), &fleet.admin, "").await.ok(204);
    server.pass(16);
    told(&fleet, 1).await;
    let (id, dispatcher) = (fleet.id.clone(), fleet.dispatcher.clone());
    server.stop().await;
    let server = Server::start(&store).await;
    let fleet = Fleet { server: &server, id, admin: String::new(), dispatcher };
    // Silence counts from its start.
    server.pass(20);
    looked(&server).await;
    is_everywhere(&fleet, &silent.vehicle, "stale").await;
    is_everywhere(&fleet, &alive.vehicle, "online").await;
    silent.report(&server, items(2, 2, begun)).await;
    let all = told(&fleet, 2).await;
    assert_eq!(kinds(&all), ["stale", "online"]);
    assert!(all.iter().all(|event| event["vehicleId"] == json!(silent.vehicle)), "{all:#?}");
    server.stop().await;
}
