//! Devices that report for an organization and are no trackers of it yet: listed, bounded, and made trackers with what they
//! had sent.

use std::time::Duration;

use serde_json::{Value, json};
use waypost::store::time::Time;
use waypost_test_support::eventually;

use crate::harness::{App, Org, on_each_engine, text, with_app};
use crate::inputs::{positions, vehicle};

/// The longest wait of a test.
const DEADLINE: Duration = Duration::from_secs(60);
/// 2026-05-01T10:00:00Z.
const START: i64 = 1_777_629_600;

/// A fix of a device, as flespi sends it.
fn fix(name: &str, minute: i64) -> Value {
    let (latitude, longitude) = (48.1, 11.5 + minute as f64 / 1e3);
    json!({ "ident": name, "timestamp": START + 60 * minute, "position.latitude": latitude, "position.longitude": longitude })
}

async fn report(app: &App, gateway: &str, fixes: &[Value]) {
    let bearer = format!("Bearer {gateway}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let said = app.send("POST", "/in/flespi", &headers, json!(fixes).to_string()).await;
    assert_eq!(said.status, 200, "{}", said.body);
}

async fn pending(app: &App, token: &str, query: &str) -> Vec<Value> {
    let page = app.get(&format!("/v1/pending-trackers?limit=100&{query}"), token).await.ok(200);
    page["data"].as_array().unwrap().clone()
}

async fn bus(app: &App, org: &Org) -> String {
    text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus" })).await.ok(201)["id"])
}

#[test]
fn a_device_that_is_not_known_becomes_a_tracker_with_what_it_had_sent() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        vehicle(&app, &org, "known").await;
        report(
            &app,
            &gateway,
            &[fix("known", 0), fix("new", 3), fix("new", 4), json!({ "ident": "silent" })],
        )
        .await;
        let null_island =
            json!({ "ident": "new", "timestamp": START, "position.latitude": 0, "position.longitude": 0 });
        report(&app, &gateway, &[null_island, fix("new", 5)]).await;
        let found = pending(&app, &org.viewer, "sort=uniqueId").await;
        let names: Vec<_> = found.iter().map(|one| (text(&one["uniqueId"]), one["fixes"].as_i64())).collect();
        assert_eq!(names, [("new".to_owned(), Some(3)), ("silent".to_owned(), Some(0))]);
        report(&app, &gateway, &[fix("new", 5)]).await;
        let again = pending(&app, &org.viewer, "sort=uniqueId").await;
        assert_eq!(again[0]["fixes"], 3, "what came again once it was kept");
        assert_eq!(
            (&found[0]["input"], &found[0]["firstFixAt"]),
            (&json!("flespi"), &json!("2026-05-01T10:03:00.000Z"))
        );
        assert!(found[1].get("firstFixAt").is_none() && found[0]["lastSeenAt"].is_string(), "{found:?}");
        assert!(pending(&app, &other.org_admin, "").await.is_empty(), "another organization's eyes");
        let named = format!("/v1/pending-trackers?organizationId={}", org.id);
        app.get(&named, &other.org_admin).await.problem(404, "notFound");

        // A tracker without a vehicle gets nothing yet.
        let made = app.post("/v1/trackers", &org.org_admin, json!({ "uniqueId": "new" })).await.ok(201);
        assert_eq!(pending(&app, &org.viewer, "").await.len(), 1);
        let bus = bus(&app, &org).await;
        report(&app, &gateway, &[fix("new", 6)]).await;
        let tracker = format!("/v1/trackers/{}", text(&made["id"]));
        app.put(&tracker, &org.org_admin, json!({ "vehicleId": bus })).await.ok(200);
        eventually(DEADLINE, || async { positions(&app, &org, &bus).await.len() == 3 }).await;
        report(&app, &gateway, &[fix("new", 3), fix("new", 7)]).await;
        assert_eq!(positions(&app, &org, &bus).await.len(), 4, "what comes again is stored once");
        let left = "select count(*) from pending_tracker";
        eventually(DEADLINE, || async {
            let left: i64 = app.context.db.read().sql(left).scalar().await.unwrap();
            left == 1
        })
        .await;
        // The whole way in one call.
        report(&app, &gateway, &[fix("silent", 9)]).await;
        let body = json!({ "name": "Van", "tracker": { "uniqueId": "silent" } });
        let van = text(&app.post("/v1/vehicles", &org.org_admin, body).await.ok(201)["id"]);
        eventually(DEADLINE, || async { positions(&app, &org, &van).await.len() == 1 }).await;
        app
    });
}

