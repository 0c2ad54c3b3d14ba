//! Long-lived keys of system users: made, used wherever an access token is, found in memory, and revoked.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use tokio::time::timeout;
use waypost::auth::AuthError;

use crate::harness::{App, Org, Said, on_each_engine, text, with_app};
use crate::sockets::{Socket, hear, opened, say};
use crate::sockets_end::closed;

/// Well before the next check of open sockets, which comes every 10 s.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A key of a new system user with the same scopes: the path of the user's keys, the key's id and its token.
pub(crate) async fn new_key(app: &App, org: &Org, scopes: &[&str]) -> (String, String, String) {
    let (user, _) = app.system_user(&org.org_admin, scopes).await;
    let path = format!("/v1/system-users/{user}/keys");
    let made = app.post(&path, &org.org_admin, json!({ "name": "Gateway", "scopes": scopes })).await.ok(201);
    (path, text(&made["id"]), text(&made["token"]))
}

async fn bus(app: &App, org: &Org, unique_id: &str) -> String {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id } });
    text(&app.post("/v1/vehicles", &org.org_admin, body).await.ok(201)["id"])
}

/// Reports one position of a tracker, with a minute of its own.
pub(crate) async fn report(app: &App, token: &str, unique_id: &str, minute: u32) -> Said {
    let item = json!({ "recordedAt": format!("2026-05-01T11:{minute:02}:00Z"), "latitude": 30.25,
        "longitude": -97.75, "uniqueId": unique_id });
    app.post("/v1/positions", token, json!({ "items": [item] })).await
}

async fn reporting(app: &App, token: &str) -> Socket {
    let mut socket = opened(app, "/v1/ws/tracker", token).await.unwrap();
    say(&mut socket, &json!({ "type": "hello" })).await;
    assert_eq!(hear(&mut socket).await["type"], "welcome");
    socket
}

async fn watching(app: &App, token: &str) -> Socket {
    let mut socket = opened(app, "/v1/ws/live", token).await.unwrap();
    subscribe(&mut socket).await;
    socket
}

async fn subscribe(socket: &mut Socket) {
    say(socket, &json!({ "type": "subscribe", "id": "all", "topics": ["positions"] })).await;
    while hear(socket).await["type"] != "snapshot" {}
}

async fn closed_at_once(socket: &mut Socket) -> (u16, String) {
    timeout(AT_ONCE, closed(socket)).await.expect("the socket ends at once")
}

#[test]
fn a_key_is_shown_once_and_listed_without_its_token() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (user, session) = app.system_user(&org.org_admin, &["vehicles:read", "positions:ingest"]).await;
        let path = format!("/v1/system-users/{user}/keys");
        let body =
            json!({ "name": "Gateway", "scopes": ["vehicles:read"], "expiresAt": "2027-01-01T00:00:00Z" });
        let said = app.post(&path, &org.org_admin, body).await;
        let made = said.ok(201);
        let (id, token) = (text(&made["id"]), text(&made["token"]));
        assert_eq!(said.header("location"), Some(format!("{path}/{id}").as_str()));
        assert!(token.starts_with("wpk_") && token.len() > 40);
        assert_eq!((&made["systemUserId"], &made["organizationId"]), (&json!(user), &json!(org.id)));
        let listed = app.get(&path, &org.org_admin).await.ok(200);
        let mut shown = made.clone();
        shown.as_object_mut().unwrap().remove("token");
        assert_eq!((&listed["data"], &listed["pagination"]["totalItems"]), (&json!([shown]), &json!(1)));

        app.get("/v1/vehicles", &token).await.ok(200);
        let me = app.get("/v1/auth/me", &token).await.ok(200);
        assert_eq!((&me["id"], &me["scopes"]), (&json!(user), &json!(["vehicles:read"])), "its own scopes");
        let me = app.get("/v1/auth/me", &session).await.ok(200);
        assert_eq!(me["scopes"].as_array().unwrap().len(), 2);
        let used = text(&app.get(&path, &org.org_admin).await.ok(200)["data"][0]["lastUsedAt"]);
        assert!(used.starts_with("2026-05-01T12:00"), "{used}");
        app.context.auth.store_key_uses().await.unwrap();
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200)["data"][0]["lastUsedAt"], used, "stored");

        app.delete(&format!("{path}/{id}"), &org.org_admin).await.ok(204);
        app.get("/v1/vehicles", &token).await.problem(401, "unauthenticated");
        app.delete(&format!("{path}/{id}"), &org.org_admin).await.problem(404, "notFound");
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200)["data"], json!([]));
        app
    });
}

