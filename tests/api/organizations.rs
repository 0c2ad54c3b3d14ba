//! Organizations: made and activated by operators, changed by their own.

use serde_json::json;
use waypost::domain::account::Role;

use crate::harness::{PASSWORD, organization, text, with_app};

#[test]
fn an_operator_makes_and_activates_one() {
    with_app(async |app| {
        let said = app.post("/v1/organizations", &app.root, organization("Test GmbH")).await;
        let made = said.ok(201);
        let path = text(&json!(said.header("location")));
        assert_eq!(path, format!("/v1/organizations/organization/{}", text(&made["id"])));
        assert_eq!((&made["slug"], &made["status"]), (&json!("test-gmbh"), &json!("pendingActivation")));
        assert_eq!(made["settings"]["geofenceDefaults"]["exitMarginMeters"], 20.0);
        let activate = format!("/v1/organizations/activate/{}", text(&made["id"]));
        let active = app.put(&activate, &app.root, json!({})).await.ok(200);
        assert_eq!((&active["status"], &active["activationMethod"]), (&json!("active"), &json!("manual")));
        assert_eq!(app.put(&activate, &app.root, json!({})).await.ok(200), active);
        let found = app.get(&path, &app.root).await;
        assert_eq!(
            found.ok(200)["subscription"]["usage"],
            json!({ "vehicles": 0, "drivers": 0, "users": 1, "geofences": 0 })
        );
        app
    });
}

#[test]
fn an_operator_who_activates_by_hand_sees_the_founder_and_lets_it_in_only_by_saying_so() {
    with_app(async |app| {
        let by_hand =
            [("by status", false), ("", false), ("?letFounderIn=false", false), ("?letFounderIn=true", true)];
        for (number, (how, is_in)) in by_hand.into_iter().enumerate() {
            let email = format!("founder-{number}@programs.example.org");
            let body = json!({ "name": "Founder", "email": email, "password": PASSWORD });
            app.post("/v1/system-users", "", body).await.ok(201);
            let verify = app.link(&email, 1).await.replace("/verify/", "/v1/system-users/verify-email/");
            app.post(&verify, "", json!(null)).await.ok(200);
            let login = json!({ "email": email, "password": PASSWORD });
            let token = text(&app.post("/v1/system-users/login", "", login).await.ok(200)["accessToken"]);
            let founded = organization(&format!("founded-{number}"));
            let made = app.post("/v1/organizations", &token, founded).await.ok(201);
            let id = text(&made["id"]);
            let path = format!("/v1/organizations/organization/{id}");
            let found = app.get(&path, &app.root).await.ok(200);
            assert_eq!((&made["founderEmail"], &found["founderEmail"]), (&json!(email), &json!(email)));
            let activated = match how {
                "by status" => app.put(&path, &app.root, json!({ "status": "active" })).await,
                query => {
                    let activate = format!("/v1/organizations/activate/{id}{query}");
                    app.put(&activate, &app.root, json!({})).await
                }
            };
            assert_eq!(activated.ok(200).get("founderEmail"), None, "it is decided");
            let link = app.link(&text(&made["contactEmail"]), 1).await;
            let link = link.replace("/activate/", "/v1/organizations/verify-email/");
            app.post(&link, "", json!(null)).await.ok(200);
            let me = app.get("/v1/auth/me", &token).await.ok(200);
            assert_eq!(me.get("organizationId").is_some(), is_in, "{how}: {me}");
            let audit = format!("/v1/audit?resource=organization&action=update&organizationId={id}");
            let told = app.get(&audit, &app.root).await.ok(200)["data"].clone();
            let mut told = told.as_array().unwrap().iter();
            let activation = told.find(|entry| entry["after"]["status"] == "active").unwrap();
            assert_eq!(activation["before"]["founderEmail"], json!(email), "{activation}");
        }
        app
    });
}

