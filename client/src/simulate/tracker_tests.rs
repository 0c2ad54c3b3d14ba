//! The tracker against a scripted server on a real socket.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use waypost_actors::model::{Place, Timestamp};

use super::stage::Stage;
use super::tracker::{Assignment, Tracker};
use crate::trace::Point;

/// What the server does on one connection, depending on how many frames it has read there.
type Script = fn(frames_read: usize, last_seq: u64) -> Answer;

enum Answer {
    Say(Value),
    Nothing,
    Drop,
    Close(u16),
}

/// Every fix the server ever read, by seq.
type Received = Rc<RefCell<BTreeMap<u64, Value>>>;

#[expect(clippy::result_large_err, reason = "the handshake's callback is typed by the library")]
/// Serves one connection after the other by its script, the last script for ever.
async fn serve(listener: TcpListener, scripts: Vec<Script>, received: Received) {
    let mut connection = 0;
    while let Ok((stream, _)) = listener.accept().await {
        let script = scripts[connection.min(scripts.len() - 1)];
        connection += 1;
        let echo = |request: &Request, mut response: Response| {
            assert_eq!(request.headers()["authorization"], "Bearer secret");
            let subprotocol = request.headers()["sec-websocket-protocol"].clone();
            response.headers_mut().insert("sec-websocket-protocol", subprotocol);
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(stream, echo).await.unwrap();
        converse(socket, script, &received).await;
    }
}

async fn converse(mut socket: WebSocketStream<TcpStream>, script: Script, received: &Received) {
    let mut frames = 0;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["type"] == "hello" {
            let welcome = json!({"type": "welcome", "ackedSeq": 2, "limits": {"maxItems": 500, "credit": 8}});
            socket.send(Message::text(welcome.to_string())).await.unwrap();
            continue;
        }
        frames += 1;
        let mut last_seq = 0;
        for item in frame["items"].as_array().unwrap() {
            last_seq = item["seq"].as_u64().unwrap();
            let before = received.borrow_mut().insert(last_seq, item.clone());
            assert!(before.is_none_or(|before| before == *item), "{last_seq} changed when it was sent again");
        }
        match script(frames, last_seq) {
            Answer::Say(answer) => socket.send(Message::text(answer.to_string())).await.unwrap(),
            Answer::Nothing => {}
            Answer::Drop => return,
            Answer::Close(code) => {
                let frame = CloseFrame { code: code.into(), reason: "said so".into() };
                socket.send(Message::Close(Some(frame))).await.unwrap();
                while socket.next().await.is_some_and(|message| message.is_ok()) {}
                return;
            }
        }
    }
}

struct Outcome {
    result: Result<(), String>,
    stage: Rc<Stage>,
    received: Received,
}

/// Plays 50 fixes, 5 in a frame, against a server with these scripts.
async fn play(scripts: Vec<Script>, change: impl FnOnce(&mut Assignment)) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let received = Received::default();
    let server = tokio::task::spawn_local(serve(listener, scripts, Rc::clone(&received)));
    let point = |n: i64| Point::new(Timestamp::from_micros(n * 1_000_000), Place::new(1.0, n as f64));
    let mut assignment = Assignment {
        vehicle: 0,
        points: Box::new((1..=50).map(point)),
        remaining: 50,
        dues: Vec::new(),
        server: format!("http://{address}"),
        token: "secret".to_owned(),
        boot_id: None,
        items: 5,
        reconnect_for: Duration::from_secs(10),
        stamps_now: false,
    };
    change(&mut assignment);
    let stage = Rc::new(Stage::new(1, VecDeque::new()));
    stage.begin();
    let result = Tracker::new(assignment, Rc::clone(&stage), Rc::new(Semaphore::new(1))).play().await;
    server.abort();
    Outcome { result, stage, received }
}

fn ack_all(_: usize, last_seq: u64) -> Answer {
    Answer::Say(
        json!({"type": "ack", "seq": last_seq, "rejected": [], "credit": 8, "stored": 5, "duplicates": 0}),
    )
}

