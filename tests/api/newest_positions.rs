//! Where all vehicles are now: the list of newest positions, and the same filters on the list of vehicles.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::harness::{ANSWER_WITHIN, App, Org, circle, on_each_engine, text, with_app};

/// A bus that reported once, at this latitude: its id and its tracker's token.
async fn bus(app: &App, org: &Org, name: &str, latitude: f64) -> (String, String) {
    let body = json!({ "name": name, "tracker": { "uniqueId": name } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    let token = text(&made["tracker"]["token"]);
    report(app, &token, 0, latitude).await;
    (text(&made["id"]), token)
}

async fn report(app: &App, token: &str, seconds: i64, latitude: f64) {
    let recorded_at = 1_777_636_800_000_i64 + seconds * 1000;
    let fix = json!({ "recordedAt": recorded_at, "latitude": latitude, "longitude": -97.74 });
    app.post("/v1/positions", token, json!({ "items": [fix] })).await.ok(200);
}

/// The vehicles of an answer, in the order of their ids.
fn ids(body: &Value, member: &str) -> Vec<String> {
    let mut ids: Vec<String> =
        body["data"].as_array().unwrap().iter().map(|one| text(&one[member])).collect();
    ids.sort();
    ids
}

#[test]
fn a_vehicle_shows_all_that_its_tracker_reported_last() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (id, token) = bus(&app, &org, "bus", 30.27).await;
        let told = json!({ "speedKmh": 33.0, "headingDegrees": 90.0, "altitudeMeters": 149.0, "accuracyMeters": 4.5,
            "odometerKm": 1234.5, "ignition": true });
        let mut fix = json!({ "recordedAt": 1_777_636_810_000_i64, "latitude": 30.271, "longitude": -97.74 });
        fix.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
        app.post("/v1/positions", &token, json!({ "items": [fix] })).await.ok(200);
        let vehicle = app.get(&format!("/v1/vehicles/{id}"), &org.viewer).await.ok(200);
        let listed = app.get("/v1/positions", &org.viewer).await.ok(200);
        for (name, value) in told.as_object().unwrap() {
            assert_eq!((&vehicle["live"][name], &listed["data"][0][name]), (value, value), "{name}");
        }
        app
    });
}

#[test]
fn both_lists_answer_the_same_filters() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut depot = circle("Depot");
        depot["effectiveFrom"] = Value::Null;
        let depot = text(&app.post("/v1/geofences", &org.org_admin, depot).await.ok(201)["id"]);
        let (parked, _) = bus(&app, &org, "parked", 30.27).await;
        let organization = format!("/v1/organizations/organization/{}", org.id);
        let settings = json!({ "settings": { "staleAfterSeconds": 30 } });
        app.put(&organization, &org.org_admin, settings).await.ok(200);
        app.pass(40);
        let (moving, token) = bus(&app, &org, "moving", 31.0).await;
        report(&app, &token, 10, 31.003).await;
        report(&app, &token, 20, 31.006).await;
        let silent = json!({ "name": "silent" });
        let silent = text(&app.post("/v1/vehicles", &org.org_admin, silent).await.ok(201)["id"]);
        bus(&app, &other, "foreign", 30.27).await;
        // The wheel looks once a second.
        eventually(Duration::from_secs(60), async || {
            let found = app.get("/v1/positions?state=stale", &org.viewer).await.ok(200);
            !found["data"].as_array().unwrap().is_empty()
        })
        .await;
        let asked = async |query: &str| {
            let get = async |path: &str| app.get(&format!("{path}?{query}"), &org.viewer).await.ok(200);
            let (positions, vehicles) = (get("/v1/positions").await, get("/v1/vehicles").await);
            assert_eq!(vehicles["pagination"]["totalItems"], vehicles["data"].as_array().unwrap().len());
            (ids(&positions, "vehicleId"), ids(&vehicles, "id"))
        };
        let only = |id: &String| (vec![id.clone()], vec![id.clone()]);
        for (query, expected) in [
            (format!("geofenceId={depot}"), &parked),
            ("bbox=-98,30,-97,30.5".to_owned(), &parked),
            ("bbox=-98,30.5,-97,32".to_owned(), &moving),
            ("state=stale".to_owned(), &parked),
            ("state=online".to_owned(), &moving),
            ("motion=moving".to_owned(), &moving),
            (format!("vehicleId={parked}"), &parked),
            (format!("vehicleId={parked},{moving},{silent}&state=stale&bbox=-98,30,-97,32"), &parked),
        ] {
            assert_eq!(asked(&query).await, only(expected), "{query}");
        }
        let nobody = (Vec::new(), Vec::new());
        assert_eq!(asked(&format!("geofenceId={depot}&motion=moving")).await, nobody);
        // Who never reported has no position, and is offline.
        assert_eq!(asked("state=offline").await, (Vec::new(), vec![silent.clone()]));
        let (mut all, everybody) = asked("").await;
        assert_eq!((all.len(), everybody.len()), (2, 3));
        let page =
            app.get("/v1/vehicles?state=online,stale&limit=1&page=2&sort=name", &org.viewer).await.ok(200);
        assert_eq!((ids(&page, "id"), &page["pagination"]["totalItems"]), (vec![parked.clone()], &json!(2)));
        // By cursor, and in the form of `live`.
        let first = app.get("/v1/positions?limit=1", &org.viewer).await.ok(200);
        let live =
            app.get(&format!("/v1/vehicles/{}", text(&first["data"][0]["vehicleId"])), &org.viewer).await;
        let mut expected = live.ok(200)["live"].clone();
        expected["vehicleId"] = first["data"][0]["vehicleId"].clone();
        assert_eq!(first["data"][0], expected);
        let after = text(&first["pagination"]["endCursor"]);
        let rest = app.get(&format!("/v1/positions?after={after}"), &org.viewer).await.ok(200);
        assert_eq!(rest["pagination"]["hasNextPage"], false);
        let mut told = [ids(&first, "vehicleId"), ids(&rest, "vehicleId")].concat();
        told.sort();
        all.sort();
        assert_eq!(told, all);
        let said = app.get(&format!("/v1/positions?after={after}"), &other.viewer).await;
        drop(said.problem(400, "invalidCursor"));
        app
    });
}

