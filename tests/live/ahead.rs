//! Positions that are sent before their commit, and taken back if they are not stored.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::{TestStore, for_each_engine};

use crate::feed::{begin, crossed, subscribe};
use crate::server::{DEADLINE, INSIDE, OUTSIDE, Server};
use crate::tracker::Stuck;
use crate::wire::{Wire, crossings};

for_each_engine!(
    a_position_is_told_before_its_commit_and_events_after,
    what_was_told_and_not_stored_is_taken_back,
);

async fn a_position_is_told_before_its_commit_and_events_after(store: TestStore) {
    // No commit is given up while the lock is held.
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = DEADLINE;
        settings.statement_timeout = DEADLINE;
    })
    .await;
    let fleet = server.fleet("org").await;
    let (bus, fence) = (fleet.bus("one").await, fleet.fence("depot").await);
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    begin(&mut wire, &subscribe("all")).await;
    let stuck = Stuck::hold(&store).await;
    let mut tracker = Wire::bus(&server, &bus).await;
    tracker.report(crossings(1, 1)).await;
    let delta = wire.hear("delta").await;
    let told = &delta["vehicles"][0];
    assert_eq!((&told["vehicleId"], &told["durable"]), (&json!(bus.vehicle), &json!(false)), "{delta}");
    assert_eq!((&told["position"]["latitude"], &told["geofenceIds"]), (&json!(INSIDE), &Value::Null));
    assert_eq!(delta["occupancy"], json!({ "enter": [], "leave": [] }));
    // A dispatcher who begins now sees it too; a query of /v1 does not.
    let mut late = Wire::feed(&server, &fleet.dispatcher).await;
    let (_, snapshot) = begin(&mut late, &subscribe("late")).await;
    let shown = &snapshot["vehicles"][0];
    assert_eq!((&shown["position"]["latitude"], &shown["durable"]), (&json!(INSIDE), &json!(false)));
    assert_eq!((&shown["geofenceIds"], &snapshot["occupancy"]), (&json!([]), &json!([])));
    let path = format!("/v1/geofence-events/geofence/{fence}/vehicles");
    assert_eq!(server.get(&path, &fleet.dispatcher).await.ok(200)["data"], json!([]));
    stuck.release().await;
    // Nothing but the position came before this.
    assert_eq!(wire.hear("event").await["event"]["type"], "entry");
    let delta = wire.hear("delta").await;
    assert_eq!((&delta["vehicles"][0]["durable"], crossed(&delta, "enter")), (&json!(true), true), "{delta}");
    assert_eq!(delta["vehicles"][0]["geofenceIds"], json!([fence]));
    server.stop().await;
}

async fn what_was_told_and_not_stored_is_taken_back(store: TestStore) {
    let soon = Duration::from_millis(300);
    let server = Server::start_with(&store, |settings| settings.commit_timeout = soon).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    bus.cross(&server, 1, 1).await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    begin(&mut wire, &subscribe("all")).await;
    let stuck = Stuck::hold(&store).await;
    let mut tracker = Wire::bus(&server, &bus).await;
    tracker.report(crossings(2, 2)).await;
    let delta = wire.hear("delta").await;
    assert_eq!(delta["vehicles"][0]["position"]["latitude"], OUTSIDE, "{delta}");
    assert_eq!(wire.hear("status").await["storing"], false);
    tracker.hear("retry").await;
    // Meanwhile later fixes are shown, whatever has to be sent again first.
    tracker.report(crossings(3, 3)).await;
    let further = wire.hear("delta").await["vehicles"][0].clone();
    assert_eq!((&further["position"]["latitude"], &further["durable"]), (&json!(INSIDE), &json!(false)));
    stuck.release().await;
    let is_stored = |said: &Value| said["type"] == "delta" && said["vehicles"][0]["durable"] == true;
    let (mut truth, mut storing) = (Value::Null, false);
    while truth.is_null() || !storing {
        let said = wire.until(|said| is_stored(said) || said["type"] == "status").await;
        match said["type"] == "status" {
            true => storing = said["storing"] == true,
            false => truth = said["vehicles"][0].clone(),
        }
    }
    assert_eq!(truth["position"]["latitude"], INSIDE);
    assert!(truth["position"]["recordedAt"].as_str() < further["position"]["recordedAt"].as_str());
    // And it is sent again, and stays.
    tracker.report(crossings(2, 2)).await;
    let delta = wire.hear("delta").await;
    assert_eq!(delta["vehicles"][0]["position"]["latitude"], OUTSIDE, "{delta}");
    tracker.hear("ack").await;
    server.stop().await;
}
