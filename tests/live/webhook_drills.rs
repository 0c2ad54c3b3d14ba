//! Webhooks while everything around them goes wrong: the server killed in the middle of deliveries, receivers that hang
//! by the dozen. Slices of it, and with `WAYPOST_TEST_KILLS=` and `WAYPOST_TEST_WEBHOOKS=` all of it, with its figures.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use waypost::clock::Clock;
use waypost_actors::model::Timestamp;
use waypost_client::{Http, Method};
use waypost_test_support::{Launch, Program, TestStore, eventually, for_each_engine};

use crate::receiver::{Got, Receiver, status};
use crate::server::{Bus, DEADLINE, Fleet, Server, launch, text};
use crate::wire::crossings;

for_each_engine!(
    killed_in_the_middle_of_deliveries_nothing_is_missing,
    many_that_hang_cost_the_others_nothing,
    one_that_is_changed_is_tried_at_once,
);

/// What a variable says, or what a slice takes.
fn many(variable: &str, slice: usize) -> usize {
    std::env::var(variable).map_or(slice, |text| text.parse().expect("it is a number"))
}

async fn start(store: &TestStore) -> Server {
    Server::start_with(store, |settings| settings.webhook_networks = vec!["127.0.0.0/8".parse().unwrap()])
        .await
}

/// Crossings of a bus in one life of the server.
const EACH: i64 = 20;

/// Has a bus cross the fence, by whichever server listens; returns once it is committed.
async fn cross(http: &Http, bus: &Bus, from: i64, to: i64) {
    let bearer = format!("Bearer {}", bus.token);
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    let body = json!({ "items": crossings(from, to) }).to_string();
    let answer = http.send(Method::POST, "/v1/positions", &headers, body.into()).await.unwrap();
    assert_eq!(answer.status, 200);
}

async fn killed_in_the_middle_of_deliveries_nothing_is_missing(store: TestStore) {
    let (receiver, mut random) = (Receiver::start().await, StdRng::seed_from_u64(0x0043));
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let mut buses = Vec::new();
    for name in ["one", "two", "three", "four"] {
        buses.push(fleet.bus(name).await);
    }
    fleet.fence("Depot").await;
    webhook(&fleet, &receiver).await;
    server.stop().await;
    let mut launch: Launch = launch(&store);
    launch.settings.push(("WAYPOST_WEBHOOK_NETWORKS".to_owned(), "127.0.0.0/8".to_owned()));
    let kills = many("WAYPOST_TEST_KILLS", 2);
    for life in 0..kills as i64 {
        let mut server = Program::start(&launch).await;
        let http = Http::new(&server.url(), DEADLINE);
        let before = ids(&receiver).len();
        for bus in &buses {
            cross(&http, bus, 1 + life * EACH, (life + 1) * EACH).await;
        }
        let moment = before + random.random_range(1..buses.len() * EACH as usize / 2);
        eventually(DEADLINE, async || ids(&receiver).len() >= moment).await;
        server.kill();
    }
    let _server = Program::start(&launch).await;
    let expected = buses.len() * EACH as usize * kills;
    eventually(DEADLINE, async || ids(&receiver).len() >= expected).await;
    let select = "select id, revision from records where kind in ('entry', 'exit', 'dwell')";
    let stored: Vec<(uuid::Uuid, i64)> = store.db.read().sql(select).all().await.unwrap();
    let stored: BTreeSet<String> = stored.iter().map(|(id, revision)| format!("{id}_{revision}")).collect();
    assert_eq!(ids(&receiver), stored);
    let got = receiver.got.borrow().clone();
    let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
    let mut newest: BTreeMap<String, i64> = BTreeMap::new();
    for one in &got {
        // The same each time; new ones of a vehicle in order.
        let first = bodies.insert(&one.id, &one.text);
        assert!(first.is_none_or(|first| first == one.text), "{one:?}");
        if first.is_none() {
            let sequence = one.body["data"]["sequence"].as_i64().unwrap();
            let before = newest.insert(text(&one.body["data"]["vehicleId"]), sequence);
            assert!(before.is_none_or(|before| before < sequence), "{one:?} after {before:?}");
        }
    }
    println!("webhooks: {kills} kills, {} events, {} deliveries", stored.len(), got.len());
}

