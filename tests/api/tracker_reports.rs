//! What is known of a tracker beside its fixes: when it was last heard, and what was refused of it.

use serde_json::{Value, json};

use crate::harness::{App, Org, text, with_app};
use crate::inputs::positions;

/// A vehicle's and its tracker's ids, and the token.
async fn tracker(app: &App, org: &Org, unique_id: &str) -> (String, String, String) {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["id"]), text(&made["tracker"]["token"]))
}

async fn reports(app: &App, org: &Org, tracker: &str) -> Value {
    app.get(&format!("/v1/trackers/{tracker}/reports"), &org.viewer).await.ok(200)
}

#[test]
fn what_was_refused_for_good_is_shown_with_its_reason() {
    crate::harness::on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (vehicle, tracker, token) = tracker(&app, &org, "phone").await;
        let before = reports(&app, &org, &tracker).await;
        assert_eq!(before, json!({ "rejected": [] }), "it was never heard");
        let send = async |query: &str, body: &str| {
            let said = app.send("POST", &format!("/in/{token}?{query}"), &[], body).await;
            assert_eq!(said.status, 200, "{query} {body}");
        };
        send("timestamp=1777629600&lat=0&lon=0", "").await;
        send("timestamp=1777629600&lat=91&lon=200&token=secret", "").await;
        send("timestamp=yesterday&lat=1&lon=2", "").await;
        send("", "action=addpos&lat=x&lon=2&pass=secret&user=jane").await;
        send("", "{\"_type\":\"location\"").await;
        send("", "<xml\u{0}\u{e9}/>").await;
        let found = reports(&app, &org, &tracker).await;
        let told: Vec<[&str; 3]> = found["rejected"]
            .as_array()
            .unwrap()
            .iter()
            .map(|report| ["input", "code", "raw"].map(|member| report[member].as_str().unwrap()))
            .collect();
        let expected = [
            ["osmand", "unreadable", "<xml\u{0}\u{e9}/>"],
            ["osmand", "unreadable", "{\"_type\":\"location\""],
            ["ulogger", "invalidItem", "action=addpos&lat=x&lon=2&user=jane"],
            ["osmand", "invalidTime", "timestamp=yesterday&lat=1&lon=2"],
            ["osmand", "coordinatesOutOfRange", "timestamp=1777629600&lat=91&lon=200"],
            ["osmand", "nullIsland", "timestamp=1777629600&lat=0&lon=0"],
        ];
        assert_eq!(told, expected);
        assert!(text(&found["rejected"][5]["detail"]).contains("no fix"));
        assert_eq!(positions(&app, &org, &vehicle).await.len(), 0);
        // Bytes that are no text are shown in hexadecimal.
        app.send("POST", &format!("/in/{token}/traccar"), &[], vec![0xff, 0x00]).await.ok(200);
        assert_eq!(reports(&app, &org, &tracker).await["rejected"][0]["raw"], "ff00");
        assert_eq!(app_metric(&app, "rejected", "osmand").await, 5.0);
        // Nor is what no client would say a heartbeat.
        for garbage in
            ["hello there", "%%%&&&===", "\"text\"", "{\"a\":{\"b\":1},\"c\":2}", "[{\"x\":1}]", "[7]"]
        {
            send("", garbage).await;
            let newest = reports(&app, &org, &tracker).await["rejected"][0].clone();
            assert_eq!(
                (&newest["code"], &newest["raw"]),
                (&json!("invalidItem"), &json!(garbage)),
                "{newest}"
            );
        }
        app.send("POST", &format!("/in/{token}/traccar"), &[], "{\"a\":1}").await.ok(200);
        assert_eq!(reports(&app, &org, &tracker).await["rejected"][0]["input"], "traccar");
        let many = reports(&app, &org, &tracker).await["rejected"].as_array().unwrap().len();
        for heartbeat in ["", "id=phone&timestamp=1777629600", "batt=80"] {
            send("", heartbeat).await;
        }
        assert_eq!(reports(&app, &org, &tracker).await["rejected"].as_array().unwrap().len(), many);
        // What a gateway says of a tracker is kept with that one, where it cannot be read too.
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let bearer = format!("Bearer {gateway}");
        app.send("POST", "/in?id=phone&lat=x&lon=2", &[("authorization", &bearer)], "").await.ok(200);
        assert_eq!(reports(&app, &org, &tracker).await["rejected"][0]["raw"], "id=phone&lat=x&lon=2");
        app.send("POST", "/in?id=stranger&lat=x&lon=2", &[("authorization", &bearer)], "").await.ok(200);
        let found = app.get("/v1/pending-trackers", &org.viewer).await.ok(200);
        assert_eq!(
            (&found["data"][0]["uniqueId"], &found["data"][0]["fixes"]),
            (&json!("stranger"), &json!(0))
        );
        // What a gateway sends of a tracker that is disabled is no device's that nobody knows.
        let path = format!("/v1/trackers/{tracker}");
        app.put(&path, &org.org_admin, json!({ "uniqueId": "phone", "status": "disabled" })).await.ok(200);
        let query = "/in?id=phone&timestamp=1777629600&lat=1&lon=2";
        app.send("POST", query, &[("authorization", &bearer)], "").await.ok(200);
        assert_eq!(reports(&app, &org, &tracker).await["rejected"][0]["code"], "trackerDisabled");
        app
    });
}

