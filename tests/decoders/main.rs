//! What other clients say at `/in`, garbled: each adapter by itself reads whatever comes without a panic, in the end, and with no
//! more memory than the length of what came allows.
//!
//! `WAYPOST_TEST_INPUTS=10000000` for the long run. Alone in this program, since all of its memory is counted.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use peak_alloc::PeakAlloc;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::Value;
use waypost::ingest::adapters::{self, Request};
use waypost_actors::model::Timestamp;
use waypost_test_support::each_input;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;
/// Who measures: one decoder at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Bytes that a request may take whatever it says: texts of refusals, and what looks whether a decoder goes on.
const BESIDE: usize = 256 * 1024;
/// Bytes that it may take for each of its own. A list of single digits is refused digit by digit, each with its reason.
const EACH: usize = 400;
/// Bytes that mean something to some reader.
const TELLING: [&[u8]; 16] = [
    b"{",
    b"[",
    b"}",
    b"]",
    b"\"",
    b",",
    b"&lat=",
    b"=",
    b"--xyz\r\n",
    b"\r\n\r\n",
    b"\xff\0",
    b"1e999",
    b"[[[[[[[[",
    b"null",
    b"\\u0000",
    b"-0",
];
/// How often something is said again, at most: a request of some hundred kilobytes.
const MOST_TIMES: usize = 200;

macro_rules! each_adapter {
    ($($name:ident),+) => {
        $(#[test]
        fn $name() {
            whatever_comes_is_read_within_bounds(stringify!($name));
        })+

        #[test]
        fn each_adapter_has_its_turn() {
            let names: Vec<&str> = adapters::ADAPTERS.iter().map(|adapter| adapter.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

each_adapter!(owntracks, overland, traccar, flespi, ulogger, osmand);

fn text(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

/// Recorded requests of every client; most of what an adapter gets is its own client's.
fn garbled(random: &mut StdRng, all: &[Value], own: &[&Value]) -> Request {
    let any = |random: &mut StdRng| all.choose(random).unwrap().clone();
    let one =
        if random.random_range(0..8) == 0 { any(random) } else { (*own.choose(random).unwrap()).clone() };
    let other = any(random);
    let mut body = text(&one, "body").into_bytes();
    for _ in 0..random.random_range(0..5) {
        let at = random.random_range(0..=body.len());
        match random.random_range(0..6) {
            0 => body.truncate(at),
            1 => drop(body.splice(at..at, TELLING.choose(random).unwrap().iter().copied())),
            2 => drop(body.splice(at.., text(&other, "body").into_bytes())),
            3 if at < body.len() => body[at] = random.random(),
            4 if random.random_range(0..50) == 0 => {
                let end = random.random_range(at..=body.len());
                let again = body[at..end].repeat(random.random_range(0..MOST_TIMES));
                drop(body.splice(at..at, again));
            }
            5 if at < body.len() => body[at] ^= 1 << random.random_range(0..8),
            _ => {}
        }
    }
    let from = if random.random() { &one } else { &other };
    Request {
        rest: String::new(),
        query: if random.random() { text(from, "query") } else { String::new() },
        content_type: text(from, "contentType"),
        limit_names: (random.random_range(0..8) == 0).then(|| ("jane".to_owned(), "phone".to_owned())),
        body: Bytes::from(body),
        received_at: Timestamp::from_micros(1_777_636_800_000_000),
    }
}

fn whatever_comes_is_read_within_bounds(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let adapter = adapters::named(name).unwrap();
    let recorded = include_str!("../fixtures/inputs/requests.json");
    let all: Vec<Value> = serde_json::from_str(recorded).unwrap();
    let own: Vec<&Value> = all.iter().filter(|one| one["adapter"] == name).collect();
    let mut most = 0;
    each_input(name, |random| {
        let request = garbled(random, &all, &own);
        let sent = request.body.len() + request.query.len();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let made = (adapter.parse)(&request).map_or(0, |parsed| parsed.into_owned().count());
        let taken = MEMORY.peak_usage().saturating_sub(before);
        assert!(made <= 1 + sent / 2, "{made} of {request:?}");
        assert!(taken <= BESIDE + EACH * sent, "{taken} bytes for {sent}: {request:?}");
        assert!(request.raw().len() <= 1024 && (adapter.kept)(&request).body.len() < 64);
        let _chosen = adapters::of(&request);
        most = most.max(taken.saturating_sub(BESIDE) / sent.max(1));
    });
    println!("{name}: at most {most} bytes for each byte sent, beside {BESIDE}");
}