#[test]
fn a_repeated_request_makes_one_key_and_gets_its_token_again() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, ..) = new_key(&app, &org, &["events:read"]).await;
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "once"),
        ];
        let body = json!({ "name": "Dashboard", "scopes": ["events:read"] }).to_string();
        let first = app.send("POST", &path, &headers, body.clone()).await.ok(201);
        let again = app.send("POST", &path, &headers, body).await.ok(201);
        assert_eq!(first, again);
        assert_eq!(app.get(&path, &org.org_admin).await.ok(200)["pagination"]["totalItems"], 2);
        app.get("/v1/geofence-events", &text(&again["token"])).await.ok(200);
        app
    });
}

#[test]
fn of_eleven_made_at_once_ten_are_made() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (user, _) = app.system_user(&org.org_admin, &["events:read"]).await;
        let path = format!("/v1/system-users/{user}/keys");
        let one = || app.post(&path, &org.org_admin, json!({ "name": "k", "scopes": ["events:read"] }));
        let said = futures_util::future::join_all((0..11).map(|_| one())).await;
        assert_eq!(said.iter().filter(|said| said.status == 201).count(), 10);
        said.iter().find(|said| said.status != 201).unwrap().problem(409, "keyLimitReached");
        app
    });
}

#[test]
fn a_gateways_request_asks_the_store_for_neither_key_nor_tracker() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        bus(&app, &org, "imei-1").await;
        let (path, id, token) = new_key(&app, &org, &["positions:ingest"]).await;
        assert_eq!(report(&app, &token, "imei-1", 1).await.ok(200)["stored"], 1);
        // Written behind the server's back, which is not allowed: what the server keeps in memory is not updated.
        for gone in ["update tracker set status = 'disabled'", "update api_key set scopes = '[]'"] {
            app.context.db.write().sql(gone).run().await.unwrap();
        }
        assert_eq!(report(&app, &token, "imei-1", 2).await.ok(200)["stored"], 1);
        let used = app.get(&path, &org.org_admin).await.ok(200)["data"][0].get("lastUsedAt").cloned();
        assert!(used.is_some(), "a use from memory counts");
        // Any change of what reports for the organization makes all of it be looked up again.
        bus(&app, &org, "imei-2").await;
        report(&app, &token, "imei-1", 3).await.problem(403, "forbidden");
        app.context
            .db
            .write()
            .sql("update api_key set scopes = '[\"positions:ingest\"]'")
            .run()
            .await
            .unwrap();
        bus(&app, &org, "imei-3").await;
        let said = report(&app, &token, "imei-1", 3).await.ok(200);
        assert_eq!(said["rejected"][0]["code"], "trackerDisabled");
        app.delete(&format!("{path}/{id}"), &org.org_admin).await.ok(204);
        report(&app, &token, "imei-2", 4).await.problem(401, "unauthenticated");
        app
    });
}

#[test]
fn a_known_key_expires_to_the_second() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        bus(&app, &org, "imei-1").await;
        let (path, ..) = new_key(&app, &org, &["positions:ingest"]).await;
        let body =
            json!({ "name": "short", "scopes": ["positions:ingest"], "expiresAt": "2026-05-01T12:05:00Z" });
        let token = text(&app.post(&path, &org.org_admin, body).await.ok(201)["token"]);
        assert_eq!(report(&app, &token, "imei-1", 1).await.ok(200)["stored"], 1);
        let mut socket = reporting(&app, &token).await;
        app.pass(300);
        report(&app, &token, "imei-1", 2).await.problem(401, "unauthenticated");
        assert_eq!(closed(&mut socket).await.0, 4401, "by the check of open sockets");
        app
    });
}

