//! Every tracker comes back at once after a restart.

use std::rc::Rc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use rand::RngExt;
use tokio::task::JoinSet;
use tokio::time::Instant;
use waypost::store::open::{Location, Options, open};
use waypost_actors::model::{Place, Timestamp};
use waypost_client::Api;
use waypost_client::trace::Point;
use waypost_test_support::{Engine, Program, eventually};

use crate::book::Book;
use crate::figures::figure;
use crate::ground::{Bus, DEADLINE, Ground, bus, launch, on};
use crate::ledger::at_any_moment;
use crate::seed::{dice, number, seed};
use crate::shelf::Shelf;
use crate::tracker::{Manner, Tracker};

/// The longest time from the start of the server until every tracker has an ack again.
const ALL_WITHIN: Duration = Duration::from_secs(30);
/// A tracker reconnects after a random moment of at most this length, and again after each failure.
const JITTER: Duration = Duration::from_secs(5);
/// Fixes of each tracker before and after the restart.
const FIXES: usize = 40;

#[test]
fn trackers_come_back_at_once() {
    on(Engine::Postgres, async |ground| run(ground, 250).await);
}

#[test]
#[ignore = "a full run: minutes"]
fn full_reconnect_of_5000_trackers() {
    on(Engine::Postgres, async |ground| run(ground, number("WAYPOST_TEST_TRACKERS", 5_000)).await);
}

async fn run(ground: &mut Ground, count: usize) {
    let seed = seed();
    let place = ground.copy().await;
    let launch = launch(place.clone());
    let mut server = Program::start(&launch).await;
    let api = server.operator().await;
    let buses = buses(&api, &ground.fleet.organization, count, FIXES).await;
    let book = Rc::new(Book::default());
    let mut trackers = JoinSet::new();
    for (number, bus) in buses.into_iter().enumerate() {
        let manner = Manner {
            servers: vec![server.url()],
            items: 1,
            hello: number % 2 == 0,
            // So that no tracker is done before the restart, and reconnecting is the load.
            pace: Duration::from_secs(10),
            away: JITTER,
            patience: Duration::from_secs(30),
        };
        let dice = dice(seed, number as u64);
        trackers.spawn_local(Tracker::new(bus, manner, Rc::clone(&book), dice).run());
    }
    // A ramp at first: only the second time counts.
    let all = || book.vehicles_answered() == count;
    assert!(
        book.until(DEADLINE, all).await,
        "{} of {count} were ever acknowledged",
        book.vehicles_answered()
    );
    let queries = Queries::begin(&place).await;
    let before = book.counts();
    book.forget_vehicles();
    server.kill();
    let since = Instant::now();
    server = Program::spawn(&launch);
    let back = book.until(DEADLINE, all).await.then(|| since.elapsed());
    let after = book.counts();
    let (lookups, others) = queries.end(&place).await;
    let transcript = book.transcript();
    let shelf = Shelf::open(&place).await;
    assert_eq!(at_any_moment(&transcript, &shelf.keys().await), []);
    shelf.close().await;
    book.is_over.set(true);
    trackers.shutdown().await;
    drop(server);
    ground.drop_copy(&place).await;

    let back = back.unwrap_or_else(|| panic!("{} of {count} came back", book.vehicles_answered()));
    let connections = after.connections - before.connections;
    // A tracker that comes while a long start is under way is answered 503, waits and comes again.
    let refused: Vec<_> = after.lost().into_iter().filter(|(why, _)| why.len() == 3).collect();
    let told_to_wait = after.ends.get("503").copied().unwrap_or_default();
    let per_reconnect = lookups as f64 / connections as f64;
    figure(
        &format!("{count} trackers back after a restart, seed {seed}"),
        &format!("{back:.1?}"),
        "at most 30 s",
    );
    figure("sockets refused", &format!("{refused:?}; told to wait {told_to_wait}"), "none");
    figure("queries per reconnect", &format!("{per_reconnect:.2} ({connections} reconnects)"), "at most 1");
    figure("other queries meanwhile", &format!("{others}"), "told");
    assert!(back <= ALL_WITHIN && refused.is_empty());
    assert!(per_reconnect <= 1.0, "{lookups} look-ups of {connections} trackers");
}

/// Makes `count` buses, each at a place of its own with a fix per second.
pub(crate) async fn buses(api: &Api, organization: &str, count: usize, fixes: usize) -> Vec<Bus> {
    let made = (0..count).map(|number| async move {
        let mut dice = dice(7, number as u64);
        let place = Place::new(dice.random_range(30.1..30.4), dice.random_range(-97.9..-97.6));
        let start = 1_780_000_000_000_000;
        let instant = |fix: usize| Timestamp::from_micros(start + fix as i64 * 1_000_000);
        let points = (0..fixes).map(|fix| Point::new(instant(fix), place)).collect();
        bus(api, organization, &format!("storm-{number}"), points).await
    });
    stream::iter(made).buffer_unordered(8).collect().await
}

/// What PostgreSQL counts of statements, by what they ask.
struct Queries;

impl Queries {
    async fn begin(place: &Location) -> Self {
        let options = Options::new(place.clone());
        let db = eventually(DEADLINE, || open(&options)).await;
        db.write().sql("create extension if not exists pg_stat_statements").run().await.unwrap();
        db.read()
            .sql("select 1 from (select pg_stat_statements_reset()) as reset")
            .scalar::<i32>()
            .await
            .unwrap();
        db.close().await;
        Self
    }

    /// Look-ups of credentials, and all other statements.
    async fn end(self, place: &Location) -> (i64, i64) {
        let options = Options::new(place.clone());
        let db = eventually(DEADLINE, || open(&options)).await;
        let counted = "select cast(coalesce(sum(calls) filter (where query like '%token_hash%'), 0) as bigint), \
            cast(coalesce(sum(calls) filter (where query not like '%token_hash%'), 0) as bigint) \
            from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())";
        let counts: (i64, i64) = db.read().sql(counted).one().await.unwrap();
        db.close().await;
        counts
    }
}
