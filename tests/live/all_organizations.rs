//! An operator who follows all organizations at any node of a cluster, of which each has some of them.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use waypost_client::socket;
use waypost_client::{Api, Http, Method};
use waypost_test_support::{Engine, Launch, PASSWORD, Program, ROOT, TestStore, eventually, run};

use crate::events::Events;
use crate::feed::subscribe;
use crate::nodes::nodes;
use crate::server::{DEADLINE, bus_body, fence_body, organization_body, text};
use crate::wire::{Wire, crossings};

/// So many that no node has all of them, except once in many thousand runs.
const ORGANIZATIONS: usize = 8;

/// Shorter than a node is missed.
const MOMENT: Duration = Duration::from_millis(1_500);

/// An organization with a bus that crosses a fence.
pub(crate) struct Fleet {
    organization: String,
    vehicle: String,
    /// Its bus's tracker's.
    pub(crate) token: String,
}

impl Fleet {
    /// Makes one, active, by an operator.
    pub(crate) async fn make(api: &Api, number: usize) -> Self {
        let name = format!("org{number}");
        let made = api.send(Method::POST, "/v1/organizations", &organization_body(&name)).await.unwrap();
        let organization = text(&made["id"]);
        let path = format!("/v1/organizations/activate/{organization}");
        api.send(Method::PUT, &path, &json!({})).await.unwrap();
        let (mut fence, mut bus) = (fence_body("depot"), bus_body("bus", &name));
        for body in [&mut fence, &mut bus] {
            body["organizationId"] = json!(organization);
        }
        api.send(Method::POST, "/v1/geofences", &fence).await.unwrap();
        let made = api.send(Method::POST, "/v1/vehicles", &bus).await.unwrap();
        Self { organization, vehicle: text(&made["id"]), token: text(&made["tracker"]["token"]) }
    }
}

struct Nodes {
    launches: Vec<Launch>,
    programs: Vec<Program>,
    api: Api,
    fleets: Vec<Fleet>,
}

impl Nodes {
    async fn start(store: &TestStore) -> Self {
        let (launches, programs): (Vec<_>, Vec<_>) = nodes::<2>(store, &[]).await.into_iter().unzip();
        let api = programs[0].operator().await;
        let mut fleets = Vec::new();
        for number in 0..ORGANIZATIONS {
            fleets.push(Fleet::make(&api, number).await);
        }
        Self { launches, programs, api, fleets }
    }

    /// Every bus crosses its fence.
    async fn cross(&self, from: i64, to: i64) {
        for fleet in &self.fleets {
            let items = json!({ "items": crossings(from, to) });
            self.api.send_as(&fleet.token, "/v1/positions", &items).await.unwrap();
        }
    }

    async fn wire(&self, node: usize) -> Wire {
        let url = self.launches[node].url();
        // While a node is replaced the answer is 503.
        let open = async || Wire::open(socket::feed(&url, &self.api.token())).await.ok();
        eventually(DEADLINE, open).await
    }

    fn vehicles(&self) -> BTreeSet<String> {
        self.fleets.iter().map(|fleet| fleet.vehicle.clone()).collect()
    }
}

fn vehicle_of(event: &Value) -> String {
    text(&event["event"]["vehicleId"])
}

/// Reads the snapshot; its vehicles.
async fn snapshot(wire: &mut Wire) -> BTreeSet<String> {
    let mut vehicles = BTreeSet::new();
    for number in 0.. {
        let part = wire.hear("snapshot").await;
        assert_eq!(part["part"], number);
        vehicles
            .extend(part["vehicles"].as_array().unwrap().iter().map(|vehicle| text(&vehicle["vehicleId"])));
        if part["last"] == true {
            break;
        }
    }
    vehicles
}

/// Reads as many events; their ids and the last cursor.
async fn events(wire: &mut Wire, count: usize) -> (Vec<String>, Value) {
    let (mut ids, mut cursor) = (Vec::new(), Value::Null);
    while ids.len() < count {
        let said = wire.until(|said| said["type"] == "event").await;
        ids.push(text(&said["event"]["id"]));
        cursor = said["cursor"].clone();
    }
    (ids, cursor)
}

async fn begin(wire: &mut Wire, cursor: Option<&Value>) -> Value {
    let mut asked = subscribe("all");
    if let Some(cursor) = cursor {
        asked["cursor"] = cursor.clone();
    }
    wire.say(&asked).await;
    wire.hear("subscribed").await
}

