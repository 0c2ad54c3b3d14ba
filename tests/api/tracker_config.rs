//! The configuration sent to trackers: by a tracker's own socket, and by a system user's for a whole fleet.

use serde_json::{Value, json};

use crate::harness::{App, on_each_engine, text};
use crate::sockets::{hear, opened, say};

/// A vehicle with its tracker: the ids of both, and the tracker's token.
async fn bus(app: &App, token: &str, unique_id: &str, tracking: Value) -> (String, String, String) {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id }, "tracking": tracking });
    let made = app.post("/v1/vehicles", token, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["id"]), text(&made["tracker"]["token"]))
}

fn config(moving: u32, stopped: u32) -> Value {
    json!({ "intervalSeconds": moving, "stoppedIntervalSeconds": stopped })
}

/// The configuration as a frame; `tracker` names the tracker on a system user's socket.
fn told(moving: u32, stopped: u32, tracker: Value) -> Value {
    let mut frame = config(moving, stopped);
    frame["type"] = json!("config");
    frame.as_object_mut().unwrap().extend(tracker.as_object().unwrap().clone());
    frame
}

#[test]
fn a_tracker_is_told_what_its_vehicle_says_and_every_change() {
    on_each_engine(async |app| {
        let org = app.org("told").await;
        let (vehicle, tracker, token) = bus(&app, &org.org_admin, "imei-1", config(3, 60)).await;
        let (other, ..) = bus(&app, &org.org_admin, "imei-2", config(20, 200)).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        say(&mut socket, &json!({ "type": "hello" })).await;
        assert_eq!(hear(&mut socket).await["config"], config(3, 60));
        let path = format!("/v1/vehicles/{vehicle}");
        app.put(&path, &org.org_admin, json!({ "tracking": { "intervalSeconds": 7 } })).await.ok(200);
        assert_eq!(hear(&mut socket).await, told(7, 60, json!({})));
        // A change that does not concern the tracker is not sent, nor is the configuration of another vehicle's
        // trackers.
        app.put(&path, &org.org_admin, json!({ "name": "Other" })).await.ok(200);
        let elsewhere = json!({ "tracking": { "intervalSeconds": 21 } });
        app.put(&format!("/v1/vehicles/{other}"), &org.org_admin, elsewhere).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "tracking": { "stoppedIntervalSeconds": 61 } })).await.ok(200);
        assert_eq!(hear(&mut socket).await, told(7, 61, json!({})));

        // It is installed in another vehicle from now on: its socket has to be opened again.
        let moved = json!({ "vehicleId": other });
        app.put(&format!("/v1/trackers/{tracker}"), &org.org_admin, moved).await.ok(200);
        assert_eq!(hear(&mut socket).await, told(21, 200, json!({})));
        let why = hear(&mut socket).await;
        assert_eq!(why["code"], "trackerChanged");
        assert!(why["detail"].as_str().unwrap().contains("moved to or from a vehicle"), "{why}");
        assert_eq!(hear(&mut socket).await["closed"], 1012);
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        say(&mut socket, &json!({ "type": "hello" })).await;
        assert_eq!(hear(&mut socket).await["config"], config(21, 200));
        app
    });
}

#[test]
fn a_tracker_in_no_vehicle_is_told_the_defaults() {
    on_each_engine(async |app| {
        let org = app.org("loose").await;
        let made = app.post("/v1/trackers", &org.org_admin, json!({ "uniqueId": "imei-1" })).await.ok(201);
        let mut socket = opened(&app, "/v1/ws/tracker", &text(&made["token"])).await.unwrap();
        say(&mut socket, &json!({ "type": "hello" })).await;
        assert_eq!(hear(&mut socket).await["config"], config(10, 300));
        app
    });
}

#[test]
fn a_fleet_that_said_hello_is_told_each_tracker_with_its_first_item_and_after_a_change() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (vehicle, one, _) = bus(&app, &org.org_admin, "imei-1", config(3, 60)).await;
        let (_, two, _) = bus(&app, &org.org_admin, "imei-2", config(4, 60)).await;
        let (_, program) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &program).await.unwrap();
        let report = |seq: u32| {
            let item = |seq: u32, unique_id: &str| {
                json!({ "seq": seq, "uniqueId": unique_id, "latitude": 30.25, "longitude": -97.75,
                    "recordedAt": format!("2026-05-01T11:{seq:02}:00Z") })
            };
            json!({ "type": "positions", "items": [item(seq, "imei-1"), item(seq + 1, "imei-2")] })
        };
        let of = |tracker: &str, unique_id: &str| json!({ "trackerId": tracker, "uniqueId": unique_id });
        // A system user's socket without a hello gets answers to its items only.
        say(&mut socket, &report(1)).await;
        assert_eq!(hear(&mut socket).await["type"], "ack");
        say(&mut socket, &json!({ "type": "hello" })).await;
        let welcome = hear(&mut socket).await;
        assert_eq!((&welcome["type"], welcome.get("config")), (&json!("welcome"), None), "{welcome}");
        say(&mut socket, &report(3)).await;
        let mut configs = [hear(&mut socket).await, hear(&mut socket).await];
        configs.sort_by_key(|config| config["uniqueId"].to_string());
        assert_eq!(configs, [told(3, 60, of(&one, "imei-1")), told(4, 60, of(&two, "imei-2"))]);
        assert_eq!(hear(&mut socket).await["type"], "ack");
        let tracking = json!({ "tracking": { "intervalSeconds": 5 } });
        app.put(&format!("/v1/vehicles/{vehicle}"), &org.org_admin, tracking).await.ok(200);
        say(&mut socket, &report(5)).await;
        assert_eq!(hear(&mut socket).await, told(5, 60, of(&one, "imei-1")));
        assert_eq!(hear(&mut socket).await["type"], "ack");
        say(&mut socket, &report(7)).await;
        assert_eq!(hear(&mut socket).await["type"], "ack");
        app
    });
}
