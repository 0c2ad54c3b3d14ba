//! `kill -9` and failing commits in the middle of everything, with the same result as without them.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use waypost::store::open::Location;
use waypost_actors::live::Live;
use waypost_client::simulate;
use waypost_test_support::{Launch, Program, TestStore, eventually, for_each_engine};

use crate::server::{DEADLINE, Server, launch, stored_positions};
use crate::slice::{Part, options};
use crate::tracker::{Stuck, end_connections};

for_each_engine!(
    killed_and_started_again_everything_ends_the_same,
    commits_that_fail_in_the_middle_change_nothing,
);

/// How often the server is killed: `WAYPOST_TEST_KILLS`, or three times.
pub(crate) fn kills() -> usize {
    std::env::var("WAYPOST_TEST_KILLS")
        .map_or(3, |text| text.parse().expect("WAYPOST_TEST_KILLS is a number"))
}

/// How many events are stored.
async fn stored_events(store: &TestStore) -> i64 {
    let select = "select count(*) from records where kind in ('entry', 'exit', 'dwell')";
    let count = || async { store.db.read().sql(select).scalar().await };
    // The test's own connections are not spared either.
    eventually(DEADLINE, count).await
}

/// Seeded moments of a replay, as counts of stored events.
fn moments(part: &Part, count: usize) -> Vec<i64> {
    let mut rng = StdRng::seed_from_u64(0x6b69_6c6c);
    let mut moments: Vec<i64> = (0..count).map(|_| rng.random_range(1..part.events * 9 / 10)).collect();
    moments.sort_unstable();
    moments
}

/// Kills and restarts the server each time the number of stored events has reached the next of `moments`.
async fn kill_at(store: TestStore, mut server: Program, launch: Launch, moments: Vec<i64>) -> Program {
    for moment in moments {
        eventually(DEADLINE * 4, || async { stored_events(&store).await >= moment }).await;
        server.kill();
        server = Program::start(&launch).await;
    }
    server
}

async fn killed_and_started_again_everything_ends_the_same(store: TestStore) {
    let part = Part::every(4);
    let moments = moments(&part, kills());
    let launch = launch(&store);
    let server = Program::start(&launch).await;
    let mut options = options(&server.url(), &part.traces, &part.expected);
    // Small frames, so that many are under way at any moment.
    (options.items, options.hello, options.watch, options.cut) = (20, true, true, Some(2.0));
    let killer = actix_rt::spawn(kill_at(store.clone(), server, launch, moments));
    let summary = simulate::run(options).await.unwrap();
    let _server = killer.await.unwrap();
    assert!(summary.passed(), "{summary}");
    assert!(summary.replay.reconnects > 0, "it was never away: {summary}");
    assert_eq!(stored_positions(&store).await, part.distinct_fixes);
    assert_eq!(stored_events(&store).await, part.events);
}

/// Keeps the store from committing each time the number of stored events has reached the next of `moments`, until
/// the server gives up.
async fn fail_at(store: TestStore, live: Live, moments: Vec<i64>) {
    for moment in moments {
        eventually(DEADLINE * 4, || async { stored_events(&store).await >= moment }).await;
        let stuck = Stuck::hold(&store).await;
        eventually(DEADLINE, || async { !live.is_available() }).await;
        stuck.release().await;
        eventually(DEADLINE, || async { live.is_available() }).await;
        if let Location::Postgres(url) = &store.options.location {
            // And with it everything under way: it is unknown what of it was committed.
            end_connections(url).await;
        }
    }
}

async fn commits_that_fail_in_the_middle_change_nothing(store: TestStore) {
    let part = Part::every(10);
    let server = Server::start_with(&store, |settings| {
        settings.commit_timeout = Duration::from_secs(1);
    })
    .await;
    let mut options = options(&server.url, &part.traces, &part.expected);
    (options.items, options.watch, options.cut, options.check_inside) = (20, true, Some(1.0), Some(3));
    let failing = fail_at(store.clone(), server.context.live.clone(), moments(&part, 3));
    let failing = actix_rt::spawn(failing);
    let summary = simulate::run(options).await.unwrap();
    failing.await.unwrap();
    assert!(summary.passed(), "{summary}");
    assert!(summary.replay.retries > 0, "no commit failed: {summary}");
    assert_eq!(stored_positions(&store).await, part.distinct_fixes);
    assert_eq!(stored_events(&store).await, part.events);
    server.stop().await;
}