#[test]
fn who_follows_all_organizations_is_told_of_each_at_any_node() {
    run(Engine::Postgres, async |store| {
        let mut nodes = Nodes::start(&store).await;
        nodes.cross(1, 2).await;
        for node in 0..2 {
            let mut wire = nodes.wire(node).await;
            assert_eq!(begin(&mut wire, None).await["mode"], "snapshot");
            assert_eq!(snapshot(&mut wire).await, nodes.vehicles(), "at node {node}");
            let mut one = subscribe("one");
            one["filter"] = json!({ "vehicleIds": [nodes.fleets[0].vehicle] });
            wire.say(&one).await;
            let said = wire.until(|said| said["type"] == "subscribed").await;
            assert_eq!(said["id"], "one");
            // A third would be a socket to each shard too many.
            wire.say(&subscribe("third")).await;
            let refused = wire.until(|said| said["type"] == "error").await;
            assert_eq!((&refused["code"], &refused["id"]), (&json!("tooManySubscriptions"), &json!("third")));
            wire.say(&json!({ "type": "unsubscribe", "id": "one" })).await;

            nodes.cross(3 + node as i64, 3 + node as i64).await;
            let mut told = BTreeSet::new();
            let mut moved = BTreeSet::new();
            while told.len() < ORGANIZATIONS || moved.len() < ORGANIZATIONS {
                let said = wire.until(|said| said["id"] == "all").await;
                match said["type"].as_str() {
                    Some("event") => assert!(told.insert(vehicle_of(&said)), "each once"),
                    _ => moved.extend(
                        said["vehicles"].as_array().unwrap().iter().map(|one| text(&one["vehicleId"])),
                    ),
                }
            }
            assert_eq!((told, moved), (nodes.vehicles(), nodes.vehicles()));
        }
        nodes.changes().await;
        nodes.streams().await;
        // Pages of other sites are refused where they come, before they say whose they are.
        let foreign =
            socket::feed(&nodes.launches[0].url(), "").with_header("origin", "https://evil.example.org");
        let refused = Wire::open(foreign).await.err().unwrap();
        assert_eq!((refused.status, &refused.body["code"]), (403, &json!("originNotAllowed")));
        Program::stop_all(&mut nodes.programs).await;
    });
}

#[test]
fn who_follows_all_organizations_misses_nothing_when_a_node_is_killed() {
    run(Engine::Postgres, async |store| {
        let mut nodes = Nodes::start(&store).await;
        let mut wire = nodes.wire(1).await;
        begin(&mut wire, None).await;
        snapshot(&mut wire).await;
        nodes.cross(1, 4).await;
        let (mut seen, cursor) = events(&mut wire, 2 * ORGANIZATIONS).await;

        nodes.programs[0].kill();
        // Whether its shards' feeds end first, or the socket does, is a matter of where the operator is.
        let ended = async { while wire.next().await.is_ok() {} };
        timeout(DEADLINE, ended).await.expect("a feed that has lost some organizations ends");
        let mut wire = nodes.wire(1).await;
        let subscribed = begin(&mut wire, Some(&cursor)).await;
        assert_eq!(subscribed["mode"], "resumed", "{subscribed}");
        nodes.api = nodes.programs[1].operator().await;
        nodes.cross(5, 6).await;
        let (more, _) = events(&mut wire, 4 * ORGANIZATIONS).await;
        seen.extend(more);
        let all: BTreeSet<&String> = seen.iter().collect();
        assert_eq!((all.len(), seen.len()), (6 * ORGANIZATIONS, 6 * ORGANIZATIONS), "each once");

        // A cursor of another log begins anew.
        let other = nodes.cursor_of_one().await;
        wire.say(&json!({ "type": "subscribe", "id": "all", "topics": ["events"], "cursor": other })).await;
        assert_eq!(wire.hear("reset").await["reason"], "cursorExpired");
        assert_eq!(wire.hear("subscribed").await["mode"], "snapshot");
        nodes.programs[1].stop().await;
    });
}

#[test]
fn who_follows_all_organizations_does_not_wait_for_a_node_that_stands_still() {
    run(Engine::Postgres, async |store| {
        let mut nodes = Nodes::start(&store).await;
        let other = nodes.node_of_operators().await;
        let mut wire = nodes.wire(other).await;
        begin(&mut wire, None).await;
        snapshot(&mut wire).await;
        nodes.cross(1, 1).await;
        let (seen, cursor) = events(&mut wire, ORGANIZATIONS).await;

        nodes.programs[1 - other].signal("STOP");
        let end = timeout(DEADLINE, wire.closed()).await.expect("it ends");
        assert_eq!((end.code, end.word.as_str()), (1012, "restarting"));
        let mut wire = nodes.wire(other).await;
        assert_eq!(begin(&mut wire, Some(&cursor)).await["mode"], "resumed");
        nodes.api = nodes.programs[other].operator().await;
        nodes.cross(2, 2).await;
        let (more, _) = events(&mut wire, ORGANIZATIONS).await;
        let all: BTreeSet<&String> = seen.iter().chain(&more).collect();
        assert_eq!(all.len(), 2 * ORGANIZATIONS, "each once");
        nodes.programs[1 - other].kill();
        nodes.programs[other].stop().await;
    });
}

