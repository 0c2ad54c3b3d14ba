//! A vehicle's tank and fuel sensor: what is allowed, and the versions that result.

use serde_json::{Value, json};
use waypost::store::time::Time;

use crate::harness::{App, Org, text, with_app};

/// A sensor with everything.
fn sensor() -> Value {
    json!({ "kind": "raw", "calibration": [{ "raw": 0, "liters": 0 }, { "raw": 2000, "liters": 40.5 },
        { "raw": 4095, "liters": 90 }], "minValid": 0, "maxValid": 4095, "errorCodes": [65535, 65534],
        "windowSeconds": 120 })
}

async fn vehicle(app: &App, org: &Org, fuel: Value) -> Value {
    app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus", "fuel": fuel })).await.ok(201)
}

/// The versions of a vehicle's calibration: from when on, of which tank, with which kind of sensor.
async fn versions(app: &App, vehicle: &Value) -> Vec<(i64, Option<String>, Option<f64>, Option<String>)> {
    type Row = (i64, Option<Time>, Option<f64>, Option<sqlx::types::Json<Value>>);
    let sql = "select version, effective_from, tank_capacity_liters, sensor from fuel_calibration \
        where vehicle_id = $1 order by version";
    let id: uuid::Uuid = text(&vehicle["id"]).parse().unwrap();
    let rows: Vec<Row> = app.context.db.read().sql(sql).bind(id).all().await.unwrap();
    let kind = |sensor: sqlx::types::Json<Value>| text(&sensor.0["kind"]);
    let shown = |from: Time| from.0.to_string();
    let version = |(version, from, tank, sensor): Row| (version, from.map(shown), tank, sensor.map(kind));
    rows.into_iter().map(version).collect()
}

#[test]
fn a_sensor_is_kept_as_it_is_said_and_read_back() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let fuel = json!({ "kind": "diesel", "tankCapacityLiters": 90, "normLitersPer100Km": 28, "sensor": sensor() });
        let made = vehicle(&app, &org, fuel.clone()).await;
        let mut shown = made["fuel"].clone();
        assert_eq!(shown["effectiveFrom"], Value::Null, "what a new vehicle has it always had");
        shown.as_object_mut().unwrap().remove("effectiveFrom");
        let number = |value: &Value| value.as_f64().unwrap();
        assert_eq!(number(&shown["sensor"]["calibration"][1]["liters"]), 40.5);
        assert_eq!(number(&shown["sensor"]["windowSeconds"]), 120.0);
        assert_eq!(shown["sensor"].as_object().unwrap().len(), 6, "{shown}");
        assert_eq!(versions(&app, &made).await, [(1, None, Some(90.0), Some("raw".into()))]);
        // An answer may be sent back, and changes nothing.
        let path = format!("/v1/vehicles/{}", text(&made["id"]));
        let read = app.get(&format!("{path}?include=none"), &org.viewer).await.ok(200);
        assert_eq!(app.put(&path, &org.org_admin, read.clone()).await.ok(200), read);
        assert_eq!(versions(&app, &made).await.len(), 1);
        // A sensor may name its tank as well.
        let mut with_tank =
            json!({ "kind": "petrol", "sensor": { "kind": "percent", "tankCapacityLiters": 55 } });
        let made = vehicle(&app, &org, with_tank.clone()).await;
        assert_eq!(number(&made["fuel"]["tankCapacityLiters"]), 55.0);
        assert_eq!(made["fuel"]["sensor"].get("tankCapacityLiters"), None, "a tank is said in one place");
        with_tank["tankCapacityLiters"] = json!(56);
        let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x", "fuel": with_tank })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/fuel/sensor/tankCapacityLiters"]);
        app
    });
}

