//! Dry runs: what a geofence would have recorded is what it records once it is there.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::harness::{App, Org, circle, on_each_engine, text, with_app};

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;
const DAY: [&str; 2] = ["2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"];

async fn vehicle(app: &App, org: &Org, name: &str) -> (String, String) {
    let body = json!({ "name": name, "tracker": { "uniqueId": name } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// Fixes: seconds after eleven, hundredths of a degree north of 30.26; the depot is from 0.865 to 1.135.
async fn report(app: &App, token: &str, fixes: &[(i64, f64)]) {
    let fix = |(seconds, north): &(i64, f64)| json!({ "recordedAt": ELEVEN + seconds * 1000, "latitude": 30.26 + north / 100.0, "longitude": -97.74 });
    for some in fixes.chunks(100) {
        let items: Vec<Value> = some.iter().map(fix).collect();
        app.post("/v1/positions", token, json!({ "items": items })).await.ok(200);
    }
}

fn body([from, to]: [&str; 2]) -> Value {
    json!({ "shape": circle("Depot")["shape"], "from": from, "to": to })
}

async fn tried(app: &App, org: &Org, body: Value) -> Value {
    app.post("/v1/geofences/dry-run", &org.dispatcher, body).await.ok(200)
}

/// Vehicle, entry and exit of each visit.
fn visits(body: &Value, list: &str) -> Vec<[Value; 3]> {
    let row = |one: &Value| ["vehicleId", "enteredAt", "exitedAt"].map(|name| one[name].clone());
    let mut rows: Vec<[Value; 3]> = body[list].as_array().unwrap().iter().map(row).collect();
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

/// To and fro over the edges for an hour, every twenty seconds; some fixes stand, some are too far apart to be true.
fn to_and_fro(seed: i64) -> Vec<(i64, f64)> {
    let place = |step: i64| match (step * seed) % 23 {
        0 => 9.0,
        1 | 2 => 1.0,
        _ => 1.0 + 0.4 * ((step * seed) as f64 / 7.0).sin(),
    };
    (0..180).map(|step| (step * 20, place(step))).collect()
}

#[test]
fn what_would_have_been_is_what_a_fence_that_was_always_there_records() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        for (name, seed) in [("one", 3), ("two", 5), ("three", 11)] {
            let (_, token) = vehicle(&app, &org, name).await;
            let mut fixes = to_and_fro(seed);
            let late = fixes.split_off(90);
            report(&app, &token, &late).await;
            report(&app, &token, &fixes).await;
        }
        let (_, foreign) = vehicle(&app, &other, "foreign").await;
        report(&app, &foreign, &to_and_fro(7)).await;
        vehicle(&app, &org, "silent").await;
        for rules in
            [json!({}), json!({ "minInsideSeconds": 40, "inferPassages": true, "exitMarginMeters": 0 })]
        {
            let mut asked = body(DAY);
            asked["rules"] = rules.clone();
            let found = tried(&app, &org, asked).await;
            let would_be = visits(&found, "visits");
            let vehicles: BTreeSet<String> = would_be.iter().map(|[vehicle, ..]| text(vehicle)).collect();
            assert!(would_be.len() > 5 && vehicles.len() > 1, "{found}");
            assert_eq!(
                (&found["visitCount"], &found["vehicleCount"]),
                (&json!(would_be.len()), &json!(vehicles.len()))
            );
            assert_eq!(
                (&found["isComplete"], &found["readThrough"]),
                (&json!(true), &json!("2026-05-01T12:00:00.000Z"))
            );
            let mut fence = circle("Depot");
            fence["rules"] = rules;
            fence["effectiveFrom"] = Value::Null;
            let made = app.post("/v1/geofences", &org.dispatcher, fence).await.ok(201);
            let path = format!("/v1/visits?limit=200&geofenceId={}", text(&made["id"]));
            eventually(Duration::from_secs(60), async || {
                let recorded = app.get(&path, &org.viewer).await.ok(200);
                (visits(&recorded, "data") == would_be).then_some(())
            })
            .await;
        }
        app
    });
}

#[test]
fn a_part_of_the_time_and_some_vehicles_are_read_if_those_are_asked_for() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (one, token) = vehicle(&app, &org, "one").await;
        report(&app, &token, &[(0, 0.0), (60, 1.0), (120, 2.0), (180, 1.0), (240, 1.0)]).await;
        let (two, token) = vehicle(&app, &org, "two").await;
        report(&app, &token, &[(60, 1.0), (120, 1.0)]).await;
        let found = tried(&app, &org, body(["2026-05-01T11:00:30Z", "2026-05-01T11:03:30Z"])).await;
        // Inside at the first fix of the time: from that fix on.
        let [first, second, third] = &found["visits"].as_array().unwrap()[..] else { panic!("{found}") };
        assert_eq!(first["enteredAt"], "2026-05-01T11:01:00.000Z");
        assert_eq!(second["enteredAt"], first["enteredAt"]);
        assert_eq!((&third["vehicleId"], third.get("exitedAt")), (&json!(one), None));
        assert_eq!(found["readThrough"], "2026-05-01T11:03:30.000Z");
        let mut of_two = body(DAY);
        of_two["vehicleIds"] = json!([two]);
        let found = tried(&app, &org, of_two).await;
        assert_eq!((&found["visitCount"], &found["visits"][0]["vehicleName"]), (&json!(1), &json!("two")));
        app
    });
}

#[test]
fn what_cannot_be_tried_is_told_and_one_is_tried_at_a_time() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let (foreign, _) = vehicle(&app, &other, "foreign").await;
        let path = "/v1/geofences/dry-run";
        let refused = async |body: Value| {
            let said = app.post(path, &org.dispatcher, body).await;
            said.problem(422, "validationFailed");
            said.pointers().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(refused(json!({})).await, ["/shape", "/from", "/to"]);
        assert_eq!(refused(body([DAY[1], DAY[0]])).await, ["/to"]);
        assert_eq!(refused(body(["2026-03-01T00:00:00Z", DAY[0]])).await, ["/from"]);
        let mut asked = body(DAY);
        asked["vehicleIds"] = json!([foreign]);
        assert_eq!(refused(asked).await, ["/vehicleIds/0"]);
        let mut asked = body(DAY);
        asked["shape"]["radiusMeters"] = json!(1);
        assert_eq!(refused(asked).await, ["/shape/radiusMeters"]);
        app.post(path, &org.viewer, body(DAY)).await.problem(403, "forbidden");
        let (_, blind) = app.system_user(&org.org_admin, &["geofences:write"]).await;
        app.post(path, &blind, body(DAY)).await.problem(403, "forbidden");
        let (_, sees) = app.system_user(&org.org_admin, &["geofences:write", "positions:read"]).await;
        app.post(path, &sees, body(DAY)).await.ok(200);
        let turn = app.context.dry_runs.begin(org.id.parse().unwrap()).unwrap();
        app.post(path, &org.dispatcher, body(DAY)).await.problem(503, "busy");
        app.post(path, &other.dispatcher, body(DAY)).await.ok(200);
        drop(turn);
        assert_eq!(tried(&app, &org, body(DAY)).await["visitCount"], 0);
        app
    });
}
