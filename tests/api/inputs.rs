//! Apps and gateways that know nothing of us: what each sends is stored as it should be, and answered in its own words.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{App, Org, Said, text, with_app};

const REQUESTS: &str = include_str!("../fixtures/inputs/requests.json");
/// Members of a stored position that a client can send.
const MEMBERS: [&str; 8] = [
    "latitude",
    "longitude",
    "speedKmh",
    "headingDegrees",
    "altitudeMeters",
    "accuracyMeters",
    "odometerKm",
    "ignition",
];

/// A vehicle with a tracker: its id and the tracker's token.
pub(crate) async fn vehicle(app: &App, org: &Org, unique_id: &str) -> (String, String) {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// All that is stored of a vehicle, oldest first.
pub(crate) async fn positions(app: &App, org: &Org, vehicle: &str) -> Vec<Value> {
    let path = format!("/v1/vehicles/{vehicle}/positions?quarantined=true&limit=1000");
    app.get(&path, &org.org_admin).await.ok(200)["data"].as_array().unwrap().clone()
}

/// Sends a recorded request with a tracker's token in the path.
async fn send(app: &App, token: &str, request: &Value) -> Said {
    let word = |name: &str| request[name].as_str().unwrap_or_default();
    let rest = if word("rest").is_empty() { String::new() } else { format!("/{}", word("rest")) };
    let query = if word("query").is_empty() { String::new() } else { format!("?{}", word("query")) };
    let headers = [("content-type", word("contentType"))];
    let headers = if word("contentType").is_empty() { &headers[..0] } else { &headers[..] };
    app.send(word("method"), &format!("/in/{token}{rest}{query}"), headers, word("body")).await
}

fn is_as_expected(stored: &Value, expected: &Value) -> bool {
    let at = match expected["recordedAt"].as_str() {
        Some("now") => text(&stored["recordedAt"]).starts_with("2026-05-01T12:0"),
        _ => stored["recordedAt"] == expected["recordedAt"],
    };
    at && MEMBERS.iter().all(|name| match (stored[*name].as_f64(), expected[*name].as_f64()) {
        (Some(stored), Some(expected)) => (stored - expected).abs() < 1e-6,
        _ => stored[*name] == expected[*name],
    })
}

#[test]
fn each_recorded_request_is_stored_as_it_should_be_and_answered_in_its_clients_words() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let requests: Vec<Value> = serde_json::from_str(REQUESTS).unwrap();
        for (number, request) in requests.iter().enumerate() {
            let client = format!("{number}: {} {}", request["client"], request["query"]);
            let (vehicle, token) = vehicle(&app, &org, &format!("device-{number}")).await;
            let expected = request["positions"].as_array().unwrap();
            let is_timed = expected.iter().all(|position| position["recordedAt"] != "now");
            // A second time, because its answer may have been lost.
            for _ in 0..if is_timed { 2 } else { 1 } {
                let said = send(&app, &token, request).await;
                assert_eq!(said.status, 200, "{client}: {}", said.body);
                let answer = request["answer"].as_str().unwrap();
                assert_eq!(String::from_utf8_lossy(&said.bytes), answer, "{client}");
                let kind = (!answer.is_empty()).then_some("application/json");
                assert_eq!(said.header("content-type"), kind, "{client}");
                let stored = positions(&app, &org, &vehicle).await;
                assert_eq!(stored.len(), expected.len(), "{client}: {stored:?}");
                for (stored, expected) in stored.iter().zip(expected) {
                    assert!(is_as_expected(stored, expected), "{client}: {stored} is not {expected}");
                }
            }
        }
        app
    });
}

/// GPSLogger is under the GPL: its requests are read where they lie beside the repository.
#[test]
fn what_gpslogger_sends_is_stored() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/clients/requests_gpslogger.json");
    let Ok(recorded) = std::fs::read_to_string(path) else {
        println!("skipped: there are no recorded requests of GPSLogger");
        return;
    };
    let requests: Vec<Value> = serde_json::from_str(&recorded).unwrap();
    with_app(async |app| {
        let org = app.org("fleet").await;
        for (number, request) in requests.iter().enumerate() {
            let (vehicle, token) = vehicle(&app, &org, &format!("device-{number}")).await;
            let query = request["path"].as_str().unwrap().split_once('?').unwrap().1;
            let said = send(&app, &token, &json!({ "method": request["method"], "query": query })).await;
            assert_eq!((said.status, said.bytes.len()), (200, 0), "{query}");
            let stored = positions(&app, &org, &vehicle).await;
            assert_eq!(stored.len(), usize::from(query.contains("lat=")), "{query}: {stored:?}");
        }
        app
    });
}

