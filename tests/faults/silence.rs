//! PostgreSQL is away while every vehicle goes on reporting: when it is back, none of them was ever silent.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use waypost_client::{Api, Method};
use waypost_test_support::{Engine, Program, Shutdown, eventually};

use crate::book::Book;
use crate::figures::figure;
use crate::ground::{Bus, DEADLINE, Ground, launch, on};
use crate::seed::{dice, number, seed};
use crate::storm::buses;
use crate::tracker::{Manner, Tracker};

/// How large and long a run is.
struct Size {
    trackers: usize,
    away: Duration,
    /// Time between two fixes of a tracker.
    pace: Duration,
    stale_after_seconds: u64,
    offline_after_seconds: u64,
}

#[test]
fn an_outage_of_the_store_is_no_vehicles_silence() {
    let (away, pace) = (Duration::from_secs(11), Duration::from_millis(500));
    let size = Size { trackers: 40, away, pace, stale_after_seconds: 5, offline_after_seconds: 8 };
    on(Engine::Postgres, async |ground| run(ground, size).await);
}

#[test]
#[ignore = "a full run: minutes"]
fn full_no_storm_of_10000_after_a_minute_without_the_store() {
    let size = Size {
        trackers: number("WAYPOST_TEST_TRACKERS", 10_000),
        away: Duration::from_secs(number("WAYPOST_TEST_AWAY_SECONDS", 60) as u64),
        pace: Duration::from_secs(5),
        stale_after_seconds: 20,
        offline_after_seconds: 40,
    };
    on(Engine::Postgres, async |ground| run(ground, size).await);
}

async fn run(ground: &mut Ground, size: Size) {
    let seed = seed();
    let place = ground.copy().await;
    let mut launch = launch(place.clone());
    launch.settings.push(("WAYPOST_COMMIT_TIMEOUT".to_owned(), "2s".to_owned()));
    let server = Program::start(&launch).await;
    let api = server.operator().await;
    let organization = ground.fleet.organization.clone();
    let silence = json!({ "staleAfterSeconds": size.stale_after_seconds,
        "offlineAfterSeconds": size.offline_after_seconds });
    let path = format!("/v1/organizations/organization/{organization}");
    api.send(Method::PUT, &path, &json!({ "settings": silence })).await.unwrap();
    // As many fixes as there are moments: none of them is done before the end but the one that becomes silent.
    let all = size.offline_after_seconds * 3 + size.away.as_secs() + DEADLINE.as_secs();
    let fixes = (all * 1_000 / size.pace.as_millis() as u64) as usize;
    let mut buses = buses(&api, &organization, size.trackers, fixes).await;
    let silent = buses.pop().expect("there are several");
    let book = Rc::new(Book::default());
    let mut trackers = JoinSet::new();
    let mut report = |bus: Bus, part: u64| {
        let manner = Manner {
            servers: vec![server.url()],
            items: 1,
            hello: false,
            pace: size.pace,
            away: size.pace,
            patience: Duration::from_secs(30),
        };
        trackers.spawn_local(Tracker::new(bus, manner, Rc::clone(&book), dice(seed, part)).run());
    };
    let count = buses.len();
    report(Bus { points: silent.points[..1].to_vec(), ..silent.clone() }, 0);
    for (part, bus) in (1..).zip(buses) {
        report(bus, part);
    }
    assert!(book.until(DEADLINE, || book.vehicles_answered() == count + 1).await, "not all are heard");
    // Whoever is silent is told of: otherwise what follows would show nothing.
    eventually(DEADLINE, async || told(&api, &organization).await.len() >= 2).await;
    let before = book.read(|counts| counts.retries);
    ground.postgres().shut_down(Shutdown::Fast);
    assert!(book.until(DEADLINE, || book.read(|counts| counts.retries > before)).await, "no retry is told");
    sleep(size.away).await;
    ground.postgres().start_again();
    let since = Instant::now();
    book.forget_vehicles();
    assert!(book.until(DEADLINE, || book.vehicles_answered() == count).await, "not all are heard again");
    let back = since.elapsed();
    // A storm would come by then: everybody could be told offline.
    sleep(Duration::from_secs(size.offline_after_seconds + 2)).await;
    let told = told(&api, &organization).await;
    book.is_over.set(true);
    trackers.shutdown().await;
    drop(server);
    ground.drop_copy(&place).await;
    let of: BTreeSet<&str> = told.iter().filter_map(|event| event["vehicleId"].as_str()).collect();
    let others = of.iter().filter(|vehicle| **vehicle != silent.vehicle.to_string()).count();
    figure(
        &format!("{count} vehicles report through {} s without the store, seed {seed}", size.away.as_secs()),
        &format!("{others} told silent; all acknowledged after {back:.1?}"),
        "0 told silent",
    );
    assert_eq!(others, 0, "{told:#?}");
}

/// Who was told to be silent, the newest two hundred.
async fn told(api: &Api, organization: &str) -> Vec<Value> {
    let path = format!("/v1/events?type=stale,offline&limit=200&organizationId={organization}");
    let page: Value = serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap();
    page["data"].as_array().unwrap().clone()
}
