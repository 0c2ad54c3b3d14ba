//! Who changed what is remembered, with the change.

use serde_json::json;

use crate::harness::{circle, text, with_app};

#[test]
fn a_change_is_remembered_with_who_what_when_and_the_request() {
    with_app(async |app| {
        let (org, other) = (app.org("careful").await, app.org("other").await);
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [
            ("content-type", "application/json"),
            ("authorization", bearer.as_str()),
            ("x-request-id", "req-7"),
        ];
        let made = app.send("POST", "/v1/geofences", &headers, circle("Depot").to_string()).await.ok(201);
        let path = format!("/v1/geofences/{}", text(&made["id"]));
        app.put(&path, &org.dispatcher, json!({ "name": "Yard" })).await.ok(200);
        app.put(&path, &org.dispatcher, json!({ "name": "Yard" })).await.ok(200); // changes nothing
        app.delete(&path, &org.org_admin).await.ok(204);
        let url = format!("/v1/audit?resource=geofence&resourceId={}", text(&made["id"]));
        let entries = app.get(&url, &org.org_admin).await.ok(200)["data"].as_array().unwrap().clone();
        let told: Vec<String> = entries.iter().map(|entry| text(&entry["action"])).collect();
        assert_eq!(told, ["delete", "update", "create"]);
        let [deleted, updated, created] = &entries[..] else { panic!("three") };
        assert_eq!((&created["requestId"], &created["actorRole"]), (&json!("req-7"), &json!("orgAdmin")));
        assert_eq!((&created["before"], &created["after"]["name"]), (&json!(null), &json!("Depot")));
        assert_eq!(
            (&updated["before"]["name"], &updated["after"]["name"]),
            (&json!("Depot"), &json!("Yard"))
        );
        assert_eq!(updated["after"].get("shape"), None, "only what changed");
        assert_eq!((&deleted["before"]["name"], &deleted["after"]), (&json!("Yard"), &json!(null)));
        // Paged, and nobody else's.
        let first = app.get(&format!("{url}&limit=1"), &org.org_admin).await.ok(200);
        let cursor = text(&first["pagination"]["endCursor"]);
        let rest = app.get(&format!("{url}&after={cursor}"), &org.org_admin).await.ok(200);
        assert_eq!(rest["data"].as_array().unwrap()[..], entries[1..]);
        assert_eq!(app.get(&url, &other.org_admin).await.ok(200)["data"], json!([]));
        app.get(&format!("/v1/audit?after={cursor}"), &other.org_admin).await.problem(400, "invalidCursor");
        app
    });
}

#[test]
fn a_refused_change_is_not_remembered_and_no_row_can_be_changed() {
    with_app(async |app| {
        let org = app.org("strict").await;
        let body =
            json!({ "name": "Bus", "plate": { "number": "A 1" }, "tracker": { "uniqueId": "imei-1" } });
        app.post("/v1/vehicles", &org.org_admin, body.clone()).await.ok(201);
        app.post("/v1/vehicles", &org.org_admin, body).await.problem(409, "plateTaken");
        let entries = app.get("/v1/audit?resource=vehicle", &org.org_admin).await.ok(200);
        assert_eq!(entries["data"].as_array().unwrap().len(), 1);
        assert!(!entries.to_string().contains("wpt_"));
        let changed = app.context.db.write().sql("update audit set actor_role = 'nobody'").run().await;
        assert!(changed.unwrap_err().to_string().contains("never changed"));
        app
    });
}
