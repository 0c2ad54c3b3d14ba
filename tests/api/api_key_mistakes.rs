//! Some forty mistakes with keys of system users: each answer names the place, the reason and the next step. That no
//! token of theirs is in a log line, `watch` sees to.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::api_keys::{new_key, report};
use crate::harness::{App, Org, text, with_app};
use crate::mistakes::told;
use crate::sockets::{hear, opened, say};

const KEY_MADE_UP: &str = "wpk_0123456789abcdefghijABCDEFGHIJ0123456789abc";

/// Two organizations, and a key of the first one's gateway.
struct Made {
    own: Org,
    other: Org,
    /// The path of the gateway's keys.
    path: String,
    id: String,
    token: String,
}

async fn made(app: &App) -> Made {
    let (own, other) = (app.org("own").await, app.org("other").await);
    let (path, id, token) = new_key(app, &own, &["vehicles:read", "positions:ingest"]).await;
    Made { own, other, path, id, token }
}

#[test]
fn mistakes_with_a_new_keys_body() {
    with_app(async |app| {
        let Made { own, path, .. } = made(&app).await;
        let good = json!({ "name": "k", "scopes": ["vehicles:read"] });
        let with = |member: &str, value: Value| {
            let mut body = good.clone();
            body[member] = value;
            body
        };
        let refused = [
            (json!({ "scopes": ["vehicles:read"] }), "/name", "is required"),
            (json!({ "name": "k" }), "/scopes", "is required"),
            (with("name", json!("")), "/name", "1 to 120"),
            (with("scopes", json!([])), "/scopes", "at least one scope"),
            (with("scopes", json!("vehicles:read")), "/scopes", "a list of scopes"),
            (with("scopes", json!(["fly"])), "/scopes", "one of drivers:read"),
            (with("scopes", json!(["vehicles:read", "fuel:read"])), "/scopes", "does not have fuel:read"),
            (with("expiresAt", json!("2026-05-01T11:59:59Z")), "/expiresAt", "in the future"),
            (with("expiresAt", json!("2027-05-01")), "/expiresAt", "with an offset"),
            (with("expiresAt", json!(90)), "/expiresAt", "RFC 3339"),
            (with("expires", json!("2027-05-01T00:00:00Z")), "/expires", "did you mean expiresAt?"),
            (with("token", json!(KEY_MADE_UP)), "/token", "is not known"),
        ];
        for (body, pointer, words) in refused {
            let said = app.post(&path, &own.org_admin, body).await;
            told(&said, 422, "validationFailed", Some(pointer), &[words]);
        }
        for _ in 0..9 {
            app.post(&path, &own.org_admin, good.clone()).await.ok(201);
        }
        let said = app.post(&path, &own.org_admin, good).await;
        told(&said, 409, "keyLimitReached", None, &["ten", "Delete one"]);
        app
    });
}

#[test]
fn mistakes_of_who_may_not() {
    with_app(async |app| {
        let Made { own, other, path, id, token } = made(&app).await;
        let (key, body) = (format!("{path}/{id}"), json!({ "name": "k", "scopes": ["vehicles:read"] }));
        let (_, session) = app.system_user(&own.org_admin, &["vehicles:write"]).await;
        // No key makes keys, lists them or revokes itself; nor does a system user that signed in.
        for program in [&token, &session, &own.dispatcher, &own.viewer] {
            let said = app.post(&path, program, body.clone()).await;
            told(&said, 403, "forbidden", None, &["superAdmin, admin, orgAdmin"]);
            app.get(&path, program).await.problem(403, "forbidden");
            app.delete(&key, program).await.problem(403, "forbidden");
        }
        for said in [
            app.post(&path, &other.org_admin, body.clone()).await,
            app.get(&path, &other.org_admin).await,
            app.delete(&key, &other.org_admin).await,
            app.get(&format!("{path}?organizationId={}", other.id), &app.root).await,
            app.post(&format!("/v1/system-users/{}/keys", Uuid::nil()), &own.org_admin, body.clone()).await,
            app.get("/v1/system-users/17/keys", &own.org_admin).await,
            app.delete(&format!("{path}/{}", Uuid::nil()), &own.org_admin).await,
        ] {
            said.problem(404, "notFound");
        }
        // Its key, but by another system user's path.
        let (elsewhere, ..) = new_key(&app, &own, &["events:read"]).await;
        app.delete(&format!("{elsewhere}/{id}"), &own.org_admin).await.problem(404, "notFound");
        app.send("POST", &path, &[("content-type", "application/json")], body.to_string())
            .await
            .problem(401, "unauthenticated");
        app.put(&key, &own.org_admin, body).await.problem(405, "methodNotAllowed");
        let bearer = format!("Bearer {}", own.org_admin);
        let stale = [("authorization", bearer.as_str()), ("if-match", "\"old\"")];
        app.send("DELETE", &key, &stale, "").await.problem(412, "preconditionFailed");
        app.get("/v1/vehicles", &token).await.ok(200);
        app
    });
}

