//! Three nodes on one database: what a node takes with it, another goes on with.

use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use waypost_client::Api;
use waypost_client::trace::Point;
use waypost_test_support::{Engine, NODE_LISTEN, Program};

use crate::drill::{Drill, Load};
use crate::figures::{figure, spread};
use crate::ground::{Ground, launch, on};
use crate::outlets::Outlets;
use crate::seed::{number, seed};
use crate::shelf::read_whole;

/// Slow enough that every fault comes under load.
const PACE: Duration = Duration::from_millis(150);
/// How long a paused node, or the database, stands still: longer than a session lasts.
const PAUSE: Duration = Duration::from_secs(4);

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// `kill -9`, and it comes back.
    Kill,
    /// It stands still, and goes on as if nothing had been.
    Pause,
    /// It is stopped as for an upgrade, and comes back.
    Restart,
    /// The database ends its session.
    CutSession,
    /// The database hangs, for all nodes.
    DatabaseHangs,
}

const FAULTS: [Fault; 5] =
    [Fault::Kill, Fault::Pause, Fault::Restart, Fault::CutSession, Fault::DatabaseHangs];

#[test]
fn three_nodes_keep_every_promise_of_one_server() {
    on(Engine::Postgres, async |ground| drop(run(ground, seed(), 24, FAULTS.len()).await));
}

#[test]
#[ignore = "a full run: minutes"]
fn full_100_faults_on_three_nodes() {
    let (seed, faults) = (seed(), number("WAYPOST_TEST_FAULTS", 100));
    on(Engine::Postgres, async |ground| {
        let mut recoveries = Vec::new();
        for round in 0.. {
            let some = 12.min(faults - recoveries.len());
            if some == 0 {
                break;
            }
            recoveries.extend(run(ground, seed + round, 3, some).await);
        }
        let name = format!("{faults} faults on three nodes, seed {seed}");
        figure(&name, "0 acknowledged fixes lost, 0 records doubled, missing or different", "0");
        figure(
            "fault to the first acknowledged fix sent since",
            &spread(&recoveries),
            "each at most 5 s and its pause",
        );
    });
}

/// One run; returns how long it took to the first ack after each fault.
async fn run(ground: &mut Ground, seed: u64, step: usize, faults: usize) -> Vec<Duration> {
    let outlets = Some(Rc::new(Outlets::open().await));
    let load = Load { peers: 2, pace: PACE, outlets, ..Load::every(step) };
    let mut drill = Drill::begin(ground, seed, load).await;
    drill.doom(&ground.fleet, faults.div_ceil(FAULTS.len())).await;
    let mut recoveries = Vec::new();
    for (number, moment) in drill.moments(faults).into_iter().enumerate() {
        drill.answered(moment).await;
        if drill.is_through() {
            break;
        }
        let node = drill.dice.random_range(0..3);
        let fault = FAULTS[number % FAULTS.len()];
        let recovery = strike(ground, &mut drill, node, fault).await;
        println!("seed {seed}: {fault:?} of node {node}: {recovery:?}");
        recoveries.extend(recovery);
    }
    drill.book.has_seen_enough.set(true);
    let counts = drill.finish(ground).await;
    assert!(!recoveries.is_empty(), "seed {seed}: no fault came under load");
    println!("seed {seed}: reconnects and ends: {:?}", counts.ends);
    recoveries
}

/// Strikes a node; returns how long after that, or after the database goes on, the first fix sent since was acknowledged.
async fn strike(ground: &mut Ground, drill: &mut Drill, node: usize, fault: Fault) -> Option<Duration> {
    drill.book.fault_begins();
    let since = Instant::now();
    match fault {
        Fault::Kill => {
            drill.purge_one().await;
            drill.node(node).kill();
            drill.look().await;
            let recovery = drill.recovered(since).await;
            drill.start_node(node).await;
            recovery
        }
        Fault::Pause => {
            drill.node(node).signal("STOP");
            sleep(PAUSE).await;
            drill.node(node).signal("CONT");
            drill.recovered(since).await
        }
        Fault::Restart => {
            drill.node(node).stop().await;
            let recovery = drill.recovered(since).await;
            drill.start_node(node).await;
            recovery
        }
        Fault::CutSession => {
            drill.cut_session(node).await;
            drill.recovered(since).await
        }
        Fault::DatabaseHangs => {
            ground.postgres().freeze();
            sleep(PAUSE).await;
            ground.postgres().thaw();
            drill.book.fault_begins();
            drill.recovered(Instant::now()).await
        }
    }
}

#[test]
fn numbers_and_cursors_hold_from_a_single_server_to_a_cluster_and_back() {
    on(Engine::Postgres, async |ground| {
        let place = ground.copy().await;
        let mut launch = launch(place.clone());
        let (bus, organization) = (ground.fleet.buses[0].clone(), ground.fleet.organization.clone());
        let mut feed = Feed { organization, after: None, told: Vec::new() };
        let thirds = bus.points.chunks(bus.points.len().div_ceil(3));
        for (third, points) in thirds.enumerate() {
            if third == 1 {
                launch.make_node();
            } else {
                launch.settings.retain(|(name, _)| name != NODE_LISTEN);
            }
            let mut server = Program::start(&launch).await;
            let api = server.operator().await;
            report(&api, &bus.token, points).await;
            let before = feed.told.len();
            feed.read(&api).await;
            assert!(feed.told.len() > before, "nothing in part {third}");
            server.stop().await;
        }
        let numbers: Vec<i64> = feed.told.iter().map(|(_, sequence)| *sequence).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let mut ids: Vec<&str> = feed.told.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let stored = read_whole(&place).await;
        assert_eq!(stored.fixes.len(), bus.points.len(), "each fix once");
        let of_bus = stored.records.values().filter(|record| record.text.contains(&bus.vehicle.to_string()));
        assert_eq!(ids.len(), of_bus.count(), "every record was read, whoever numbered it");
        ground.drop_copy(&place).await;
    });
}

/// An organization's events, read by number.
struct Feed {
    organization: String,
    after: Option<String>,
    told: Vec<(String, i64)>,
}

impl Feed {
    async fn read(&mut self, api: &Api) {
        loop {
            let after = self.after.as_ref().map(|cursor| format!("&after={cursor}")).unwrap_or_default();
            let path =
                format!("/v1/events?sort=sequence&limit=200&organizationId={}{after}", self.organization);
            let slice: Value = serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap();
            for event in slice["data"].as_array().unwrap() {
                let id = event["id"].as_str().unwrap().to_owned();
                self.told.push((id, event["sequence"].as_i64().unwrap()));
            }
            self.after = slice["pagination"]["endCursor"].as_str().map(str::to_owned);
            if slice["pagination"]["hasNextPage"] != true {
                return;
            }
        }
    }
}

/// Reports points over HTTP, a few at a time.
pub(crate) async fn report(api: &Api, token: &str, points: &[Point]) {
    for some in points.chunks(200) {
        api.send_as(token, "/v1/positions", &json!({ "items": some })).await.unwrap();
    }
}
