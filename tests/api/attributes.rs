//! What fixes carry beside where the vehicle is: from the item to the history, the live view, the feed and the export.

use serde_json::{Value, json};

use crate::harness::{App, START, on_each_engine, text, with_app};
use crate::sockets::{hear, opened, say};

/// A vehicle's id, its tracker's token, and somebody who may look.
async fn bus(app: &App) -> (String, String, String) {
    let org = app.org("carrying").await;
    let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]), org.viewer)
}

fn item(seconds: f64, attributes: Value) -> Value {
    let recorded_at = START.plus_seconds(seconds).as_millis();
    let mut item = json!({ "seq": 1, "recordedAt": recorded_at, "latitude": 30.25, "longitude": -97.75 });
    if !attributes.is_null() {
        item["attributes"] = attributes;
    }
    item
}

#[test]
fn they_are_in_the_history_and_the_live_view_however_often_a_fix_is_reported() {
    on_each_engine(async |app| {
        let (id, token, viewer) = bus(&app).await;
        let report = async |items: &[Value]| {
            app.post("/v1/positions", &token, json!({ "items": items })).await.ok(200)
        };
        let history = async || {
            let path = format!("/v1/vehicles/{id}/positions?sort=recordedAt");
            let body = app.get(&path, &viewer).await.ok(200);
            body["data"].as_array().unwrap().iter().map(|fix| fix["attributes"].clone()).collect::<Vec<_>>()
        };
        let live = async || {
            let vehicle = app.get(&format!("/v1/vehicles/{id}"), &viewer).await.ok(200);
            vehicle["live"]["attributes"].clone()
        };
        let first = json!({ "batteryPercent": 87, "alarm": "sos", "doorOpen": true, "temperatureCelsius": [-4.5, 3] });
        report(&[item(-40.0, first.clone())]).await;
        assert_eq!((history().await, live().await), (vec![first.clone()], first.clone()));
        // The same fix again, by a message that says something else; several reports of one fix in one request.
        let merged = json!({ "batteryPercent": 86, "alarm": "sos", "doorOpen": true, "hdop": 0.9, "satellites": 9,
            "temperatureCelsius": [-4.5, 3] });
        let out = report(&[
            item(-40.0, json!({ "hdop": 0.9 })),
            item(-40.0, json!({ "satellites": 9, "batteryPercent": 86 })),
            item(-40.0, Value::Null),
        ])
        .await;
        assert_eq!((&out["stored"], &out["duplicates"]), (&json!(0), &json!(3)));
        assert_eq!((history().await, live().await), (vec![merged.clone()], merged.clone()));
        // A fix without any has none, and a late one keeps its own.
        let late = json!({ "driverCard": "01AB" });
        report(&[item(-20.0, Value::Null), item(-60.0, late.clone())]).await;
        assert_eq!(live().await, Value::Null);
        assert_eq!(history().await, [late.clone(), merged.clone(), Value::Null]);
        let late_again = json!({ "driverCard": "01AB", "engineRpm": 900 });
        report(&[item(-60.0, json!({ "engineRpm": 900 }))]).await;
        assert_eq!(history().await, [late_again, merged.clone(), Value::Null]);
        report(&[item(-20.0, json!({ "batteryPercent": 5 }))]).await;
        assert_eq!(live().await, json!({ "batteryPercent": 5 }));
        let then = format!("/v1/vehicles?asOf={}", START.plus_seconds(-30.0));
        assert_eq!(app.get(&then, &viewer).await.ok(200)["data"][0]["live"]["attributes"], merged);
        app
    });
}

#[test]
fn what_is_not_stored_is_told_once() {
    with_app(async |app| {
        let (id, token, viewer) = bus(&app).await;
        let mut sent = item(-40.0, json!({ "batteryPercent": 187, "doorOpen": true, "a b": 1 }));
        sent["speed_kmh"] = json!(30);
        let out = app.post("/v1/positions", &token, json!({ "items": [sent, sent] })).await.ok(200);
        assert_eq!((&out["accepted"], &out["rejected"]), (&json!(2), &json!([])));
        let told = |warnings: &Value| {
            let of =
                |one: &Value| format!("{} {} {}", one["index"], text(&one["code"]), text(&one["member"]));
            warnings.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&out["warnings"]),
            [
                "0 unknownMember speed_kmh",
                "0 invalidAttribute attributes.a b",
                "0 invalidAttribute attributes.batteryPercent"
            ]
        );
        assert!(text(&out["warnings"][0]["detail"]).ends_with("did you mean speedKmh?"));
        let stored = app.get(&format!("/v1/vehicles/{id}/positions"), &viewer).await.ok(200);
        assert_eq!(stored["data"][0]["attributes"], json!({ "doorOpen": true }));
        // A socket is one connection: a second frame with the same is not worth another word.
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        for (seq, names) in [(1, vec!["0 unknownMember speed_kmh", "0 unknownMember lat"]), (2, vec![])] {
            let mut sent = item(f64::from(seq), Value::Null);
            (sent["seq"], sent["speed_kmh"], sent["lat"]) = (json!(seq), json!(30), json!(1));
            say(&mut socket, &json!({ "type": "positions", "items": [sent] })).await;
            let ack = hear(&mut socket).await;
            let warnings = ack.get("warnings").map_or_else(Vec::new, told);
            assert_eq!((&ack["seq"], warnings.len()), (&json!(seq), names.len()), "{ack}");
            assert!(names.iter().all(|name| warnings.iter().any(|one| one == name)), "{ack}");
        }
        // Nor is what stands beside the items dropped in silence.
        let body = json!({ "items": [item(-15.0, Value::Null)], "vehicle": 7, "uniqueid": "x" });
        let out = app.post("/v1/positions", &token, body).await.ok(200);
        assert_eq!(told(&out["warnings"]), ["null unknownMember uniqueid", "null unknownMember vehicle"]);
        assert!(text(&out["warnings"][0]["detail"]).ends_with("did you mean uniqueId in each item?"));
        assert_eq!(out["stored"], 1);
        let mut sent = item(3.0, Value::Null);
        sent["seq"] = json!(3);
        say(&mut socket, &json!({ "type": "positions", "items": [sent], "batch": 1 })).await;
        let ack = hear(&mut socket).await;
        assert_eq!(
            (told(&ack["warnings"]), &ack["stored"]),
            (vec!["null unknownMember batch".to_owned()], &json!(1))
        );
        // What is no object at all costs nothing but itself.
        let out =
            app.post("/v1/positions", &token, json!({ "items": [item(-10.0, json!([1]))] })).await.ok(200);
        assert_eq!(told(&out["warnings"]), ["0 invalidAttribute attributes"]);
        assert_eq!(out["stored"], 1);
        app
    });
}
