//! Alerts: listed, told, seen and put off by those who share them, and nobody else's.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::clock::new_id;
use waypost::store::time::Time;
use waypost_test_support::eventually;

use crate::drivers::{driver, made};
use crate::feed_rights::{hear, subscribe};
use crate::harness::{App, Org, circle, on_each_engine, text};
use crate::sockets::opened;

/// 2026-05-01T11:00:00Z, an hour before the clock starts.
const ELEVEN: i64 = 1_777_633_200_000;

/// A vehicle that may stay in the depot for a minute: its id and its tracker's token.
async fn vehicle(app: &App, org: &Org) -> (String, String) {
    let mut depot = circle("Depot");
    depot["effectiveFrom"] = Value::Null;
    depot["rules"] = json!({ "dwellAfterSeconds": 60 });
    app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
    let body = json!({ "name": "bus", "tracker": { "uniqueId": format!("bus-{}", org.id) } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["token"]))
}

/// Fixes: seconds after eleven, hundredths of a degree north of 30.26; the depot is at 1.
async fn report(app: &App, token: &str, fixes: &[(i64, f64)]) {
    let fix = |(seconds, north): &(i64, f64)| {
        json!({ "recordedAt": ELEVEN + seconds * 1000, "latitude": 30.26 + north / 100.0, "longitude": -97.74,
            "speedKmh": 20 })
    };
    let items: Vec<Value> = fixes.iter().map(fix).collect();
    app.post("/v1/positions", token, json!({ "items": items })).await.ok(200);
}

/// An alert of now, put into the store, of which nothing else is there.
pub(crate) async fn alert(app: &App, organization: &str, vehicle: &str, rule: &'static str) -> String {
    let id = new_id();
    let insert = "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, confirmed_at, \
        occurred_at, detected_at, origin, cause, detail) select $1, coalesce(max(sequence), 0) + 1, 'alert', 'active', 1, \
        $2, $3, $4, $4, $4, 'live', $5, $6 from records";
    let stmt = app.context.db.write().sql(insert).bind(id).bind(organization.parse::<Uuid>().unwrap());
    let stmt = stmt.bind(vehicle.parse::<Uuid>().unwrap()).bind(Time(app.context.clock.now())).bind(rule);
    let detail = json!({ "causeId": id, "limitKmh": 80.0, "maxSpeedKmh": 95.0, "volumeLiters": 40.0 });
    stmt.bind(detail.to_string()).run().await.unwrap();
    id.to_string()
}

async fn list(app: &App, token: &str, query: &str) -> Vec<Value> {
    app.get(&format!("/v1/alerts{query}"), token).await.ok(200)["data"].as_array().unwrap().clone()
}

/// Puts the one alert off, and ends that.
async fn put_off(app: &App, org: &Org, path: &str) {
    let off = format!("{path}/snooze");
    let late = json!({ "until": "2026-06-02T12:00:00Z" });
    app.post(&off, &org.dispatcher, late).await.problem(422, "validationFailed");
    let until = json!({ "until": "2026-05-01T13:00:00Z" });
    let snoozed = app.post(&off, &org.dispatcher, until).await.ok(200);
    assert_eq!(
        (&snoozed["open"], &snoozed["snoozedUntil"]),
        (&json!(false), &json!("2026-05-01T13:00:00.000Z"))
    );
    assert_eq!(list(app, &org.viewer, "?open=true").await, Vec::<Value>::new());
    assert_eq!(list(app, &org.viewer, "?open=false").await, [snoozed]);
    let over = json!({ "until": "2026-05-01T11:00:00Z" });
    app.post(&off, &org.dispatcher, over).await.ok(200);
    assert_eq!(list(app, &org.viewer, "?open=true").await.len(), 1);
}

/// What was done with the alert is in the audit and among the changes.
async fn was_logged(app: &App, org: &Org, path: &str) {
    let audit = app.get("/v1/audit?resource=alert", &org.org_admin).await.ok(200);
    let actions: Vec<&Value> =
        audit["data"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, [&json!("snooze"), &json!("snooze"), &json!("acknowledge")]);
    let changes = eventually(Duration::from_secs(30), async || {
        let changes = app.get("/v1/changes?resource=alert", &org.viewer).await.ok(200);
        (changes["data"].as_array().unwrap().len() == 3).then_some(changes)
    })
    .await;
    let last = &changes["data"][2];
    assert_eq!(
        (&last["kind"], &last["data"]),
        (&json!("updated"), &app.get(path, &org.viewer).await.ok(200))
    );
}

