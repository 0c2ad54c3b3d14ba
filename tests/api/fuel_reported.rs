//! Fuel from a tracker's report to dispatchers' queries.

use serde_json::{Value, json};

use crate::feed_rights::{hear, subscribe};
use crate::harness::{App, Org, START, on_each_engine, text, with_app};
use crate::sockets::opened;

/// A vehicle with a tank and the token of its tracker.
struct Lorry {
    id: String,
    token: String,
}

async fn lorry(app: &App, org: &Org, tank_liters: f64) -> Lorry {
    let body = json!({ "name": "Lorry", "fuel": { "kind": "diesel", "tankCapacityLiters": tank_liters },
        "tracker": { "uniqueId": format!("imei-{tank_liters}") } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    Lorry { id: text(&made["id"]), token: text(&made["tracker"]["token"]) }
}

/// A report at a minute after seven: speed in km/h and litres.
type Minute = (f64, f64);

/// Reports one minute after the other, moving as the speeds imply.
async fn report(app: &App, lorry: &Lorry, minutes: &[Minute]) {
    let began = START.as_millis() - 5 * 3_600_000;
    let mut latitude = 30.0;
    let mut items = Vec::new();
    for (minute, (speed, liters)) in minutes.iter().enumerate() {
        // A degree of latitude is 110.85 km there.
        latitude += speed / 60.0 / 110.85;
        items.push(
            json!({ "recordedAt": began + minute as i64 * 60_000, "latitude": latitude, "longitude": -97.0,
            "speedKmh": speed, "fuel": { "liters": liters } }),
        );
    }
    for part in items.chunks(500) {
        let said = app.post("/v1/positions", &lorry.token, json!({ "items": part })).await.ok(200);
        assert_eq!(said["stored"], part.len());
    }
}

async fn get(app: &App, org: &Org, path: &str) -> Value {
    app.get(path, &org.viewer).await.ok(200)
}

/// What was burnt from one minute after seven to another.
async fn consumption(app: &App, org: &Org, lorry: &Lorry, (from, to): (i64, i64)) -> Value {
    let at = |minute: i64| START.plus_seconds((minute * 60 - 5 * 3600) as f64);
    let (from, to) = (text(&json!(at(from))), text(&json!(at(to))));
    let path = format!("/v1/fuel/consumption?vehicleId={}&from={from}&to={to}", lorry.id);
    get(app, org, &path).await["data"][0].clone()
}

#[track_caller]
fn near(value: &Value, wanted: f64, within: f64) {
    let is_near = value.as_f64().is_some_and(|value| (value - wanted).abs() <= within);
    assert!(is_near, "{value}, not {wanted}");
}

#[test]
fn a_refuel_reported_is_logged_found_drawn_and_not_burnt() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fuelled").await, app.org("other").await);
        let lorry = lorry(&app, &org, 400.0).await;
        // 60 km/h and 20 l/100 km for an hour, half an hour's stop with 100 litres, and on for an hour.
        let minute = |minute: i64| match minute {
            ..60 => (60.0, 200.0 - 0.2 * minute as f64),
            60..90 => (0.0, 188.0 + 100.0 * ((minute - 70) as f64 / 4.0).clamp(0.0, 1.0)),
            _ => (60.0, 288.0 - 0.2 * (minute - 90) as f64),
        };
        let minutes: Vec<Minute> = (0..150).map(minute).collect();
        report(&app, &lorry, &minutes).await;

        let log = get(&app, &org, "/v1/fuel?sort=recordedAt&limit=1000").await;
        let log = log["data"].as_array().unwrap();
        assert_eq!(log.len(), 150);
        assert_eq!((&log[0]["rawValue"], &log[0]["unit"]), (&json!(200.0), &json!("liters")));
        near(&log[40]["levelPercent"], 48.0, 0.5);
        near(&log[1]["distanceMeters"], 1000.0, 10.0);
        let entry = format!("/v1/fuel/{}", text(&log[75]["id"]));
        assert_eq!(get(&app, &org, &entry).await, log[75]);
        app.get(&entry, &other.viewer).await.problem(404, "notFound");

        let events = get(&app, &org, &format!("/v1/fuel/events?vehicleId={}", lorry.id)).await;
        let [refuel] = &events["data"].as_array().unwrap()[..] else { panic!("{events}") };
        assert_eq!((&refuel["type"], &refuel["motion"]), (&json!("refuel"), &json!("stopped")));
        near(&refuel["volumeLiters"], 100.0, 5.0);

        let period = "from=2026-05-01T07:00:00Z&to=2026-05-01T10:00:00Z";
        let chart =
            get(&app, &org, &format!("/v1/fuel/chart?vehicleId={}&{period}&points=50", lorry.id)).await;
        let mark = &chart["annotations"][text(&refuel["id"])];
        assert_eq!((&mark["xMin"], &mark["xMax"]), (&refuel["startedAt"], &refuel["endedAt"]));

        let burnt = consumption(&app, &org, &lorry, (0, 150)).await;
        near(&burnt["liters"], 24.0, 1.5);
        near(&burnt["distanceKm"], 119.0, 1.5);
        near(&burnt["litersPer100Km"], 20.0, 1.3);
        near(&burnt["refueledLiters"], 100.0, 5.0);
        let standing = consumption(&app, &org, &lorry, (60, 90)).await;
        assert_eq!(standing["litersPer100Km"], Value::Null, "over no way");
        app
    });
}

