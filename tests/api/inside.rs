//! Which vehicles are inside a geofence, with real fixes through the live core.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::harness::{App, circle, text, with_app};

/// A vehicle with its tracker's token.
async fn vehicle(app: &App, token: &str, name: &str) -> (String, String) {
    let body = json!({ "name": name, "tracker": { "uniqueId": name } });
    let made = app.post("/v1/vehicles", token, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

async fn report(app: &App, token: &str, seconds: i64, latitude: f64) {
    let recorded_at = 1_777_636_800_000_i64 + seconds * 1000;
    let fix =
        json!({ "recordedAt": recorded_at, "latitude": latitude, "longitude": -97.74, "speedKmh": 36.0 });
    let said = app.post("/v1/positions", token, json!({ "items": [fix] })).await;
    assert_eq!(said.ok(200)["stored"], 1);
}

fn names(body: &Value) -> Vec<String> {
    let data = body["data"].as_array().unwrap();
    data.iter().map(|item| text(&item["vehicle"]["name"])).collect()
}

#[test]
fn vehicles_inside_are_listed_by_entry_and_leave() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let mut body = circle("Depot");
        body["effectiveFrom"] = Value::Null;
        let fence = app.post("/v1/geofences", &org.org_admin, body).await.ok(201);
        let path = format!("/v1/geofence-events/geofence/{}/vehicles", text(&fence["id"]));
        let mut tokens = Vec::new();
        for (i, name) in ["first", "second", "third"].into_iter().enumerate() {
            tokens.push(vehicle(&app, &org.org_admin, name).await);
            report(&app, &tokens[i].1, i as i64, 30.27).await;
        }
        let all = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(names(&all), ["first", "second", "third"]);
        let item = &all["data"][0];
        assert_eq!((&item["cause"], &item["state"]), (&json!("initial"), &json!("online")));
        assert_eq!(item["position"], json!({ "latitude": 30.27, "longitude": -97.74 }));
        let two = app.get(&format!("{path}?limit=2"), &org.viewer).await.ok(200);
        assert_eq!((names(&two).len(), &two["pagination"]["hasNextPage"]), (2, &json!(true)));
        let next = format!("{path}?after={}", text(&two["pagination"]["endCursor"]));
        assert_eq!(names(&app.get(&next, &org.viewer).await.ok(200)), ["third"]);
        let read = app.get(&format!("/v1/geofences/{}", text(&fence["id"])), &org.viewer).await;
        assert_eq!(read.ok(200)["insideCount"], 3);
        report(&app, &tokens[1].1, 60, 30.28).await;
        assert_eq!(names(&app.get(&path, &org.viewer).await.ok(200)), ["first", "third"]);
        let live = app.get(&format!("/v1/vehicles/{}", tokens[0].0), &org.viewer).await.ok(200);
        assert_eq!(live["live"]["geofences"][0]["geofenceId"], fence["id"]);
        assert_eq!(live["live"]["speedKmh"], 36.0);
        // The wheel looks once a second, at whole ones.
        let organization = format!("/v1/organizations/organization/{}", org.id);
        let settings = json!({ "settings": { "staleAfterSeconds": 30 } });
        app.put(&organization, &org.org_admin, settings).await.ok(200);
        app.pass(31);
        eventually(Duration::from_secs(60), async || {
            app.get(&path, &org.viewer).await.ok(200)["data"][0]["state"] == "stale"
        })
        .await;
        app
    });
}

#[test]
fn edits_of_fence_and_vehicle_settle_before_they_answer() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (id, token) = vehicle(&app, &org.org_admin, "bus").await;
        report(&app, &token, 0, 30.27).await;
        let fence = app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
        assert_eq!(fence["insideCount"], 1);
        let fence = format!("/v1/geofences/{}", text(&fence["id"]));
        app.put(&fence, &org.org_admin, json!({ "name": "Yard" })).await.ok(200);
        let events = async || {
            let body = app.get("/v1/geofence-events?sort=sequence", &org.viewer).await.ok(200);
            let data = body["data"].as_array().unwrap().clone();
            data.iter()
                .map(|e| (text(&e["type"]), text(&e["cause"]), text(&e["geofenceName"])))
                .collect::<Vec<_>>()
        };
        let told = |kind: &str, cause: &str| (kind.to_owned(), cause.to_owned(), "Yard".to_owned());
        assert_eq!(events().await, [told("entry", "geofenceCreated")], "a new name makes no record");
        app.put(&fence, &org.org_admin, json!({ "enabled": false })).await.ok(200);
        app.put(&fence, &org.org_admin, json!({ "enabled": true })).await.ok(200);
        app.delete(&format!("/v1/vehicles/{id}"), &org.org_admin).await.ok(204);
        assert_eq!(
            events().await,
            [
                told("entry", "geofenceCreated"),
                told("exit", "geofenceDeleted"),
                told("entry", "geofenceCreated"),
                told("exit", "vehicleDeactivated"),
            ]
        );
        app
    });
}
