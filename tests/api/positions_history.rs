//! Where a vehicle was.

use serde_json::{Value, json};

use crate::harness::{START, text, with_app};

#[test]
fn the_history_is_paged_by_time_and_hides_what_is_doubtful() {
    with_app(async |app| {
        let (org, other) = (app.org("recalling").await, app.org("other").await);
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let at = |second: f64| START.plus_seconds(second).as_millis();
        let item = |second: f64, accuracy: f64| {
            json!({ "recordedAt": at(second), "latitude": 30.0 + second / 1e5, "longitude": -97.0,
                "speedKmh": 36.0, "accuracyMeters": accuracy, "fuel": { "percent": 40.0 } })
        };
        let items = [item(-40.0, 5.0), item(-30.0, 5.0), item(-20.0, 5e5), item(-10.0, 5.0)];
        let sent =
            app.post("/v1/positions", &text(&made["tracker"]["token"]), json!({ "items": items })).await;
        assert_eq!(sent.ok(200)["accepted"], 4);
        let path = format!("/v1/vehicles/{}/positions", text(&made["id"]));
        let get = async |query: &str| app.get(&format!("{path}{query}"), &org.viewer).await;
        let times = |body: &Value| -> Vec<String> {
            body["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|fix| text(&fix["recordedAt"])[17..19].to_owned())
                .collect()
        };
        let all = get("").await.ok(200);
        assert_eq!(times(&all), ["20", "30", "50"]);
        assert_eq!(all["data"][0]["fuel"], json!({ "percent": 40.0 }));
        let doubtful = get("?quarantined=true&sort=-recordedAt").await.ok(200);
        assert_eq!(times(&doubtful), ["50", "40", "30", "20"]);
        assert_eq!(doubtful["data"][1]["quarantine"], "accuracy");
        // Bounds: from inclusive, to exclusive; a cursor continues where it ended.
        let (from, to) = (START.plus_seconds(-30.0), START.plus_seconds(-10.0));
        assert_eq!(times(&get(&format!("?from={from}&to={to}")).await.ok(200)), ["30"]);
        let first = get("?limit=2").await;
        let cursor = text(&first.ok(200)["pagination"]["endCursor"]);
        assert!(first.header("link").unwrap().contains("rel=\"next\""));
        let rest = get(&format!("?after={cursor}")).await.ok(200);
        assert_eq!(
            (times(&rest), &rest["pagination"]["hasNextPage"]),
            (vec!["50".to_owned()], &json!(false))
        );
        get(&format!("?after={cursor}&sort=-recordedAt")).await.problem(400, "invalidCursor");
        // And it lifts no bound.
        let later = START.plus_seconds(-5.0);
        assert!(times(&get(&format!("?after={cursor}&from={later}")).await.ok(200)).is_empty());
        let newest = text(&get("?limit=1&sort=-recordedAt").await.ok(200)["pagination"]["endCursor"]);
        let earlier = get(&format!("?after={newest}&sort=-recordedAt&to={from}")).await.ok(200);
        assert_eq!(times(&earlier), ["20"]);
        app.get(&path, &other.viewer).await.problem(404, "notFound");
        app.delete(&format!("/v1/vehicles/{}", text(&made["id"])), &org.org_admin).await.ok(204);
        assert_eq!(times(&get("").await.ok(200)).len(), 3, "the history stays");
        app
    });
}

#[test]
fn after_many_fixes_that_do_not_count_a_page_ends_and_the_next_one_goes_on() {
    const DOUBTFUL: i64 = 20_500;
    with_app(async |app| {
        let org = app.org("astray").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let token = text(&made["tracker"]["token"]);
        let item = |second: i64, accuracy: f64| {
            json!({ "recordedAt": START.as_millis() + (second - DOUBTFUL) * 1_000, "latitude": 30.0,
                "longitude": -97.0, "accuracyMeters": accuracy })
        };
        let seconds: Vec<i64> = (0..DOUBTFUL).collect();
        for some in seconds.chunks(500) {
            let items: Vec<Value> = some.iter().map(|second| item(*second, 5e5)).collect();
            app.post("/v1/positions", &token, json!({ "items": items })).await.ok(200);
        }
        app.post("/v1/positions", &token, json!({ "items": [item(DOUBTFUL, 5.0)] })).await.ok(200);
        let path = format!("/v1/vehicles/{}/positions", text(&made["id"]));
        let first = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((&first["data"], &first["pagination"]["hasNextPage"]), (&json!([]), &json!(true)));
        let next = format!("{path}?after={}", text(&first["pagination"]["endCursor"]));
        let rest = app.get(&next, &org.viewer).await.ok(200);
        assert_eq!(
            (&rest["data"][0]["accuracyMeters"], &rest["pagination"]["hasNextPage"]),
            (&json!(5.0), &json!(false))
        );
        app
    });
}
