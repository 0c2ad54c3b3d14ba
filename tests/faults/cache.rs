//! Redis killed, emptied and hung: slower at most, never wrong.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use waypost_test_support::{Engine, PrivateRedis};

use crate::drill::{Drill, Load};
use crate::figures::{figure, quantile};
use crate::ground::on;
use crate::seed::seed;

/// Ack latency must be back to what it was within this time after a fault.
const BACK_WITHIN: Duration = Duration::from_secs(10);

#[test]
fn redis_is_killed_emptied_and_hung() {
    run(8, Duration::from_millis(500));
}

#[test]
#[ignore = "a full run: a minute"]
fn full_redis_is_killed_emptied_and_hung() {
    run(1, Duration::from_secs(10));
}

/// Three faults in one run, each lasting `long`.
fn run(step: usize, long: Duration) {
    let seed = seed();
    let Some(mut redis) = PrivateRedis::own() else { return println!("skipped: not installed") };
    on(Engine::Postgres, async |ground| {
        let load = Load::every(step).with("WAYPOST_REDIS_URL", redis.url());
        let load = Load { pace: long / 40, ..load };
        let mut drill = Drill::begin(ground, seed, load).await;
        let moments = drill.moments(3);
        for (fault, moment) in moments.into_iter().enumerate() {
            drill.answered(moment.min(drill.fixes / 2)).await;
            let before = latencies(&drill, 0);
            let count = drill.book.counts().latencies.len();
            match fault {
                0 => redis.kill(),
                1 => redis.flush(),
                _ => redis.freeze(),
            }
            sleep(long).await;
            let during = latencies(&drill, count);
            let since = Instant::now();
            redis.thaw();
            redis.start_again();
            drill.book.fault_begins();
            drill.recovered(since).await;
            let count = drill.book.counts().latencies.len();
            sleep(long.min(BACK_WITHIN)).await;
            let after = latencies(&drill, count);
            let name = ["killed", "emptied", "hung"][fault];
            let value = format!("p99 of the ack {before:.1?} before, {during:.1?} during, {after:.1?} after");
            figure(&format!("Redis {name} for {long:?}"), &value, "back within 10 s");
        }
        let counts = drill.finish(ground).await;
        assert!(counts.ends.is_empty(), "sockets were lost: {:?}", counts.ends);
        figure(&format!("Redis faults, seed {seed}"), "0 lost, 0 wrong", "0");
    });
}

/// The p99 of the acks from number `from` on.
fn latencies(drill: &Drill, from: usize) -> Duration {
    let counts = drill.book.counts();
    if counts.latencies.len() <= from { Duration::ZERO } else { quantile(&counts.latencies[from..], 0.99) }
}