#[test]
fn mistakes_with_what_a_key_may() {
    with_app(async |app| {
        let Made { own, other, token, .. } = made(&app).await;
        let said = app.post("/v1/vehicles", &token, json!({ "name": "x" })).await;
        told(&said, 403, "forbidden", None, &["vehicles:write"]);
        told(&app.get("/v1/drivers", &token).await, 403, "forbidden", None, &["drivers:read"]);
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-9" } });
        let foreign = app.post("/v1/vehicles", &other.org_admin, body).await.ok(201);
        let foreign = format!("/v1/vehicles/{}", text(&foreign["id"]));
        told(&app.get(&foreign, &token).await, 404, "notFound", None, &["not yours"]);
        let named = format!("/v1/vehicles?organizationId={}", other.id);
        app.get(&named, &token).await.problem(404, "notFound");
        let said = report(&app, &token, "imei-9", 1).await.ok(200);
        assert_eq!(said["rejected"][0]["code"], "unknownTracker", "another organization's is like none");
        let reader = new_key(&app, &own, &["vehicles:write"]).await.2;
        let said = app.post("/v1/auth/ws-ticket", &reader, json!({})).await;
        told(&said, 403, "forbidden", None, &["positions:read"]);
        assert_eq!(opened(&app, "/v1/ws/live", &reader).await.err(), Some(403));
        let said = report(&app, &reader, "imei-1", 1).await;
        told(&said, 403, "forbidden", None, &["positions:ingest"]);
        assert_eq!(opened(&app, "/v1/ws/tracker", &reader).await.err(), Some(403));
        let organization = format!("/v1/organizations/organization/{}", own.id);
        app.put(&organization, &app.root, json!({ "subscription": { "status": "canceled" } })).await.ok(200);
        let said = app.post("/v1/vehicles", &reader, json!({ "name": "x" })).await;
        told(&said, 403, "subscriptionInactive", None, &["operator renews"]);
        report(&app, &token, "imei-1", 1).await.ok(200);
        app
    });
}

#[test]
fn mistakes_with_where_a_key_goes() {
    with_app(async |app| {
        let Made { token, .. } = made(&app).await;
        let get = async |path: &str| app.send("GET", path, &[], "").await;
        // In a query or a path it is not taken, not told back, and not logged.
        let query = get(&format!("/v1/vehicles?token={token}")).await;
        told(&query, 401, "unauthenticated", None, &["Authorization: Bearer"]);
        let said = app.get(&format!("/v1/vehicles?token={token}"), &token).await;
        told(&said, 400, "unknownParameter", Some("?token"), &["is not known here"]);
        let said = app.post(&format!("/v1/positions?token={token}"), "", json!({ "items": [] })).await;
        told(&said, 400, "unknownParameter", Some("?token"), &["is not known here"]);
        for path in [format!("/v1/vehicles/{token}"), format!("/{token}"), format!("/v1/{token}/positions")] {
            let body = app.get(&path, &token).await.problem(404, "notFound");
            assert!(!body.to_string().contains(&token), "{body}");
        }
        for scheme in ["Basic", "Token", "ApiKey"] {
            let header = format!("{scheme} {token}");
            let said = app.send("GET", "/v1/vehicles", &[("authorization", header.as_str())], "").await;
            told(&said, 401, "unauthenticated", None, &["Authorization: Bearer"]);
        }
        let refresh = json!({ "refreshToken": token });
        app.post("/v1/auth/refresh", "", refresh).await.problem(401, "invalidToken");
        let mut socket = opened(&app, "/v1/ws/live", "").await.unwrap();
        say(&mut socket, &json!({ "type": "authenticate", "ticket": token })).await;
        assert_eq!(hear(&mut socket).await["code"], "unauthenticated");
        app
    });
}

#[test]
fn mistakes_with_keys_that_are_over() {
    with_app(async |app| {
        let Made { own, path, id, token, .. } = made(&app).await;
        let refused = async |token: &str, words: &[&str]| {
            for said in [app.get("/v1/vehicles", token).await, report(&app, token, "imei-1", 1).await] {
                told(&said, 401, "unauthenticated", None, words);
            }
            assert_eq!(opened(&app, "/v1/ws/tracker", token).await.err(), Some(401));
            assert_eq!(opened(&app, "/v1/ws/live", token).await.err(), Some(401));
        };
        let next_step = "POST /v1/system-users/{id}/keys makes a new one";
        for unknown in [KEY_MADE_UP, &token[..token.len() - 1], "wpk_", "wpk_..", &token.to_uppercase()] {
            if unknown.starts_with("wpk_") {
                refused(unknown, &["unknown or revoked", next_step]).await;
            } else {
                app.get("/v1/vehicles", unknown).await.problem(401, "unauthenticated");
            }
        }
        let body =
            json!({ "name": "short", "scopes": ["vehicles:read"], "expiresAt": "2026-05-01T12:10:00Z" });
        let short = text(&app.post(&path, &own.org_admin, body).await.ok(201)["token"]);
        app.get("/v1/vehicles", &short).await.ok(200);
        app.pass(600);
        refused(&short, &["expired at 2026-05-01T12:10:00.000Z", next_step]).await;
        app.get("/v1/vehicles", &token).await.ok(200);
        app.delete(&format!("{path}/{id}"), &own.org_admin).await.ok(204);
        refused(&token, &["unknown or revoked", next_step]).await;
        app
    });
}

#[test]
fn a_key_of_an_unverified_system_user_waits_for_the_letters_link() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (scopes, email) = (["vehicles:read", "positions:ingest"], "gateway@example.org");
        let body = json!({ "name": "Gateway", "email": email, "password": "long enough password", "scopes": scopes });
        let user = text(&app.post("/v1/system-users", &org.org_admin, body).await.ok(201)["id"]);
        let key = json!({ "name": "k", "scopes": scopes });
        let path = format!("/v1/system-users/{user}/keys");
        let token = text(&app.post(&path, &org.org_admin, key).await.ok(201)["token"]);
        for said in [app.get("/v1/vehicles", &token).await, report(&app, &token, "imei-1", 1).await] {
            told(&said, 403, "emailNotVerified", None, &["Open the link in the mail"]);
        }
        let verify = app.link(email, 1).await.replace("/verify/", "/v1/system-users/verify-email/");
        app.post(&verify, "", json!(null)).await.ok(200);
        app.get("/v1/vehicles", &token).await.ok(200);
        report(&app, &token, "imei-1", 1).await.ok(200);
        app
    });
}