fn ids(receiver: &Receiver) -> BTreeSet<String> {
    receiver.got.borrow().iter().map(|got| got.id.clone()).collect()
}

/// A new webhook; its path.
async fn webhook(fleet: &Fleet<'_>, receiver: &Receiver) -> String {
    let body = json!({ "url": receiver.url, "eventTypes": ["geofence.*"] });
    let made = fleet.server.post("/v1/webhooks", &fleet.admin, body).await.ok(201);
    format!("/v1/webhooks/{}", text(&made["id"]))
}

/// Webhooks of one organization; a tenth of them hangs.
const OF_ONE: usize = 50;
/// Events of each organization in a round.
const ROUND: i64 = 10;

async fn many_that_hang_cost_the_others_nothing(store: TestStore) {
    let webhooks = many("WAYPOST_TEST_WEBHOOKS", 20);
    let server = start(&store).await;
    let (good, hangs) = (Receiver::start().await, Receiver::start().await);
    let delays: Rc<RefCell<Vec<f64>>> = Rc::default();
    let (noted, clock) = (Rc::clone(&delays), Clock::system());
    good.answer(move |got: &Got| {
        let found: Timestamp = serde_json::from_value(got.body["data"]["detectedAt"].clone()).unwrap();
        noted.borrow_mut().push(clock.now().seconds_since(found));
        status(204)
    });
    hangs.answer(|_| None);
    let (mut fleets, mut hanging) = (Vec::new(), Vec::new());
    for at in 0..webhooks.div_ceil(OF_ONE) {
        let fleet = server.fleet(&format!("org{at}")).await;
        let bus = fleet.bus("one").await;
        fleet.fence("Depot").await;
        for number in 0..OF_ONE.min(webhooks) {
            match number % 10 {
                0 => hanging.push((fleets.len(), webhook(&fleet, &hangs).await)),
                _ => drop(webhook(&fleet, &good).await),
            }
        }
        fleets.push((fleet, bus));
    }
    let healthy = webhooks - hanging.len();
    let mut crossed = 0;
    for (round, hang) in [false, true, true, false].into_iter().enumerate() {
        for (of, path) in &hanging {
            let enabled: Value = json!({ "enabled": hang });
            server.put(path, &fleets[*of].0.admin, enabled).await.ok(200);
        }
        let held = hangs.got.borrow().len();
        delays.borrow_mut().clear();
        for _ in 0..ROUND {
            crossed += 1;
            for (_, bus) in &fleets {
                bus.cross(&server, crossed, crossed).await;
            }
        }
        let expected = healthy * ROUND as usize;
        eventually(DEADLINE, async || delays.borrow().len() >= expected).await;
        if hang && round == 1 {
            // Each holds one connection, and none was sent a second event meanwhile.
            eventually(DEADLINE, async || hangs.got.borrow().len() - held >= hanging.len()).await;
        }
        let mut sorted = delays.borrow().clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize] * 1_000.0;
        let of = if hang { hanging.len() } else { 0 };
        println!(
            "webhooks: {healthy} well, {of} hang: {} deliveries, after {:.0} ms (median), {:.0} ms (p99)",
            sorted.len(),
            at(0.5),
            at(0.99)
        );
    }
    server.stop().await;
}

async fn one_that_is_changed_is_tried_at_once(store: TestStore) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let (fails, takes) = (Receiver::start().await, Receiver::start().await);
    let later = "HTTP/1.1 503 Later\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n";
    fails.answer(move |_| Some(later.to_owned()));
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    let path = webhook(&fleet, &fails).await;
    bus.cross(&server, 1, 2).await;
    let is_stopped = async |expected: bool| {
        let shown = server.get(&path, &fleet.admin).await.ok(200);
        ["failingSince", "nextAttemptAt"].iter().all(|name| shown.get(name).is_some() == expected)
    };
    eventually(DEADLINE, async || is_stopped(true).await).await;
    server.put(&path, &fleet.admin, json!({ "url": takes.url })).await.ok(200);
    eventually(DEADLINE, async || ids(&takes).len() >= 2).await;
    eventually(DEADLINE, async || is_stopped(false).await).await;
    assert_eq!(ids(&fails).len(), 1);
    server.stop().await;
}
