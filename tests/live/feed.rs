//! The live feed: who may open it, what a subscription receives, and how it can be narrowed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use waypost::config::AllowedOrigin;
use waypost::domain::account::Role;
use waypost_client::socket::feed;
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{INSIDE, OUTSIDE, Server, text};
use crate::wire::{Wire, crossings};

for_each_engine!(
    a_subscription_is_told_everything,
    a_browser_signs_in_by_ticket,
    a_session_that_ends_and_a_sign_in_that_never_comes_close_the_socket,
    pages_of_other_sites_are_refused,
    what_is_no_subscription_is_refused,
    a_subscription_is_narrowed_to_vehicles_and_fences,
    a_box_narrows_positions_and_says_who_left_it,
    organizations_see_nothing_of_each_other,
    deltas_are_coalesced_and_events_are_not,
);

/// A subscription to everything, with no wait between deltas.
pub(crate) fn subscribe(id: &str) -> Value {
    json!({ "type": "subscribe", "id": id, "topics": ["positions", "occupancy", "events"], "minIntervalMs": 0 })
}

fn subscribe_to(id: &str, topics: Value, filter: Value) -> Value {
    json!({ "type": "subscribe", "id": id, "topics": topics, "filter": filter, "minIntervalMs": 0 })
}

/// Waits until a subscription is confirmed: its `subscribed` and its one-part snapshot.
pub(crate) async fn begin(wire: &mut Wire, subscription: &Value) -> (Value, Value) {
    wire.say(subscription).await;
    let subscribed = wire.hear("subscribed").await;
    assert_eq!(subscribed["id"], subscription["id"]);
    let snapshot = wire.hear("snapshot").await;
    assert_eq!((&snapshot["part"], &snapshot["last"]), (&json!(0), &json!(true)));
    (subscribed, snapshot)
}

/// Whether a delta says that a vehicle went in, or out.
pub(crate) fn crossed(said: &Value, way: &str) -> bool {
    said["type"] == "delta" && said["occupancy"][way] != json!([])
}

fn ids(list: &Value, member: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| text(&entry[member])).collect()
}

async fn a_subscription_is_told_everything(store: TestStore) {
    let often = Duration::from_millis(250);
    let server = Server::start_with(&store, |settings| settings.feed_heartbeat_interval = often).await;
    let fleet = server.fleet("org").await;
    let (bus, fence) = (fleet.bus("one").await, fleet.fence("depot").await);
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let (subscribed, snapshot) = begin(&mut wire, &subscribe("all")).await;
    assert_eq!(subscribed["mode"], "snapshot");
    assert_eq!(ids(&snapshot["vehicles"], "vehicleId"), [bus.vehicle.as_str()]);
    assert_eq!((&snapshot["vehicles"][0]["position"], &snapshot["occupancy"]), (&Value::Null, &json!([])));
    assert_eq!(snapshot["vehicles"][0]["motion"], "unknown");
    bus.cross(&server, 1, 1).await;
    let event = wire.until(|said| said["type"] == "event").await;
    assert_eq!((&event["id"], &event["event"]["type"]), (&json!("all"), &json!("entry")), "{event}");
    assert_eq!(event["event"]["geofenceId"], fence);
    let listed = server.get("/v1/geofence-events", &fleet.dispatcher).await.ok(200);
    for member in ["id", "visitId", "occurredAt", "revision", "vehicleId"] {
        assert_eq!(event["event"][member], listed["data"][0][member], "{member}: {event}");
    }
    let delta = wire.until(|said| crossed(said, "enter")).await;
    assert_eq!(delta["vehicles"][0]["position"]["latitude"], INSIDE, "{delta}");
    assert_eq!(delta["vehicles"][0]["durable"], true);
    assert_eq!(delta["vehicles"][0]["geofenceIds"], json!([fence]));
    assert_eq!(delta["occupancy"]["enter"][0]["vehicleId"], bus.vehicle);
    bus.cross(&server, 2, 2).await;
    let delta = wire.until(|said| crossed(said, "leave")).await;
    assert_eq!(delta["occupancy"]["leave"], json!([{ "geofenceId": fence, "vehicleId": bus.vehicle }]));
    assert_eq!(delta["vehicles"][0]["motion"], "moving", "{delta}");
    // Answering pings keeps it open; the heartbeat carries the cursor to go on from.
    let exit = &fleet.events().await[1];
    let heartbeat = wire.until(|said| said["type"] == "heartbeat").await;
    let mut again = subscribe("all");
    again["cursor"] = heartbeat["cursors"]["all"].clone();
    wire.say(&again).await;
    assert_eq!(wire.until(|said| said["type"] == "subscribed").await["mode"], "resumed");
    bus.cross(&server, 3, 3).await;
    let next = wire.until(|said| said["type"] == "event").await;
    assert!(next["event"]["id"] != exit.as_str() && next["event"]["type"] == "entry", "{next}");
    // A page's scripts cannot send ping frames.
    wire.say(&json!({ "type": "ping" })).await;
    let pong = wire.until(|said| said["type"] == "pong").await;
    assert!(pong["serverTime"].is_string(), "{pong}");

    wire.say(&json!({ "type": "unsubscribe", "id": "all" })).await;
    wire.until(|said| said["type"] == "heartbeat" && said["cursors"] == json!({})).await;
    server.stop().await;
}

