//! Visits, their analytics, and who was inside at a past instant, with real fixes.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::drivers::{driver, made};
use crate::harness::{App, Org, circle, on_each_engine, text, with_app};

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;

struct Fleet {
    org: Org,
    other: Org,
    fence: String,
    /// Ids and tokens.
    vehicles: Vec<(String, String)>,
}

/// A depot of 150 m that has always been there, and some vehicles.
async fn fleet(app: &App, names: &[&str]) -> Fleet {
    let (org, other) = (app.org("fleet").await, app.org("other").await);
    let mut body = circle("Depot");
    body["effectiveFrom"] = Value::Null;
    body["rules"] = json!({ "speedLimitKmh": 30 });
    let fence = app.post("/v1/geofences", &org.org_admin, body).await.ok(201);
    let mut vehicles = Vec::new();
    for name in names {
        let body = json!({ "name": name, "plate": { "number": format!("{name} 1") }, "tracker": { "uniqueId": name } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        vehicles.push((text(&made["id"]), text(&made["tracker"]["token"])));
    }
    Fleet { org, other, fence: text(&fence["id"]), vehicles }
}

impl Fleet {
    /// Fixes of a vehicle: seconds after eleven, hundredths of a degree north of 30.26, speed.
    async fn report(&self, app: &App, vehicle: usize, fixes: &[(i64, f64, f64)]) {
        let fix = |(seconds, north, speed): &(i64, f64, f64)| {
            json!({ "recordedAt": ELEVEN + seconds * 1000, "latitude": 30.26 + north / 100.0,
                "longitude": -97.74, "speedKmh": speed })
        };
        let items: Vec<Value> = fixes.iter().map(fix).collect();
        let said = app.post("/v1/positions", &self.vehicles[vehicle].1, json!({ "items": items })).await;
        assert_eq!(said.ok(200)["stored"], fixes.len());
    }

    async fn visits(&self, app: &App, query: &str) -> Vec<Value> {
        let body = app.get(&format!("/v1/visits?{query}"), &self.org.viewer).await.ok(200);
        body["data"].as_array().unwrap().clone()
    }
}

/// In, at rest for five minutes, and out again; the fence is from 0.865 to 1.135 hundredths.
const THROUGH: [(i64, f64, f64); 5] =
    [(0, 0.5, 36.0), (60, 1.0, 0.0), (360, 1.0, 0.0), (420, 1.1, 36.0), (480, 2.0, 50.0)];

#[test]
fn an_exit_has_analytics_and_the_visit_the_same() {
    with_app(async |app| {
        let fleet = fleet(&app, &["bus"]).await;
        fleet.report(&app, 0, &THROUGH).await;
        let exits = app.get("/v1/geofence-events?type=exit", &fleet.org.viewer).await.ok(200);
        let (exit, inside) = (&exits["data"][0], &exits["data"][0]["analytics"]);
        let number = |name: &str| inside[name].as_f64().unwrap_or_else(|| panic!("{name}: {inside}"));
        let parts = number("movingSeconds") + number("stoppedSeconds") + number("gapSeconds");
        assert!((parts - number("durationSeconds")).abs() < 1e-9, "{inside}");
        assert_eq!((number("stoppedSeconds"), number("gapSeconds")), (300.0, 0.0));
        assert_eq!(
            (&inside["fixCount"], &inside["stops"], &inside["maxSpeedKmh"]),
            (&json!(3), &json!(1), &json!(36.0))
        );
        assert!((number("distanceMeters") - 300.0).abs() < 1.0, "from edge to edge: {inside}");
        // From 360 s on each leg ends faster than 30 km/h.
        assert!(
            (number("overspeedSeconds")
                - (number("durationSeconds") - 300.0 - first_leg(exit, &app, &fleet).await))
                .abs()
                < 0.002
        );
        assert_eq!(inside.get("fuelUsedLiters"), None, "nothing is made up");

        let visits = fleet.visits(&app, "").await;
        let [visit] = &visits[..] else { panic!("{visits:?}") };
        assert_eq!((&visit["analytics"], &visit["exit"]["eventId"]), (inside, &exit["id"]));
        assert_eq!((&visit["exitedAt"], &visit["open"]), (&exit["occurredAt"], &json!(false)));
        assert_eq!(
            (&visit["entry"]["cause"], &visit["entry"]["geofenceVersion"]),
            (&json!("crossing"), &json!(1))
        );
        assert_eq!((visit.get("asOf"), &visit["vehicleName"]), (None, &json!("bus")));
        let path = format!("/v1/visits/{}", text(&visit["id"]));
        assert_eq!(&app.get(&path, &fleet.org.viewer).await.ok(200), visit);
        app.get(&path, &fleet.other.viewer).await.problem(404, "notFound");
        assert_eq!(app.get("/v1/visits", &fleet.other.viewer).await.ok(200)["data"], json!([]));
        app
    });
}

/// Seconds of the visit before its first fix.
async fn first_leg(exit: &Value, app: &App, fleet: &Fleet) -> f64 {
    let path = format!("/v1/visits/{}", text(&exit["visitId"]));
    let visit = app.get(&path, &fleet.org.viewer).await.ok(200);
    let entered: waypost_actors::model::Timestamp =
        serde_json::from_value(visit["enteredAt"].clone()).unwrap();
    waypost_actors::model::Timestamp::from_millis(ELEVEN + 60_000).unwrap().seconds_since(entered)
}

#[test]
fn an_open_visit_runs_on_until_its_vehicle_leaves() {
    with_app(async |app| {
        let fleet = fleet(&app, &["bus"]).await;
        fleet.report(&app, 0, &THROUGH[..3]).await;
        let visits = fleet.visits(&app, "open=true").await;
        let [visit] = &visits[..] else { panic!("{visits:?}") };
        assert_eq!((&visit["asOf"], &visit["open"]), (&json!("2026-05-01T11:06:00.000Z"), &json!(true)));
        assert_eq!(visit["settledThrough"], visit["asOf"]);
        assert_eq!((visit.get("exitedAt"), visit.get("exit")), (None, None));
        assert_eq!(
            (&visit["analytics"]["stoppedSeconds"], &visit["analytics"]["stops"]),
            (&json!(300.0), &json!(1))
        );
        let live = async || {
            let path = format!("/v1/vehicles/{}", fleet.vehicles[0].0);
            text(&app.get(&path, &fleet.org.viewer).await.ok(200)["live"]["motion"])
        };
        assert_eq!(live().await, "stopped");
        fleet.report(&app, 0, &THROUGH[3..]).await;
        assert_eq!(live().await, "moving");
        assert!(fleet.visits(&app, "open=true").await.is_empty());
        let listed = app.get("/v1/vehicles?include=live", &fleet.org.viewer).await.ok(200);
        assert_eq!(listed["data"][0]["live"]["motion"], "moving");
        app
    });
}

#[test]
fn visits_are_filtered_and_paged() {
    with_app(async |app| {
        let fleet = fleet(&app, &["a", "b", "c"]).await;
        fleet.report(&app, 0, &THROUGH).await;
        fleet.report(&app, 1, &[(1000, 1.0, 0.0)]).await;
        fleet.report(&app, 2, &[(2000, 0.5, 36.0), (2060, 1.0, 36.0), (2120, 2.0, 36.0)]).await;
        let names = async |query: &str| {
            let visits = fleet.visits(&app, query).await;
            visits.iter().map(|visit| text(&visit["vehicleName"])).collect::<String>()
        };
        assert_eq!(names("").await, "cba", "the newest entry first");
        assert_eq!(names("sort=enteredAt").await, "abc");
        assert_eq!((names("open=true").await, names("open=false").await), ("b".to_owned(), "ca".to_owned()));
        assert_eq!(names(&format!("vehicleId={}", fleet.vehicles[0].0)).await, "a");
        assert_eq!(names(&format!("geofenceId={}", fleet.fence)).await, "cba");
        assert_eq!(names(&format!("driverId={}", fleet.fence)).await, "");
        assert_eq!(names("to=2026-05-01T11:10:00Z").await, "a");
        assert_eq!(names("from=2026-05-01T11:10:00Z").await, "cb", "what is open goes on");
        assert_eq!(names("from=2026-05-01T11:10:00Z&to=2026-05-01T11:20:00Z").await, "b");
        assert_eq!(names("minDurationSeconds=300").await, "ba");
        assert_eq!(names("minDurationSeconds=300&open=false").await, "a");
        let first = app.get("/v1/visits?limit=2", &fleet.org.viewer).await;
        let body = first.ok(200);
        assert_eq!(body["pagination"]["hasNextPage"], true);
        let cursor = text(&body["pagination"]["endCursor"]);
        assert_eq!(names(&format!("limit=2&after={cursor}")).await, "a");
        for (path, token) in [
            (format!("/v1/visits?after={cursor}"), &fleet.other.viewer),
            (format!("/v1/visits?sort=enteredAt&after={cursor}"), &fleet.org.viewer),
        ] {
            app.get(&path, token).await.problem(400, "invalidCursor");
        }
        app.get("/v1/visits?sort=name", &fleet.org.viewer).await.problem(400, "invalidParameter");
        app
    });
}

#[test]
fn who_was_inside_at_a_past_instant() {
    with_app(async |app| {
        let fleet = fleet(&app, &["a", "b", "c"]).await;
        fleet.report(&app, 0, &THROUGH).await;
        fleet.report(&app, 1, &[(100, 1.05, 0.0)]).await;
        fleet.report(&app, 2, &[(30, 1.0, 0.0), (200, 1.02, 0.0)]).await;
        app.delete(&format!("/v1/vehicles/{}", fleet.vehicles[2].0), &fleet.org.org_admin).await.ok(204);
        let path = format!("/v1/geofence-events/geofence/{}/vehicles", fleet.fence);
        let at = async |time: &str| {
            app.get(&format!("{path}?asOf=2026-05-01T{time}Z"), &fleet.org.viewer).await.ok(200)
        };
        let names = |body: &Value| {
            let data = body["data"].as_array().unwrap();
            data.iter().map(|item| text(&item["vehicle"]["name"])).collect::<String>()
        };
        assert_eq!(names(&at("11:00:00").await), "");
        assert_eq!(names(&at("11:00:30").await), "c", "at the instant of the entry it is inside");
        let all = at("11:03:00").await;
        assert_eq!((names(&all), &all["asOf"]), ("cab".to_owned(), &json!("2026-05-01T11:03:00.000Z")));
        let c = &all["data"][0];
        assert!((c["position"]["latitude"].as_f64().unwrap() - 30.27).abs() < 1e-9, "not that of 200 s: {c}");
        assert_eq!(
            (&c["durationSeconds"], &c["state"], &c["cause"]),
            (&json!(150.0), &json!("online"), &json!("initial"))
        );
        assert_eq!(c["vehicle"]["plate"]["number"], "c 1");
        assert_eq!(at("11:09:00").await["data"][0]["state"], "stale", "last heard of at 11:03:20");
        assert_eq!(names(&at("11:10:00").await), "cb");
        // Fixes before the entry's own count too: where it was between them is unknown.
        let entering = at("11:00:55").await;
        assert_eq!(entering["data"][1]["position"]["latitude"], 30.265);
        let two =
            app.get(&format!("{path}?asOf=2026-05-01T11:03:00Z&limit=2"), &fleet.org.viewer).await.ok(200);
        assert_eq!((names(&two), &two["pagination"]["hasNextPage"]), ("ca".to_owned(), &json!(true)));
        let cursor = text(&two["pagination"]["endCursor"]);
        let next = format!("{path}?asOf=2026-05-01T11:03:00Z&limit=2&after={cursor}");
        assert_eq!(names(&app.get(&next, &fleet.org.viewer).await.ok(200)), "b");
        let other = format!("{path}?asOf=2026-05-01T11:04:00Z&after={cursor}");
        app.get(&other, &fleet.org.viewer).await.problem(400, "invalidCursor");
        let future = app.get(&format!("{path}?asOf=2030-01-01T00:00:00Z"), &fleet.org.viewer).await;
        future.problem(422, "validationFailed");
        assert_eq!(future.pointers(), ["?asOf"]);
        app.get(&format!("{path}?asOf=2026-05-01T11:03:00Z"), &fleet.other.viewer)
            .await
            .problem(404, "notFound");
        app
    });
}

#[test]
fn events_and_visits_are_found_by_who_drove() {
    on_each_engine(async |app| {
        let fleet = fleet(&app, &["bus"]).await;
        fleet.report(&app, 0, &THROUGH).await;
        let path = made(&app, &fleet.org.org_admin, driver("Ruiz", None)).await;
        let who = path.rsplit('/').next().unwrap();
        let wish = json!({ "vehicleId": fleet.vehicles[0].0, "startedAt": "2026-05-01T11:10:00Z" });
        app.post(&format!("{path}/assign-vehicle"), &fleet.org.dispatcher, wish).await.ok(200);
        let back =
            [(900, 2.0, 36.0), (960, 1.0, 0.0), (1260, 1.0, 0.0), (1320, 1.1, 36.0), (1380, 2.0, 50.0)];
        fleet.report(&app, 0, &back).await;
        let events = async || {
            let path = format!("/v1/geofence-events?driverId={who}&sort=occurredAt");
            let body = app.get(&path, &fleet.org.viewer).await.ok(200);
            body["data"].as_array().unwrap().clone()
        };
        let found = events().await;
        let said: Vec<_> = found.iter().map(|e| (text(&e["type"]), text(&e["driverId"]))).collect();
        assert_eq!(said, [("entry".to_owned(), who.to_owned()), ("exit".to_owned(), who.to_owned())]);
        let visits = fleet.visits(&app, &format!("driverId={who}")).await;
        let [visit] = &visits[..] else { panic!("{visits:?}") };
        assert_eq!((&visit["driverId"], &visit["entry"]["eventId"]), (&json!(who), &found[0]["id"]));
        assert_eq!(fleet.visits(&app, "").await.len(), 2, "nobody is known to have driven before");
        // A late fix moves the exit; it keeps its driver.
        fleet.report(&app, 0, &[(1350, 1.12, 40.0)]).await;
        let corrected = async || events().await.pop().filter(|exit| exit["revision"] == 2);
        let exit = eventually(Duration::from_secs(30), corrected).await;
        assert_eq!((&exit["type"], &exit["driverId"]), (&json!("exit"), &json!(who)));
        // The driver's name is shown to those who may read drivers.
        let inside =
            format!("/v1/geofence-events/geofence/{}/vehicles?asOf=2026-05-01T11:18:00Z", fleet.fence);
        for scopes in [&["events:read"][..], &["events:read", "drivers:read"]] {
            let (_, token) = app.system_user(&fleet.org.org_admin, scopes).await;
            let said = app.get(&inside, &token).await.ok(200);
            let vehicle = &said["data"][0];
            assert_eq!(vehicle["vehicle"]["name"], "bus");
            assert_eq!(vehicle.get("driver").is_some(), scopes.len() > 1, "{vehicle}");
        }
        app
    });
}