#[test]
fn what_was_handed_on_to_a_node_that_stands_still_ends_and_goes_on_elsewhere() {
    run(Engine::Postgres, async |store| {
        let mut nodes = Nodes::start(&store).await;
        let url = nodes.launches[1].url();
        let tracker = async |token: &str| Wire::open(socket::tracker(&url, token)).await.ok();
        let (mut wires, mut streams) = (Vec::new(), Vec::new());
        for fleet in &nodes.fleets {
            let mut wire = tracker(&fleet.token).await.expect("a bus may report");
            wire.report(crossings(1, 1)).await;
            wire.hear("ack").await;
            wires.push(wire);
            let query = format!("topics=events&organizationId={}", fleet.organization);
            let mut stream = Events::open(&url, &query, &nodes.api.token(), "").await.unwrap();
            assert_eq!(stream.next().await.unwrap().unwrap().name, "subscribed");
            streams.push(stream);
        }

        nodes.programs[0].signal("STOP");
        let http = Http::new(&url, DEADLINE);
        let body = json!({ "items": crossings(2, 2) }).to_string();
        let under_way = nodes.fleets.iter().map(|fleet| {
            let authorization = format!("Bearer {}", fleet.token);
            let (http, body) = (&http, body.clone().into_bytes());
            async move {
                let headers =
                    [("content-type", "application/json"), ("authorization", authorization.as_str())];
                http.send(Method::POST, "/v1/positions", &headers, body).await.expect("it is answered").status
            }
        });
        let statuses: BTreeSet<u16> = join_all(under_way).await.into_iter().collect();
        assert_eq!(statuses, BTreeSet::from([200, 503]));
        let mut moved = 0;
        for (fleet, (wire, stream)) in nodes.fleets.iter().zip(wires.iter_mut().zip(&mut streams)) {
            // Its own organizations' go on.
            let report = json!({ "type": "positions", "items": crossings(3, 3) });
            wire.send(Message::text(report.to_string())).await.ok();
            if wire.next().await.is_ok_and(|said| said["type"] == "ack") {
                continue;
            }
            moved += 1;
            timeout(DEADLINE, async { while let Ok(Some(_)) = stream.next().await {} })
                .await
                .expect("it ends");
            // While its organization is taken over, the answer is 503.
            let mut again = eventually(DEADLINE, async || tracker(&fleet.token).await).await;
            again.report(crossings(4, 4)).await;
            again.hear("ack").await;
        }
        assert!((1..ORGANIZATIONS).contains(&moved), "{moved} were the other node's");
        nodes.programs[0].kill();
        nodes.programs[1].stop().await;
    });
}

impl Nodes {
    /// The node that serves operators, and so answers them at once while the other one stands still for a moment.
    async fn node_of_operators(&self) -> usize {
        for node in [0, 1].into_iter().cycle() {
            self.programs[1 - node].signal("STOP");
            let body = json!({ "email": ROOT, "password": PASSWORD });
            let url = self.launches[node].url();
            let api = Http::new(&url, MOMENT);
            let kind = [("content-type", "application/json")];
            let said = api.send(Method::POST, "/v1/auth/login", &kind, body.to_string().into_bytes()).await;
            self.programs[1 - node].signal("CONT");
            if said.is_ok_and(|said| said.status == 200) {
                return node;
            }
        }
        unreachable!("one of them does")
    }

    /// Each organization's node says what its things look like.
    async fn changes(&self) {
        let mut wire = self.wire(1).await;
        wire.say(&json!({ "type": "subscribe", "id": "all", "topics": ["changes"] })).await;
        assert_eq!(wire.hear("subscribed").await["mode"], "snapshot");
        for fleet in &self.fleets {
            let path = format!("/v1/vehicles/{}?organizationId={}", fleet.vehicle, fleet.organization);
            self.api
                .send(Method::PUT, &path, &json!({ "name": "renamed", "category": "bus" }))
                .await
                .unwrap();
        }
        let mut changed = BTreeSet::new();
        while changed.len() < ORGANIZATIONS {
            let said = wire.hear("change").await;
            assert_eq!(said["change"]["data"]["name"], "renamed", "{said}");
            assert!(changed.insert(text(&said["change"]["resourceId"])), "each once");
        }
        assert_eq!(changed, self.vehicles());
        // Read by number they are each organization's.
        let refused = self.api.ask(Method::GET, "/v1/changes", None::<&()>).await.unwrap();
        assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("organizationRequired")));
    }

    /// A stream of events goes on by the id of the last one, at another node.
    async fn streams(&self) {
        let open = async |node: usize, id: &str| {
            Events::open(&self.launches[node].url(), "topics=events", &self.api.token(), id).await.unwrap()
        };
        let mut stream = open(1, "").await;
        assert_eq!(stream.next().await.unwrap().unwrap().name, "subscribed");
        self.cross(5, 5).await;
        let mut told = BTreeSet::new();
        while told.len() < ORGANIZATIONS {
            let event = stream.next().await.unwrap().unwrap();
            if event.name != "event" {
                continue;
            }
            assert!(told.insert(vehicle_of(&event.data)), "each once");
            if told.len() == ORGANIZATIONS / 2 {
                stream = open(0, &event.id).await;
            }
        }
    }

    async fn page(&self, path: &str) -> Value {
        serde_json::from_slice(&self.api.get(path).await.unwrap()).unwrap()
    }

    async fn cursor_of_one(&self) -> Value {
        let path = format!("/v1/changes?after=latest&organizationId={}", self.fleets[0].organization);
        self.page(&path).await["pagination"]["endCursor"].clone()
    }
}