async fn unsigned(server: &Server) -> Wire {
    Wire::feed(server, "").await
}

async fn a_browser_signs_in_by_ticket(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    fleet.bus("one").await;
    let ticket = async || {
        let said = server.post("/v1/auth/ws-ticket", &fleet.dispatcher, json!({})).await;
        text(&said.ok(201)["ticket"])
    };
    let authenticate = |ticket: &str| json!({ "type": "authenticate", "ticket": ticket });
    let first = ticket().await;
    let mut wire = unsigned(&server).await;
    wire.send(Message::Ping("".into())).await.unwrap();
    wire.say(&authenticate(&first)).await;
    begin(&mut wire, &subscribe("all")).await;
    let late = ticket().await;
    server.pass(31);
    for refused in [authenticate(&first), authenticate(&late), authenticate("wpw_unknown"), subscribe("all")]
    {
        let mut wire = unsigned(&server).await;
        wire.say(&refused).await;
        let closed = wire.closed().await;
        assert_eq!((closed.code, closed.word.as_str()), (4401, "unauthenticated"), "{refused}");
    }
    let mut wire = unsigned(&server).await;
    wire.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(wire.closed().await.code, 4400);
    let refused = Wire::open(feed(&server.url, "nonsense")).await.err().unwrap();
    assert_eq!((refused.status, &refused.body["code"]), (401, &json!("unauthenticated")));
    server.stop().await;
}

async fn a_session_that_ends_and_a_sign_in_that_never_comes_close_the_socket(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (token, refresh) = server.sign_in(&fleet.id, Role::Dispatcher).await;
    let mut leaving = Wire::feed(&server, &token).await;
    let mut staying = Wire::feed(&server, &fleet.dispatcher).await;
    let mut never = unsigned(&server).await;
    server.post("/v1/auth/logout", "", json!({ "refreshToken": refresh })).await.ok(204);
    let closed = leaving.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4401, "sessionEnded"));
    let closed = never.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4408, "timeout"));
    begin(&mut staying, &subscribe("all")).await;
    server.stop().await;
}

async fn pages_of_other_sites_are_refused(store: TestStore) {
    let server = Server::start_with(&store, |settings| {
        settings.allowed_origins = vec![AllowedOrigin::new("https://console.example.org").unwrap()];
        settings.public_url = Some("https://waypost.example.org/".to_owned());
    })
    .await;
    let open = async |origin: &str| Wire::open(feed(&server.url, "").with_header("origin", origin)).await;
    for origin in [server.url.as_str(), "https://console.example.org", "https://waypost.example.org"] {
        assert!(open(origin).await.is_ok(), "{origin}");
    }
    for origin in
        ["https://evil.example.org", "null", "https://console.example.org.evil.org", "http://127.0.0.1"]
    {
        let refused = open(origin).await.err().expect(origin);
        assert_eq!((refused.status, &refused.body["code"]), (403, &json!("originNotAllowed")));
    }
    server.stop().await;
}

