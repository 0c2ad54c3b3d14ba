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
use crate::ground::{DEADLINE, bus, on};
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
        let fences_before = count(&drill, "geofences", &organization).await;
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let bus = bus(&drill.api, &organization, &format!("upgraded-{number}"), Vec::new()).await;
            let client = Client::new(&balancer, &drill.api.token(), &organization, bus.vehicle);
            clients.spawn_local(client.ask_and_edit());
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
        let clients = clients.join_all().await;
        looking.abort();
        let told = balancer.told.take();
        let name = format!("{} requests while {NODES} nodes are upgraded one by one", told.answered);
        figure(
            &name,
            &format!("slowest {:.2} s, refused {:?}", told.slowest.as_secs_f64(), told.refused),
            "none refused",
        );
        assert!(told.refused.is_empty());
        let drivers: usize = clients.iter().map(|client| client.drivers.len()).sum();
        let fences: usize = clients.iter().map(|client| client.fences.len()).sum();
        assert!(drivers > 30 && fences > 30, "{drivers} drivers and {fences} geofences say little");
        assert_eq!(count(&drill, "drivers", &organization).await, drivers, "each was made once");
        assert_eq!(count(&drill, "geofences", &organization).await, fences_before + fences, "so was each");
        for client in &clients {
            let vehicle = drill.api.get(&client.vehicle).await.unwrap();
            let vehicle: Value = serde_json::from_slice(&vehicle).unwrap();
            assert_eq!(vehicle["name"], client.name, "the last edit is the one that counts");
        }
        drill.finish(ground).await;
    });
}

/// How many of these an organization has.
async fn count(drill: &Drill, these: &str, organization: &str) -> usize {
    let path = format!("/v1/{these}?limit=1&organizationId={organization}");
    let page: Value = serde_json::from_slice(&drill.api.get(&path).await.unwrap()).unwrap();
    let items = page["pagination"]["totalItems"].as_u64().unwrap();
    usize::try_from(items).unwrap()
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

/// Whose requests are not to be refused.
struct Client {
    balancer: Rc<Balancer>,
    bearer: String,
    organization: String,
    /// The path of a vehicle that it alone edits.
    vehicle: String,
    /// The ids of those that it made.
    drivers: BTreeSet<String>,
    fences: BTreeSet<String>,
    /// What it called its vehicle last.
    name: String,
}

impl Client {
    fn new(balancer: &Rc<Balancer>, token: &str, organization: &str, vehicle: Uuid) -> Self {
        Self {
            balancer: Rc::clone(balancer),
            bearer: format!("Bearer {token}"),
            organization: organization.to_owned(),
            vehicle: format!("/v1/vehicles/{vehicle}?organizationId={organization}"),
            drivers: BTreeSet::new(),
            fences: BTreeSet::new(),
            name: String::new(),
        }
    }

    /// Asks and edits in turns until the upgrade is over.
    async fn ask_and_edit(mut self) -> Self {
        let vehicles = format!("/v1/vehicles?organizationId={}", self.organization);
        while !self.balancer.is_over.get() {
            self.send(Method::GET, &vehicles, None).await;
            self.name = Uuid::new_v4().to_string();
            let driver =
                json!({ "organizationId": self.organization, "firstName": "Ada", "lastName": self.name });
            let made = self.make("/v1/drivers", &driver).await;
            self.drivers.extend(made);
            // What the live core settles before it is answered. No bus comes there.
            let fence = json!({ "organizationId": self.organization, "name": self.name, "shape": { "type": "circle",
                "radiusMeters": 100, "center": { "latitude": -33.9, "longitude": 18.4 } } });
            let made = self.make("/v1/geofences", &fence).await;
            self.fences.extend(made);
            self.send(Method::PUT, &self.vehicle, Some(&json!({ "name": self.name }))).await;
            sleep(PAUSE).await;
        }
        self
    }

    /// Makes something; gives its id.
    async fn make(&self, path: &str, body: &Value) -> Option<String> {
        let made = self.send(Method::POST, path, Some(body)).await?;
        made["id"].as_str().map(str::to_owned)
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Option<Value> {
        let headers = [("authorization", self.bearer.as_str()), ("content-type", "application/json")];
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.balancer.send(method, path, &headers, body).await
    }
}
