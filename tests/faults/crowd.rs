//! A thousand dispatchers, some of whom hardly read: they must cost the trackers nothing.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rand::RngExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::Message;
use waypost_client::Api;
use waypost_client::socket::{feed, open_on};
use waypost_test_support::{Engine, Program};

use crate::book::Book;
use crate::figures::{figure, megabytes, quantile};
use crate::ground::{DEADLINE, Ground, launch, on};
use crate::seed::{dice, number, seed};
use crate::tracker::{Manner, Tracker};
use crate::wire::connect;

/// The most memory the server may use for a reader that hardly reads.
const SLOW_READER_BYTES: u64 = 512 * 1024;
/// One bus in this many reports: each record goes to a thousand dispatchers.
const STEP: usize = 8;
/// The ack's p99 with slow readers beside the healthy ones, relative to that without, at most.
const RATIO: f64 = 2.0;

#[test]
fn slow_dispatchers_among_healthy_ones() {
    on(Engine::Sqlite, async |ground| {
        run(ground, &Plan { healthy: 36, slow: 4, pairs: 1, seconds: 4, is_full: false }).await;
    });
}

#[test]
#[ignore = "a full run: minutes"]
fn full_100_slow_dispatchers_of_1000() {
    on(Engine::Sqlite, async |ground| {
        let plan = Plan {
            healthy: number("WAYPOST_TEST_HEALTHY", 900),
            slow: number("WAYPOST_TEST_SLOW", 100),
            pairs: number("WAYPOST_TEST_PAIRS", 5),
            seconds: number("WAYPOST_TEST_SECONDS", 15) as u64,
            is_full: true,
        };
        run(ground, &plan).await;
    });
}

struct Plan {
    healthy: usize,
    slow: usize,
    /// Four arms: without, with, with, without slow readers.
    pairs: usize,
    seconds: u64,
    /// Whether its figures are meaningful.
    is_full: bool,
}

async fn run(ground: &mut Ground, plan: &Plan) {
    let seed = seed();
    let mut ratios = Vec::new();
    let (mut grown_without, mut grown_with) = (Vec::new(), Vec::new());
    for pair in 0..plan.pairs {
        let mut p99 = Vec::new();
        for slow in [0, plan.slow, plan.slow, 0] {
            let arm = arm(ground, plan, slow, seed + pair as u64).await;
            p99.push(arm.p99.as_secs_f64());
            println!("pair {pair}: {slow} slow: {arm:?}");
            if slow > 0 { grown_with.push(arm.grown_bytes) } else { grown_without.push(arm.grown_bytes) }
        }
        ratios.push((p99[1] + p99[2]) / (p99[0] + p99[3]));
    }
    let ratio = middle(ratios.clone());
    let bytes = middle(grown_with).saturating_sub(middle(grown_without)) / plan.slow as u64;
    let name =
        format!("{} dispatchers, {} of them at 1 kB/s, seed {seed}", plan.healthy + plan.slow, plan.slow);
    figure(&name, &format!("ack p99 x {ratio:.2} of that without them (of {ratios:.2?})"), "at most 2");
    figure("memory per slow reader", &format!("{:.3} MB", megabytes(bytes)), "at most 0.5 MB");
    assert!(!plan.is_full || (ratio <= RATIO && bytes <= SLOW_READER_BYTES));
}

fn middle<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("figures are finite"));
    values[values.len() / 2]
}

/// The figures of one server in one arm.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
struct Arm {
    p50: Duration,
    p99: Duration,
    acks: usize,
    /// Bytes that were sent to the healthy readers.
    read: usize,
    /// Peak memory above the level before the slow readers became slow.
    grown_bytes: u64,
}

