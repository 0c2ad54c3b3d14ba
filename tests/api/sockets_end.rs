//! Sockets end at once when the account that opened them loses the right to them.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{App, Org, PASSWORD, text, with_app};
use crate::sockets::{Socket, hear, opened, say};

/// Well before the next check of open sockets' sessions, which comes every 10 s.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The code with which a socket closes, and the error before it.
pub(crate) async fn closed(socket: &mut Socket) -> (u16, String) {
    let mut word = String::new();
    loop {
        let said = hear(socket).await;
        if said["type"] == "error" {
            word = text(&said["code"]);
        }
        if let Some(code) = said["closed"].as_u64() {
            return (code as u16, word);
        }
    }
}

/// Like [`closed`], for a socket that must not wait for the next check of its session.
async fn closed_at_once(socket: &mut Socket) -> (u16, String) {
    timeout(AT_ONCE, closed(socket)).await.expect("the socket ends at once")
}

/// Subscribes and waits for the answer: from then on the socket is served.
async fn watching(app: &App, token: &str) -> Socket {
    let mut socket = opened(app, "/v1/ws/live", token).await.unwrap();
    let ask = json!({ "type": "subscribe", "id": "all", "topics": ["positions"] });
    say(&mut socket, &ask).await;
    socket.next().await.unwrap().unwrap();
    socket
}

pub(crate) async fn tracker_token(app: &App, org: &Org) -> String {
    let body = json!({ "name": "Bus", "tracker": { "uniqueId": format!("imei-{}", org.id) } });
    text(&app.post("/v1/vehicles", &org.org_admin, body).await.ok(201)["tracker"]["token"])
}

#[test]
fn an_inactive_organization_is_shut_out_and_comes_back_as_it_was() {
    with_app(async |app| {
        let (org, other) = (app.org("sleepy").await, app.org("awake").await);
        let invitation =
            app.link("sleepy-admin@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        let session = app.post(&invitation, "", json!({ "password": PASSWORD })).await.ok(200);
        let (_, program) = app.system_user(&org.org_admin, &["positions:read", "vehicles:read"]).await;
        let token = tracker_token(&app, &org).await;
        let mut tracker = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        say(&mut tracker, &json!({ "type": "hello" })).await;
        tracker.next().await.unwrap().unwrap();
        let mut own = watching(&app, &org.viewer).await;
        let mut programs = watching(&app, &program).await;
        let mut others = watching(&app, &other.viewer).await;
        let mut operators = watching(&app, &app.root).await;

        let path = format!("/v1/organizations/organization/{}", org.id);
        app.put(&path, &app.root, json!({ "status": "inactive" })).await.ok(200);
        assert_eq!(closed_at_once(&mut own).await, (4403, "organizationInactive".to_owned()));
        assert_eq!(closed_at_once(&mut programs).await, (4403, "organizationInactive".to_owned()));
        assert_eq!(closed_at_once(&mut tracker).await.0, 4403);
        for socket in [&mut others, &mut operators] {
            socket.send(Message::Ping("still here".into())).await.unwrap();
            let pong = async { while !socket.next().await.unwrap().unwrap().is_pong() {} };
            pong.await;
        }
        let login = json!({ "email": "sleepy-admin@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login.clone()).await.problem(403, "organizationInactive");
        let refresh = json!({ "refreshToken": session["refreshToken"] });
        app.post("/v1/auth/refresh", "", refresh.clone()).await.problem(403, "organizationInactive");
        app.get("/v1/vehicles", &org.viewer).await.problem(403, "organizationInactive");
        app.get("/v1/vehicles", &program).await.problem(403, "organizationInactive");
        assert_eq!(opened(&app, "/v1/ws/live", &org.viewer).await.err(), Some(403));
        assert_eq!(opened(&app, "/v1/ws/tracker", &token).await.err(), Some(403));
        let fixes = json!({ "items": [] });
        app.post("/v1/positions", &token, fixes).await.problem(403, "organizationInactive");
        let kept = format!("/v1/vehicles?organizationId={}", org.id);
        assert_eq!(app.get(&kept, &app.root).await.ok(200)["data"].as_array().unwrap().len(), 1);

        app.put(&format!("/v1/organizations/activate/{}", org.id), &app.root, json!({})).await.ok(200);
        app.post("/v1/auth/login", "", login).await.ok(200);
        app.post("/v1/auth/refresh", "", refresh).await.ok(200);
        app.get("/v1/vehicles", &program).await.ok(200);
        watching(&app, &org.viewer).await;
        opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        app
    });
}

#[test]
fn a_deleted_organizations_sockets_end_and_its_trackers_are_refused() {
    with_app(async |app| {
        let org = app.org("doomed").await;
        let token = tracker_token(&app, &org).await;
        let mut tracker = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        say(&mut tracker, &json!({ "type": "hello" })).await;
        tracker.next().await.unwrap().unwrap();
        let mut own = watching(&app, &org.viewer).await;
        app.delete(&format!("/v1/organizations/organization/{}", org.id), &app.root).await.ok(204);
        assert_eq!(closed_at_once(&mut tracker).await.0, 4403);
        assert_eq!(closed_at_once(&mut own).await.0, 4403);
        assert_eq!(opened(&app, "/v1/ws/tracker", &token).await.err(), Some(401));
        app
    });
}

#[test]
fn whoever_is_disabled_or_gets_another_role_or_address_watches_no_more() {
    with_app(async |app| {
        let org = app.org("own").await;
        let me = app.get("/v1/auth/me", &org.viewer).await.ok(200);
        let path = format!("/v1/users/{}", text(&me["id"]));
        let mut socket = watching(&app, &org.viewer).await;
        app.put(&path, &org.org_admin, json!({ "firstName": "Other" })).await.ok(200);
        app.put(&path, &org.org_admin, json!({ "role": "dispatcher" })).await.ok(200);
        assert_eq!(closed_at_once(&mut socket).await, (4401, "sessionEnded".to_owned()));
        let mut socket = watching(&app, &org.viewer).await;
        let address = json!({ "email": "moved@example.org" });
        app.put(&path, &org.org_admin, address).await.ok(200);
        let confirm =
            app.link("moved@example.org", 1).await.replace("/address/", "/v1/auth/confirm-address/");
        app.post(&confirm, "", json!(null)).await.ok(204);
        assert_eq!(closed_at_once(&mut socket).await, (4401, "sessionEnded".to_owned()));
        let token = app.sign_in(text(&me["id"]).parse().unwrap()).await;
        let mut socket = watching(&app, &token).await;
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        assert_eq!(closed_at_once(&mut socket).await, (4401, "sessionEnded".to_owned()));
        assert_eq!(opened(&app, "/v1/ws/live", &token).await.err(), Some(401));
        app
    });
}

#[test]
fn a_session_ends_after_thirty_days_and_its_sockets_with_it() {
    with_app(async |app| {
        let org = app.org("long").await;
        let (_, program) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let mut fleet = opened(&app, "/v1/ws/tracker", &program).await.unwrap();
        let mut dispatcher = watching(&app, &org.dispatcher).await;
        app.pass(30 * 86_400 + 1);
        assert_eq!(closed(&mut dispatcher).await, (4401, "sessionEnded".to_owned()));
        assert_eq!(closed(&mut fleet).await.0, 4401);
        app
    });
}
