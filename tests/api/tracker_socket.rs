//! The tracker socket: which frames belong to which boot.

use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{ANSWER_WITHIN, App, text, with_app};
use crate::sockets::{Socket, hear, opened, say};

/// A vehicle's tracker, connected.
async fn tracker(app: &App) -> Socket {
    let org = app.org("fleet").await;
    let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    opened(app, "/v1/ws/tracker", &text(&made["tracker"]["token"])).await.unwrap()
}

/// Fixes with these numbers, a minute apart from an hour of 1 May 2026 on.
fn positions(seqs: std::ops::RangeInclusive<u32>, hour: u32) -> Value {
    let item = |seq| {
        let recorded_at = format!("2026-05-01T{hour:02}:{seq:02}:00Z");
        json!({ "seq": seq, "recordedAt": recorded_at, "latitude": 30.25, "longitude": -97.75 })
    };
    json!({ "type": "positions", "items": seqs.map(item).collect::<Vec<_>>() })
}

#[test]
fn numbers_belong_to_the_boot_they_were_sent_under() {
    with_app(async |app| {
        let mut socket = tracker(&app).await;
        say(&mut socket, &positions(1..=3, 10)).await;
        let ack = hear(&mut socket).await;
        assert_eq!((&ack["seq"], &ack["stored"]), (&json!(3), &json!(3)));
        say(&mut socket, &json!({ "type": "hello", "bootId": "b" })).await;
        let welcome = hear(&mut socket).await;
        assert_eq!((&welcome["type"], &welcome["ackedSeq"]), (&json!("welcome"), &Value::Null));
        say(&mut socket, &positions(1..=2, 11)).await;
        let ack = hear(&mut socket).await;
        assert_eq!((&ack["seq"], &ack["stored"], &ack["duplicates"]), (&json!(2), &json!(2), &json!(0)));
        // Sent again under its boot, it is known.
        say(&mut socket, &json!({ "type": "hello", "bootId": "b" })).await;
        assert_eq!(hear(&mut socket).await["ackedSeq"], 2);
        say(&mut socket, &positions(1..=3, 11)).await;
        let ack = hear(&mut socket).await;
        assert_eq!((&ack["seq"], &ack["stored"], &ack["duplicates"]), (&json!(3), &json!(1), &json!(2)));
        // An item's place is that in what was sent, though what comes before it is known.
        let mut bad = positions(2..=4, 11);
        bad["items"][2]["latitude"] = json!(91);
        say(&mut socket, &bad).await;
        let ack = hear(&mut socket).await;
        let rejected = &ack["rejected"][0];
        assert_eq!(
            (&ack["duplicates"], &rejected["seq"], &rejected["index"]),
            (&json!(2), &json!(4), &json!(2))
        );
        // Another boot's name while a frame still waits would take its ack as its own.
        socket.feed(Message::text(positions(5..=6, 11).to_string())).await.unwrap();
        say(&mut socket, &json!({ "type": "hello", "bootId": "c" })).await;
        assert_eq!(hear(&mut socket).await["code"], "malformedFrame");
        assert_eq!(hear(&mut socket).await["closed"], 4400);
        app
    });
}

#[test]
fn a_boots_name_has_an_end() {
    with_app(async |app| {
        let mut socket = tracker(&app).await;
        say(&mut socket, &json!({ "type": "hello", "bootId": "b".repeat(64) })).await;
        assert_eq!(hear(&mut socket).await["type"], "welcome");
        say(&mut socket, &json!({ "type": "hello", "bootId": "b".repeat(65) })).await;
        let error = hear(&mut socket).await;
        assert_eq!(error["code"], "malformedFrame");
        assert!(text(&error["detail"]).contains("bootId"));
        assert_eq!(hear(&mut socket).await["closed"], 4400);
        app
    });
}

#[test]
fn an_open_socket_hears_how_long_positions_are_kept() {
    with_app(async |app| {
        let org = app.org("forgetful").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let mut socket = opened(&app, "/v1/ws/tracker", &text(&made["tracker"]["token"])).await.unwrap();
        let path = format!("/v1/organizations/organization/{}", org.id);
        let mut seq = 0;
        for (days, code) in [(json!(1), json!("olderThanRetention")), (Value::Null, Value::Null)] {
            let settings = json!({ "settings": { "retention": { "positionsDays": days } } });
            app.put(&path, &org.org_admin, settings).await.ok(200);
            // A frame may overtake the new setting on its way to the socket.
            let heard = async {
                loop {
                    seq += 1;
                    let old = json!({ "seq": seq, "recordedAt": "2026-04-20T12:00:00Z", "latitude": 30.25, "longitude": -97.75 });
                    say(&mut socket, &json!({ "type": "positions", "items": [old] })).await;
                    if hear(&mut socket).await["rejected"][0]["code"] == code {
                        return;
                    }
                }
            };
            timeout(ANSWER_WITHIN, heard)
                .await
                .unwrap_or_else(|_| panic!("positionsDays {days} is not heard"));
        }
        app
    });
}
