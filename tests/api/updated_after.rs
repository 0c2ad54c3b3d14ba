//! `updatedAfter`: who reads a list again asks only for what was changed since.

use serde_json::{Value, json};

use crate::harness::{circle, text, with_app};

#[test]
fn every_list_of_master_data_tells_what_was_changed_since() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let tracker = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let bus = text(&app.post("/v1/vehicles", &org.org_admin, tracker).await.ok(201)["id"]);
        app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
        let person = json!({ "firstName": "Ada", "lastName": "Byron" });
        let driver = text(&app.post("/v1/drivers", &org.org_admin, person).await.ok(201)["id"]);
        app.system_user(&org.org_admin, &["vehicles:read"]).await;
        let lists = [
            "vehicles",
            "vehicles/unassigned-active",
            "trackers",
            "geofences",
            "drivers",
            "users",
            "system-users",
        ];
        let total = async |list: &str, query: &str| {
            let said = app.get(&format!("/v1/{list}?{query}"), &org.org_admin).await;
            said.ok(200)["pagination"]["totalItems"].as_i64().unwrap()
        };
        for list in lists {
            assert!(total(list, "").await > 0, "{list}");
            assert_eq!(
                total(list, "updatedAfter=2020-01-01T00:00:00Z").await,
                total(list, "").await,
                "{list}"
            );
            assert_eq!(total(list, "updatedAfter=2030-01-01T00:00:00Z").await, 0, "{list}");
            let said = app.get(&format!("/v1/{list}?updatedAfter=yesterday"), &org.org_admin).await;
            drop(said.problem(400, "invalidParameter"));
        }
        // Since the newest that is known, only what was changed, the person of a driver included.
        app.pass(60);
        let newest = async |list: &str| {
            let all = app.get(&format!("/v1/{list}?sort=-updatedAt"), &org.org_admin).await.ok(200);
            // Instants are told and taken in milliseconds and kept in finer steps, so what was changed in the same one
            // would come again.
            text(&all["data"][0]["updatedAt"]).replace("00Z", "01Z")
        };
        for (list, id) in [("vehicles", &bus), ("drivers", &driver)] {
            app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Other" })).await.ok(201);
            let other = json!({ "firstName": "Other", "lastName": "Driver" });
            app.post("/v1/drivers", &org.org_admin, other).await.ok(201);
            let since = newest(list).await;
            app.pass(60);
            let member = if list == "vehicles" { "name" } else { "lastName" };
            let name = json!({ (member): "Renamed" });
            app.put(&format!("/v1/{list}/{id}"), &org.org_admin, name).await.ok(200);
            let found = app.get(&format!("/v1/{list}?updatedAfter={since}"), &org.org_admin).await.ok(200);
            assert_eq!(found["data"].as_array().unwrap().len(), 1, "{found}");
            assert_eq!(&text(&found["data"][0]["id"]), id);
        }
        for list in ["organizations", "organizations/all"] {
            let all =
                app.get(&format!("/v1/{list}?updatedAfter=2020-01-01T00:00:00Z"), &app.root).await.ok(200);
            assert!(all["pagination"]["totalItems"].as_i64().unwrap() > 0);
            let none =
                app.get(&format!("/v1/{list}?updatedAfter=2030-01-01T00:00:00Z"), &app.root).await.ok(200);
            assert_eq!(none["data"], Value::Array(Vec::new()));
        }
        app
    });
}
