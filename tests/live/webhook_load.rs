//! What deliveries cost the trackers: how long an acknowledgement takes with and without them, in turns, and the CPU time of each.
//!
//! A slice of it in the suite; all of it by `WAYPOST_TEST_POSITIONS=5000 WAYPOST_TEST_DELIVERIES=1000` (a second), and for how long by
//! `WAYPOST_TEST_SECONDS=` and `WAYPOST_TEST_PAIRS=`, with a release build.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};
use waypost_client::{Api, CpuMeter, Method, Quantiles, socket};
use waypost_test_support::{Program, TestStore, for_each_engine};

use crate::receiver::{Receiver, status};
use crate::server::{Bus, INSIDE, OUTSIDE, Server, launch, text};
use crate::wire::{Wire, item};

for_each_engine!(deliveries_beside_positions);

/// Webhooks; each is sent every event.
const WEBHOOKS: usize = 10;
/// Fixes of a frame, and the time between two frames of a bus.
const FRAME: i64 = 10;
const FRAME_EVERY: Duration = Duration::from_millis(200);
/// Fixes that a bus reports in a second.
const EACH: usize = 50;
/// After deliveries were turned on or off, until it counts.
const SETTLED: Duration = Duration::from_secs(1);

/// What a variable says, or what a slice takes.
fn many(variable: &str, slice: usize) -> usize {
    std::env::var(variable).map_or(slice, |text| text.parse().expect("it is a number"))
}

/// What is measured while the buses report.
#[derive(Default)]
struct Measured {
    /// Microseconds from when a frame was to be sent to its acknowledgement.
    acks: RefCell<Vec<u32>>,
    is_over: Cell<bool>,
}

/// Of one turn.
struct Turn {
    p99_ms: f64,
    deliveries: usize,
    cpu_seconds: f64,
}

async fn deliveries_beside_positions(store: TestStore) {
    let (positions, deliveries) = (many("WAYPOST_TEST_POSITIONS", 200), many("WAYPOST_TEST_DELIVERIES", 100));
    let (seconds, pairs) = (many("WAYPOST_TEST_SECONDS", 2), many("WAYPOST_TEST_PAIRS", 1));
    let (address, delivered) = receiver_apart();
    let server = Server::start_with(&store, |settings| {
        settings.webhook_networks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let fleet = server.fleet("org").await;
    fleet.fence("Depot").await;
    let mut buses = Vec::new();
    for number in 0..(positions / EACH).max(1) {
        buses.push(fleet.bus(&format!("bus{number}")).await);
    }
    let mut webhooks = Vec::new();
    for _ in 0..WEBHOOKS {
        let body = json!({ "url": address, "eventTypes": ["geofence.*"], "enabled": false });
        let made = server.post("/v1/webhooks", &fleet.admin, body).await.ok(201);
        webhooks.push(format!("/v1/webhooks/{}?organizationId={}", text(&made["id"]), fleet.id));
    }
    drop(fleet);
    server.stop().await;
    let mut launch = launch(&store);
    launch.settings.push(("WAYPOST_WEBHOOK_NETWORKS".to_owned(), "127.0.0.0/8".to_owned()));
    let mut program = Program::start(&launch).await;
    let api = program.operator().await;
    let measured = Rc::new(Measured::default());
    // A bus is so many fixes inside, and then as many outside.
    let stays = (positions * WEBHOOKS / deliveries.max(1)).max(1) as i64;
    let reporting: Vec<_> = buses
        .into_iter()
        .map(|bus| actix_rt::spawn(report(program.url(), bus, stays, Rc::clone(&measured))))
        .collect();
    let (mut ratios, mut each) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        for is_on_first in [false, true] {
            let mut of = [None, None];
            for is_on in [is_on_first, !is_on_first] {
                turn_deliveries(&api, &webhooks, is_on).await;
                let turn = measure(&program, &measured, &delivered, seconds).await;
                told(is_on, &turn, seconds, measured.acks.borrow().len());
                of[usize::from(is_on)] = Some(turn);
            }
            let [Some(without), Some(with)] = of else { unreachable!("each is measured once") };
            assert!(
                with.deliveries > 0 && without.deliveries == 0,
                "{} {}",
                with.deliveries,
                without.deliveries
            );
            ratios.push(with.p99_ms / without.p99_ms);
            each.push((with.cpu_seconds - without.cpu_seconds) * 1e6 / with.deliveries as f64);
        }
    }
    println!(
        "deliveries beside {positions} positions/s: ack p99 with and without them {:.2}x (median of {} pairs), {:.0} µs CPU each",
        median(&mut ratios),
        ratios.len(),
        median(&mut each)
    );
    measured.is_over.set(true);
    for bus in reporting {
        bus.await.unwrap();
    }
    program.stop().await;
}

/// A receiver on a thread of its own, so that it does not keep waiting what measures; its address, and how much it got.
fn receiver_apart() -> (String, Arc<AtomicUsize>) {
    let (sender, address) = std::sync::mpsc::channel();
    let delivered = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&delivered);
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            let receiver = Receiver::start().await;
            let got = Rc::clone(&receiver.got);
            receiver.answer(move |_| {
                got.borrow_mut().clear();
                counted.fetch_add(1, Ordering::Relaxed);
                status(204)
            });
            sender.send(receiver.url.clone()).unwrap();
            // Until the tests are over.
            let (_never, over) = oneshot::channel::<()>();
            over.await.ok();
        });
    });
    (address.recv().unwrap(), delivered)
}

