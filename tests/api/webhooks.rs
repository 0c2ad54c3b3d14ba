//! Webhooks as they are managed: who may, what is refused, and what a webhook is sent by whose rights.

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::harness::{ANSWER_WITHIN, App, circle, on_each_engine, text, with_app};
use crate::receiver::Receiver;

async fn refused(app: &App, token: &str, body: Value) -> Vec<(String, String)> {
    let said = app.post("/v1/webhooks", token, body).await.problem(422, "validationFailed");
    let errors = said["errors"].as_array().unwrap().iter();
    errors.map(|error| (text(&error["pointer"]), text(&error["code"]))).collect()
}

#[test]
fn a_webhook_is_made_changed_and_deleted_and_its_secret_is_shown_once() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let body =
            json!({ "url": "https://receiver.example/hook", "eventTypes": ["geofence.*", "geofence.*"] });
        let said = app.post("/v1/webhooks", &org.org_admin, body).await;
        let made = said.ok(201);
        let path = format!("/v1/webhooks/{}", text(&made["id"]));
        assert_eq!(said.header("location"), Some(path.as_str()));
        assert!(text(&made["secret"]).starts_with("whsec_") && text(&made["secret"]).len() == 50);
        assert_eq!((&made["eventTypes"], &made["enabled"]), (&json!(["geofence.*"]), &json!(true)));
        let mut shown = made.clone();
        shown.as_object_mut().unwrap().remove("secret");
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200), shown);
        assert_eq!(app.get("/v1/webhooks", &org.org_admin).await.ok(200)["data"], json!([shown]));
        let changed =
            app.put(&path, &org.org_admin, json!({ "enabled": false, "description": "x" })).await.ok(200);
        assert_eq!((&changed["enabled"], &changed["description"]), (&json!(false), &json!("x")));
        assert_eq!(changed["url"], shown["url"]);
        // What a client got it may send back.
        app.put(&path, &org.org_admin, changed).await.ok(200);
        let new = app.post(&format!("{path}/secret"), &org.org_admin, json!({})).await.ok(200);
        assert_ne!(new["secret"], made["secret"]);
        app.delete(&path, &org.org_admin).await.ok(204);
        app.get(&path, &org.org_admin).await.problem(404, "notFound");
        let audit = app.get("/v1/audit?resource=webhook", &org.org_admin).await.ok(200);
        let done: Vec<&Value> =
            audit["data"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
        assert_eq!(done, ["delete", "rotateToken", "update", "create"]);
        assert!(!audit.to_string().contains("whsec_"));
        app
    });
}

#[test]
fn what_a_webhook_cannot_be_is_refused_with_the_reason() {
    with_app(async |app| {
        let org = app.org("own").await;
        let with = |url: &str| json!({ "url": url, "eventTypes": ["*"] });
        // Loopback is allowed here, and nothing else that is not public.
        for url in ["http://receiver.test@example.org", "ftp://example.org", "receiver", "https://a/#b"] {
            assert_eq!(
                refused(&app, &org.org_admin, with(url)).await,
                [("/url".into(), "format".into())],
                "{url}"
            );
        }
        for url in [
            "https://10.0.0.1",
            "https://[::1]",
            "http://1.1.1.1",
            "https://169.254.169.254/latest",
            "https://0x0a.1",
        ] {
            assert_eq!(
                refused(&app, &org.org_admin, with(url)).await,
                [("/url".into(), "notAllowed".into())],
                "{url}"
            );
        }
        let wrong =
            json!({ "url": 7, "eventTypes": ["geofence.entri"], "vehicleIds": ["x"], "secret": "mine" });
        let told = refused(&app, &org.org_admin, wrong).await;
        let places: Vec<&str> = told.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(places, ["/url", "/eventTypes", "/vehicleIds", "/secret"]);
        for _ in 0..50 {
            app.post("/v1/webhooks", &org.org_admin, with("https://example.org")).await.ok(201);
        }
        let said = app.post("/v1/webhooks", &org.org_admin, with("https://example.org")).await;
        said.problem(409, "webhookLimitReached");
        app
    });
}

#[test]
fn a_webhook_of_a_system_user_is_sent_what_its_scopes_say_as_long_as_it_has_them() {
    with_app(async |app| {
        let org = app.org("own").await;
        let scopes = ["webhooks:write", "vehicles:read", "geofences:read"];
        let (user, token) = app.system_user(&org.org_admin, &scopes).await;
        let (its, everything) = (Receiver::start().await, Receiver::start().await);
        let of = |receiver: &Receiver| json!({ "url": receiver.url, "eventTypes": ["*"] });
        app.post("/v1/webhooks", &token, of(&its)).await.ok(201);
        app.post("/v1/webhooks", &org.org_admin, of(&everything)).await.ok(201);
        let made = async |path: &str, body: Value| app.post(path, &org.org_admin, body).await.ok(201);
        made("/v1/drivers", json!({ "firstName": "Ana", "lastName": "Ruiz" })).await;
        made("/v1/vehicles", json!({ "name": "Bus" })).await;
        eventually(ANSWER_WITHIN, async || !its.of_type("change.vehicle.created").is_empty()).await;
        eventually(ANSWER_WITHIN, async || everything.of_type("change.driver.created").len() == 1).await;
        assert!(its.of_type("change.driver.created").is_empty());
        // It loses a scope.
        let fewer = json!({ "scopes": ["webhooks:write", "vehicles:read"] });
        app.put(&format!("/v1/system-users/{user}"), &org.org_admin, fewer).await.ok(200);
        made("/v1/geofences", circle("Depot")).await;
        made("/v1/vehicles", json!({ "name": "Tram" })).await;
        eventually(ANSWER_WITHIN, async || its.of_type("change.vehicle.created").len() == 2).await;
        assert!(its.of_type("change.geofence.created").is_empty());
        app
    });
}
