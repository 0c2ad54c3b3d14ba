//! Trackers and their installations.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{on_each_engine, on_postgres, text, waits_for_first, with_app};

#[test]
fn a_token_is_shown_once() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let said = app.post("/v1/trackers", &org.org_admin, json!({ "uniqueId": "imei-1" })).await;
        let made = said.ok(201);
        let path = text(&json!(said.header("location")));
        assert!(text(&made["token"]).starts_with("wpt_"));
        let read = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((read.get("token"), &read["vehicleId"]), (None, &Value::Null));
        let listed = app.get("/v1/trackers", &org.viewer).await;
        assert!(!String::from_utf8_lossy(&listed.bytes).contains("token"));
        let rotated = app.post(&format!("{path}/token"), &org.org_admin, json!(null)).await.ok(200);
        assert_ne!(rotated["token"], made["token"]);
        app.post(&format!("{path}/token"), &org.dispatcher, json!(null)).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn unique_ids_are_unique_on_the_platform_among_those_not_deleted() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let body = json!({ "uniqueId": "imei-1" });
        let made = app.post("/v1/trackers", &org.org_admin, body.clone()).await.ok(201);
        let foreign =
            app.post("/v1/trackers", &other.org_admin, body.clone()).await.problem(409, "uniqueIdTaken");
        let own = app.post("/v1/trackers", &org.org_admin, body.clone()).await.problem(409, "uniqueIdTaken");
        // It says what to do, and not whose it is.
        let told = text(&own["detail"]);
        assert!(told.contains("GET /v1/trackers?q=") && told.contains("operator"), "{told}");
        assert_eq!(foreign["detail"], told);
        let with_vehicle = json!({ "name": "x", "tracker": { "uniqueId": "imei-1" } });
        app.post("/v1/vehicles", &other.org_admin, with_vehicle).await.problem(409, "uniqueIdTaken");
        let left = app.get("/v1/vehicles", &other.viewer).await.ok(200);
        assert_eq!(left["data"], json!([]), "the vehicle was not made either");
        app.delete(&format!("/v1/trackers/{}", text(&made["id"])), &org.org_admin).await.ok(204);
        app.post("/v1/trackers", &other.org_admin, body).await.ok(201);
        app
    });
}

#[test]
fn a_tracker_moves_and_its_history_stays() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let vehicle = async |name: &str| {
            let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201);
            text(&made["id"])
        };
        let (first, second) = (vehicle("first").await, vehicle("second").await);
        let body = json!({ "uniqueId": "imei-1", "vehicleId": first });
        let said = app.post("/v1/trackers", &org.org_admin, body).await;
        let path = text(&json!(said.header("location")));
        assert_eq!(said.ok(201)["installations"], json!([{ "vehicleId": first }]), "open at both ends");
        let tracking = app.get(&format!("/v1/vehicles/{first}"), &org.viewer).await.ok(200);
        assert_eq!(tracking["tracking"]["trackerId"], said.body["id"]);
        let moved = app.put(&path, &org.org_admin, json!({ "vehicleId": second })).await.ok(200);
        let stays = moved["installations"].as_array().unwrap();
        assert_eq!((&stays[0]["to"], &stays[1]["vehicleId"]), (&stays[1]["from"], &json!(second)));
        let in_second = app.get(&format!("/v1/trackers?vehicleId={second}"), &org.viewer).await.ok(200);
        assert_eq!(in_second["pagination"]["totalItems"], 1);
        app.put(&path, &org.org_admin, moved.clone()).await.ok(200);
        app.delete(&format!("/v1/vehicles/{second}"), &org.org_admin).await.ok(204);
        let left = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(left["vehicleId"], Value::Null);
        assert_eq!(left["installations"].as_array().unwrap().len(), 2);
        let said = app.put(&path, &org.org_admin, json!({ "vehicleId": second })).await;
        said.problem(422, "validationFailed");
        app
    });
}

