//! Cursors: every event once, however the socket is cut; a cursor that is not this server's starts over.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use waypost::domain::account::Role;
use waypost_test_support::{TestStore, eventually, for_each_engine};

use crate::feed::subscribe;
use crate::server::{DEADLINE, Server, text};
use crate::wire::{Wire, crossings};

for_each_engine!(
    cut_at_random_every_event_comes_once_and_in_order,
    a_cursor_that_is_none_here_begins_anew,
    numbers_that_revisions_left_behind_are_no_loss,
    a_slow_reader_disturbs_nobody_and_misses_nothing,
);

fn resume_from(cursor: &Value) -> Value {
    let mut asked = subscribe("all");
    asked["cursor"] = cursor.clone();
    asked
}

async fn cut_at_random_every_event_comes_once_and_in_order(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let buses = [fleet.bus("one").await, fleet.bus("two").await];
    for name in ["a", "b", "c"] {
        fleet.fence(name).await;
    }
    let mut rng = StdRng::seed_from_u64(7);
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe("all")).await;
    let mut cursor = wire.hear("subscribed").await["cursor"].clone();
    let mut seen = Vec::new();
    let mut sent = 0;
    while seen.len() < 1_200 {
        // Events come while the socket is open and while it is not.
        if sent < 200 {
            for bus in &buses {
                bus.report(&server, crossings(sent + 1, sent + 10)).await;
            }
            sent += 10;
        }
        for _ in 0..rng.random_range(0..80) {
            if seen.len() == 1_200 {
                break;
            }
            let said = wire.until(|said| said["type"] == "event").await;
            cursor = said["cursor"].clone();
            seen.push(text(&said["event"]["id"]));
        }
        drop(wire);
        wire = Wire::feed(&server, &fleet.dispatcher).await;
        wire.say(&resume_from(&cursor)).await;
        assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
    }
    assert_eq!(seen, fleet.events().await);
    server.stop().await;
}

async fn a_cursor_that_is_none_here_begins_anew(store: TestStore) {
    let server = Server::start(&store).await;
    let (fleet, other) = (server.fleet("org").await, server.fleet("other").await);
    let bus = fleet.bus("one").await;
    fleet.fence("depot").await;
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe("all")).await;
    let cursor = wire.hear("subscribed").await["cursor"].clone();
    bus.cross(&server, 1, 3).await;
    let last = wire.until(|said| said["type"] == "event").await["cursor"].clone();
    let mut tampered = text(&last).into_bytes();
    let middle = tampered.len() / 2;
    tampered[middle] = if tampered[middle] == b'A' { b'B' } else { b'A' };
    let tampered = json!(String::from_utf8(tampered).unwrap());
    let begins_anew = async |token: &str, cursor: &Value| {
        let mut wire = Wire::feed(&server, token).await;
        wire.say(&resume_from(cursor)).await;
        let reset = wire.hear("reset").await;
        assert_eq!(reset, json!({ "type": "reset", "id": "all", "reason": "cursorExpired" }));
        assert_eq!(wire.hear("subscribed").await["mode"], "snapshot");
        wire.hear("snapshot").await;
    };
    begins_anew(&fleet.dispatcher, &tampered).await;
    begins_anew(&fleet.dispatcher, &json!("nonsense")).await;
    begins_anew(&other.dispatcher, &last).await;
    begins_anew(&server.root, &last).await;
    // Good for seven days, and gone after them.
    server.pass(7 * 86_400 - 3_600);
    let (token, _) = server.sign_in(&fleet.id, Role::Dispatcher).await;
    let mut wire = Wire::feed(&server, &token).await;
    wire.say(&resume_from(&cursor)).await;
    assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
    wire.hear("snapshot").await;
    for id in fleet.server.event_ids(&token).await {
        assert_eq!(wire.hear("event").await["event"]["id"], id);
    }
    server.pass(7_200);
    let (token, _) = server.sign_in(&fleet.id, Role::Dispatcher).await;
    begins_anew(&token, &cursor).await;
    server.stop().await;
}

/// Reads until there are `count` events; a reset is an error for a client that reads all the time.
async fn read_all(mut wire: Wire, seen: Rc<RefCell<Vec<String>>>, count: usize) -> Wire {
    while seen.borrow().len() < count {
        let said = wire.until(|said| said["type"] == "event" || said["type"] == "reset").await;
        assert_eq!(said["type"], "event", "the quick reader is disturbed");
        seen.borrow_mut().push(text(&said["event"]["id"]));
    }
    wire
}