async fn what_is_no_subscription_is_refused(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let other = server.fleet("other").await;
    for (member, value, code, part) in [
        ("id", json!(""), "invalidSubscription", "id"),
        ("minIntervalMs", json!(60_001), "invalidSubscription", "minIntervalMs"),
        ("filter", json!({ "bbox": [0, 91, 1, 92] }), "invalidSubscription", "bbox"),
        ("filter", json!({ "organizationId": other.id }), "notFound", "organizationId"),
    ] {
        let mut asked = subscribe("a");
        asked[member] = value;
        wire.say(&asked).await;
        let error = wire.hear("error").await;
        assert_eq!(error["code"], code, "{error}");
        assert!(error["detail"].as_str().unwrap().contains(part), "{error}");
    }
    for (frame, code, pointer, detail) in [
        (r#"{"type":"dance"}"#, "invalidMessage", "/type", "type: must be one of authenticate,"),
        (r#"{"topics":["events"]}"#, "invalidMessage", "/type", "type: is required"),
        ("[]", "invalidMessage", "", "the message must be an object"),
        (
            r#"{"type":"subscribe","id":"a","topics":["gossip"]}"#,
            "invalidSubscription",
            "/topics",
            "topics: must be a list of topics: [0] must be one of positions,",
        ),
        (
            r#"{"type":"subscribe","id":"a","topics":[],"filter":{"vehicles":[]}}"#,
            "invalidSubscription",
            "/filter/vehicles",
            "filter.vehicles: is not known; did you mean vehicleIds?",
        ),
    ] {
        wire.text(frame).await;
        let error = wire.hear("error").await;
        assert_eq!(
            (&error["code"], &error["errors"][0]["pointer"]),
            (&json!(code), &json!(pointer)),
            "{error}"
        );
        assert!(error["detail"].as_str().unwrap().contains(detail), "{frame}: {error}");
    }
    begin(&mut wire, &subscribe("still works")).await;
    wire.text("{").await;
    let closed = wire.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4400, "malformedFrame"));
    assert!(closed.detail.contains("line 1"), "{}", closed.detail);
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.text(&" ".repeat(70_000)).await;
    assert_eq!(wire.closed().await.code, 4413);
    server.stop().await;
}

async fn a_subscription_is_narrowed_to_vehicles_and_fences(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (one, two) = (fleet.bus("one").await, fleet.bus("two").await);
    let (depot, yard) = (fleet.fence("depot").await, fleet.fence("yard").await);
    two.cross(&server, 1, 1).await;
    let topics = json!(["positions", "occupancy", "events"]);
    let filter = json!({ "vehicleIds": [two.vehicle], "geofenceIds": [yard] });
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let (_, snapshot) = begin(&mut wire, &subscribe_to("narrow", topics, filter)).await;
    assert_eq!(ids(&snapshot["vehicles"], "vehicleId"), [two.vehicle.as_str()]);
    assert_eq!(ids(&snapshot["occupancy"], "geofenceId"), [yard.as_str()]);
    // Of the two vehicles' eight events, only those of the second at the yard are sent.
    one.cross(&server, 1, 2).await;
    two.cross(&server, 2, 3).await;
    let mut events = Vec::new();
    while events.len() < 2 {
        let said = wire.next().await.unwrap();
        match said["type"].as_str().unwrap() {
            "event" => events.push((text(&said["event"]["vehicleId"]), text(&said["event"]["geofenceId"]))),
            "delta" => {
                assert!(ids(&said["vehicles"], "vehicleId").iter().all(|id| *id == two.vehicle), "{said}");
                assert!(!said.to_string().contains(&one.vehicle), "{said}");
                for way in ["enter", "leave"] {
                    let fences = ids(&said["occupancy"][way], "geofenceId");
                    assert!(fences.iter().all(|fence| *fence == yard && *fence != depot), "{said}");
                }
            }
            other => assert_eq!(other, "heartbeat"),
        }
    }
    assert_eq!(events, vec![(two.vehicle.clone(), yard.clone()); 2]);
    server.stop().await;
}

async fn a_box_narrows_positions_and_says_who_left_it(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let around = |latitude: f64| json!({ "bbox": [-98.0, latitude - 0.01, -97.0, latitude + 0.01] });
    bus.cross(&server, 1, 1).await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let positions = json!(["positions"]);
    let (_, inside) = begin(&mut wire, &subscribe_to("inside", positions.clone(), around(INSIDE))).await;
    let (_, outside) = begin(&mut wire, &subscribe_to("outside", positions, around(OUTSIDE))).await;
    assert_eq!(ids(&inside["vehicles"], "vehicleId"), [bus.vehicle.as_str()]);
    assert_eq!(outside["vehicles"], json!([]));
    for (seq, leaves, enters) in [(2, "inside", "outside"), (3, "outside", "inside")] {
        bus.cross(&server, seq, seq).await;
        let deltas = [wire.hear("delta").await, wire.hear("delta").await];
        let of = |id: &str| deltas.iter().find(|delta| delta["id"] == id).unwrap();
        assert_eq!(of(leaves)["removes"], json!([bus.vehicle]), "{deltas:?}");
        assert_eq!(of(leaves)["vehicles"], json!([]));
        assert_eq!(ids(&of(enters)["vehicles"], "vehicleId"), [bus.vehicle.as_str()]);
        assert_eq!(of(enters)["removes"], Value::Null);
    }
    server.stop().await;
}

