//! The tracker socket beyond a plain replay: boots, repetitions, replacement, silence, a store that is
//! stuck or fails, a server that stops.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, SqliteConnection};
use tokio_tungstenite::tungstenite::Message;
use waypost::store::open::Location;
use waypost_client::socket;
use waypost_test_support::{Program, TestStore, eventually, for_each_engine};

use crate::server::{DEADLINE, Server, launch, stored_positions};
use crate::wire::{Wire, items};

for_each_engine!(
    a_boot_goes_on_over_connections,
    without_a_boot_what_comes_again_is_stored_once,
    the_second_connection_replaces_the_first,
    a_frame_in_parts_is_one_and_pings_are_answered,
    a_silent_tracker_is_closed_and_one_that_answers_is_not,
    a_stuck_store_stops_the_reading_and_loses_nothing,
    a_failed_commit_asks_for_everything_again,
    a_stopping_server_acknowledges_what_it_took,
    sigterm_ends_the_program_and_nothing_acknowledged_is_missing,
);

const START: i64 = 1_790_000_000_000;

async fn hello(wire: &mut Wire, boot: &str) -> Value {
    wire.say(&json!({ "type": "hello", "bootId": boot, "firmware": "test", "bufferedCount": 3 })).await;
    wire.hear("welcome").await
}

async fn a_boot_goes_on_over_connections(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let mut wire = Wire::bus(&server, &bus).await;
    let welcome = hello(&mut wire, "first").await;
    assert_eq!(welcome["ackedSeq"], Value::Null);
    assert_eq!(welcome["limits"], json!({ "maxItems": 500, "maxFrameBytes": 262_144, "credit": 8 }));
    assert!(welcome["config"]["intervalSeconds"].is_u64());
    wire.report(items(1, 5, START)).await;
    assert_eq!(wire.hear("ack").await["seq"], 5);
    // Sent again, and again with new fixes after them: only the new ones are stored, and the ack advances.
    wire.report(items(2, 4, START)).await;
    let ack = wire.hear("ack").await;
    assert_eq!((&ack["seq"], &ack["stored"], &ack["duplicates"]), (&json!(5), &json!(0), &json!(3)));
    drop(wire);
    let mut wire = Wire::bus(&server, &bus).await;
    assert_eq!(hello(&mut wire, "first").await["ackedSeq"], 5);
    wire.report(items(4, 8, START)).await;
    let ack = wire.hear("ack").await;
    assert_eq!((&ack["seq"], &ack["stored"], &ack["duplicates"]), (&json!(8), &json!(3), &json!(2)));
    drop(wire);
    // Another boot starts its numbers over.
    let mut wire = Wire::bus(&server, &bus).await;
    assert_eq!(hello(&mut wire, "second").await["ackedSeq"], Value::Null);
    wire.report(items(1, 2, START + 60_000)).await;
    let ack = wire.hear("ack").await;
    assert_eq!((&ack["seq"], &ack["stored"]), (&json!(2), &json!(2)));
    // An unknown member, or none to name, is no boot.
    wire.say(&json!({ "type": "hello" })).await;
    assert_eq!(wire.hear("welcome").await["ackedSeq"], Value::Null);
    assert_eq!(stored_positions(&store).await, 10);
    server.stop().await;
}

async fn without_a_boot_what_comes_again_is_stored_once(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let mut wire = Wire::bus(&server, &bus).await;
    for (duplicates, stored) in [(0, 5), (5, 0)] {
        wire.report(items(1, 5, START)).await;
        let ack = wire.hear("ack").await;
        assert_eq!((&ack["seq"], &ack["stored"]), (&json!(5), &json!(stored)));
        assert_eq!(ack["duplicates"], duplicates);
    }
    // Nothing to acknowledge, and no reason to close.
    wire.report(vec![]).await;
    wire.report(items(6, 6, START)).await;
    assert_eq!(wire.hear("ack").await["seq"], 6);
    assert_eq!(stored_positions(&store).await, 6);
    server.stop().await;
}

async fn the_second_connection_replaces_the_first(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let (bus, other) = (fleet.bus("one").await, fleet.bus("two").await);
    let mut bystander = Wire::bus(&server, &other).await;
    let mut first = Wire::bus(&server, &bus).await;
    hello(&mut first, "boot").await;
    let mut second = Wire::bus(&server, &bus).await;
    let closed = first.closed().await;
    assert_eq!((closed.code, closed.word.as_str()), (4409, "replaced"));
    for wire in [&mut second, &mut bystander] {
        wire.report(items(1, 3, START)).await;
        assert_eq!(wire.hear("ack").await["stored"], 3);
    }
    server.stop().await;
}