async fn app_metric(app: &App, what: &str, input: &str) -> f64 {
    app.metric(&format!("waypost_input_{what}_total{{input=\"{input}\"}}")).await
}

#[test]
fn the_newest_hundred_of_each_tracker_are_kept_and_nobody_else_sees_them() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let (_, one, token) = tracker(&app, &org, "one").await;
        let (_, two, _) = tracker(&app, &org, "two").await;
        for number in 0..130 {
            let path = format!("/in/{token}?lat=0&lon=0&timestamp=1777629600&number={number}");
            app.send("GET", &path, &[], "").await.ok(200);
            if number % 40 == 0 {
                reports(&app, &org, &one).await; // saves them, so that later ones meet stored ones
            }
        }
        let kept = reports(&app, &org, &one).await["rejected"].as_array().unwrap().clone();
        let ends = [text(&kept[0]["raw"]), text(&kept[99]["raw"])]
            .map(|raw| raw.rsplit('=').next().unwrap().to_owned());
        assert_eq!((kept.len(), ends), (100, ["129".to_owned(), "30".to_owned()]));
        assert_eq!(reports(&app, &org, &two).await["rejected"], json!([]));
        let path = format!("/v1/trackers/{one}/reports");
        app.get(&path, &other.org_admin).await.problem(404, "notFound");
        let (_, equipment) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        app.get(&path, &equipment).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn whoever_sets_up_an_app_is_told_the_address_that_the_settings_name() {
    actix_rt::System::new().block_on(async {
        let told = "https://fleet.example.org";
        let app = App::start_with_root(|settings| {
            settings.public_url = Some(format!("{told}/"));
        })
        .await;
        let org = app.org("fleet").await;
        let (_, phone, _) = tracker(&app, &org, "phone").await;
        assert_eq!(reports(&app, &org, &phone).await, json!({ "publicUrl": told, "rejected": [] }));
        app.stop().await;
    });
}

#[test]
fn a_heartbeat_moves_the_last_contact_and_nothing_else() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (vehicle, phone, token) = tracker(&app, &org, "phone").await;
        let (_, device, _) = tracker(&app, &org, "605630").await;
        let heard =
            async |tracker: &str| text(&reports(&app, &org, tracker).await["lastContactAt"])[..16].to_owned();
        let beat = format!("/in/{token}?id=1&batt=87");
        app.send("POST", &beat, &[], "").await.ok(200);
        assert_eq!(heard(&phone).await, "2026-05-01T12:00");
        app.pass(180);
        app.send("POST", &beat, &[], "").await.ok(200);
        assert_eq!(heard(&phone).await, "2026-05-01T12:03");
        let refused = format!("/in/{token}?lat=0&lon=0&timestamp=1777629600");
        app.send("POST", &refused, &[], "").await.ok(200);
        let position_at = async || reports(&app, &org, &phone).await["lastPositionAt"].clone();
        assert_eq!(
            position_at().await,
            Value::Null,
            "neither a heartbeat nor a refused report is a position"
        );
        app.pass(180);
        // A gateway's device, and a program of one's own.
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let bearer = format!("Bearer {gateway}");
        let body = r#"[{"ident":"605630","timestamp":1777629600,"gsm.signal.level":3}]"#;
        app.send("POST", "/in", &[("authorization", &bearer)], body).await.ok(200);
        let item = json!({ "recordedAt": "2026-05-01T11:00:00Z", "latitude": 48.1, "longitude": 11.5 });
        app.post("/v1/positions", &token, json!({ "items": [item] })).await.ok(200);
        for tracker in [&phone, &device] {
            assert_eq!(heard(tracker).await, "2026-05-01T12:06");
        }
        let at = text(&position_at().await);
        app.pass(180);
        app.send("POST", &beat, &[], "").await.ok(200);
        assert_eq!((heard(&phone).await.as_str(), position_at().await), ("2026-05-01T12:09", json!(at)));
        assert_eq!(positions(&app, &org, &vehicle).await.len(), 1);
        assert_eq!(app_metric(&app, "contacts", "osmand").await, 3.0);
        app
    });
}