/// A revision takes a new number and leaves a hole where it was: pages and cursors go over it.
async fn numbers_that_revisions_left_behind_are_no_loss(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    let bus = fleet.bus("one").await;
    for name in ["a", "b", "c"] {
        fleet.fence(name).await;
    }
    let mut wire = Wire::feed(&server, &fleet.dispatcher).await;
    wire.say(&subscribe("all")).await;
    let cursor = wire.hear("subscribed").await["cursor"].clone();
    drop(wire);
    // More than one page of the log.
    bus.cross(&server, 1, 400).await;
    let told = fleet.events().await;
    assert_eq!(told.len(), 1_200);
    let organization = fleet.id.clone();
    drop(fleet);
    server.stop().await;
    // Whole pages of numbers are gone, and every second one of the rest.
    let moved = "update records set revision = 2, sequence = sequence + 10000 \
        where sequence between 50 and 649 or sequence % 2 = 0";
    assert_eq!(store.db.write().sql(moved).run().await.unwrap(), 900);
    store.db.write().sql("update writer set next_sequence = next_sequence + 10000").run().await.unwrap();
    let log: Vec<(uuid::Uuid,)> =
        store.db.read().sql("select id from records order by sequence").all().await.unwrap();
    let log: Vec<String> = log.into_iter().map(|(id,)| id.to_string()).collect();

    let server = Server::start(&store).await;
    let (token, _) = server.sign_in(&organization, Role::Dispatcher).await;
    let mut wire = Wire::feed(&server, &token).await;
    wire.say(&resume_from(&cursor)).await;
    assert_eq!(wire.hear("subscribed").await["mode"], "resumed");
    let mut seen = Vec::new();
    while seen.len() < log.len() {
        let said = wire.until(|said| said["type"] == "event").await;
        seen.push(text(&said["event"]["id"]));
    }
    assert_eq!(seen, log);
    assert_eq!(server.event_ids(&token).await, log);
    server.stop().await;
}

async fn a_slow_reader_disturbs_nobody_and_misses_nothing(store: TestStore) {
    const FENCES: usize = 20;
    let server =
        Server::start_with(&store, |settings| settings.batch_interval = Duration::from_millis(1)).await;
    let fleet = server.fleet("org").await;
    let (bus, other) = (fleet.bus("one").await, fleet.bus("two").await);
    for number in 0..FENCES {
        fleet.fence(&format!("fence {number}")).await;
    }
    let events_only = json!({ "type": "subscribe", "id": "all", "topics": ["events"] });
    let (mut slow, mut quick) =
        (Wire::narrow_feed(&server, &fleet.dispatcher).await, Wire::feed(&server, &fleet.dispatcher).await);
    let mut cursor = Value::Null;
    for wire in [&mut slow, &mut quick] {
        wire.say(&events_only).await;
        cursor = wire.hear("subscribed").await["cursor"].clone();
    }
    // More than all the buffers on the way hold …
    let many = 1_000 * FENCES;
    let seen = Rc::new(RefCell::new(Vec::new()));
    let reading = actix_rt::spawn(read_all(quick, Rc::clone(&seen), many + 300 * FENCES));
    for part in 0..2 {
        bus.report(&server, crossings(part * 500 + 1, part * 500 + 500)).await;
    }
    eventually(DEADLINE, || async { seen.borrow().len() >= many }).await;
    // … and then more commits than a watcher may lag behind.
    for seq in 1..=300 {
        other.cross(&server, seq, seq).await;
    }
    reading.await.unwrap();
    let stored = fleet.events().await;
    assert_eq!(*seen.borrow(), stored);
    let mut late = Vec::new();
    let mut resets = 0;
    while late.len() < stored.len() {
        match slow.next().await {
            Ok(said) if said["type"] == "event" => {
                cursor = said["cursor"].clone();
                late.push(text(&said["event"]["id"]));
            }
            Ok(said) if said["type"] == "reset" => {
                assert_eq!(said["reason"], "slowReader");
                resets += 1;
            }
            Ok(_) => {}
            // A machine so busy that all this took half a minute; the close frame waits a second for its reader.
            Err(closed) => {
                assert!(matches!(closed, Some(4408) | None), "{closed:?}");
                resets += 1;
                slow = Wire::feed(&server, &fleet.dispatcher).await;
                let mut again = events_only.clone();
                again["cursor"] = cursor.clone();
                slow.say(&again).await;
            }
        }
    }
    assert!(resets > 0, "the slow reader was not slow enough for this test");
    assert_eq!(late.iter().collect::<HashSet<_>>().len(), late.len());
    assert_eq!(late, stored);
    server.stop().await;
}