/// Reports at its pace, one frame after the other, and notes how long each took from when it was to be sent.
async fn report(server: String, bus: Bus, stays: i64, measured: Rc<Measured>) {
    let mut wire = Wire::open(socket::tracker(&server, &bus.token)).await.expect("a bus may report");
    let (mut due, mut seq) = (Instant::now(), 0);
    while !measured.is_over.get() {
        sleep_until(due).await;
        let items: Vec<Value> = (seq + 1..=seq + FRAME).map(|seq| fix(seq, stays)).collect();
        seq += FRAME;
        wire.report(items).await;
        wire.until(|said| said["type"] == "ack" && said["seq"] == json!(seq)).await;
        measured.acks.borrow_mut().push(due.elapsed().as_micros().try_into().unwrap_or(u32::MAX));
        due += FRAME_EVERY;
    }
}

/// A second after the one before, a little further, inside or outside.
fn fix(seq: i64, stays: i64) -> Value {
    let around = if seq / stays % 2 == 0 { INSIDE } else { OUTSIDE };
    item(seq, 1_790_000_000_000 + seq * 1_000, around + (seq % 100) as f64 * 1e-6)
}

async fn turn_deliveries(api: &Api, webhooks: &[String], is_on: bool) {
    for webhook in webhooks {
        api.send(Method::PUT, webhook, &json!({ "enabled": is_on })).await.unwrap();
    }
    sleep(SETTLED).await;
}

async fn measure(program: &Program, measured: &Measured, delivered: &AtomicUsize, seconds: usize) -> Turn {
    measured.acks.borrow_mut().clear();
    let before = delivered.load(Ordering::Relaxed);
    let mut cpu = CpuMeter::new(&[program.id()]);
    sleep(Duration::from_secs(seconds as u64)).await;
    cpu.sample();
    let deliveries = delivered.load(Ordering::Relaxed) - before;
    let acks = Quantiles::of_micros(&mut measured.acks.borrow().clone()).expect("the buses report");
    Turn { p99_ms: acks.p99, deliveries, cpu_seconds: cpu.seconds().values().sum() }
}

fn told(is_on: bool, turn: &Turn, seconds: usize, frames: usize) {
    let seconds = seconds as f64;
    println!(
        "deliveries {}: {:.0} positions/s acknowledged, {:.0} deliveries/s, ack p99 {:.1} ms, {:.2} s CPU a second",
        if is_on { "on" } else { "off" },
        (frames as i64 * FRAME) as f64 / seconds,
        turn.deliveries as f64 / seconds,
        turn.p99_ms,
        turn.cpu_seconds / seconds
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}
