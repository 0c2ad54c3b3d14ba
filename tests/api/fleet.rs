//! A system user reports for a whole fleet: over one socket and over HTTP, each item naming its tracker.

use serde_json::{Value, json};

use crate::harness::{App, Org, text, with_app};
use crate::sockets::{self, Socket, opened, say};

/// The next frame, skipping the trackers' configurations; a close is returned with its code.
async fn hear(socket: &mut Socket) -> Value {
    loop {
        let said = sockets::hear(socket).await;
        if said["type"] != "config" {
            return said;
        }
    }
}

/// A bus with a tracker: the ids of both.
async fn bus(app: &App, org: &Org, unique_id: &str) -> (String, String) {
    let body = json!({ "name": unique_id, "tracker": { "uniqueId": unique_id } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    (text(&made["id"]), text(&made["tracker"]["id"]))
}

fn item(seq: u32, whose: Value) -> Value {
    let mut item = json!({ "seq": seq, "recordedAt": format!("2026-05-01T11:{seq:02}:00Z"),
        "latitude": 30.25, "longitude": -97.75 });
    item.as_object_mut().unwrap().extend(whose.as_object().unwrap().clone());
    item
}

fn positions(items: &[Value]) -> Value {
    json!({ "type": "positions", "items": items })
}

/// The refused items: number and code.
fn refused(ack: &Value) -> Vec<(i64, String)> {
    let items = ack["rejected"].as_array().unwrap().iter();
    items.map(|item| (item["seq"].as_i64().unwrap(), text(&item["code"]))).collect()
}

#[test]
fn a_whole_fleet_reports_on_one_socket() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let ((one, _), (two, tracker)) = (bus(&app, &own, "imei-1").await, bus(&app, &own, "imei-2").await);
        let (foreign, foreign_tracker) = bus(&app, &other, "imei-9").await;
        let (_, token) = app.system_user(&own.org_admin, &["positions:ingest"]).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        let items = [
            item(1, json!({ "uniqueId": "imei-1" })),
            item(2, json!({ "trackerId": tracker })),
            item(3, json!({ "uniqueId": "imei-9" })),
            item(4, json!({ "trackerId": foreign_tracker })),
            item(5, json!({})),
            item(6, json!({ "uniqueId": "imei-2" })),
            item(7, json!({ "uniqueId": "nonsense" })),
            item(8, json!({ "uniqueId": "x".repeat(65) })),
        ];
        say(&mut socket, &positions(&items)).await;
        let ack = hear(&mut socket).await;
        assert_eq!((&ack["seq"], &ack["stored"]), (&json!(8), &json!(3)));
        let unknown = |seq| (seq, "unknownTracker".to_owned());
        assert_eq!(
            refused(&ack),
            [unknown(3), unknown(4), (5, "trackerRequired".to_owned()), unknown(7), unknown(8)],
            "another organization's tracker is like none"
        );
        for (vehicle, at) in [(one, "2026-05-01T11:01:00.000Z"), (two, "2026-05-01T11:06:00.000Z")] {
            let found = app.get(&format!("/v1/vehicles/{vehicle}"), &own.viewer).await.ok(200);
            assert_eq!(
                (&found["live"]["lastFixAt"], &found["live"]["settledThrough"]),
                (&json!(at), &json!(at))
            );
        }
        let found = app.get(&format!("/v1/vehicles/{foreign}"), &other.viewer).await.ok(200);
        assert_eq!(found["live"].get("lastFixAt").filter(|at| !at.is_null()), None);
        assert_eq!(found["live"]["settledThrough"], Value::Null);
        app
    });
}

#[test]
fn a_changed_tracker_counts_at_once_on_an_open_socket() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let (_, tracker) = bus(&app, &org, "imei-1").await;
        let (second, _) = bus(&app, &org, "imei-2").await;
        let (_, token) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        let mut seq = 0;
        let mut send = async |name: &str| {
            seq += 1;
            say(&mut socket, &positions(&[item(seq, json!({ "uniqueId": name }))])).await;
            let ack = hear(&mut socket).await;
            refused(&ack).pop().map_or_else(|| "stored".to_owned(), |(_, code)| code)
        };
        assert_eq!(send("imei-1").await, "stored");
        assert_eq!(send("imei-3").await, "unknownTracker");
        bus(&app, &org, "imei-3").await;
        assert_eq!(send("imei-3").await, "stored", "who was unknown is known");
        let path = format!("/v1/trackers/{tracker}");
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        assert_eq!(send("imei-1").await, "trackerDisabled");
        app.put(&path, &org.org_admin, json!({ "status": "active", "uniqueId": "imei-4" })).await.ok(200);
        assert_eq!(send("imei-1").await, "unknownTracker");
        assert_eq!(send("imei-4").await, "stored");
        app.delete(&path, &org.org_admin).await.ok(204);
        assert_eq!(send("imei-4").await, "unknownTracker");
        assert_eq!(send("imei-2").await, "stored");
        app.delete(&format!("/v1/vehicles/{second}"), &org.org_admin).await.ok(204);
        assert_eq!(send("imei-2").await, "notInstalled", "one vehicle gone costs its own items only");
        assert_eq!(send("imei-3").await, "stored");
        app
    });
}

