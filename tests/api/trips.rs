//! Trips and stops: told when they begin, with their sums when they end, and put right by what comes late.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::drivers::{driver, made};
use crate::harness::{App, Org, circle, on_each_engine, text};

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;

async fn vehicle(app: &App, org: &Org, name: &str) -> (String, String) {
    let body = json!({ "name": name, "tracker": { "uniqueId": format!("{name}-{}", org.id) } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// Fixes: seconds after eleven, metres north of the depot's middle, km/h.
async fn report(app: &App, token: &str, fixes: &[(i64, f64, f64)]) {
    let fix = |(seconds, meters, speed): &(i64, f64, f64)| {
        json!({ "recordedAt": ELEVEN + seconds * 1000, "latitude": 30.27 + meters / 110_850.0, "longitude": -97.74,
            "speedKmh": speed, "ignition": true })
    };
    let items: Vec<Value> = fixes.iter().map(fix).collect();
    app.post("/v1/positions", token, json!({ "items": items })).await.ok(200);
}

/// Stands in the depot for 400 s, drives for 200 s at 36 km/h, and stands for as long as is asked.
fn day(stands: i64) -> Vec<(i64, f64, f64)> {
    let depot = (0..=400).step_by(20).map(|second| (second, 0.0, 0.0));
    let drive = (420..600).step_by(20).map(|second| (second, (second - 400) as f64 * 10.0, 36.0));
    depot.chain(drive).chain((600..=600 + stands).step_by(20).map(|second| (second, 2_000.0, 0.0))).collect()
}

async fn list(app: &App, org: &Org, path: &str) -> Vec<Value> {
    app.get(path, &org.viewer).await.ok(200)["data"].as_array().unwrap().clone()
}

fn instant(second: i64) -> String {
    format!("2026-05-01T11:{:02}:{:02}.000Z", second / 60, second % 60)
}

#[test]
fn a_day_is_trips_and_stops() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let mut depot = circle("Depot");
        depot["effectiveFrom"] = Value::Null;
        let fence = text(&app.post("/v1/geofences", &org.org_admin, depot).await.ok(201)["id"]);
        let (id, token) = vehicle(&app, &org, "bus").await;
        let who = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let wish = json!({ "vehicleId": id, "startedAt": instant(390) });
        app.post(&format!("{who}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        report(&app, &token, &day(0)).await;
        let [stop] = &list(&app, &org, "/v1/stops").await[..] else { panic!() };
        assert_eq!((&stop["startedAt"], &stop["endedAt"]), (&json!(instant(0)), &json!(instant(400))));
        assert_eq!((&stop["startGeofenceIds"], &stop["endGeofenceIds"]), (&json!([fence]), &json!([fence])));
        assert_eq!(
            (&stop["revision"], &stop["open"], stop.get("driverId")),
            (&json!(1), &json!(false), None)
        );
        let summary = &stop["summary"];
        assert_eq!((&summary["stoppedSeconds"], &summary["idlingSeconds"]), (&json!(400.0), &json!(400.0)));
        let [open] = &list(&app, &org, "/v1/trips?open=true").await[..] else { panic!() };
        assert_eq!(
            (&open["startedAt"], open.get("endedAt"), open.get("summary")),
            (&json!(instant(400)), None, None)
        );
        assert_eq!(
            (&open["open"], &open["type"], &open["revision"]),
            (&json!(true), &json!("trip"), &json!(1))
        );
        assert_eq!(open["driverId"], json!(who.rsplit('/').next().unwrap()));
        // It has stood for five minutes, so the trip ended when it came to rest.
        report(&app, &token, &day(300)[31..]).await;
        let [trip] = &list(&app, &org, "/v1/trips?open=false").await[..] else { panic!() };
        assert_eq!((&trip["id"], &trip["endedAt"]), (&open["id"], &json!(instant(600))));
        assert_eq!((&trip["revision"], &trip["settledThrough"]), (&json!(2), &json!(instant(900))));
        assert_eq!((&trip["startGeofenceIds"], &trip["endGeofenceIds"]), (&json!([fence]), &json!([])));
        let summary = trip["summary"].clone();
        assert_eq!((&summary["durationSeconds"], &summary["maxSpeedKmh"]), (&json!(200.0), &json!(36.0)));
        let meters = summary["distanceMeters"].as_f64().unwrap();
        assert!((meters - 2_000.0).abs() < 10.0, "{meters}");
        assert_eq!(
            (&summary["fixCount"], list(&app, &org, "/v1/trips?open=true").await.len()),
            (&json!(11), 0)
        );
        let stops = list(&app, &org, "/v1/stops?sort=occurredAt").await;
        let [_, last] = &stops[..] else { panic!("{stops:?}") };
        assert_eq!((&last["startedAt"], &last["open"]), (&json!(instant(600)), &json!(true)));
        // A late fix off the way: the sums follow, and the id stays.
        report(&app, &token, &[(510, 1_300.0, 50.0)]).await;
        let revised = eventually(Duration::from_secs(30), async || {
            let trips = list(&app, &org, "/v1/trips").await;
            trips.into_iter().find(|trip| trip["revision"] == json!(3))
        });
        let revised = revised.await;
        assert_eq!((&revised["id"], &revised["origin"]), (&trip["id"], &json!("backfill")));
        assert_eq!(
            (&revised["summary"]["maxSpeedKmh"], &revised["summary"]["fixCount"]),
            (&json!(50.0), &json!(12))
        );
        assert!(revised["summary"]["distanceMeters"].as_f64().unwrap() > meters + 150.0, "{revised}");
        // In the log like everything else; nobody else's.
        let told = list(&app, &org, "/v1/events?type=trip").await;
        assert_eq!((told.len(), &told[0]["id"]), (1, &trip["id"]));
        assert_eq!(
            list(&app, &other, "/v1/trips").await.len() + list(&app, &other, "/v1/stops").await.len(),
            0
        );
        app
    });
}

#[test]
fn lists_are_narrowed_and_paged() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let mut ids = Vec::new();
        for name in ["one", "two", "three"] {
            let (id, token) = vehicle(&app, &org, name).await;
            report(&app, &token, &day(300)).await;
            ids.push(id);
        }
        assert_eq!(
            list(&app, &org, &format!("/v1/trips?vehicleId={}", ids[1])).await[0]["vehicleId"],
            json!(ids[1])
        );
        for (query, expected) in [
            (String::new(), 6),
            (format!("from={}", instant(0)), 6),
            (format!("from={}", instant(1)), 3),
            (format!("to={}", instant(600)), 3),
            (format!("to={}", instant(0)), 0),
            ("open=true".into(), 3),
            ("status=retracted".into(), 0),
            ("driverId=0198b6a0-0000-7000-8000-000000000000".into(), 0),
        ] {
            assert_eq!(list(&app, &org, &format!("/v1/stops?{query}")).await.len(), expected, "{query}");
        }
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = app.get(&format!("/v1/stops?limit=4{after}"), &org.viewer).await.ok(200);
            found.extend(page["data"].as_array().unwrap().iter().map(|stop| text(&stop["id"])));
            if page["pagination"]["hasNextPage"] != true {
                break;
            }
            after = format!("&after={}", page["pagination"]["endCursor"].as_str().unwrap());
        }
        assert_eq!(found.len(), 6);
        let cursor = app.get("/v1/stops?limit=1", &org.viewer).await.ok(200);
        let cursor = cursor["pagination"]["endCursor"].as_str().unwrap();
        app.get(&format!("/v1/trips?after={cursor}"), &org.viewer).await.problem(400, "invalidCursor");
        app.get("/v1/trips?open=perhaps", &org.viewer).await.problem(400, "invalidParameter");
        app
    });
}