#[test]
fn a_device_that_is_dismissed_stays_away_until_somebody_wants_it() {
    with_app(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        report(&app, &gateway, &[fix("unwanted", 0), fix("wanted", 0)]).await;
        let found = pending(&app, &org.viewer, "sort=uniqueId").await;
        let id = text(&found[0]["id"]);
        let path = format!("/v1/pending-trackers/{id}");
        app.delete(&path, &org.dispatcher).await.problem(403, "forbidden");
        app.delete(&path, &other.org_admin).await.problem(404, "notFound");
        app.delete(&path, &org.org_admin).await.ok(204);
        app.delete(&path, &org.org_admin).await.problem(404, "notFound");
        report(&app, &gateway, &[fix("unwanted", 1), fix("wanted", 1)]).await;
        let names: Vec<_> =
            pending(&app, &org.viewer, "").await.iter().map(|one| text(&one["uniqueId"])).collect();
        assert_eq!(names, ["wanted"], "however often it reports");
        let kept: i64 = app.context.db.read().sql("select count(*) from pending_fix").scalar().await.unwrap();
        assert_eq!(kept, 2, "nothing of it is kept");
        let audit = app.get("/v1/audit?resource=pendingTracker", &org.org_admin).await.ok(200);
        let entry = &audit["data"][0];
        assert_eq!(
            (&entry["action"], &entry["resourceId"], &entry["before"]["uniqueId"]),
            (&json!("delete"), &json!(id), &json!("unwanted"))
        );
        // Wanted after all, it reports as any tracker does.
        let body = json!({ "name": "Van", "tracker": { "uniqueId": "unwanted" } });
        let van = text(&app.post("/v1/vehicles", &org.org_admin, body).await.ok(201)["id"]);
        report(&app, &gateway, &[fix("unwanted", 2)]).await;
        eventually(DEADLINE, || async { positions(&app, &org, &van).await.len() == 1 }).await;
        app
    });
}

#[test]
fn made_up_names_displace_no_device_that_waits_since_before() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let flood = async |number: i64| {
            let made_up: Vec<Value> =
                (0..200).map(|other| fix(&format!("made-up-{number}-{other}"), number)).collect();
            report(&app, &gateway, &made_up).await;
            let page = app.get("/v1/pending-trackers?limit=1", &org.viewer).await.ok(200);
            assert_eq!(page["pagination"]["totalItems"].as_i64(), Some(200), "{page}");
            let oldest = pending(&app, &org.viewer, "sort=firstSeenAt").await;
            text(&oldest[0]["uniqueId"])
        };
        report(&app, &gateway, &[fix("waiting", 0)]).await;
        assert_eq!(pending(&app, &org.viewer, "").await.len(), 1);
        app.pass(600);
        report(&app, &gateway, &[fix("waiting", 10)]).await;
        app.pass(1);
        assert_eq!(flood(1).await, "waiting");
        app.pass(1);
        assert_eq!(flood(2).await, "waiting", "however many they are");
        // Heard no more for a week, it makes room.
        let now = app.context.clock.now();
        let silent =
            "update pending_tracker set first_seen_at = $1, last_seen_at = $2 where unique_id = 'waiting'";
        let stmt = app.context.db.write().sql(silent).bind(Time(now.plus_seconds(-9.0 * 86_400.0)));
        stmt.bind(Time(now.plus_seconds(-8.0 * 86_400.0))).run().await.unwrap();
        app.pass(1);
        assert_ne!(flood(3).await, "waiting");
        app
    });
}

#[test]
fn what_is_kept_is_bounded_and_the_longest_silent_goes_first() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (_, gateway) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let many: Vec<Value> = (0..30).map(|minute| fix("first", minute)).collect();
        report(&app, &gateway, &many).await;
        let found = pending(&app, &org.viewer, "").await;
        assert_eq!(
            (found[0]["fixes"].as_i64(), text(&found[0]["firstFixAt"])),
            (Some(20), "2026-05-01T10:10:00.000Z".to_owned())
        );
        let others: Vec<Value> = (0..200).map(|number| fix(&format!("device-{number}"), 0)).collect();
        report(&app, &gateway, &others).await;
        let page = app.get("/v1/pending-trackers?limit=1", &org.viewer).await.ok(200);
        assert_eq!(page["pagination"]["totalItems"].as_i64(), Some(200), "{page}");
        assert!(
            pending(&app, &org.viewer, "sort=firstSeenAt").await.iter().all(|one| one["uniqueId"] != "first")
        );
        let kept: i64 = app.context.db.read().sql("select count(*) from pending_fix").scalar().await.unwrap();
        assert_eq!(kept, 200, "the fixes go with their device");
        // What no tracker could be called, and an id of ours.
        let ids = ["a b", "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43", &"x".repeat(65)].map(|name| fix(name, 0));
        report(&app, &gateway, &ids).await;
        let page = pending(&app, &org.viewer, "sort=-lastSeenAt").await;
        assert!(page.iter().all(|one| text(&one["uniqueId"]).starts_with("device-")), "{page:?}");
        // With the organization goes what its devices sent.
        app.delete(&format!("/v1/organizations/organization/{}", org.id), &app.root).await;
        let left: i64 =
            app.context.db.read().sql("select count(*) from pending_tracker").scalar().await.unwrap();
        assert_eq!(left, 0);
        app
    });
}