#[test]
fn one_is_raised_seen_put_off_and_taken_back_for_all_who_share_it() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let (id, token) = vehicle(&app, &org).await;
        let mut socket = opened(&app, "/v1/ws/live", &org.viewer).await.unwrap();
        assert_eq!(subscribe(&mut socket, &["events"], json!({})).await["type"], "subscribed");
        report(&app, &token, &[(0, 0.0), (60, 1.0), (90, 1.0), (150, 1.0)]).await;
        let told = loop {
            let event = hear(&mut socket, &["event"]).await["event"].clone();
            if event["type"] == "alert" {
                break event;
            }
        };
        let [alert] = &list(&app, &org.viewer, "?open=true").await[..] else { panic!() };
        assert_eq!(
            (&alert["id"], &alert["rule"], &alert["vehicleIds"]),
            (&told["id"], &json!("dwell"), &json!([id]))
        );
        assert_eq!((&alert["geofenceName"], &alert["open"]), (&json!("Depot"), &json!(true)));
        assert_eq!((alert.get("endedAt"), alert.get("acknowledgedAt"), told.get("open")), (None, None, None));
        let path = format!("/v1/alerts/{}", text(&alert["id"]));
        let (seen, off) = (format!("{path}/acknowledge"), format!("{path}/snooze"));

        app.post(&seen, &org.viewer, json!({})).await.problem(403, "forbidden");
        for path in [&seen, &off] {
            let until = json!({ "until": "2026-05-01T13:00:00Z" });
            app.post(path, &other.dispatcher, until).await.problem(404, "notFound");
        }
        app.get(&path, &other.viewer).await.problem(404, "notFound");
        assert_eq!(list(&app, &other.viewer, "").await, Vec::<Value>::new());
        let by = app.get("/v1/auth/me", &org.dispatcher).await.ok(200);
        let acknowledged = app.post(&seen, &org.dispatcher, json!({})).await.ok(200);
        assert_eq!(acknowledged["acknowledgedBy"]["id"], by["id"], "{acknowledged} {by}");
        assert_eq!(acknowledged["open"], true, "it goes on");
        assert_eq!(
            app.post(&seen, &org.org_admin, json!({})).await.ok(200),
            acknowledged,
            "the first one stays"
        );
        assert_eq!(app.get(&path, &org.viewer).await.ok(200), acknowledged);

        put_off(&app, &org, &path).await;
        was_logged(&app, &org, &path).await;

        report(&app, &token, &[(180, 1.0), (240, 3.0)]).await;
        let [ended] = &list(&app, &org.viewer, "?open=false").await[..] else { panic!() };
        assert_eq!(
            (&ended["id"], &ended["revision"], &ended["open"]),
            (&alert["id"], &json!(2), &json!(false))
        );
        assert!(ended["endedAt"].is_string() && ended["acknowledgedAt"].is_string(), "{ended}");
        // It was outside in between: no stay was too long.
        report(&app, &token, &[(120, 2.0)]).await;
        let gone = eventually(Duration::from_secs(30), async || {
            list(&app, &org.viewer, "?status=retracted")
                .await
                .into_iter()
                .find(|gone| gone["id"] == alert["id"])
        })
        .await;
        assert_eq!((&gone["revision"], &gone["status"]), (&json!(3), &json!("retracted")));
        app.post(&seen, &org.dispatcher, json!({})).await.problem(409, "invalidTransition");
        app
    });
}

#[test]
fn a_drain_is_for_who_may_read_fuel_and_is_over_when_seen() {
    on_each_engine(async |app| {
        let org = app.org("fuelled").await;
        let (id, _) = vehicle(&app, &org).await;
        let alert = alert(&app, &org.id, &id, "drain").await;
        let (_, blind) = app.system_user(&org.org_admin, &["events:read"]).await;
        let (_, sees) = app.system_user(&org.org_admin, &["events:read", "fuel:read"]).await;
        for (path, many) in [("/v1/alerts", 1), ("/v1/events?type=alert", 1), ("/v1/events", 1)] {
            let told =
                async |token: &str| app.get(path, token).await.ok(200)["data"].as_array().unwrap().len();
            assert_eq!((told(&blind).await, told(&sees).await), (0, many), "{path}");
        }
        app.get("/v1/alerts?rule=drain", &blind).await.problem(403, "forbidden");
        app.get(&format!("/v1/alerts/{alert}"), &blind).await.problem(404, "notFound");
        app.post(&format!("/v1/alerts/{alert}/acknowledge"), &sees, json!({}))
            .await
            .problem(403, "forbidden");
        assert_eq!(list(&app, &sees, "?rule=drain&open=true").await[0]["volumeLiters"], json!(40.0));
        let seen =
            app.post(&format!("/v1/alerts/{alert}/acknowledge"), &org.dispatcher, json!({})).await.ok(200);
        assert_eq!(seen["open"], false);
        assert_eq!(list(&app, &sees, "?rule=drain&open=true").await, Vec::<Value>::new());
        // And so is one that nobody has seen, after a day.
        app.context.db.write().sql("delete from alert_state").run().await.unwrap();
        assert_eq!(list(&app, &sees, "?open=true").await.len(), 1);
        let yesterday = Time(app.context.clock.now().plus_seconds(-86_400.0));
        let update = "update records set occurred_at = $1 where kind = 'alert'";
        app.context.db.write().sql(update).bind(yesterday).run().await.unwrap();
        assert_eq!(list(&app, &sees, "?open=true").await, Vec::<Value>::new());
        assert_eq!(list(&app, &sees, "?open=false").await.len(), 1);
        app
    });
}

#[test]
fn who_drives_without_a_valid_licence_is_one_until_it_is_renewed() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (id, _) = vehicle(&app, &org).await;
        let mut body = driver("Ruiz", Some("B07"));
        body["license"]["expiresAt"] = json!("2026-04-20");
        let path = made(&app, &org.org_admin, body).await;
        let wish = json!({ "vehicleId": id, "startedAt": "2026-04-01T08:00:00Z" });
        let assigned = app.post(&format!("{path}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        let raised = async |query: &'static str| {
            let one = async || list(&app, &org.viewer, query).await.into_iter().next();
            eventually(Duration::from_secs(30), one).await
        };
        let alert = raised("?open=true&rule=licenseExpired").await;
        assert_eq!((&alert["causeId"], &alert["vehicleId"]), (&assigned["id"], &json!(id)));
        assert_eq!(
            (&alert["startedAt"], &alert["driverId"]),
            (&json!("2026-04-21T00:00:00.000Z"), &assigned["driverId"])
        );
        let renewed = json!({ "license": { "expiresAt": "2030-04-20" } });
        app.put(&path, &org.org_admin, renewed).await.ok(200);
        let ended = raised("?open=false&rule=licenseExpired").await;
        assert_eq!((&ended["id"], &ended["revision"]), (&alert["id"], &json!(2)));
        app
    });
}