#[test]
fn a_filter_takes_the_right_to_see_what_it_asks_for() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        bus(&app, &org, "bus", 30.27).await;
        let fence = text(&app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201)["id"]);
        let (_, places) = app.system_user(&org.org_admin, &["positions:read"]).await;
        let (_, names) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        let seen = app.get("/v1/positions", &places).await.ok(200);
        assert_eq!(seen["data"][0].get("geofences"), None, "{seen}");
        let by_fence = format!("geofenceId={fence}");
        drop(app.get(&format!("/v1/positions?{by_fence}"), &places).await.problem(403, "forbidden"));
        drop(app.get("/v1/positions", &names).await.problem(403, "forbidden"));
        app.get("/v1/vehicles", &names).await.ok(200);
        for query in [&by_fence, "bbox=-98,30,-97,31", "state=online", "motion=moving"] {
            drop(app.get(&format!("/v1/vehicles?{query}"), &names).await.problem(403, "forbidden"));
        }
        let bad = [
            "bbox=1,2,3",
            "state=lost",
            "motion=fast",
            "vehicleId=x",
            "geofenceId=x",
            "speed=1",
            "limit=1001",
        ];
        for query in bad {
            assert_eq!(app.get(&format!("/v1/positions?{query}"), &org.viewer).await.status, 400, "{query}");
        }
        app
    });
}

#[test]
fn the_fleet_is_shown_as_it_was_at_an_instant() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut depot = circle("Depot");
        depot["effectiveFrom"] = Value::Null;
        let depot = text(&app.post("/v1/geofences", &org.org_admin, depot).await.ok(201)["id"]);
        let body = json!({ "name": "bus", "tracker": { "uniqueId": "bus" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let (bus, token) = (text(&made["id"]), text(&made["tracker"]["token"]));
        report(&app, &token, -1_200, 30.27).await;
        report(&app, &token, -600, 30.4).await;
        // Late, and counted all the same.
        report(&app, &token, -1_140, 30.2701).await;
        let then = async |time: &str, token: &str| {
            let path = format!("/v1/vehicles?asOf=2026-05-01T{time}Z");
            app.get(&path, token).await.ok(200)["data"].as_array().unwrap().clone()
        };
        // The stay is put right soon after the late fix.
        eventually(ANSWER_WITHIN, async || {
            then("11:40:30", &org.viewer).await[0]["live"]["geofences"] != json!([])
        })
        .await;
        let before = then("11:39:00", &org.viewer).await.remove(0);
        let before = &before["live"];
        assert_eq!((&before["position"], &before["state"]), (&Value::Null, &json!("offline")));
        for (time, latitude, state, is_inside) in [
            ("11:40:30", 30.27, "online", true),
            // It left on the way between the two fixes.
            ("11:49:00", 30.2701, "stale", false),
            ("11:50:00", 30.4, "online", false),
        ] {
            let shown = then(time, &org.viewer).await.remove(0);
            let live = &shown["live"];
            assert_eq!(
                (&shown["id"], &live["position"]["latitude"], &live["state"]),
                (&json!(bus), &json!(latitude), &json!(state)),
                "{time}: {live}"
            );
            let inside: Vec<&Value> =
                live["geofences"].as_array().unwrap().iter().map(|held| &held["geofenceId"]).collect();
            assert_eq!(inside, if is_inside { vec![&depot] } else { vec![] }, "{time}: {live}");
        }
        assert_eq!(then("11:50:00", &other.viewer).await, Vec::<Value>::new());
        for query in ["asOf=2027-05-01T12:00:00Z", "asOf=2026-05-01T11:50:00Z&state=online", "asOf=then"] {
            app.get(&format!("/v1/vehicles?{query}"), &org.viewer).await.problem(400, "invalidParameter");
        }
        let plain = app.get("/v1/vehicles?asOf=2026-05-01T11:50:00Z&include=none", &org.viewer).await.ok(200);
        assert_eq!(plain["data"][0].get("live"), None);
        let driver = crate::drivers::made(&app, &org.org_admin, crate::drivers::driver("Ruiz", None)).await;
        let wish = json!({ "vehicleId": bus, "startedAt": "2026-05-01T11:55:00Z" });
        app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        for (time, is_driven) in [("11:50:00", false), ("11:56:00", true)] {
            let path = format!("/v1/vehicles?asOf=2026-05-01T{time}Z");
            for path in [format!("{path}&include=none"), path] {
                let shown = app.get(&path, &org.viewer).await.ok(200);
                assert_eq!(shown["data"][0].get("driver").is_some(), is_driven, "{path}");
            }
        }
        let (_, program) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        let path = "/v1/vehicles?asOf=2026-05-01T11:50:00Z";
        app.get(path, &program).await.problem(403, "forbidden");
        let (_, program) = app.system_user(&org.org_admin, &["vehicles:read", "positions:read"]).await;
        let shown = app.get(path, &program).await.ok(200);
        assert_eq!(shown["data"][0]["live"].get("geofences"), None, "stays take a right of their own");
        app
    });
}