fn assert_all_acknowledged(outcome: &Outcome) {
    assert_eq!(outcome.result, Ok(()));
    let counts = outcome.stage.counts();
    assert_eq!((counts.sent, counts.acknowledged, counts.in_flight), (50, 50, 0));
    let received = outcome.received.borrow();
    assert_eq!(received.len(), 50);
    assert!(received.iter().all(|(seq, item)| item["longitude"] == *seq as f64));
}

#[actix_rt::test]
async fn everything_is_sent_once_and_counted() {
    let outcome = play(vec![ack_all], |_| {}).await;
    assert_all_acknowledged(&outcome);
    let counts = outcome.stage.counts();
    assert_eq!((counts.stored, counts.frames_resent, counts.reconnects), (50, 0, 0));
    assert_eq!(counts.latencies_micros.len(), 10);
    assert_eq!(counts.newest_sent, [Some(Timestamp::from_micros(50_000_000))]);
}

#[actix_rt::test]
async fn what_a_dying_server_did_not_acknowledge_is_sent_again() {
    let dies: Script = |frames, last_seq| match frames {
        1 => ack_all(frames, last_seq),
        5 => Answer::Drop,
        _ => Answer::Nothing,
    };
    let restarts: Script =
        |frames, last_seq| if frames == 3 { Answer::Close(1012) } else { ack_all(frames, last_seq) };
    let outcome = play(vec![dies, restarts, ack_all], |_| {}).await;
    assert_all_acknowledged(&outcome);
    let counts = outcome.stage.counts();
    assert_eq!(counts.reconnects, 2);
    assert!(counts.frames_resent >= 4, "{}", counts.frames_resent);
}

#[actix_rt::test]
async fn a_retry_sends_again_on_the_same_connection() {
    let hesitates: Script = |frames, last_seq| match frames {
        1 => Answer::Say(json!({"type": "retry", "afterMs": 1})),
        2..=8 => Answer::Nothing,
        _ => ack_all(frames, last_seq),
    };
    let outcome = play(vec![hesitates], |_| {}).await;
    assert_all_acknowledged(&outcome);
    let counts = outcome.stage.counts();
    assert_eq!((counts.retries, counts.reconnects), (1, 0));
    assert!(counts.frames_resent > 0);
}

#[actix_rt::test]
async fn refusals_are_counted_by_code_and_do_not_stop_the_rest() {
    let refuses: Script = |_, last_seq| {
        let rejected = json!([{"seq": last_seq, "code": "nullIsland", "detail": "0,0"}]);
        Answer::Say(json!({"type": "ack", "seq": last_seq, "rejected": rejected, "credit": 1, "stored": 4}))
    };
    let outcome = play(vec![refuses], |_| {}).await;
    assert_all_acknowledged(&outcome);
    let counts = outcome.stage.counts();
    assert_eq!(counts.refused, BTreeMap::from([("nullIsland".to_owned(), 10)]));
    assert_eq!(counts.stored, 40);
}

#[actix_rt::test]
async fn a_credential_that_is_refused_ends_the_tracker() {
    let outcome = play(vec![|_, _| Answer::Close(4401)], |_| {}).await;
    assert!(outcome.result.as_ref().unwrap_err().contains("4401"), "{:?}", outcome.result);
    assert_eq!(outcome.stage.counts().in_flight, 0);
}

#[actix_rt::test]
async fn a_hello_takes_over_what_the_server_has() {
    let dies: Script = |frames, _| if frames == 2 { Answer::Drop } else { Answer::Nothing };
    let outcome = play(vec![dies, ack_all], |assignment| assignment.boot_id = Some("boot".to_owned())).await;
    assert_all_acknowledged(&outcome);
}

#[actix_rt::test]
async fn a_server_that_stays_away_is_given_up() {
    let outcome =
        play(vec![|_, _| Answer::Drop], |assignment| assignment.reconnect_for = Duration::ZERO).await;
    assert!(outcome.result.is_err());
    assert_eq!(outcome.stage.counts().arrived, 1);
}