#[test]
fn what_is_taken_or_wrong_is_told() {
    with_app(async |app| {
        app.post("/v1/organizations", &app.root, organization("one")).await.ok(201);
        app.post("/v1/organizations", &app.root, organization("one")).await.problem(409, "slugTaken");
        let mut same_admin = organization("two");
        same_admin["admin"]["email"] = json!("ONE-admin@example.org");
        app.post("/v1/organizations", &app.root, same_admin).await.problem(409, "emailTaken");
        let listed = app.get("/v1/organizations/all", &app.root).await.ok(200);
        assert_eq!(listed["pagination"]["totalItems"], 1, "what failed left nothing behind");
        let body = json!({ "name": "", "settings": { "units": "nautical" }, "colour": "red" });
        let said = app.post("/v1/organizations", &app.root, body).await;
        said.problem(422, "validationFailed");
        let pointers = ["/admin", "/name", "/slug", "/contactEmail", "/settings/units", "/colour"];
        assert_eq!(said.pointers(), pointers);
        app
    });
}

#[test]
fn each_sees_what_it_may() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        app.post("/v1/organizations", &app.root, organization("asleep")).await.ok(201);
        let names = |body: serde_json::Value| {
            let data = body["data"].as_array().unwrap().clone();
            data.iter().map(|item| text(&item["name"])).collect::<Vec<_>>()
        };
        let all = app.get("/v1/organizations/all?sort=name", &app.root).await.ok(200);
        assert_eq!(names(all), ["asleep", "other", "own"]);
        let pending =
            app.get("/v1/organizations/all?status=pendingActivation&q=SLEEP", &app.root).await.ok(200);
        assert_eq!(names(pending), ["asleep"]);
        assert_eq!(names(app.get("/v1/organizations?sort=-name", &app.root).await.ok(200)), ["own", "other"]);
        assert_eq!(names(app.get("/v1/organizations", &own.viewer).await.ok(200)), ["own"]);
        let said = app.get("/v1/organizations/all", &own.org_admin).await;
        let detail = said.problem(403, "forbidden")["detail"].to_string();
        assert!(detail.contains("superAdmin, admin"), "{detail}");
        let foreign = format!("/v1/organizations/organization/{}", other.id);
        app.get(&foreign, &own.org_admin).await.problem(404, "notFound");
        app.put(&foreign, &own.org_admin, json!({})).await.problem(404, "notFound");
        app.post("/v1/organizations", &own.org_admin, organization("mine")).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn an_org_admin_changes_settings_but_not_subscription_or_status() {
    with_app(async |app| {
        let org = app.org("own").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        let before = app.get(&path, &org.org_admin).await;
        let change = json!({ "settings": { "staleAfterSeconds": 60, "retention": { "positionsDays": 30 } },
            "address": "Street 1" });
        let after = app.put(&path, &org.org_admin, change).await;
        let body = after.ok(200);
        assert_eq!(body["settings"]["staleAfterSeconds"], 60);
        assert_eq!(body["settings"]["offlineAfterSeconds"], 3600);
        assert_ne!(after.header("etag"), before.header("etag"));
        app.put(&path, &org.org_admin, body).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "status": "inactive" })).await.problem(403, "forbidden");
        let more = json!({ "subscription": { "plan": "enterprise" } });
        app.put(&path, &org.org_admin, more.clone()).await.problem(403, "forbidden");
        app.put(&path, &org.dispatcher, json!({ "name": "x" })).await.problem(403, "forbidden");
        let said = app.put(&path, &org.org_admin, json!({ "activatedAt": null, "id": "x" })).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/id", "/activatedAt"]);
        let admin = app.account(Role::Admin, None).await;
        let admin = app.sign_in(admin).await;
        assert_eq!(app.put(&path, &admin, more).await.ok(200)["subscription"]["plan"], "enterprise");
        app.put(&path, &admin, json!({ "status": "pendingActivation" }))
            .await
            .problem(409, "invalidTransition");
        let cleared = app.put(&path, &admin, json!({ "address": null })).await.ok(200);
        assert_eq!(cleared.get("address"), None);
        app
    });
}

#[test]
fn a_plan_limits_vehicles_and_geofences() {
    with_app(async |app| {
        let org = app.org("small").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        let limits = json!({ "subscription": { "limits": { "vehicles": 1, "geofences": 0 } } });
        app.put(&path, &app.root, limits).await.ok(200);
        app.post("/v1/vehicles", &org.org_admin, json!({ "name": "a" })).await.ok(201);
        let said = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "b" })).await;
        said.problem(403, "planLimitReached");
        let fence = crate::harness::circle("c");
        app.post("/v1/geofences", &org.org_admin, fence).await.problem(403, "planLimitReached");
        app
    });
}
