//! Everything that happened in one list: speeding episodes along with the events of fences and tanks.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::harness::{App, Org, circle, on_each_engine, text};

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;

/// A vehicle that may go at 80 km/h, and at 30 in the depot: its id and its tracker's token.
async fn vehicle(app: &App, org: &Org) -> (String, String) {
    let mut depot = circle("Depot");
    depot["effectiveFrom"] = Value::Null;
    depot["rules"] = json!({ "speedLimitKmh": 30 });
    app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
    let body = json!({ "name": "bus", "tracker": { "uniqueId": format!("bus-{}", org.id) },
        "tracking": { "overspeedKmh": 80 }, "fuel": { "tankCapacityLiters": 400 } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// Fixes: seconds after eleven, hundredths of a degree north of 30.26, km/h.
async fn report(app: &App, token: &str, fixes: &[(i64, f64, f64)]) {
    let fix = |(seconds, north, speed): &(i64, f64, f64)| {
        json!({ "recordedAt": ELEVEN + seconds * 1000, "latitude": 30.26 + north / 100.0, "longitude": -97.74,
            "speedKmh": speed })
    };
    let items: Vec<Value> = fixes.iter().map(fix).collect();
    app.post("/v1/positions", token, json!({ "items": items })).await.ok(200);
}

/// The types of some events, without trips and stops, which have tests of their own.
fn types(body: &Value) -> Vec<&str> {
    let all = body["data"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap());
    all.filter(|kind| !["trip", "stop"].contains(kind)).collect()
}

#[test]
fn a_time_over_a_limit_is_listed_from_its_tenth_second_and_gets_its_end() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fast").await, app.org("other").await);
        let (id, token) = vehicle(&app, &org).await;
        let get = async |query: &str| app.get(&format!("/v1/events{query}"), &org.viewer).await.ok(200);
        report(&app, &token, &[(0, 1.9, 90.0), (5, 1.85, 95.0), (9, 1.8, 90.0)]).await;
        assert_eq!(types(&get("?type=overspeed").await), Vec::<&str>::new());
        report(&app, &token, &[(10, 1.78, 90.0)]).await;
        let open = get("?type=overspeed").await["data"][0].clone();
        assert_eq!((&open["vehicleId"], &open["vehicleName"]), (&json!(id), &json!("bus")));
        assert_eq!((&open["limitKmh"], &open["maxSpeedKmh"]), (&json!(80.0), &json!(95.0)));
        assert_eq!(
            (&open["startedAt"], &open["durationSeconds"]),
            (&json!("2026-05-01T11:00:00.000Z"), &json!(10.0))
        );
        assert_eq!((open.get("endedAt"), open.get("geofenceId"), &open["revision"]), (None, None, &json!(1)));
        report(&app, &token, &[(20, 1.7, 99.0), (30, 1.5, 77.0)]).await;
        let ended = get("?type=overspeed").await["data"][0].clone();
        assert_eq!((&ended["id"], &ended["revision"]), (&open["id"], &json!(2)));
        assert_eq!(
            (&ended["endedAt"], &ended["maxSpeedKmh"]),
            (&json!("2026-05-01T11:00:30.000Z"), &json!(99.0))
        );
        // In the depot, whose limit is lower.
        report(&app, &token, &[(60, 1.0, 50.0), (80, 1.0, 40.0), (90, 1.0, 20.0), (120, 2.0, 25.0)]).await;
        let both = get("?type=overspeed").await;
        let [found, _] = &both["data"].as_array().unwrap()[..] else { panic!("{both}") };
        let of_depot = (&found["limitKmh"], &found["geofenceName"], &found["durationSeconds"]);
        assert_eq!(of_depot, (&json!(30.0), &json!("Depot"), &json!(30.0)));
        let depot = text(&found["geofenceId"]);
        assert_eq!(
            types(&get(&format!("?geofenceId={depot}&sort=occurredAt")).await),
            ["entry", "overspeed", "exit"]
        );
        assert_eq!(types(&get("?sort=occurredAt").await), ["overspeed", "entry", "overspeed", "exit"]);
        assert_eq!(types(&get("?sort=sequence").await).len(), 4, "a revision leaves its old place");
        // A slow fix that arrives late retracts the first one.
        report(&app, &token, &[(7, 1.83, 20.0)]).await;
        let retracted = async || {
            let body = get("?type=overspeed&status=retracted").await;
            body["data"].as_array().unwrap().first().cloned()
        };
        let gone = eventually(Duration::from_secs(30), retracted).await;
        assert_eq!((&gone["id"], &gone["revision"]), (&open["id"], &json!(3)));
        assert_eq!(types(&app.get("/v1/events", &other.viewer).await.ok(200)), Vec::<&str>::new());
        app
    });
}

#[test]
fn the_list_has_pages_filters_and_the_rights_of_its_kinds() {
    on_each_engine(async |app| {
        let org = app.org("mixed").await;
        let (id, token) = vehicle(&app, &org).await;
        report(&app, &token, &[(0, 1.9, 90.0), (15, 1.85, 90.0), (60, 1.0, 20.0), (120, 2.0, 20.0)]).await;
        crate::fuel::tank_event(&app, &org, &id, 1_000, "refuel", 0).await;
        let (_, program) = app.system_user(&org.org_admin, &["events:read"]).await;
        let (_, of_fuel) = app.system_user(&org.org_admin, &["events:read", "fuel:read"]).await;
        let all = ["refuel", "exit", "entry", "overspeed"];
        assert_eq!(types(&app.get("/v1/events", &of_fuel).await.ok(200)), all);
        assert_eq!(types(&app.get("/v1/events", &program).await.ok(200)), &all[1..]);
        app.get("/v1/events?type=refuel", &program).await.problem(403, "forbidden");
        assert_eq!(types(&app.get("/v1/events?type=refuel", &of_fuel).await.ok(200)), ["refuel"]);
        // Page by page, in either order of time.
        for (sort, expected) in
            [("-occurredAt", all.to_vec()), ("occurredAt", all.into_iter().rev().collect())]
        {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let page =
                    app.get(&format!("/v1/events?limit=1&sort={sort}{after}"), &org.viewer).await.ok(200);
                found.extend(types(&page).into_iter().map(str::to_owned));
                if page["pagination"]["hasNextPage"] != true {
                    break;
                }
                after = format!("&after={}", page["pagination"]["endCursor"].as_str().unwrap());
            }
            assert_eq!(found, expected, "{sort}");
        }
        let got = async |query: &str| {
            let body = app.get(&format!("/v1/events?{query}"), &org.viewer).await.ok(200);
            types(&body).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(got("type=entry&type=overspeed").await, ["entry", "overspeed"]);
        assert_eq!(got("to=2026-05-01T11:00:10Z").await, ["overspeed"]);
        assert_eq!(got("from=2026-05-01T12:00:00Z").await, ["refuel"]);
        assert_eq!(got("vehicleId=0198b6a0-0000-7000-8000-000000000000").await, Vec::<String>::new());
        app.get("/v1/events?type=arrival", &org.viewer).await.problem(400, "invalidParameter");
        app
    });
}
