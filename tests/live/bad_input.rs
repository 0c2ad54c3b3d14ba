//! Bad input, each with its documented answer; what should survive it does.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use waypost_client::socket::tracker;
use waypost_test_support::{TestStore, for_each_engine};

use crate::server::{Bus, Fleet, Server, stored_positions};
use crate::wire::{Closed, Wire, item, items};

for_each_engine!(
    frames_that_are_none_close_the_socket_and_name_the_place,
    frames_over_the_limits_close_the_socket,
    an_item_that_is_wrong_costs_that_item_only,
    the_same_items_over_http_get_the_same_answers,
    bodies_that_are_none_are_problems,
    unknown_revoked_and_disabled_trackers_are_refused,
    a_tracker_revoked_or_disabled_while_connected_is_closed,
    fences_that_cannot_be_are_refused_with_place_and_reason,
);

/// A moment ago, in milliseconds.
fn start(server: &Server) -> i64 {
    server.context.clock.now().as_millis() - 3_600_000
}

/// The server's answer to one message on a new socket.
async fn answer_to(server: &Server, bus: &Bus, message: Message) -> Closed {
    let mut wire = Wire::bus(server, bus).await;
    // The server may have hung up before all of it is sent.
    let _sent = wire.send(message).await;
    wire.closed().await
}

/// The tracker still reports.
async fn still_works(server: &Server, bus: &Bus) {
    let mut wire = Wire::bus(server, bus).await;
    wire.report(items(1, 2, start(server))).await;
    assert_eq!(wire.hear("ack").await["seq"], 2);
}

