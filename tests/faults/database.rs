//! PostgreSQL shut down, hung, and away for minutes while the server goes on.

use std::time::Duration;

use rand::RngExt;
use tokio::time::{Instant, sleep};
use waypost_test_support::{Engine, Shutdown, eventually};

use crate::drill::{Drill, Load};
use crate::figures::{figure, megabytes};
use crate::ground::{DEADLINE, Ground, on};
use crate::seed::{number, seed};

/// The most the server's memory may grow while the database is away.
const GROWTH_BYTES: u64 = 100_000_000;

/// How PostgreSQL goes away.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Away {
    Down(Shutdown),
    Hung,
}

#[test]
fn postgres_is_shut_down_fast() {
    short(Away::Down(Shutdown::Fast));
}

#[test]
fn postgres_is_shut_down_at_once() {
    short(Away::Down(Shutdown::Immediate));
}

#[test]
fn postgres_hangs() {
    short(Away::Hung);
}

#[test]
#[ignore = "a full run: minutes"]
fn full_postgres_hangs_for_two_minutes() {
    full(Away::Hung);
}

#[test]
#[ignore = "a full run: minutes"]
fn full_postgres_is_down_for_two_minutes() {
    full(Away::Down(Shutdown::Fast));
}

/// Until the trackers are asked to wait, and then some more.
fn short(how: Away) {
    let seed = seed();
    on(Engine::Postgres, async |ground| {
        let load =
            Load::every(8).with("WAYPOST_COMMIT_TIMEOUT", "2s").with("WAYPOST_STATEMENT_TIMEOUT", "1s");
        let mut drill = Drill::begin(ground, seed, load).await;
        // Once, and in the first half: later the load may be over before PostgreSQL is gone, and nobody is told.
        let moment = drill.moments(1)[0];
        drill.answered(moment / 2).await;
        sleep(Duration::from_micros(drill.dice.random_range(0..60_000))).await;
        away(ground, &drill, how, Duration::ZERO).await;
        let counts = drill.finish(ground).await;
        assert!(counts.retries > 0, "nobody was told to send again: {:?}", counts.ends);
        assert!(counts.lost().is_empty(), "sockets were lost: {:?}", counts.lost());
    });
}

/// PostgreSQL goes away for `long`, at least until trackers are sent `retry`, and comes back. Returns by how much
/// the server's memory grew, and how long it took from the heal to the first ack.
async fn away(ground: &mut Ground, drill: &Drill, how: Away, long: Duration) -> (u64, Duration) {
    let retries = drill.book.read(|counts| counts.retries);
    let before = drill.server.resident_bytes();
    drill.book.fault_begins();
    match how {
        Away::Down(shutdown) => ground.postgres().shut_down(shutdown),
        Away::Hung => ground.postgres().freeze(),
    }
    assert!(
        drill.book.until(DEADLINE, || drill.book.read(|counts| counts.retries > retries)).await,
        "no retry is told"
    );
    eventually(DEADLINE, || async { !drill.server.is_ready().await }).await;
    let mut most = drill.server.resident_bytes();
    let end = Instant::now() + long;
    while Instant::now() < end {
        sleep(Duration::from_millis(500)).await;
        most = most.max(drill.server.resident_bytes());
    }
    let since = Instant::now();
    match how {
        Away::Down(_) => ground.postgres().start_again(),
        Away::Hung => ground.postgres().thaw(),
    }
    let recovery = drill.recovered(since).await.expect("the load goes on");
    drill.look().await;
    (most.saturating_sub(before), recovery)
}

fn full(how: Away) {
    let seed = seed();
    let long = Duration::from_secs(number("WAYPOST_TEST_AWAY_SECONDS", 120) as u64);
    on(Engine::Postgres, async |ground| {
        let mut drill = Drill::begin(ground, seed, Load::every(1)).await;
        let moment = drill.moments(1)[0];
        drill.answered(moment).await;
        let (growth, recovery) = away(ground, &drill, how, long).await;
        let counts = drill.finish(ground).await;
        let name = format!("PostgreSQL {how:?} for {} s under load, seed {seed}", long.as_secs());
        figure(&name, "0 acknowledged fixes lost, 0 records doubled, missing or different", "0");
        figure("memory growth meanwhile", &format!("{:.1} MB", megabytes(growth)), "below 100 MB");
        figure("`retry` told", &format!("{} times", counts.retries), "more than 0");
        figure("sockets lost", &format!("{:?}", counts.lost()), "none");
        figure("back to the first acknowledged fix", &format!("{:.2} s", recovery.as_secs_f64()), "told");
        assert!(growth < GROWTH_BYTES && counts.retries > 0 && counts.lost().is_empty());
    });
}
