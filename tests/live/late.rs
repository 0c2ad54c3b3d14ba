//! Late data and vehicles out of service, as trackers and dispatchers see them.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use waypost_test_support::{TestStore, for_each_engine};

use crate::feed::subscribe;
use crate::server::{Bus, Fleet, INSIDE, Server, text, until_clean};
use crate::wire::{Wire, crossings, item};

for_each_engine!(
    the_feed_is_told_what_late_fixes_put_right,
    in_any_order_the_same_events_are_left,
    a_vehicle_out_of_service_leaves_its_fences_and_begins_anew,
);

/// The active events of a bus, oldest first.
async fn active(fleet: &Fleet<'_>, bus: &Bus) -> Vec<Value> {
    let path = format!("/v1/geofence-events?vehicleId={}&sort=occurredAt&limit=200", bus.vehicle);
    fleet.server.get(&path, &fleet.dispatcher).await.ok(200)["data"].as_array().unwrap().clone()
}

async fn the_feed_is_told_what_late_fixes_put_right(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    fleet.fence("depot").await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe("all")).await;
    let cursor = wire.hear("subscribed").await["cursor"].clone();
    bus.cross(&server, 2, 2).await;
    bus.cross(&server, 5, 5).await;
    let is_event = |said: &Value| said["type"] == "event";
    let first = wire.until(is_event).await["event"].clone();
    assert_eq!((&first["origin"], &first["revision"]), (&json!("live"), &json!(1)));
    // It was inside before.
    bus.cross(&server, 3, 3).await;
    let retracted = wire.until(is_event).await["event"].clone();
    let expected = (&json!("retracted"), &json!(2), &json!("backfill"), &first["id"]);
    let told = (&retracted["status"], &retracted["revision"], &retracted["origin"], &retracted["id"]);
    assert_eq!(told, expected, "{retracted}");
    let found = wire.until(is_event).await["event"].clone();
    assert_eq!(
        (&found["status"], &found["type"], &found["origin"]),
        (&json!("active"), &json!("entry"), &json!("backfill"))
    );
    assert!(text(&found["occurredAt"]) < text(&first["occurredAt"]), "{found}");
    assert_eq!(active(&fleet, &bus).await, std::slice::from_ref(&found));
    // A client that resumes from the beginning gets each event as it is now, once.
    let mut again = Wire::feed(&server, &fleet.dispatcher).await;
    let mut resumed = subscribe("all");
    resumed["cursor"] = cursor;
    again.say(&resumed).await;
    let numbers = [again.until(is_event).await, again.until(is_event).await];
    assert_eq!(numbers.each_ref().map(|said| said["event"].clone()), [retracted, found]);
    server.stop().await;
}

async fn in_any_order_the_same_events_are_left(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (ordered, shuffled) = (fleet.bus("ordered").await, fleet.bus("shuffled").await);
    fleet.fence("a").await;
    fleet.fence("b").await;
    let all = crossings(1, 60);
    ordered.report(&server, all.clone()).await;
    // Records of one instant are listed by their ids, which differ between vehicles.
    let what = |events: Vec<Value>| -> BTreeSet<String> {
        let members = ["type", "geofenceId", "occurredAt", "cause", "location", "fix"];
        events.iter().map(|event| json!(members.map(|member| &event[member])).to_string()).collect()
    };
    let expected = what(active(&fleet, &ordered).await);
    assert_eq!(expected.len(), 120);
    let mut rng = StdRng::seed_from_u64(11);
    let mut mixed: Vec<Value> = all.iter().chain(&all[..20]).cloned().collect();
    mixed.shuffle(&mut rng);
    while !mixed.is_empty() {
        let some = rng.random_range(1..=9.min(mixed.len()));
        let mut items: Vec<Value> = mixed.drain(..some).collect();
        for (seq, item) in items.iter_mut().enumerate() {
            item["seq"] = json!(seq);
        }
        shuffled.report(&server, items).await;
    }
    until_clean(&store.db).await;
    assert_eq!(what(active(&fleet, &shuffled).await), expected);
    server.stop().await;
}

async fn a_vehicle_out_of_service_leaves_its_fences_and_begins_anew(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let fence = fleet.fence("depot").await;
    let path = format!("/v1/vehicles/{}", bus.vehicle);
    let inside_now = async |seq: i64| {
        bus.report(&server, vec![item(seq, server.context.clock.now().as_millis(), INSIDE)]).await;
    };
    let held = async || {
        let path = format!("/v1/geofence-events/geofence/{fence}/vehicles");
        server.get(&path, &fleet.dispatcher).await.ok(200)["data"].as_array().unwrap().len()
    };
    inside_now(1).await;
    assert_eq!(held().await, 1);
    server.pass(10);
    server.put(&path, &fleet.admin, json!({ "status": "inactive" })).await.ok(200);
    assert_eq!(held().await, 0, "told before the edit answers");
    server.pass(10);
    inside_now(2).await;
    server.pass(10);
    server.put(&path, &fleet.admin, json!({ "status": "active" })).await.ok(200);
    assert_eq!(held().await, 0, "where it is now nobody knows");
    server.pass(10);
    inside_now(3).await;
    server.pass(10);
    server.send("DELETE", &path, &fleet.admin, "").await.ok(204);
    let told = |event: &Value| (text(&event["type"]), text(&event["cause"]));
    let pairs =
        [("entry", "initial"), ("exit", "vehicleDeactivated")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let events: Vec<_> = active(&fleet, &bus).await.iter().map(told).collect();
    assert_eq!(events, [pairs.clone(), pairs].concat());
    let history = server.get(&format!("{path}/positions?quarantined=true"), &fleet.dispatcher).await.ok(200);
    let history: Vec<_> = history["data"].as_array().unwrap().iter().map(|fix| &fix["quarantine"]).collect();
    assert_eq!(history, [&Value::Null, &json!("outOfService"), &Value::Null]);
    server.stop().await;
}