#[test]
fn boots_of_one_system_user_are_told_apart() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        bus(&app, &org, "imei-1").await;
        let (_, token) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        for (boot, last) in [("north", 3), ("south", 5)] {
            let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
            say(&mut socket, &json!({ "type": "hello", "bootId": boot })).await;
            assert_eq!(hear(&mut socket).await["ackedSeq"], Value::Null);
            say(&mut socket, &positions(&[item(last, json!({ "uniqueId": "imei-1" }))])).await;
            assert_eq!(hear(&mut socket).await["seq"], last);
        }
        for (boot, last) in [("north", 3), ("south", 5)] {
            let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
            say(&mut socket, &json!({ "type": "hello", "bootId": boot })).await;
            assert_eq!(hear(&mut socket).await["ackedSeq"], last);
        }
        app
    });
}

#[test]
fn over_http_items_name_their_trackers_too() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        bus(&app, &own, "imei-1").await;
        bus(&app, &other, "imei-9").await;
        let (_, token) = app.system_user(&own.org_admin, &["positions:ingest"]).await;
        let items =
            ["imei-1", "imei-9"].iter().zip(1..).map(|(name, seq)| item(seq, json!({ "uniqueId": name })));
        let body = json!({ "items": items.collect::<Vec<_>>() });
        let said = app.post("/v1/positions", &token, body.clone()).await.ok(200);
        assert_eq!((&said["stored"], refused(&said)), (&json!(1), vec![(2, "unknownTracker".to_owned())]));
        let (_, reader) = app.system_user(&own.org_admin, &["positions:read"]).await;
        for token in [&reader, &own.org_admin, &app.root] {
            let detail = text(
                &app.post("/v1/positions", token, body.clone()).await.problem(403, "forbidden")["detail"],
            );
            assert!(detail.contains("positions:ingest"), "{detail}");
        }
        app.post("/v1/positions", "a.b.c", body.clone()).await.problem(401, "unauthenticated");
        app.post("/v1/positions", "wpt_unknown", body).await.problem(401, "invalidToken");
        app
    });
}

#[test]
fn whatever_ends_a_session_closes_its_sockets() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let scopes = ["positions:ingest", "positions:read"];
        let endings: [(&str, u16); 5] =
            [("disable", 4401), ("delete", 4401), ("scopes", 4401), ("password", 4401), ("logout", 4401)];
        for (how, code) in endings {
            let (id, first) = app.system_user(&org.org_admin, &scopes).await;
            let email = text(&app.get("/v1/auth/me", &first).await.ok(200)["email"]);
            let login = json!({ "email": email, "password": crate::harness::PASSWORD });
            let session = app.post("/v1/system-users/login", "", login).await.ok(200);
            let token = text(&session["accessToken"]);
            let mut reports = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
            let mut watches = opened(&app, "/v1/ws/live", &token).await.unwrap();
            say(&mut watches, &json!({ "type": "subscribe", "id": "a", "topics": ["positions"] })).await;
            hear(&mut watches).await;
            let path = format!("/v1/system-users/{id}");
            match how {
                "disable" => {
                    drop(app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200))
                }
                "delete" => drop(app.delete(&path, &org.org_admin).await.ok(204)),
                "scopes" => drop(app.put(&path, &org.org_admin, json!({ "scopes": [] })).await.ok(200)),
                "password" => {
                    let new = json!({ "password": "another long password" });
                    app.put(&path, &org.org_admin, new).await.ok(200);
                }
                _ => {
                    let refresh = json!({ "refreshToken": session["refreshToken"] });
                    app.post("/v1/auth/logout", "", refresh).await.ok(204);
                }
            }
            for socket in [&mut reports, &mut watches] {
                let mut heard = hear(socket).await;
                while heard.get("closed").is_none() {
                    heard = hear(socket).await;
                }
                assert_eq!(heard["closed"], code, "{how}");
            }
        }
        app
    });
}