async fn organizations_see_nothing_of_each_other(store: TestStore) {
    let server = Server::start(&store).await;
    let (red, blue) = (server.fleet("red").await, server.fleet("blue").await);
    let (red_bus, blue_bus) = (red.bus("one").await, blue.bus("one").await);
    let (red_fence, blue_fence) = (red.fence("depot").await, blue.fence("depot").await);
    let mut of_blue = Wire::feed(&server, &blue.dispatcher).await;
    let mut nosy = subscribe("all");
    nosy["filter"] = json!({ "vehicleIds": [red_bus.vehicle, blue_bus.vehicle],
        "geofenceIds": [red_fence, blue_fence] });
    let (_, snapshot) = begin(&mut of_blue, &nosy).await;
    assert_eq!(ids(&snapshot["vehicles"], "vehicleId"), [blue_bus.vehicle.as_str()]);
    let mut of_root = Wire::feed(&server, &server.root).await;
    let (_, snapshot) = begin(&mut of_root, &subscribe("all")).await;
    assert_eq!(snapshot["vehicles"].as_array().unwrap().len(), 2);
    let mut red_only = subscribe("red");
    red_only["filter"] = json!({ "organizationId": red.id });
    let (_, snapshot) = begin(&mut of_root, &red_only).await;
    assert_eq!(ids(&snapshot["vehicles"], "vehicleId"), [red_bus.vehicle.as_str()]);
    red_bus.cross(&server, 1, 1).await;
    blue_bus.cross(&server, 1, 1).await;
    // What comes first on blue's socket is blue's.
    let first = of_blue.next().await.unwrap().to_string();
    assert!(first.contains(&blue_bus.vehicle) && !first.contains(&red_bus.vehicle), "{first}");
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let event = of_root.until(|said| said["type"] == "event").await;
        seen.push((text(&event["id"]), text(&event["event"]["vehicleId"])));
    }
    seen.sort();
    let mut wanted = vec![
        ("all".to_owned(), red_bus.vehicle.clone()),
        ("all".to_owned(), blue_bus.vehicle.clone()),
        ("red".to_owned(), red_bus.vehicle.clone()),
    ];
    wanted.sort();
    assert_eq!(seen, wanted);
    server.stop().await;
}

async fn deltas_are_coalesced_and_events_are_not(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    fleet.fence("depot").await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    let mut rarely = subscribe("rarely");
    rarely["minIntervalMs"] = json!(60_000);
    begin(&mut wire, &rarely).await;
    bus.cross(&server, 1, 1).await;
    let mut events = 0;
    while wire.until(|said| said["type"] != "heartbeat").await["type"] != "delta" {
        events += 1;
    }
    for seq in 2..=10 {
        bus.cross(&server, seq, seq).await;
    }
    // A minute has to pass before the next delta; the events come at once. The answer to the second subscription
    // comes after everything the server had to send before.
    wire.say(&subscribe("now")).await;
    loop {
        let said = wire.next().await.unwrap();
        match said["type"].as_str().unwrap() {
            "event" => events += i64::from(said["id"] == "rarely"),
            "snapshot" => break assert_eq!(said["vehicles"][0]["position"]["latitude"], OUTSIDE),
            "subscribed" | "heartbeat" => {}
            other => panic!("{other} before its time: {said}"),
        }
    }
    while events < 10 {
        let event = wire.until(|said| said["type"] == "event").await;
        events += i64::from(event["id"] == "rarely");
    }
    // Many fixes in one commit: the vehicle is sent once, in its final state.
    bus.report(&server, crossings(11, 60)).await;
    let delta = wire.until(|said| said["type"] == "delta").await;
    assert_eq!((&delta["id"], delta["vehicles"].as_array().unwrap().len()), (&json!("now"), 1));
    assert_eq!(delta["vehicles"][0]["position"]["latitude"], OUTSIDE);
    assert_eq!(delta["occupancy"], json!({ "enter": [], "leave": [] }));
    server.stop().await;
}
