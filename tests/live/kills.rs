//! `kill -9` in the middle of everything, and the same end as without it.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waypost::cli::simulate;
use waypost_test_support::{TestStore, eventually, for_each_engine};

use crate::child::{Child, port_for_restarts};
use crate::server::{DEADLINE, stored_positions};
use crate::slice::{Part, options};

for_each_engine!(killed_and_started_again_everything_ends_the_same);

/// How often the server is killed: `WAYPOST_TEST_KILLS`, or three times.
fn kills() -> usize {
    std::env::var("WAYPOST_TEST_KILLS")
        .map_or(3, |text| text.parse().expect("WAYPOST_TEST_KILLS is a number"))
}

/// How many events are stored.
async fn stored_events(store: &TestStore) -> i64 {
    store.db.read().sql("select next_sequence - 1 from writer").scalar().await.unwrap()
}

/// Kills and restarts the server whenever so many more events are stored.
async fn kill_at(store: TestStore, mut server: Child, port: u16, moments: Vec<i64>) -> Child {
    for moment in moments {
        eventually(DEADLINE * 4, || async { stored_events(&store).await >= moment }).await;
        server.kill();
        server = Child::start(&store, port).await;
    }
    server
}

async fn killed_and_started_again_everything_ends_the_same(store: TestStore) {
    let part = Part::every(4);
    let mut rng = StdRng::seed_from_u64(0x6b69_6c6c);
    let mut moments: Vec<i64> = (0..kills()).map(|_| rng.random_range(1..part.events * 9 / 10)).collect();
    moments.sort_unstable();
    let port = port_for_restarts();
    let server = Child::start(&store, port).await;
    let mut options = options(&server.url, &part.traces, &part.expected);
    // Small frames, so that many are on their way at any moment.
    (options.items, options.hello, options.watch, options.cut) = (20, true, true, Some(2.0));
    let killer = actix_rt::spawn(kill_at(store.clone(), server, port, moments));
    let summary = simulate::run(options).await.unwrap();
    let _server = killer.await.unwrap();
    assert!(summary.passed(), "{summary}");
    assert!(summary.replay.reconnects > 0, "it was never away: {summary}");
    assert_eq!(stored_positions(&store).await, part.distinct_fixes);
    assert_eq!(stored_events(&store).await, part.events);
}