async fn frames_that_are_none_close_the_socket_and_name_the_place(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let (first, second) = (item(1, start(&server), 1.0), item(1, start(&server), 1.0));
    let unnumbered = json!({ "recordedAt": 1, "latitude": 1, "longitude": 1 });
    let positions = |items: Value| json!({ "type": "positions", "items": items }).to_string();
    for (frame, place) in [
        (r#"{"type":"positions","items":[{"seq":1,}]}"#.to_owned(), "line 1 column 39"),
        ("not json".to_owned(), "line 1 column 2"),
        ("[1]".to_owned(), "not a JSON object"),
        (r#"{"items":[]}"#.to_owned(), "missing field `type`"),
        (r#"{"type":"positions"}"#.to_owned(), "needs items"),
        (r#"{"type":"dance"}"#.to_owned(), "unknown type \"dance\""),
        (r#"{"type":"positions","items":[{"seq":1,"latitude":NaN}]}"#.to_owned(), "line 1 column 50"),
        (positions(json!([first.clone(), unnumbered])), "items/1/seq: a whole number is missing"),
        (positions(json!([first, second])), "items/1/seq: 1 does not follow 1"),
        (
            positions(json!([{ "seq": "one" }])),
            "items/0/seq: seq: must be a whole number, and is string \"one\"",
        ),
        (positions(json!({ "seq": 1 })), "items is not a list"),
    ] {
        let closed = answer_to(&server, &bus, Message::text(frame.as_str())).await;
        assert_eq!((closed.code, closed.word.as_str()), (4400, "malformedFrame"), "{frame}");
        assert!(closed.detail.contains(place), "{frame}: {}", closed.detail);
    }
    let closed = answer_to(&server, &bus, Message::binary(vec![1, 2, 3])).await;
    assert_eq!((closed.code, closed.detail.as_str()), (4400, "frames are JSON text, not binary"));
    let not_text = Message::Frame(Frame::message(vec![0xff, 0xfe], OpCode::Data(Data::Text), true));
    let closed = answer_to(&server, &bus, not_text).await;
    assert_eq!((closed.code, closed.word.as_str()), (1007, "invalidText"), "{}", closed.detail);
    assert_eq!(stored_positions(&store).await, 0);
    still_works(&server, &bus).await;
    server.stop().await;
}

async fn frames_over_the_limits_close_the_socket(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let megabyte = format!(r#"{{"type":"hello","bootId":"{}"}}"#, "x".repeat(1 << 20));
    let small = |count: usize| {
        let items: Vec<Value> = (0..count).map(|seq| json!({ "seq": seq })).collect();
        json!({ "type": "positions", "items": items }).to_string()
    };
    for (frame, detail) in [
        (megabyte, "a frame may have 262144 bytes"),
        (small(10_000), "a frame may have 500 items, this one has 10000"),
        (small(501), "a frame may have 500 items, this one has 501"),
    ] {
        let closed = answer_to(&server, &bus, Message::text(frame)).await;
        let wanted = Closed { code: 4413, word: "frameTooLarge".into(), detail: detail.into() };
        assert_eq!(closed, wanted);
    }
    // In parts that are each below the limit.
    let mut wire = Wire::bus(&server, &bus).await;
    let part = "x".repeat(100_000);
    for (first, last) in [(true, false), (false, false), (false, true)] {
        // The server may have hung up before the last one.
        let _sent = wire.part(&part, first, last).await;
    }
    assert_eq!(wire.closed().await.code, 4413);
    still_works(&server, &bus).await;
    server.stop().await;
}

/// Items that are wrong, each with its code and a part of the detail; all the others are right.
fn wrong_items(now: i64) -> Vec<(Value, &'static str, &'static str)> {
    let with = |member: &str, value: Value| {
        let mut item = item(0, now, 1.0);
        item[member] = value;
        item
    };
    let mut without = item(0, now, 1.0);
    without.as_object_mut().unwrap().remove("longitude");
    let mut nowhere = item(0, now, 0.0);
    nowhere["longitude"] = json!(0);
    vec![
        (
            with("latitude", json!("north")),
            "invalidItem",
            "latitude: must be a number, and is string \"north\"",
        ),
        (with("latitude", Value::Null), "invalidItem", "latitude: must be a number, and is null"),
        (with("ignition", json!(1)), "invalidItem", "ignition: must be true or false, and is integer `1`"),
        (with("fuel", json!({ "gallons": 3 })), "invalidItem", "fuel.gallons: unknown field `gallons`"),
        (without, "invalidItem", "longitude: is required: degrees east"),
        (with("latitude", json!(91)), "coordinatesOutOfRange", "within -90..90"),
        (with("longitude", json!(-180.5)), "coordinatesOutOfRange", "within -180..180"),
        (nowhere, "nullIsland", "0,0"),
        (with("recordedAt", json!("yesterday")), "invalidTime", "yesterday"),
        (with("recordedAt", json!("2026-01-01T00:00:00")), "invalidTime", "2026-01-01T00:00:00"),
        (with("recordedAt", json!(1.5)), "invalidItem", "recordedAt"),
        (with("headingDegrees", json!(361)), "numberOutOfRange", "heading"),
        (with("trackerId", json!("another")), "unknownTracker", "another"),
    ]
}

/// Right items around each wrong one, numbered from 1; the numbers of the wrong ones.
fn mixed(now: i64) -> (Vec<Value>, Vec<i64>) {
    let mut all = Vec::new();
    let mut wrong = Vec::new();
    for (item, ..) in wrong_items(now) {
        all.push(crate::wire::item(0, now + all.len() as i64 * 1000, 30.0));
        wrong.push(all.len() as i64 + 1);
        all.push(item);
    }
    for (seq, item) in (1..).zip(&mut all) {
        item["seq"] = json!(seq);
    }
    (all, wrong)
}

fn check_rejected(rejected: &Value, wrong: &[i64], now: i64) {
    let rejected = rejected.as_array().unwrap();
    assert_eq!(rejected.len(), wrong.len(), "{rejected:?}");
    for ((said, seq), (item, code, part)) in rejected.iter().zip(wrong).zip(wrong_items(now)) {
        assert_eq!((&said["seq"], &said["code"]), (&json!(seq), &json!(code)), "{item}: {said}");
        assert_eq!(said["index"], seq - 1);
        assert!(said["detail"].as_str().unwrap().contains(part), "{item}: {said}");
    }
}

async fn an_item_that_is_wrong_costs_that_item_only(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let mut wire = Wire::bus(&server, &bus).await;
    let now = start(&server);
    let (all, wrong) = mixed(now);
    let (last, right) = (all.len() as i64, (all.len() - wrong.len()) as i64);
    wire.report(all).await;
    let ack = wire.hear("ack").await;
    assert_eq!((&ack["seq"], &ack["stored"]), (&json!(last), &json!(right)), "{ack}");
    check_rejected(&ack["rejected"], &wrong, now);
    // The connection stays open: its own name is accepted, and a fix from the future is stored and never counts.
    let mut own = item(last + 1, now + 60_000, 30.0);
    own["trackerId"] = json!(bus.tracker);
    let mut unique = item(last + 2, now + 61_000, 30.0);
    unique["uniqueId"] = json!(bus.unique_id);
    let future = item(last + 3, now + 7_200_000, 31.0);
    wire.report(vec![own, unique, future]).await;
    let ack = wire.hear("ack").await;
    assert_eq!((&ack["stored"], &ack["rejected"]), (&json!(3), &json!([])), "{ack}");
    assert_eq!(stored_positions(&store).await, right + 3);
    let stored = waypost_test_support::stored_positions(&store.db).await.unwrap();
    assert_eq!(stored.iter().filter(|(_, position)| position.quarantine.is_some()).count(), 1);
    let live = server.get(&format!("/v1/vehicles/{}", bus.vehicle), &fleet.dispatcher).await.ok(200);
    assert_eq!(live["live"]["position"]["latitude"], 30.0, "{live}");
    server.stop().await;
}

async fn the_same_items_over_http_get_the_same_answers(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let now = start(&server);
    let (all, wrong) = mixed(now);
    let right = all.len() - wrong.len();
    let said = server.post("/v1/positions", &bus.token, json!({ "items": all })).await.ok(200);
    assert_eq!((&said["accepted"], &said["stored"]), (&json!(right), &json!(right)), "{said}");
    check_rejected(&said["rejected"], &wrong, now);
    let again = server.post("/v1/positions", &bus.token, json!({ "items": all })).await.ok(200);
    assert_eq!((&again["accepted"], &again["duplicates"]), (&json!(right), &json!(right)), "{again}");
    assert_eq!(stored_positions(&store).await, right as i64);
    server.stop().await;
}

async fn bodies_that_are_none_are_problems(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let send = async |body: String| server.send("POST", "/v1/positions", &bus.token, body).await;
    let problem = send(r#"{"items":[{"latitude":NaN}]}"#.into()).await.problem(400, "malformedJson");
    assert!(problem["detail"].as_str().unwrap().contains("column 23"), "{problem}");
    for (body, part) in [
        (json!({}), "items is missing"),
        (json!({ "items": 7 }), "items is not a list"),
        (json!({ "items": vec![json!({}); 501] }), "500"),
    ] {
        let problem = send(body.to_string()).await.problem(422, "validationFailed");
        assert_eq!(problem["errors"][0]["pointer"], "/items", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    }
    let large = json!({ "items": ["x".repeat(1 << 20)] }).to_string();
    send(large).await.problem(413, "payloadTooLarge");
    server.post("/v1/positions", "", json!({ "items": [] })).await.problem(401, "unauthenticated");
    server.post("/v1/positions", "wpt_unknown", json!({ "items": [] })).await.problem(401, "invalidToken");
    let said =
        server.post("/v1/positions", &bus.token, json!({ "items": items(1, 3, start(&server)) })).await;
    assert_eq!(said.ok(200)["stored"], 3);
    server.stop().await;
}

async fn set_status(fleet: &Fleet<'_>, bus: &Bus, status: &str) {
    let path = format!("/v1/trackers/{}", bus.tracker);
    fleet.server.put(&path, &fleet.admin, json!({ "status": status })).await.ok(200);
}

async fn unknown_revoked_and_disabled_trackers_are_refused(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let refused = async |token: &str, status: u16, code: &str| {
        let refused = Wire::tracker(&server, token).await.err().expect("refused at the upgrade");
        assert_eq!((refused.status, &refused.body["code"]), (status, &json!(code)));
        server.post("/v1/positions", token, json!({ "items": [] })).await.problem(status, code);
    };
    refused("wpt_unknown", 401, "invalidToken").await;
    // A credential, but not one that may report.
    refused(&fleet.dispatcher, 403, "forbidden").await;
    let rotated = server.post(&format!("/v1/trackers/{}/token", bus.tracker), &fleet.admin, json!({})).await;
    let renewed = Bus { token: crate::server::text(&rotated.ok(200)["token"]), ..bus.clone() };
    refused(&bus.token, 401, "invalidToken").await;
    still_works(&server, &renewed).await;
    set_status(&fleet, &bus, "disabled").await;
    refused(&renewed.token, 403, "trackerDisabled").await;
    set_status(&fleet, &bus, "active").await;
    still_works(&server, &renewed).await;
    // Clients that cannot set headers.
    let offered = tracker(&server.url, "").with_sub_protocol(format!("bearer.{}", renewed.token));
    let mut wire = Wire::open(offered).await.unwrap();
    wire.say(&json!({ "type": "hello" })).await;
    wire.hear("welcome").await;
    server.stop().await;
}

async fn a_tracker_revoked_or_disabled_while_connected_is_closed(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let connected = async |bus: &Bus| {
        let mut wire = Wire::bus(&server, bus).await;
        wire.say(&json!({ "type": "hello" })).await;
        wire.hear("welcome").await;
        wire
    };
    let mut wire = connected(&bus).await;
    set_status(&fleet, &bus, "disabled").await;
    let closed = wire.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4403, "trackerDisabled"));
    set_status(&fleet, &bus, "active").await;
    let mut wire = connected(&bus).await;
    server.post(&format!("/v1/trackers/{}/token", bus.tracker), &fleet.admin, json!({})).await.ok(200);
    let closed = wire.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4401, "credentialRevoked"));
    // A vehicle that was taken out of use accepts no more fixes.
    let other = fleet.bus("two").await;
    let mut wire = connected(&other).await;
    let path = format!("/v1/vehicles/{}", other.vehicle);
    assert_eq!(server.send("DELETE", &path, &fleet.admin, "").await.status, 204);
    // Without a word of the tracker's.
    let closed = wire.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4403, "vehicleOutOfUse"));
    assert!(closed.detail.contains("was deleted"), "{}", closed.detail);
    server.stop().await;
}

async fn fences_that_cannot_be_are_refused_with_place_and_reason(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let refused = async |coordinates: Value, place: &str, code: &str| {
        let body = json!({
            "type": "Feature", "properties": { "name": "odd" },
            "geometry": { "type": "MultiPolygon", "coordinates": coordinates },
        });
        let (kind, body) = ("application/geo+json", body.to_string().into_bytes());
        let said = server.send_as(kind, "POST", "/v1/geofences", &fleet.admin, body).await;
        let problem = said.problem(422, "validationFailed");
        let error = &problem["errors"][0];
        assert!(error["pointer"].as_str().unwrap().starts_with(place), "{problem}");
        assert_eq!(error["code"], code, "{problem}");
        assert!(!error["detail"].as_str().unwrap_or_default().is_empty(), "{problem}");
    };
    let square = |from: f64, size: f64| {
        json!([[
            [from, 1.0 + from],
            [from + size, 1.0 + from],
            [from + size, 1.0 + from + size],
            [from, 1.0 + from + size],
            [from, 1.0 + from]
        ]])
    };
    let bow_tie = json!([[[[0.0, 1.0], [0.1, 1.1], [0.1, 1.0], [0.0, 1.1], [0.0, 1.0]]]]);
    refused(bow_tie, "/geometry/coordinates/0/0", "selfIntersection").await;
    refused(json!([square(0.0, 0.1), square(0.02, 0.01)]), "/geometry/coordinates/1", "nestedPart").await;
    let listed = server.get("/v1/geofences", &fleet.dispatcher).await.ok(200);
    assert_eq!(listed["data"], json!([]));
    fleet.fence("plain").await;
    server.stop().await;
}