#[test]
fn what_was_planned_for_a_tracker_ends_with_a_move_and_with_its_vehicle() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let vehicle = async |name: &str| {
            let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201);
            text(&made["id"])
        };
        let (first, second, third) =
            (vehicle("first").await, vehicle("second").await, vehicle("third").await);
        let (soon, later) = ("2026-05-02T12:00:00.000Z", "2026-05-03T12:00:00.000Z");
        let planned = async |unique_id: &str, installations: Value| {
            let body = json!({ "uniqueId": unique_id, "installations": installations });
            let said = app.post("/v1/trackers", &org.org_admin, body).await;
            said.ok(201);
            text(&json!(said.header("location")))
        };
        let stays = json!([{ "vehicleId": first, "to": soon }, { "vehicleId": second, "from": later }]);
        let moved = planned("moved", stays.clone()).await;
        let left = planned("left", stays).await;
        let out = planned("out", json!([{ "vehicleId": second, "from": later }])).await;
        app.put(&moved, &org.org_admin, json!({ "vehicleId": third })).await.ok(200);
        app.put(&out, &org.org_admin, json!({ "vehicleId": null })).await.ok(200);
        for gone in [&first, &second] {
            app.delete(&format!("/v1/vehicles/{gone}"), &org.org_admin).await.ok(204);
        }
        // Whatever happened, it can be changed.
        for (path, now, past) in [(&moved, Some(&third), 1), (&left, None, 1), (&out, None, 0)] {
            let changed = app.put(path, &org.org_admin, json!({ "model": "x" })).await.ok(200);
            assert_eq!(changed["vehicleId"], json!(now), "{changed}");
            let stays = changed["installations"].as_array().unwrap();
            assert_eq!(stays.len(), past + usize::from(now.is_some()), "{changed}");
            assert!(stays.iter().take(past).all(|stay| text(&stay["to"]).as_str() < soon), "{changed}");
        }
        app
    });
}

#[test]
fn a_tracker_sits_only_in_vehicles_of_its_organization() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("rival").await);
        let made = app.post("/v1/vehicles", &other.org_admin, json!({ "name": "x" })).await.ok(201);
        for vehicle in [made["id"].clone(), json!("0190a000-0000-7000-8000-000000000000")] {
            let body = json!({ "uniqueId": "imei-1", "vehicleId": vehicle });
            let said = app.post("/v1/trackers", &org.org_admin, body).await;
            said.problem(422, "validationFailed");
            let body =
                json!({ "uniqueId": "imei-1", "installations": [{ "vehicleId": vehicle, "from": "2026" }] });
            let said = app.post("/v1/trackers", &org.org_admin, body).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), ["/installations/0/from"]);
        }
        app
    });
}

#[test]
fn a_vehicles_tracker_is_not_named_in_the_vehicle() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app.post("/v1/trackers", &org.org_admin, json!({ "uniqueId": "imei-1" })).await.ok(201);
        let body = json!({ "name": "x", "tracking": { "trackerId": made["id"] } });
        let said = app.post("/v1/vehicles", &org.org_admin, body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/tracking/trackerId"]);
        app
    });
}

#[test]
fn trackers_are_locked_before_vehicles_and_vehicles_by_their_ids() {
    on_postgres(async |app| {
        let db = &app.context.db;
        let org = app.org("fleet").await;
        let mut buses = Vec::new();
        for name in ["one", "two"] {
            let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201);
            buses.push(text(&made["id"]));
        }
        buses.sort();
        let body = json!({ "uniqueId": "imei-1", "vehicleId": buses[0] });
        let tracker = text(&app.post("/v1/trackers", &org.org_admin, body).await.ok(201)["id"]);
        let [first, second, device] = [&buses[0], &buses[1], &tracker].map(|id| id.parse::<Uuid>().unwrap());
        let free = "select count(*) from (select id from vehicle where id = $1 for update nowait) as v";
        // It moves from the first to the second.
        let lock = "update vehicle set updated_at = updated_at where id = $1";
        let path = format!("/v1/trackers/{tracker}");
        let moved = app.put(&path, &org.org_admin, json!({ "vehicleId": buses[1] }));
        waits_for_first(db, (lock, first), (free, second), moved).await.ok(200);
        let lock = "update tracker set updated_at = updated_at where id = $1";
        let path = format!("/v1/vehicles/{second}");
        let deletion = app.delete(&path, &org.org_admin);
        waits_for_first(db, (lock, device), (free, second), deletion).await.ok(204);
        app
    });
}
