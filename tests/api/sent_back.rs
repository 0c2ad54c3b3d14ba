//! Documents that a client sends back as it read them, with one edit: what it did not mean to change stays.

use serde_json::{Value, json};

use crate::harness::{App, Org, circle, on_each_engine, text, with_app};

/// Before the clock of the tests.
const LONG_AGO: &str = "2026-01-01T00:00:00.000Z";

async fn vehicle(app: &App, org: &Org, name: &str) -> String {
    text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201)["id"])
}

#[test]
fn a_version_is_dated_back_only_by_who_says_so() {
    on_each_engine(async |app| {
        let org = app.org("fenced").await;
        let mut depot = circle("Depot");
        depot["effectiveFrom"] = LONG_AGO.into();
        let made = app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
        let path = format!("/v1/geofences/{}", text(&made["id"]));
        app.pass(60);
        let mut whole = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(whole["effectiveFrom"], LONG_AGO);
        whole["rules"]["exitMarginMeters"] = 5.into();
        let changed = app.put(&path, &org.org_admin, whole).await.ok(200);
        assert_eq!((&changed["version"], &changed["effectiveFrom"]), (&json!(2), &changed["updatedAt"]));
        let said = json!({ "rules": { "exitMarginMeters": 6 }, "effectiveFrom": changed["effectiveFrom"] });
        app.pass(60);
        let changed = app.put(&path, &org.org_admin, said.clone()).await.ok(200);
        assert_eq!((&changed["version"], &changed["effectiveFrom"]), (&json!(3), &said["effectiveFrom"]));

        let fuel = json!({ "tankCapacityLiters": 400, "effectiveFrom": LONG_AGO });
        let made = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "bus", "fuel": fuel })).await;
        let path = format!("/v1/vehicles/{}", text(&made.ok(201)["id"]));
        app.pass(60);
        let mut whole = app.get(&path, &org.viewer).await.ok(200);
        whole["fuel"]["tankCapacityLiters"] = 300.into();
        let changed = app.put(&path, &org.org_admin, whole).await.ok(200);
        assert_eq!(changed["fuel"]["effectiveFrom"], changed["updatedAt"]);
        let part = json!({ "fuel": { "tankCapacityLiters": 350, "effectiveFrom": LONG_AGO } });
        assert_eq!(app.put(&path, &org.org_admin, part).await.ok(200)["fuel"]["effectiveFrom"], LONG_AGO);
        app
    });
}

#[test]
fn a_history_that_is_put_right_moves_no_tracker() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (first, second) = (vehicle(&app, &org, "first").await, vehicle(&app, &org, "second").await);
        let body = json!({ "uniqueId": "imei-1", "vehicleId": first });
        let made = app.post("/v1/trackers", &org.org_admin, body).await.ok(201);
        let path = format!("/v1/trackers/{}", text(&made["id"]));
        let mut whole = app.get(&path, &org.viewer).await.ok(200);
        let history =
            json!([{ "vehicleId": first, "to": LONG_AGO }, { "vehicleId": second, "from": LONG_AGO }]);
        whole["installations"] = history.clone();
        let changed = app.put(&path, &org.org_admin, whole).await.ok(200);
        assert_eq!(changed["vehicleId"], second);
        assert_eq!(changed["installations"].as_array().unwrap().len(), 2, "{changed}");
        // Another vehicle than it was in is meant.
        let both = json!({ "installations": history, "vehicleId": first });
        assert_eq!(app.put(&path, &org.org_admin, both).await.ok(200)["vehicleId"], first);
        app
    });
}

#[test]
fn what_a_creation_answered_may_be_sent_back() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "name": "bus", "tracker": { "uniqueId": "imei-1" } });
        let mut made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        made["name"] = "coach".into();
        let path = format!("/v1/vehicles/{}", text(&made["id"]));
        assert_eq!(app.put(&path, &org.org_admin, made).await.ok(200)["name"], "coach");
        app
    });
}

#[test]
fn what_a_colleague_deleted_is_not_purged_by_who_expected_it() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let driver = json!({ "firstName": "Ada", "lastName": "Byron" });
        let driver = text(&app.post("/v1/drivers", &org.org_admin, driver).await.ok(201)["id"]);
        for (path, token) in [
            (format!("/v1/vehicles/{}", vehicle(&app, &org, "bus").await), &org.org_admin),
            (format!("/v1/drivers/{driver}"), &org.org_admin),
            (format!("/v1/organizations/organization/{}", org.id), &app.root),
        ] {
            let tag = app.get(&path, token).await.header("etag").unwrap().to_owned();
            app.delete(&path, token).await.ok(204);
            let (bearer, purge) = (format!("Bearer {token}"), format!("{path}?purge=true"));
            for tag in [tag.as_str(), "*"] {
                let headers = [("authorization", bearer.as_str()), ("if-match", tag)];
                app.send("DELETE", &purge, &headers, "").await.problem(412, "preconditionFailed");
            }
            app.delete(&purge, token).await.ok(204);
        }
        app
    });
}

#[test]
fn whoever_asks_for_what_changed_is_told_of_trackers_that_come_and_go() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let (bus, other) = (vehicle(&app, &org, "bus").await, vehicle(&app, &org, "other").await);
        let changed = async |list: &str, since: &Value| {
            let path = format!("/v1/{list}?updatedAfter={}", text(since));
            let found = app.get(&path, &org.viewer).await.ok(200);
            let mut ids: Vec<String> =
                found["data"].as_array().unwrap().iter().map(|one| text(&one["id"])).collect();
            ids.sort();
            ids
        };
        let now = async || {
            app.pass(1);
            let now = json!(app.context.clock.now());
            app.pass(1);
            now
        };
        let since = now().await;
        let body = json!({ "uniqueId": "imei-1", "vehicleId": bus });
        let tracker = text(&app.post("/v1/trackers", &org.org_admin, body).await.ok(201)["id"]);
        assert_eq!(changed("vehicles", &since).await, std::slice::from_ref(&bus));
        let since = now().await;
        let path = format!("/v1/trackers/{tracker}");
        app.put(&path, &org.org_admin, json!({ "vehicleId": other })).await.ok(200);
        let mut both = vec![bus, other.clone()];
        both.sort();
        assert_eq!(changed("vehicles", &since).await, both);
        let since = now().await;
        app.delete(&format!("/v1/vehicles/{other}"), &org.org_admin).await.ok(204);
        assert_eq!(changed("trackers", &since).await, [tracker]);
        app
    });
}

#[test]
fn an_operator_may_name_the_organization_in_the_address_of_a_creation() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let post = async |list: &str, body: Value| {
            let said = app.post(&format!("/v1/{list}?organizationId={}", org.id), &app.root, body).await;
            let (known, made) = (said.ok(201), said.ok(201));
            assert_eq!(known["organizationId"], org.id, "{list}");
            text(&made["id"])
        };
        post("vehicles", json!({ "name": "bus" })).await;
        post("trackers", json!({ "uniqueId": "imei-1" })).await;
        post("geofences", circle("Depot")).await;
        post("webhooks", json!({ "url": "https://example.org/", "eventTypes": ["geofence.*"] })).await;
        app
    });
}