async fn a_frame_in_parts_is_one_and_pings_are_answered(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    let mut wire = Wire::bus(&server, &bus).await;
    let text = json!({ "type": "positions", "items": items(1, 50, START) }).to_string();
    let (head, rest) = text.split_at(70);
    let (middle, tail) = rest.split_at(1000);
    wire.part(head, true, false).await.unwrap();
    wire.send(Message::Ping("between the parts".into())).await.unwrap();
    wire.part(middle, false, false).await.unwrap();
    wire.part("", false, false).await.unwrap();
    wire.part(tail, false, true).await.unwrap();
    assert_eq!(wire.message().await, Some(Message::Pong("between the parts".into())));
    assert_eq!(wire.hear("ack").await["stored"], 50);
    wire.send(Message::Pong("unasked".into())).await.unwrap();
    wire.send(Message::Ping("".into())).await.unwrap();
    assert_eq!(wire.message().await, Some(Message::Pong("".into())));
    server.stop().await;
}

async fn a_silent_tracker_is_closed_and_one_that_answers_is_not(store: TestStore) {
    let often = Duration::from_millis(100);
    let server = Server::start_with(&store, |settings| settings.tracker_ping_interval = often).await;
    let fleet = server.fleet("org").await;
    let (bus, other) = (fleet.bus("one").await, fleet.bus("two").await);
    let mut answering = Wire::bus(&server, &other).await;
    // This client answers no ping: it does not even see them.
    let mut silent = Wire::bus(&server, &bus).await.into_raw();
    let mut pings = 0;
    let close = loop {
        match silent.frame().await {
            (0x9, _) => {
                pings += 1;
                // The other one reads on, which answers its pings.
                assert!(matches!(answering.message().await, Some(Message::Ping(_))));
            }
            (0x8, payload) => break payload,
            _ => {}
        }
    };
    assert_eq!((pings, &close[..2]), (3, &4408_u16.to_be_bytes()[..]));
    answering.report(items(1, 1, START)).await;
    assert_eq!(answering.hear("ack").await["seq"], 1);
    server.stop().await;
}

/// Holds the store's write lock, from elsewhere, until dropped.
pub(crate) enum Stuck {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Stuck {
    pub(crate) async fn hold(store: &TestStore) -> Self {
        match &store.options.location {
            Location::Embedded(directory) => {
                let file = directory.join("waypost.sqlite");
                let mut held =
                    SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
                sqlx::query("begin immediate").execute(&mut held).await.unwrap();
                Self::Sqlite(held)
            }
            Location::Postgres(url) => {
                let mut held = PgConnection::connect(url).await.unwrap();
                sqlx::query("begin").execute(&mut held).await.unwrap();
                sqlx::query("select * from writer for update").execute(&mut held).await.unwrap();
                Self::Postgres(held)
            }
        }
    }

    pub(crate) async fn release(self) {
        match self {
            Self::Sqlite(held) => held.close().await.unwrap(),
            Self::Postgres(held) => held.close().await.unwrap(),
        }
    }
}

/// Frames of 500 items, by number.
fn large_frame(number: i64) -> String {
    let first = number * 500 + 1;
    json!({ "type": "positions", "items": items(first, first + 499, START) }).to_string()
}

async fn a_stuck_store_stops_the_reading_and_loses_nothing(store: TestStore) {
    // Long enough that nothing is given up, short enough for the test.
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = DEADLINE;
        settings.statement_timeout = DEADLINE;
    })
    .await;
    let bus = server.fleet("org").await.bus("one").await;
    let mut wire = Wire::bus(&server, &bus).await;
    wire.report(items(0, 0, START)).await;
    wire.hear("ack").await;
    let stuck = Stuck::hold(&store).await;
    // Send without limit, until neither the server nor the buffers in between take any more.
    let mut taken = 0;
    while wire.offer(&large_frame(taken)).await {
        taken += 1;
        assert!(taken < 2_000, "the server takes 100 MB it cannot store");
    }
    assert!(taken >= 8, "eight frames may wait, {taken} were taken");
    stuck.release().await;
    // The frame that was offered last is sent in the end, too.
    wire.flush().await;
    let last = (taken + 1) * 500;
    let mut stored = 0;
    let mut seq = 0;
    while seq < last {
        let ack = wire.hear("ack").await;
        assert!(ack["seq"].as_i64().unwrap() > seq, "{ack}");
        seq = ack["seq"].as_i64().unwrap();
        stored += ack["stored"].as_i64().unwrap();
        assert!(ack["credit"].as_u64().unwrap() <= 8);
    }
    assert_eq!((seq, stored), (last, last));
    assert_eq!(stored_positions(&store).await, last + 1);
    server.stop().await;
}

