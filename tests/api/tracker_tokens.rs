//! A tracker that reports by requests is kept in memory, and the copy is dropped with each change.

use serde_json::json;

use crate::harness::{App, Org, text, with_app};

/// Reports one position, with a minute of its own; returns the outcome: "stored", an item's code or a problem's.
async fn report(app: &App, token: &str, minute: u32) -> String {
    report_at(app, token, &format!("2026-05-01T11:{minute:02}:00Z")).await
}

async fn report_at(app: &App, token: &str, at: &str) -> String {
    let item = json!({ "recordedAt": at, "latitude": 30.25, "longitude": -97.75 });
    let said = app.post("/v1/positions", token, json!({ "items": [item] })).await.body;
    match (said["code"].as_str(), said["rejected"].as_array().and_then(|rejected| rejected.first())) {
        (Some(problem), _) => problem.to_owned(),
        (None, Some(item)) => text(&item["code"]),
        (None, None) => {
            assert_eq!(said["stored"], 1, "{said}");
            "stored".to_owned()
        }
    }
}

async fn vehicle(app: &App, org: &Org, unique_id: &str) -> (String, String, String) {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["id"]), text(&made["tracker"]["token"]))
}

#[test]
fn a_request_asks_the_store_for_no_tracker_that_reported_before() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (_, _, token) = vehicle(&app, &org, "imei-1").await;
        assert_eq!(report(&app, &token, 1).await, "stored");
        // Written behind the server's back, which is not allowed: what the server keeps in memory is not updated.
        let disable = "update tracker set status = 'disabled'";
        app.context.db.write().sql(disable).run().await.unwrap();
        assert_eq!(report(&app, &token, 2).await, "stored");
        // Any change of the organization's trackers makes all of them be looked up again.
        vehicle(&app, &org, "imei-2").await;
        assert_eq!(report(&app, &token, 3).await, "trackerDisabled");
        app
    });
}

#[test]
fn each_change_of_a_tracker_holds_for_the_next_request() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (first, tracker, token) = vehicle(&app, &org, "imei-1").await;
        let (second, _, _) = vehicle(&app, &org, "imei-2").await;
        let path = format!("/v1/trackers/{tracker}");
        let positions = async |vehicle: &str| {
            let found = app.get(&format!("/v1/vehicles/{vehicle}/positions"), &org.org_admin).await.ok(200);
            found["data"].as_array().unwrap().len()
        };
        assert_eq!(report(&app, &token, 1).await, "stored");

        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        assert_eq!(report(&app, &token, 2).await, "trackerDisabled");
        app.put(&path, &org.org_admin, json!({ "status": "active" })).await.ok(200);
        assert_eq!(report(&app, &token, 3).await, "stored");
        assert_eq!((positions(&first).await, positions(&second).await), (2, 0));

        let since_ever = json!({ "installations": [{ "vehicleId": second, "from": null, "to": null }] });
        app.put(&path, &org.org_admin, since_ever).await.ok(200);
        assert_eq!(report(&app, &token, 4).await, "stored");
        assert_eq!((positions(&first).await, positions(&second).await), (2, 1), "it sits elsewhere");

        let organization = format!("/v1/organizations/organization/{}", org.id);
        let short = json!({ "settings": { "retention": { "positionsDays": 1 } } });
        app.put(&organization, &org.org_admin, short).await.ok(200);
        let long_ago = "2026-04-20T11:00:00Z";
        assert_eq!(report_at(&app, &token, long_ago).await, "olderThanRetention");
        let for_ever = json!({ "settings": { "retention": { "positionsDays": null } } });
        app.put(&organization, &org.org_admin, for_ever).await.ok(200);
        assert_eq!(report_at(&app, &token, long_ago).await, "stored");

        let rotated = app.post(&format!("{path}/token"), &org.org_admin, json!(null)).await.ok(200);
        assert_eq!(report(&app, &token, 6).await, "invalidToken");
        let token = text(&rotated["token"]);
        assert_eq!(report(&app, &token, 6).await, "stored");

        app.put(&organization, &app.root, json!({ "status": "inactive" })).await.ok(200);
        assert_eq!(report(&app, &token, 7).await, "organizationInactive");
        app.put(&organization, &app.root, json!({ "status": "active" })).await.ok(200);
        assert_eq!(report(&app, &token, 7).await, "stored");

        app.delete(&format!("/v1/vehicles/{second}"), &org.org_admin).await.ok(204);
        assert_eq!(report(&app, &token, 8).await, "notInstalled");
        app.delete(&path, &org.org_admin).await.ok(204);
        assert_eq!(report(&app, &token, 9).await, "invalidToken");
        app
    });
}
