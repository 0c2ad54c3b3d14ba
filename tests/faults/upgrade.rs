//! Nodes are upgraded one by one under load, as docs/cluster.md says: behind a balancer that asks which of them are ready, no request
//! is refused and no connection is broken.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use waypost_client::{Http, Method};
use waypost_test_support::{Engine, eventually};

use crate::drill::{Drill, Load};
use crate::figures::figure;
use crate::ground::{DEADLINE, on};
use crate::seed::seed;

/// How often the balancer asks a node whether it is ready: as HAProxy does without a setting, and half as often as nginx.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Slow enough that the trackers report until the last node is back.
const PACE: Duration = Duration::from_millis(400);
const NODES: usize = 3;
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

#[test]
fn a_rolling_upgrade_refuses_no_request() {
    on(Engine::Postgres, async |ground| {
        let load = Load { peers: NODES - 1, pace: PACE, ..Load::every(24) };
        let mut drill = Drill::begin(ground, seed(), load).await;
        let balancer = Rc::new(Balancer::of(&mut drill));
        let looking = tokio::task::spawn_local(Rc::clone(&balancer).keep_looking());
        let organization = ground.fleet.organization.clone();
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let (token, organization) = (drill.api.token(), organization.clone());
            clients.spawn_local(client(Rc::clone(&balancer), token, organization));
        }
        for number in 0..NODES {
            drill.book.fault_begins();
            drill.node(number).stop().await;
            drill.start_node(number).await;
            eventually(DEADLINE, async || balancer.nodes[number].is_ready.get()).await;
        }
        assert!(!drill.is_through(), "the load ended before the upgrade did");
        balancer.is_over.set(true);
        drill.book.has_seen_enough.set(true);
        let mut made = BTreeSet::new();
        while let Some(some) = clients.join_next().await {
            made.extend(some.unwrap());
        }
        looking.abort();
        let told = balancer.told.take();
        let name = format!("{} requests while {NODES} nodes are upgraded one by one", told.answered);
        figure(
            &name,
            &format!("slowest {:.2} s, refused {:?}", told.slowest.as_secs_f64(), told.refused),
            "none refused",
        );
        assert!(told.refused.is_empty());
        assert!(made.len() > 30, "{} drivers say little", made.len());
        let path = format!("/v1/drivers?limit=1&organizationId={organization}");
        let page: Value = serde_json::from_slice(&drill.api.get(&path).await.unwrap()).unwrap();
        assert_eq!(page["pagination"]["totalItems"], made.len(), "each driver was made once");
        drill.finish(ground).await;
    });
}

/// Spreads requests over the nodes that are ready, as a balancer before them does.
struct Balancer {
    nodes: Vec<Node>,
    next: Cell<usize>,
    told: RefCell<Told>,
    is_over: Cell<bool>,
}

struct Node {
    http: Http,
    is_ready: Cell<bool>,
}

/// How requests ended.
#[derive(Default)]
struct Told {
    answered: usize,
    slowest: Duration,
    refused: Vec<String>,
}

impl Balancer {
    fn of(drill: &mut Drill) -> Self {
        let node = |url: String| Node { http: Http::new(&url, DEADLINE), is_ready: Cell::new(true) };
        let nodes = (0..NODES).map(|number| node(drill.node(number).url())).collect();
        Self { nodes, next: Cell::new(0), told: RefCell::default(), is_over: Cell::new(false) }
    }

    async fn keep_looking(self: Rc<Self>) {
        loop {
            for node in &self.nodes {
                let answer = node.http.send(Method::GET, "/readyz", &[], Vec::new()).await;
                node.is_ready.set(answer.is_ok_and(|answer| answer.status == 200));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The answer of the next node that is ready; a request that is refused or cut off is noted.
    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Option<Value> {
        let ready: Vec<&Node> = self.nodes.iter().filter(|node| node.is_ready.get()).collect();
        self.next.set(self.next.get() + 1);
        let node = ready[self.next.get() % ready.len()];
        let asked = Instant::now();
        let answer = node.http.send(method.clone(), path, headers, body).await;
        let mut told = self.told.borrow_mut();
        told.slowest = told.slowest.max(asked.elapsed());
        match answer {
            Ok(answer) if (200..300).contains(&answer.status) => {
                told.answered += 1;
                Some(answer.json())
            }
            Ok(answer) => {
                told.refused.push(format!("{method} {path}: {} {}", answer.status, answer.json()["detail"]));
                None
            }
            Err(why) => {
                told.refused.push(format!("{method} {path}: {why:#}"));
                None
            }
        }
    }
}

/// Asks and edits in turns until the upgrade is over; returns the drivers it made.
async fn client(balancer: Rc<Balancer>, token: String, organization: String) -> BTreeSet<String> {
    let bearer = format!("Bearer {token}");
    let vehicles = format!("/v1/vehicles?organizationId={organization}");
    let mut made = BTreeSet::new();
    while !balancer.is_over.get() {
        balancer.send(Method::GET, &vehicles, &[("authorization", &bearer)], Vec::new()).await;
        let body = json!({ "organizationId": organization, "firstName": "Ada", "lastName": Uuid::new_v4() });
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let answer =
            balancer.send(Method::POST, "/v1/drivers", &headers, body.to_string().into_bytes()).await;
        made.extend(answer.and_then(|driver| driver["id"].as_str().map(str::to_owned)));
        sleep(PAUSE).await;
    }
    made
}