async fn a_failed_commit_asks_for_everything_again(store: TestStore) {
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = Duration::from_millis(300);
    })
    .await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    fleet.fence("depot").await;
    let mut wire = Wire::bus(&server, &bus).await;
    wire.report(items(1, 1, START)).await;
    wire.hear("ack").await;
    let stuck = Stuck::hold(&store).await;
    wire.report(items(2, 4, START)).await;
    wire.report(items(5, 6, START)).await;
    let retry = wire.hear("retry").await;
    assert!(retry["afterMs"].as_u64().unwrap() > 0, "{retry}");
    assert_eq!(retry["seq"], 2, "{retry}");
    // Over HTTP the answer comes at once.
    let unavailable = server.post("/v1/positions", &bus.token, json!({ "items": items(7, 7, START) })).await;
    unavailable.problem(503, "unavailable");
    // What follows the gap is not accepted.
    wire.report(items(7, 8, START)).await;
    stuck.release().await;
    eventually(DEADLINE, || async { server.context.live.is_available() }).await;
    // What was acknowledged before may come again, which closes no gap.
    wire.report(items(1, 1, START)).await;
    assert_eq!(wire.until(|said| said["type"] == "ack").await["seq"], 1);
    wire.report(items(9, 9, START)).await;
    wire.send(Message::Ping("heard".into())).await.unwrap();
    loop {
        match wire.message().await.expect("the socket stays") {
            Message::Pong(_) => break,
            Message::Text(text) => assert!(!text.contains("\"ack\""), "{text}"),
            _ => {}
        }
    }
    wire.report(items(2, 9, START)).await;
    // On a very busy machine, it was sent once more where to go on.
    let ack = wire.until(|said| said["type"] == "ack").await;
    let seen = ack["stored"].as_i64().unwrap() + ack["duplicates"].as_i64().unwrap();
    assert_eq!((&ack["seq"], seen), (&json!(9), 8));
    assert_eq!(stored_positions(&store).await, 9);
    if let Location::Postgres(url) = &store.options.location {
        terminate_everybody(url, &mut wire).await;
        assert_eq!(stored_positions(&store).await, 12);
    }
    server.stop().await;
}

/// Ends every connection to a database.
pub(crate) async fn end_connections(url: &str) {
    let mut killer = PgConnection::connect(url).await.unwrap();
    let kill = "select pg_terminate_backend(pid) from pg_stat_activity \
        where datname = current_database() and pid <> pg_backend_pid()";
    sqlx::query(kill).execute(&mut killer).await.unwrap();
}

/// The database ends all connections; the server recovers by itself.
async fn terminate_everybody(url: &str, wire: &mut Wire) {
    end_connections(url).await;
    wire.report(items(10, 12, START)).await;
    loop {
        let said = wire.next().await.expect("the socket stays");
        match said["type"].as_str().unwrap() {
            "ack" => return assert_eq!(said["seq"], 12),
            "retry" => wire.report(items(10, 12, START)).await,
            other => panic!("{other}"),
        }
    }
}

async fn a_stopping_server_acknowledges_what_it_took(store: TestStore) {
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = DEADLINE;
        settings.statement_timeout = DEADLINE;
    })
    .await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    let mut feed = Wire::feed(&server, &fleet.dispatcher).await;
    let mut waiting = Wire::feed(&server, "").await;
    let mut wire = Wire::bus(&server, &bus).await;
    let stuck = Stuck::hold(&store).await;
    wire.report(items(1, 10, START)).await;
    wire.report(items(11, 20, START)).await;
    wire.send(Message::Ping("taken".into())).await.unwrap();
    assert_eq!(wire.message().await, Some(Message::Pong("taken".into())));
    let running = server.ask_to_stop();
    for closing in [&mut feed, &mut waiting] {
        let closed = closing.closed().await;
        assert_eq!((closed.code, closed.word.as_str()), (1012, "restarting"));
    }
    stuck.release().await;
    let mut acked = 0;
    loop {
        match wire.next().await {
            Ok(said) if said["type"] == "ack" => acked = said["seq"].as_i64().unwrap(),
            Ok(said) => assert_eq!(said["code"], "restarting"),
            Err(code) => break assert_eq!(code, Some(1012)),
        }
    }
    assert_eq!(acked, 20);
    running.await.unwrap();
    assert_eq!(stored_positions(&store).await, 20);
}

async fn sigterm_ends_the_program_and_nothing_acknowledged_is_missing(store: TestStore) {
    // The organization is made by a server in this process; the program takes over its store.
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    server.stop().await;
    let mut program = Program::start(&launch(&store)).await;
    let mut wire = Wire::open(socket::tracker(&program.url(), &bus.token)).await.unwrap();
    wire.report(items(1, 100, START)).await;
    assert_eq!(wire.hear("ack").await["seq"], 100);
    program.signal("TERM");
    // It goes on sending until the server closes the socket.
    let mut sent = 100;
    let mut acked = 100;
    let code = loop {
        if wire.send(Message::text(ten_after(sent))).await.is_ok() {
            sent += 10;
        }
        match wire.next().await {
            Ok(said) if said["type"] == "ack" => acked = said["seq"].as_i64().unwrap(),
            Ok(said) => assert_eq!(said["type"], "error"),
            Err(code) => break code,
        }
    };
    assert_eq!(code, Some(1012));
    program.ended().await;
    let stored = stored_positions(&store).await;
    assert!(acked <= stored && stored <= sent, "{acked} acknowledged, {stored} stored, {sent} sent");
}

/// Ten items after these.
fn ten_after(sent: i64) -> String {
    json!({ "type": "positions", "items": items(sent + 1, sent + 10, START) }).to_string()
}