/// One server with `slow` slow dispatchers beside the healthy ones, under the same load.
async fn arm(ground: &mut Ground, plan: &Plan, slow: usize, seed: u64) -> Arm {
    let place = ground.copy().await;
    let mut server = Program::start(&launch(place.clone())).await;
    let api = server.operator().await;
    let crowd = Crowd::gather(&api, plan.healthy, slow).await;
    let before = server.resident_bytes();
    let book = Rc::new(Book::default());
    let mut trackers = Vec::new();
    for (number, bus) in ground.fleet.buses.iter().step_by(STEP).enumerate() {
        let manner = Manner {
            servers: vec![server.url()],
            items: 1,
            hello: false,
            pace: Duration::from_secs(2),
            away: Duration::from_millis(300),
            patience: Duration::from_secs(30),
        };
        let tracker = Tracker::new(bus.clone(), manner, Rc::clone(&book), dice(seed, number as u64));
        trackers.push(tokio::task::spawn_local(tracker.run()));
    }
    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let mut most = before;
    while Instant::now() < end {
        sleep(Duration::from_millis(100)).await;
        most = most.max(server.resident_bytes());
    }
    book.is_over.set(true);
    trackers.iter().for_each(tokio::task::JoinHandle::abort);
    let read = crowd.disperse();
    let latencies = book.counts().latencies;
    server.kill();
    ground.drop_copy(&place).await;
    let at = |share| quantile(&latencies, share);
    let grown_bytes = most.saturating_sub(before);
    Arm { p50: at(0.5), p99: at(0.99), acks: latencies.len(), read, grown_bytes }
}

/// Dispatchers on a thread of their own, so that their reading does not delay the trackers' clocks.
struct Crowd {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    watching: AtomicUsize,
    read: AtomicUsize,
}

impl Crowd {
    async fn gather(api: &Api, healthy: usize, slow: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let (server, token) = (api.server().to_owned(), api.token());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                for number in 0..healthy + slow {
                    let (server, token, shared) = (server.clone(), token.clone(), Arc::clone(&of_thread));
                    if number < healthy {
                        tokio::task::spawn_local(read_all(server, token, shared));
                    } else {
                        tokio::task::spawn_local(hardly_read(server, token, shared, number as u64));
                    }
                }
                while !of_thread.is_over.load(Ordering::Acquire) {
                    sleep(Duration::from_millis(20)).await;
                }
            });
        });
        let all = || async { shared.watching.load(Ordering::Acquire) >= healthy + slow };
        waypost_test_support::eventually(DEADLINE, all).await;
        Self { shared, thread }
    }

    /// Ends all of them; returns how many bytes the healthy ones read.
    fn disperse(self) -> usize {
        self.shared.is_over.store(true, Ordering::Release);
        self.thread.join().unwrap();
        self.shared.read.load(Ordering::Acquire)
    }
}

fn subscribe() -> Message {
    let topics = ["events", "positions", "occupancy"];
    Message::text(json!({ "type": "subscribe", "id": "all", "topics": topics }).to_string())
}

async fn read_all(server: String, token: String, shared: Arc<Shared>) {
    let mut socket = connect(feed(&server, &token)).await.expect("a dispatcher may watch");
    socket.send(subscribe()).await.unwrap();
    let mut is_counted = false;
    while let Some(Ok(message)) = socket.next().await {
        if !is_counted {
            shared.watching.fetch_add(1, Ordering::AcqRel);
            is_counted = true;
        }
        shared.read.fetch_add(message.len(), Ordering::AcqRel);
    }
}

/// Reads a kilobyte a second, and reconnects when it is closed.
async fn hardly_read(server: String, token: String, shared: Arc<Shared>, number: u64) {
    let mut dice = dice(3, number);
    let mut is_counted = false;
    loop {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let address = server.trim_start_matches("http://").parse().unwrap();
        let Ok(stream) = socket.connect(address).await else { return };
        if let Ok(mut socket) = open_on(stream, feed(&server, &token), DEADLINE).await
            && socket.send(subscribe()).await.is_ok()
        {
            if !is_counted {
                shared.watching.fetch_add(1, Ordering::AcqRel);
                is_counted = true;
            }
            let MaybeTlsStream::Plain(mut stream) = socket.into_inner() else { return };
            let mut bytes = [0; 1_000];
            while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {
                sleep(Duration::from_secs(1)).await;
            }
            let _ = stream.shutdown().await;
        }
        sleep(Duration::from_millis(dice.random_range(100..2_000))).await;
    }
}
