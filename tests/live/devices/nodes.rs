//! Hardware at the nodes of a cluster, of which one has their organization.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use waypost_test_support::{
    Engine, Launch, Program, TestStore, eventually, port_for_restarts, run, stored_positions,
};

use super::stand_in::{Device, Speaks, datagram, greeting, teltonika};
use super::{NAMES, Yard, last_words, listeners};
use crate::nodes::metrics;
use crate::server::{DEADLINE, launch};

const FIXES: usize = 200;

/// A node with a port for each protocol.
struct Node {
    launch: Launch,
    program: Program,
    ports: [u16; 4],
    /// Where its metrics are.
    admin: u16,
}

impl Node {
    fn spawn(store: &TestStore, organization: &str) -> Self {
        let ports = [0; 4].map(|_| port_for_restarts());
        let listeners: Vec<String> = listeners(organization, ports).iter().map(ToString::to_string).collect();
        let mut launch = launch(store);
        let admin = port_for_restarts();
        launch.make_node();
        launch.settings.extend([
            ("WAYPOST_DEVICE_LISTENERS".to_owned(), listeners.join(",")),
            ("WAYPOST_ADMIN_LISTEN".to_owned(), format!("127.0.0.1:{admin}")),
        ]);
        let program = Program::spawn(&launch);
        Self { launch, program, ports, admin }
    }

    /// How many positions came by Teltonika, as its metrics say.
    async fn counted(&self) -> usize {
        let told = metrics(self.admin).await;
        told.get("waypost_input_stored_total{input=\"teltonika\"}").map_or(0, |count| *count as usize)
    }

    fn at(&self, index: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[index]))
    }
}

#[test]
fn devices_report_at_any_node_and_lose_nothing_when_one_is_killed() {
    run(Engine::Postgres, async |store| {
        let (organization, ..) = Yard::furnish(&store).await;
        let mut nodes = [(); 2].map(|()| Node::spawn(&store, &organization));
        for node in &nodes {
            node.program.ready().await;
        }
        strangers_are_told_the_same_at_each(&nodes).await;
        strangers_of_many_addresses_are_looked_up_at_once(&nodes, &organization).await;

        let start = (waypost::clock::Clock::system().now().as_millis() / 1_000 - 7_200) * 1_000;
        let (mut forgotten, mut reporting) = (Vec::new(), Vec::new());
        for (number, (speaks, name, listener)) in [
            (Speaks::Teltonika, NAMES[0], 0),
            (Speaks::Datagrams, NAMES[1], 0),
            (Speaks::Gt06, NAMES[1], 1),
            (Speaks::H02, NAMES[2], 2),
            (Speaks::Queclink, NAMES[3], 3),
        ]
        .into_iter()
        .enumerate()
        {
            // Half of what each has at either node, one after the other: one of them has to hand it on.
            // Instants of its own, since two of them are one vehicle's.
            let own = number * FIXES..(number + 1) * FIXES;
            let fixes: Vec<i64> = own.map(|n| start + n as i64 * 1_000).collect();
            let addresses = [number % 2, 1 - number % 2].map(|node| nodes[node].at(listener));
            let mut devices = Vec::new();
            for (fixes, address) in fixes.chunks(FIXES / 2).zip(addresses) {
                let device = Device::new(speaks, name, fixes.iter().copied());
                forgotten.push(device.forgotten.clone());
                devices.push((device, address));
            }
            reporting.push(actix_rt::spawn(async move {
                for (device, address) in &mut devices {
                    device.report(*address).await;
                }
            }));
        }
        let all = 5 * FIXES;
        let count = || forgotten.iter().map(|one| one.borrow().len()).sum::<usize>();
        for number in 0..2 {
            let before = count();
            eventually(DEADLINE, || async { count() >= before + 60 || count() == all }).await;
            if number == 0 {
                let counted = nodes[0].counted().await + nodes[1].counted().await;
                assert!(counted > 0, "a node counts what its shards do");
            }
            nodes[number].program.kill();
            nodes[number].program = Program::start(&nodes[number].launch).await;
        }
        for device in reporting {
            timeout(DEADLINE * 3, device).await.expect("all is reported").unwrap();
        }
        let stored = stored_positions(&store.db).await.unwrap();
        let mut instants: Vec<_> = stored.iter().map(|(vehicle, at)| (*vehicle, at.recorded_at)).collect();
        instants.sort_unstable_by_key(|(vehicle, at)| (vehicle.0, *at));
        instants.dedup();
        assert_eq!((stored.len(), instants.len(), count()), (all, all, all));
        strangers_are_told_the_same_at_each(&nodes).await;
        for node in &nodes {
            let api = node.program.operator().await;
            let path = format!("/v1/pending-trackers?organizationId={organization}");
            let pending = async || {
                let listed: Value = serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap();
                let named = |one: &&Value| one["uniqueId"] == "999999999999999";
                let times = listed["data"].as_array().unwrap().iter().filter(named).count();
                if times == 1 { Ok(()) } else { Err(listed) }
            };
            eventually(DEADLINE, pending).await;
        }
        Program::stop_all(nodes.iter_mut().map(|node| &mut node.program)).await;
    });
}

async fn strangers_are_told_the_same_at_each(nodes: &[Node; 2]) {
    let told = async |node: &Node| {
        let mut wire = TcpStream::connect(node.at(0)).await.unwrap();
        wire.write_all(&[greeting("999999999999999"), teltonika(&[1_700_000_000_000])].concat())
            .await
            .unwrap();
        last_words(&mut wire).await
    };
    // While their shard moves to the node that came last, they are told nothing, and come again.
    let no = (vec![0], vec![0]);
    eventually(DEADLINE, async || tokio::join!(told(&nodes[0]), told(&nodes[1])) == no).await;
    for node in nodes {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let stranger = datagram("999999999999998", &[1_700_000_000_000]);
        for bytes in [&stranger[..], b"garbage"] {
            socket.send_to(bytes, node.at(0)).await.unwrap();
        }
        let answer = timeout(Duration::from_millis(300), socket.recv_from(&mut [0; 16])).await;
        assert!(answer.is_err(), "nobody who may not report is answered");
    }
}

/// The owner is told where a datagram came from that another node hands on, so that those have more than one sender's turns.
async fn strangers_of_many_addresses_are_looked_up_at_once(nodes: &[Node; 2], organization: &str) {
    let names: Vec<String> = (0..24).map(|number| format!("7777777777777{number:02}")).collect();
    for (number, name) in names.iter().enumerate() {
        let socket = UdpSocket::bind(format!("127.0.1.{}:0", number + 1)).await.unwrap();
        socket.send_to(&datagram(name, &[1_700_000_000_000]), nodes[number % 2].at(0)).await.unwrap();
    }
    let api = nodes[0].program.operator().await;
    let path = format!("/v1/pending-trackers?organizationId={organization}");
    let all_pending = async || {
        let listed: Value = serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap();
        let is_listed = |name: &&String| {
            listed["data"].as_array().unwrap().iter().any(|one| one["uniqueId"] == name.as_str())
        };
        let missing: Vec<String> = names.iter().filter(|name| !is_listed(name)).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    };
    eventually(DEADLINE, all_pending).await;
}