/// docs/fuel.md §6.
#[test]
fn navixys_example_is_consumption_and_no_drain() {
    with_app(async |app| {
        let org = app.org("fuelled").await;
        let lorry = lorry(&app, &org, 370.0).await;
        let speed = 6.37 * 6.0;
        // 8.88 litres in ten minutes over 6.37 km; before and after the level does not fall at all.
        let level = |minute: i64| 250.0 - 8.88 * ((minute - 30) as f64 / 10.0).clamp(0.0, 1.0);
        let minutes: Vec<Minute> = (0..90).map(|minute| (speed, level(minute))).collect();
        report(&app, &lorry, &minutes).await;
        assert_eq!(get(&app, &org, "/v1/fuel/events").await["data"], json!([]));
        // The smoothed level follows within its window of five minutes.
        let burnt = consumption(&app, &org, &lorry, (30, 45)).await;
        near(&burnt["liters"], 8.88, 0.3);
        near(&burnt["distanceKm"], 6.37 * 1.5, 0.7);
        near(&burnt["litersPer100Km"], 93.0, 8.0);
        app
    });
}

#[test]
fn what_a_visit_burnt_is_told_to_who_may_read_fuel() {
    on_each_engine(async |app| {
        let org = app.org("burning").await;
        let fence = json!({ "name": "District", "effectiveFrom": null, "shape": { "type": "circle",
            "center": { "latitude": 30.25, "longitude": -97.0 }, "radiusMeters": 20_000.0 } });
        app.post("/v1/geofences", &org.org_admin, fence).await.ok(201);
        let lorry = lorry(&app, &org, 100.0).await;
        let mut callers = Vec::new();
        for scopes in [&["events:read"][..], &["events:read", "fuel:read"]] {
            let (_, token) = app.system_user(&org.org_admin, scopes).await;
            let mut socket = opened(&app, "/v1/ws/live", &token).await.unwrap();
            assert_eq!(subscribe(&mut socket, &["events"], json!({})).await["type"], "subscribed");
            callers.push((scopes.len() > 1, token, socket));
        }
        // In after eight minutes, out after forty-eight.
        let minutes: Vec<Minute> = (0..60).map(|minute| (60.0, 90.0 - 0.5 * minute as f64)).collect();
        report(&app, &lorry, &minutes).await;
        for (sees_fuel, token, mut socket) in callers {
            let exits = app.get("/v1/geofence-events?type=exit", &token).await.ok(200)["data"].clone();
            let (event, visit) = (text(&exits[0]["id"]), text(&exits[0]["visitId"]));
            let told = loop {
                let told = hear(&mut socket, &["event"]).await["event"].clone();
                if told["type"] == "exit" {
                    break told;
                }
            };
            let get = async |path: String| app.get(&path, &token).await.ok(200);
            let of_vehicle = format!("/v1/geofence-events/vehicle/{}?type=exit", lorry.id);
            for (way, said) in [
                ("list", exits[0].clone()),
                ("event", get(format!("/v1/geofence-events/{event}")).await),
                ("of the vehicle", get(of_vehicle).await["data"][0].clone()),
                ("visits", get("/v1/visits".to_owned()).await["data"][0].clone()),
                ("visit", get(format!("/v1/visits/{visit}")).await),
                ("feed", told),
            ] {
                let analytics = said["analytics"].as_object().unwrap_or_else(|| panic!("{way}: {said}"));
                assert_eq!(analytics.contains_key("fuelUsedLiters"), sees_fuel, "{way}: {said}");
                assert!(analytics.contains_key("distanceMeters"), "{way}: {said}");
            }
        }
        app
    });
}