#[test]
fn a_backlog_of_a_thousand_features_is_stored_and_what_is_too_large_stays_with_its_client() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (vehicle, token) = vehicle(&app, &org, "phone").await;
        let feature = |second: usize| {
            let at = format!("2026-05-01T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60);
            let properties = json!({ "timestamp": at, "speed": 4, "course": 90, "horizontal_accuracy": 10,
                "motion": ["driving", "stationary"], "battery_state": "charging", "wifi": "x".repeat(400) });
            json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": [11.5 + second as f64 / 1e5, 48.1] },
                "properties": properties })
        };
        let batch = |count: usize| json!({ "locations": (0..count).map(feature).collect::<Vec<_>>() });
        let body = batch(1000).to_string();
        assert!(body.len() > 600_000, "{}", body.len());
        let typed = [("content-type", "application/json")];
        let path = format!("/in/{token}");
        let said = app.send("POST", &path, &typed, body).await;
        assert_eq!((said.status, said.bytes), (200, br#"{"result":"ok"}"#.to_vec()));
        assert_eq!(positions(&app, &org, &vehicle).await.len(), 1000);

        let many = format!(r#"{{"locations":[{}0]}}"#, "0,".repeat(10_000));
        app.send("POST", &path, &typed, many).await.problem(413, "payloadTooLarge");
        let card = format!(r#"{{"_type":"card","face":"{}"}}"#, "x".repeat(1 << 20));
        app.send("POST", &path, &typed, card).await.problem(413, "payloadTooLarge");
        app.send("POST", &path, &typed, " ".repeat((4 << 20) + 1)).await.problem(413, "payloadTooLarge");
        app
    });
}

#[test]
fn whoever_reports_to_the_page_is_told_where_to_report() {
    with_app(async |app| {
        let said = app.get("/?id=902064&timestamp=1442068686&lat=42.06288&lon=-88.23412", "").await;
        assert!(text(&said.problem(400, "unknownParameter")["detail"]).contains("/in/{token}"));
        let said = app.send("POST", "/?id=1&lat=1&lon=2", &[], "").await;
        assert!(text(&said.problem(405, "methodNotAllowed")["detail"]).contains("/in/{token}"));
        app
    });
}

#[test]
fn a_tracker_says_in_which_unit_its_app_means_what_the_words_leave_open() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app
            .post("/v1/vehicles", &org.org_admin, json!({ "name": "x", "tracker": { "uniqueId": "x" } }))
            .await
            .ok(201);
        let (vehicle, token) = (text(&made["id"]), text(&made["tracker"]["token"]));
        let tracker = format!("/v1/trackers/{}", text(&made["tracker"]["id"]));
        let mut second = 1_777_629_600;
        let mut speed = async |unit: Value, query: &str, body: &str| {
            second += 60;
            let said = app.put(&tracker, &org.org_admin, json!({ "speedUnit": unit })).await.ok(200);
            assert_eq!(said.get("speedUnit").cloned().unwrap_or_default(), unit);
            let path = format!("/in/{token}?{}", query.replace("AT", &second.to_string()));
            let sent = app.send("POST", &path, &[], body.replace("AT", &second.to_string())).await;
            assert_eq!(sent.status, 200);
            positions(&app, &org, &vehicle).await.last().unwrap()["speedKmh"].as_f64().unwrap()
        };
        let osmand = "lat=48.1&lon=11.5&timestamp=AT&speed=10";
        let owntracks = r#"{"_type":"location","lat":48.1,"lon":11.5,"tst":AT,"vel":10}"#;
        for (unit, of_osmand, of_owntracks) in [
            (json!(null), 18.52, 10.0),
            (json!("ms"), 36.0, 36.0),
            (json!("kmh"), 10.0, 10.0),
            (json!("knots"), 18.52, 18.52),
        ] {
            assert!((speed(unit.clone(), osmand, "").await - of_osmand).abs() < 1e-9, "{unit}");
            assert!((speed(unit.clone(), "", owntracks).await - of_owntracks).abs() < 1e-9, "{unit}");
            let clear = osmand.replace("speed", "speed_kmh");
            assert!(
                (speed(unit.clone(), &clear, "").await - 10.0).abs() < 1e-9,
                "{unit}: the name says the unit"
            );
        }
        app.put(&tracker, &org.org_admin, json!({ "speedUnit": "mph" }))
            .await
            .problem(422, "validationFailed");
        app
    });
}