#[test]
fn a_revoked_key_ends_its_sockets_and_no_others() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let scopes = ["positions:ingest", "positions:read"];
        let (path, id, token) = new_key(&app, &org, &scopes).await;
        let other =
            app.post(&path, &org.org_admin, json!({ "name": "Other", "scopes": scopes })).await.ok(201);
        let other = text(&other["token"]);
        let (mut fleet, mut feed) = (reporting(&app, &token).await, watching(&app, &token).await);
        let (mut other_fleet, mut other_feed) = (reporting(&app, &other).await, watching(&app, &other).await);
        app.delete(&format!("{path}/{id}"), &org.org_admin).await.ok(204);
        assert_eq!(closed_at_once(&mut fleet).await.0, 4401);
        assert_eq!(closed_at_once(&mut feed).await, (4401, "sessionEnded".to_owned()));
        assert_eq!(opened(&app, "/v1/ws/tracker", &token).await.err(), Some(401));
        assert_eq!(opened(&app, "/v1/ws/live", &token).await.err(), Some(401));
        say(&mut other_feed, &json!({ "type": "ping" })).await;
        assert_eq!(hear(&mut other_feed).await["type"], "pong");
        let item = json!({ "seq": 1, "recordedAt": "2026-05-01T11:00:00Z", "latitude": 30.25,
            "longitude": -97.75, "uniqueId": "imei-1" });
        say(&mut other_fleet, &json!({ "type": "positions", "items": [item] })).await;
        assert_eq!(hear(&mut other_fleet).await["type"], "ack");
        // A browser opens the feed by a ticket that its key got.
        let ticket = text(&app.post("/v1/auth/ws-ticket", &other, json!({})).await.ok(201)["ticket"]);
        let mut browser = opened(&app, "/v1/ws/live", "").await.unwrap();
        say(&mut browser, &json!({ "type": "authenticate", "ticket": ticket })).await;
        subscribe(&mut browser).await;
        let user = path.trim_end_matches("/keys");
        app.delete(user, &org.org_admin).await.ok(204);
        for socket in [&mut other_fleet, &mut other_feed, &mut browser] {
            assert_eq!(closed_at_once(socket).await.0, 4401);
        }
        app.get("/v1/auth/me", &other).await.problem(401, "unauthenticated");
        app
    });
}

#[test]
fn a_key_loses_for_good_what_its_system_user_loses() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (path, _, token) =
            new_key(&app, &org, &["events:read", "positions:read", "positions:ingest"]).await;
        let user = path.trim_end_matches("/keys");
        let mut feed = watching(&app, &token).await;
        let mut fleet = reporting(&app, &token).await;
        let fewer = json!({ "scopes": ["events:read", "fuel:read"] });
        app.put(user, &org.org_admin, fewer).await.ok(200);
        assert_eq!(closed_at_once(&mut feed).await.0, 4401);
        assert_eq!(closed_at_once(&mut fleet).await.0, 4401);
        let scopes = async || app.get(&path, &org.org_admin).await.ok(200)["data"][0]["scopes"].clone();
        assert_eq!(scopes().await, json!(["events:read"]));
        let all = json!({ "scopes": ["events:read", "fuel:read", "positions:read", "positions:ingest"] });
        app.put(user, &org.org_admin, all).await.ok(200);
        assert_eq!(scopes().await, json!(["events:read"]), "what it lost does not come back");
        app.get("/v1/geofence-events", &token).await.ok(200);
        app.get("/v1/fuel", &token).await.problem(403, "forbidden");
        report(&app, &token, "imei-1", 1).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn a_new_password_leaves_keys_and_being_disabled_rests_them() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, _, token) = new_key(&app, &org, &["events:read", "positions:ingest"]).await;
        let user = path.trim_end_matches("/keys");
        app.put(user, &org.org_admin, json!({ "password": "another long password" })).await.ok(200);
        app.get("/v1/geofence-events", &token).await.ok(200);
        report(&app, &token, "imei-1", 1).await.ok(200);
        app.put(user, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        app.get("/v1/geofence-events", &token).await.problem(401, "unauthenticated");
        report(&app, &token, "imei-1", 2).await.problem(401, "unauthenticated");
        app.put(user, &org.org_admin, json!({ "status": "active" })).await.ok(200);
        app.get("/v1/geofence-events", &token).await.ok(200);
        // With its organization it is shut out, and comes back.
        let organization = format!("/v1/organizations/organization/{}", org.id);
        app.put(&organization, &app.root, json!({ "status": "inactive" })).await.ok(200);
        report(&app, &token, "imei-1", 3).await.problem(403, "organizationInactive");
        app.put(&organization, &app.root, json!({ "status": "active" })).await.ok(200);
        report(&app, &token, "imei-1", 4).await.ok(200);
        app.delete(&organization, &app.root).await.ok(204);
        report(&app, &token, "imei-1", 5).await.problem(401, "unauthenticated");
        app
    });
}