#[test]
fn every_mistake_is_named_with_its_row() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let table = |points: &[(f64, f64)]| {
            let points: Vec<Value> =
                points.iter().map(|(raw, liters)| json!({ "raw": raw, "liters": liters })).collect();
            json!({ "kind": "raw", "calibration": points })
        };
        let rows = "/fuel/sensor/calibration";
        for (sensor, pointers) in [
            (
                table(&[(0.0, 0.0), (5.0, 10.0), (5.0, 20.0), (4.0, 30.0)]),
                vec![format!("{rows}/2/raw"), format!("{rows}/3/raw")],
            ),
            (table(&[(0.0, 0.0), (5.0, 10.0), (6.0, 9.0), (7.0, 30.0)]), vec![format!("{rows}/2/liters")]),
            (table(&[(0.0, 0.0), (1.0, 103.0)]), vec![format!("{rows}/1/liters")]),
            (table(&[(0.0, 0.0)]), vec![rows.to_owned()]),
            (
                json!({ "kind": "raw", "calibration": [{ "raw": "a", "liters": 1 }, { "raw": 1 }, 7, { "raw": 2,
                "liters": 3, "litres": 4 }] }),
                vec![
                    format!("{rows}/0/raw"),
                    format!("{rows}/1/liters"),
                    format!("{rows}/2"),
                    format!("{rows}/3/litres"),
                ],
            ),
            (json!({ "kind": "raw", "calibration": {} }), vec![rows.to_owned()]),
            (json!({ "kind": "dipstick" }), vec!["/fuel/sensor/kind".to_owned()]),
            (
                json!({ "kind": "percent", "windowSeconds": 59, "minValid": 5, "maxValid": 5 }),
                vec!["/fuel/sensor/windowSeconds".to_owned(), "/fuel/sensor/maxValid".to_owned()],
            ),
            (
                json!({ "kind": "percent", "errorCodes": ["x"], "errorcodes": [] }),
                vec!["/fuel/sensor/errorCodes".to_owned(), "/fuel/sensor/errorcodes".to_owned()],
            ),
            (
                json!({ "kind": "cumulative", "calibration": [{ "raw": 0, "liters": 0 }, { "raw": 1, "liters": 1 }] }),
                vec![rows.to_owned()],
            ),
        ] {
            let fuel = json!({ "kind": "diesel", "tankCapacityLiters": 100, "sensor": sensor });
            let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x", "fuel": fuel })).await;
            said.problem(422, "validationFailed");
            let mut found = said.pointers();
            let mut expected: Vec<&str> = pointers.iter().map(String::as_str).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{sensor}");
        }
        let fuel = json!({ "kind": "diesel", "sensor": sensor(), "effectiveFrom": "yesterday" });
        let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "x", "fuel": fuel })).await;
        said.problem(422, "validationFailed");
        let mut found = said.pointers();
        found.sort_unstable();
        assert_eq!(found, ["/fuel/effectiveFrom", "/fuel/tankCapacityLiters"]);
        app
    });
}

#[test]
fn a_change_of_tank_or_sensor_is_a_version_and_nothing_else_is() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = vehicle(&app, &org, json!({ "kind": "diesel" })).await;
        let path = format!("/v1/vehicles/{}", text(&made["id"]));
        let put = async |fuel: Value| {
            app.pass(10);
            app.put(&path, &org.org_admin, json!({ "fuel": fuel })).await.ok(200)["fuel"].clone()
        };
        assert_eq!(versions(&app, &made).await.len(), 0);
        put(json!({ "normLitersPer100Km": 30, "kind": "lpg" })).await;
        assert_eq!(versions(&app, &made).await.len(), 0, "what it needs is no calibration");
        // The first one is from now on.
        let shown = put(json!({ "tankCapacityLiters": 60 })).await;
        assert_eq!(shown["effectiveFrom"], json!(app.context.clock.now()));
        let now = text(&shown["effectiveFrom"]);
        assert_eq!(versions(&app, &made).await, [(1, Some(now), Some(60.0), None)]);
        // Sending the same again makes no version, and neither does sending back an answer.
        put(json!({ "tankCapacityLiters": 60 })).await;
        assert_eq!(versions(&app, &made).await.len(), 1);
        let shown = put(
            json!({ "sensor": sensor(), "tankCapacityLiters": 90, "effectiveFrom": "2026-01-01T00:00:00Z" }),
        )
        .await;
        assert_eq!(shown["effectiveFrom"], "2026-01-01T00:00:00.000Z");
        put(json!({ "effectiveFrom": "2026-01-01T01:00:00+01:00" })).await;
        assert_eq!(versions(&app, &made).await.len(), 2);
        // A PUT replaces the whole sensor: the old one's table does not apply to the new one.
        let shown = put(json!({ "sensor": { "kind": "percent" } })).await;
        assert_eq!(shown["sensor"]["calibration"], json!([]));
        assert_eq!(shown["effectiveFrom"], json!(app.context.clock.now()), "from now on again");
        let shown = put(json!({ "sensor": null, "effectiveFrom": null })).await;
        assert_eq!((shown.get("sensor"), &shown["effectiveFrom"]), (None, &Value::Null));
        let kinds: Vec<Option<String>> =
            versions(&app, &made).await.into_iter().map(|version| version.3).collect();
        assert_eq!(kinds, [None, Some("raw".into()), Some("percent".into()), None]);
        app.put(&path, &org.dispatcher, json!({ "fuel": { "tankCapacityLiters": 61 } }))
            .await
            .problem(403, "forbidden");
        app
    });
}