#[test]
fn every_change_of_a_key_is_audited_and_no_token_is() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, id, token) = new_key(&app, &org, &["events:read", "fuel:read"]).await;
        let user = path.trim_end_matches("/keys");
        app.put(user, &org.org_admin, json!({ "scopes": ["fuel:read"] })).await.ok(200);
        app.delete(&format!("{path}/{id}"), &org.org_admin).await.ok(204);
        let spare = json!({ "name": "Spare", "scopes": ["fuel:read"] });
        let spare = text(&app.post(&path, &org.org_admin, spare).await.ok(201)["id"]);
        app.delete(user, &org.org_admin).await.ok(204);
        let found = app.get("/v1/audit?resource=apiKey", &org.org_admin).await.ok(200);
        let told: Vec<(String, Value)> = found["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (text(&entry["action"]), entry["resourceId"].clone()))
            .collect();
        let expected =
            [("delete", &spare), ("create", &spare), ("delete", &id), ("update", &id), ("create", &id)];
        assert_eq!(told, expected.map(|(action, id)| (action.to_owned(), json!(id))));
        assert_eq!(found["data"][3]["before"]["scopes"], json!(["events:read", "fuel:read"]));
        assert!(!found.to_string().contains(&token) && !found.to_string().contains("wpk_"));
        app
    });
}

#[test]
fn keys_that_go_with_their_organization_are_audited() {
    with_app(async |app| {
        let org = app.org("gone").await;
        let (_, id, _) = new_key(&app, &org, &["events:read"]).await;
        app.delete(&format!("/v1/organizations/organization/{}", org.id), &app.root).await.ok(204);
        let told = "select action from audit where resource = 'apiKey' and resource_id = $1 order by id desc";
        let told = app.context.db.read().sql(told).bind(id.parse::<uuid::Uuid>().unwrap());
        let told: Vec<(String,)> = told.all().await.unwrap();
        assert_eq!(told.into_iter().map(|(action,)| action).collect::<Vec<_>>(), ["delete", "create"]);
        app
    });
}

#[test]
fn only_a_key_for_nothing_but_reporting_may_be_where_others_see_it() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, _, narrow) = new_key(&app, &org, &["positions:ingest"]).await;
        let (.., wide) = new_key(&app, &org, &["positions:ingest", "events:read"]).await;
        let (_, session) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let auth = &app.context.auth;
        assert_eq!(auth.device_key(&narrow).await.unwrap().1.organization_id().to_string(), org.id);
        for refused in [&wide, &session, &org.org_admin, "wpt_unknown", ""] {
            assert!(matches!(auth.device_key(refused).await, Err(AuthError::NotInPublic)), "{refused}");
        }
        assert!(matches!(auth.device_key("wpk_unknown").await, Err(AuthError::UnknownKey)));
        app.delete(path.trim_end_matches("/keys"), &org.org_admin).await.ok(204);
        assert!(matches!(auth.device_key(&narrow).await, Err(AuthError::UnknownKey)));
        app
    });
}

#[test]
fn an_apps_address_takes_a_key_for_nothing_but_reporting() {
    with_app(async |app| {
        let org = app.org("own").await;
        let vehicle = bus(&app, &org, "imei-1").await;
        let (path, id, narrow) = new_key(&app, &org, &["positions:ingest"]).await;
        let (.., wide) = new_key(&app, &org, &["positions:ingest", "events:read"]).await;
        let fix =
            |minute: u32| format!("id=imei-1&lat=30.25&lon=-97.75&timestamp=2026-05-01T11:{minute:02}:00Z");
        let send = async |path: String, header: Option<String>| {
            let headers = header.as_deref().map(|value| ("authorization", value));
            app.send("GET", &path, headers.as_slice(), "").await
        };
        let basic = |token: &str| Some(format!("Basic {}", BASE64.encode(format!("any:{token}"))));
        let bearer = |token: &str| Some(format!("Bearer {token}"));
        send(format!("/in/{narrow}?{}", fix(1)), None).await.ok(200);
        send(format!("/in?token={narrow}&{}", fix(2)), None).await.ok(200);
        send(format!("/in?{}", fix(3)), basic(&narrow)).await.ok(200);
        send(format!("/in?{}", fix(4)), bearer(&wide)).await.ok(200);
        let refused = async |path: String, header| {
            let body = send(path, header).await.problem(401, "unauthenticated");
            assert!(text(&body["detail"]).contains("only scope is positions:ingest"), "{body}");
        };
        refused(format!("/in/{wide}?{}", fix(5)), None).await;
        refused(format!("/in?token={wide}&{}", fix(6)), None).await;
        refused(format!("/in?{}", fix(7)), basic(&wide)).await;
        let positions = async || {
            let found = app.get(&format!("/v1/vehicles/{vehicle}/positions"), &org.org_admin).await.ok(200);
            found["data"].as_array().unwrap().len()
        };
        assert_eq!(positions().await, 4);
        app.delete(&format!("{path}/{id}"), &org.org_admin).await.ok(204);
        send(format!("/in/{narrow}?{}", fix(8)), None).await.problem(401, "unauthenticated");
        assert_eq!(positions().await, 4);
        app
    });
}
