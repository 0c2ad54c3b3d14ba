//! Hardware that speaks a protocol of its own, at the listeners of a running server.

mod memory;
mod nodes;
pub(crate) mod stand_in;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use waypost::config::Settings;
use waypost_test_support::{
    Program, TestStore, eventually, for_each_engine, port_for_restarts, stored_positions, text,
};

use self::stand_in::{Device, Speaks, datagram, datagram_answer, greeting, queclink, teltonika};
use crate::server::{DEADLINE, Server, launch};
use crate::tracker::Stuck;

for_each_engine!(
    each_protocol_reports_its_fix_and_is_answered_once_that_is_stored,
    what_is_refused_of_a_device_is_kept_with_its_bytes,
    whoever_may_not_report_is_told_the_same_and_not_at_once,
    a_device_has_one_connection_and_only_as_long_as_it_may_report,
    while_the_store_is_away_nothing_is_answered_and_nothing_lost,
    killed_at_any_moment_what_a_device_forgot_is_stored_once,
    the_input_of_an_organization_that_is_gone_keeps_no_server_from_its_start,
);

const NAMES: [&str; 4] = ["356307042441013", "864717003283581", "4970105243", "866314060109269"];

/// A server with a listener for each protocol, for an organization with a vehicle for each of the names.
struct Yard {
    server: Server,
    admin: String,
    vehicles: Vec<String>,
    trackers: Vec<String>,
}

impl Yard {
    async fn open(store: &TestStore, set: impl FnOnce(&mut Settings)) -> Self {
        let (organization, vehicles, trackers) = Self::furnish(store).await;
        let listeners = listeners(&organization, [0; 4]);
        let server = Server::start_with(store, |settings| {
            settings.device_listeners = listeners;
            set(settings);
        })
        .await;
        let admin = server.sign_in(&organization, waypost::domain::account::Role::OrgAdmin).await.0;
        Self { server, admin, vehicles, trackers }
    }

    /// Makes organization, vehicles and trackers, by a server that has no listeners.
    async fn furnish(store: &TestStore) -> (String, Vec<String>, Vec<String>) {
        let server = Server::start(store).await;
        let fleet = server.fleet("org").await;
        let (mut vehicles, mut trackers) = (Vec::new(), Vec::new());
        for name in NAMES {
            let body = json!({
                "name": name, "category": "bus", "tracker": { "uniqueId": name },
                "tracking": { "maxSpeedKmh": null, "maxAccuracyMeters": null },
            });
            let made = server.post("/v1/vehicles", &fleet.admin, body).await.ok(201);
            vehicles.push(text(&made["id"]));
            trackers.push(text(&made["tracker"]["id"]));
        }
        let organization = fleet.id.clone();
        server.stop().await;
        (organization, vehicles, trackers)
    }

    fn address(&self, index: usize) -> SocketAddr {
        self.server.device_addresses[index]
    }

    async fn connect(&self, index: usize) -> TcpStream {
        TcpStream::connect(self.address(index)).await.unwrap()
    }

    async fn positions(&self, index: usize) -> Vec<Value> {
        let path = format!("/v1/vehicles/{}/positions", self.vehicles[index]);
        let page = self.server.get(&path, &self.admin).await.ok(200);
        page["data"].as_array().unwrap().clone()
    }

    fn start(&self) -> i64 {
        (self.server.context.clock.now().as_millis() / 1_000 - 3_600) * 1_000
    }
}

fn listeners(organization: &str, ports: [u16; 4]) -> Vec<waypost::config::DeviceListener> {
    use waypost::config::{DeviceListener, DeviceProtocol};
    let protocols =
        [DeviceProtocol::Teltonika, DeviceProtocol::Gt06, DeviceProtocol::H02, DeviceProtocol::Queclink];
    let at = |(protocol, port): (DeviceProtocol, u16)| DeviceListener {
        protocol,
        address: SocketAddr::from(([127, 0, 0, 1], port)),
        organization: waypost_actors::model::OrganizationId(organization.parse().unwrap()),
    };
    protocols.into_iter().zip(ports).map(at).collect()
}

async fn heard(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    timeout(DEADLINE, stream.read_exact(&mut bytes)).await.expect("an answer").unwrap();
    bytes
}

/// Everything until the server hangs up.
async fn last_words(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _reset = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.expect("it hangs up");
    bytes
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The recorded login and location of a GT06 device.
const LOGIN: &str = "78780d01086471700328358100093f040d0a";
const LOCATION: &str = "78781f120f0a140e150bc505e51e780293a9e800540000f601006e0055da00035f240d0a";

async fn each_protocol_reports_its_fix_and_is_answered_once_that_is_stored(store: TestStore) {
    let yard = Yard::open(&store, |_| {}).await;
    let start = yard.start();

    let mut wire = yard.connect(0).await;
    // The greeting and a packet in one, then a damaged one, then one in two parts with a sign of life before it.
    let packet = teltonika(&[start, start + 1_000]);
    wire.write_all(&[greeting(NAMES[0]), packet.clone()].concat()).await.unwrap();
    assert_eq!(heard(&mut wire, 5).await, [1, 0, 0, 0, 2]);
    let mut damaged = packet.clone();
    damaged[20] ^= 1;
    wire.write_all(&damaged).await.unwrap();
    assert_eq!(heard(&mut wire, 4).await, [0, 0, 0, 0]);
    wire.write_all(&[&[0xff], &packet[..30]].concat()).await.unwrap();
    wire.write_all(&packet[30..]).await.unwrap();
    assert_eq!(heard(&mut wire, 4).await, [0, 0, 0, 2]);
    assert_eq!(yard.positions(0).await.len(), 2, "what comes again is stored once");
    let by_datagram = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    by_datagram.send_to(&datagram(NAMES[0], &[start + 2_000]), yard.address(0)).await.unwrap();
    let mut answer = [0; 16];
    let (length, _) = timeout(DEADLINE, by_datagram.recv_from(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer[..length], datagram_answer(&[start + 2_000]));
    let stored = yard.positions(0).await;
    assert_eq!(stored.len(), 3);
    assert!(stored.iter().any(|fix| fix["speedKmh"] == 36.0 && fix["altitudeMeters"] == 150.0), "{stored:?}");

    let mut wire = yard.connect(1).await;
    wire.write_all(&hex(LOGIN)).await.unwrap();
    assert_eq!(heard(&mut wire, 10).await, hex("78780501000955940d0a"));
    wire.write_all(&hex(LOCATION)).await.unwrap();
    assert_eq!(heard(&mut wire, 10).await[..4], hex("78780512"));
    assert_eq!(yard.positions(1).await[0]["recordedAt"], "2015-10-20T14:21:11.000Z");

    let mut wire = yard.connect(2).await;
    let said = "*HQ,4970105243,V1,104000,A,2235.1777,N,11357.8913,E,000.27,235,130721,FFFFFBFF,460,11,d18e105,7752,6#";
    wire.write_all(said.as_bytes()).await.unwrap();
    assert!(heard(&mut wire, 36).await.starts_with(b"*HQ,4970105243,V4,V1,20"));
    assert_eq!(yard.positions(2).await[0]["ignition"], false);
    // A connection is one device's; what it said before somebody else speaks is stored all the same.
    let both = [said.replace("104000", "104001"), said.replace("4970105243", "4970105244")].concat();
    wire.write_all(both.as_bytes()).await.unwrap();
    let last = last_words(&mut wire).await;
    assert!(last.len() == 36 && last.starts_with(b"*HQ,4970105243,V4,V1,20"), "{}", last.escape_ascii());
    assert_eq!(yard.positions(2).await.len(), 2);

    let mut wire = yard.connect(3).await;
    wire.write_all(&queclink(NAMES[3], start, "0F4C")).await.unwrap();
    assert_eq!(heard(&mut wire, 11).await, b"+SACK:0F4C$");
    assert_eq!(yard.positions(3).await[0]["longitude"], -97.74);
    yard.server.stop().await;
}

async fn what_is_refused_of_a_device_is_kept_with_its_bytes(store: TestStore) {
    let yard = Yard::open(&store, |_| {}).await;
    let start = yard.start();
    let gone = format!("/v1/vehicles/{}", yard.vehicles[0]);
    assert_eq!(yard.server.send("DELETE", &gone, &yard.admin, "").await.status, 204);
    // Two messages at once, each with its own bytes.
    let (one, two) = (teltonika(&[start]), teltonika(&[start + 1_000, start + 2_000]));
    let mut wire = yard.connect(0).await;
    wire.write_all(&[greeting(NAMES[0]), one.clone(), two.clone()].concat()).await.unwrap();
    assert_eq!(heard(&mut wire, 9).await, [1, 0, 0, 0, 1, 0, 0, 0, 2]);
    let by_datagram = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let third = datagram(NAMES[0], &[start + 3_000]);
    by_datagram.send_to(&third, yard.address(0)).await.unwrap();
    timeout(DEADLINE, by_datagram.recv_from(&mut [0; 16])).await.unwrap().unwrap();
    let path = format!("/v1/trackers/{}/reports", yard.trackers[0]);
    let told = yard.server.get(&path, &yard.admin).await.ok(200);
    let told = told["rejected"].as_array().unwrap();
    let raw: Vec<String> = told.iter().map(|report| text(&report["raw"])).collect();
    let written = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(raw, [&third, &two, &two, &one].map(|bytes| written(bytes)), "{told:?}");
    assert!(told.iter().all(|report| report["code"] == "notInstalled"), "{told:?}");
    yard.server.stop().await;
}

async fn whoever_may_not_report_is_told_the_same_and_not_at_once(store: TestStore) {
    let yard = Yard::open(&store, |_| {}).await;
    let elsewhere = yard.server.fleet("other").await;
    let other = elsewhere.bus("foreign").await;
    let path = format!("/v1/trackers/{}", yard.trackers[3]);
    yard.server.send("PUT", &path, &yard.admin, json!({ "status": "disabled" }).to_string()).await.ok(200);
    let foreign = other.unique_id.replace('-', "")[..15].to_owned();
    let path = format!("/v1/trackers/{}", other.tracker);
    let renamed = json!({ "uniqueId": foreign }).to_string();
    yard.server.send("PUT", &path, &elsewhere.admin, renamed).await.ok(200);
    let told = async |name: &str| {
        let mut wire = yard.connect(0).await;
        wire.write_all(&[greeting(name), teltonika(&[yard.start()])].concat()).await.unwrap();
        last_words(&mut wire).await
    };
    let (unknown, disabled, elsewhere) =
        tokio::join!(told("999999999999999"), told(NAMES[3]), told(&foreign));
    assert_eq!((unknown, disabled, elsewhere), (vec![0], vec![0], vec![0]));
    let mut wire = yard.connect(1).await;
    let unknown = hex("78780d01035873905257045000093f040d0a");
    wire.write_all(&unknown).await.unwrap();
    assert_eq!(last_words(&mut wire).await, b"", "GT06 has no words for it");
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], b"\x00\x0f12"] {
        let mut wire = yard.connect(0).await;
        wire.write_all(garbage).await.unwrap();
        wire.shutdown().await.unwrap();
        assert_eq!(last_words(&mut wire).await, b"");
    }
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for stranger in ["999999999999999", NAMES[3]] {
        socket.send_to(&datagram(stranger, &[yard.start()]), yard.address(0)).await.unwrap();
    }
    let known = datagram(NAMES[0], &[yard.start()]);
    socket.send_to(&known, yard.address(0)).await.unwrap();
    let mut answer = [0; 16];
    timeout(DEADLINE, socket.recv_from(&mut answer)).await.unwrap().unwrap();
    let more = timeout(Duration::from_millis(300), socket.recv_from(&mut answer)).await;
    assert!(more.is_err(), "only who may report is answered");
    // However many names are made up, one that was found before is, also when trackers have changed since.
    let spare = json!({ "uniqueId": "another" });
    yard.server.post("/v1/trackers", &yard.admin, spare).await.ok(201);
    for number in 0..20 {
        let made_up = format!("8000000000000{number:02}");
        socket.send_to(&datagram(&made_up, &[yard.start()]), yard.address(0)).await.unwrap();
    }
    socket.send_to(&known, yard.address(0)).await.unwrap();
    timeout(DEADLINE, socket.recv_from(&mut answer)).await.expect("it is looked up").unwrap();
    let pending = yard.server.get("/v1/pending-trackers", &yard.admin).await.ok(200)["data"].clone();
    let fixes = |name: &str| {
        let mut named = pending.as_array().unwrap().iter().filter(|one| one["uniqueId"] == name);
        named.next().map(|one| (text(&one["input"]), one["fixes"].as_i64().unwrap()))
    };
    assert_eq!(fixes("999999999999999"), Some(("teltonika".to_owned(), 1)), "{pending}");
    assert_eq!(fixes(NAMES[3]), None, "a disabled tracker is not pending");
    assert_eq!(stored_positions(&store.db).await.unwrap().len(), 1);
    yard.server.stop().await;
}

async fn a_device_has_one_connection_and_only_as_long_as_it_may_report(store: TestStore) {
    let yard = Yard::open(&store, |_| {}).await;
    let greeted = async || {
        let mut wire = yard.connect(0).await;
        wire.write_all(&greeting(NAMES[0])).await.unwrap();
        assert_eq!(heard(&mut wire, 1).await, [1]);
        wire
    };
    let mut first = greeted().await;
    let mut second = greeted().await;
    assert_eq!(last_words(&mut first).await, b"");
    second.write_all(&teltonika(&[yard.start()])).await.unwrap();
    assert_eq!(heard(&mut second, 4).await, [0, 0, 0, 1]);
    let path = format!("/v1/trackers/{}", yard.trackers[0]);
    yard.server.send("PUT", &path, &yard.admin, json!({ "status": "disabled" }).to_string()).await.ok(200);
    assert_eq!(last_words(&mut second).await, b"");
    yard.server.send("PUT", &path, &yard.admin, json!({ "status": "active" }).to_string()).await.ok(200);
    let mut third = greeted().await;
    // Half a packet does not keep the server from stopping.
    third.write_all(&teltonika(&[yard.start()])[..20]).await.unwrap();
    let stranger = yard.connect(0).await;
    yard.server.stop().await;
    assert_eq!(last_words(&mut third).await, b"");
    drop(stranger);
}

async fn while_the_store_is_away_nothing_is_answered_and_nothing_lost(store: TestStore) {
    let yard = Yard::open(&store, |settings| settings.commit_timeout = Duration::from_millis(300)).await;
    let start = yard.start();
    let mut devices: Vec<Device> = [(Speaks::Teltonika, 0), (Speaks::Queclink, 3)]
        .map(|(speaks, index)| Device::new(speaks, NAMES[index], (0..20).map(|n| start + n * 1_000)))
        .into();
    // GT06 forgets what it has sent: only a server that stays can keep it.
    let mut gt06 = yard.connect(1).await;
    gt06.write_all(&hex(LOGIN)).await.unwrap();
    assert_eq!(heard(&mut gt06, 10).await.len(), 10);
    let stuck = Stuck::hold(&store).await;
    gt06.write_all(&hex(LOCATION)).await.unwrap();
    let forgotten = [devices[0].forgotten.clone(), devices[1].forgotten.clone()];
    let addresses = [yard.address(0), yard.address(3)];
    let reporting = actix_rt::spawn(async move {
        for (device, address) in devices.iter_mut().zip(addresses) {
            device.lost_answers = 3;
            device.report(address).await;
        }
        devices
    });
    eventually(DEADLINE, || async { !yard.server.context.live.is_available() }).await;
    assert!(timeout(Duration::from_millis(300), gt06.peek(&mut [0])).await.is_err(), "nothing is stored yet");
    assert!(forgotten.iter().all(|one| one.borrow().is_empty()));
    stuck.release().await;
    let devices = timeout(DEADLINE, reporting).await.expect("all is answered").unwrap();
    assert!(devices.iter().all(|device| device.again > 0), "no answer was lost");
    assert_eq!(heard(&mut gt06, 10).await[..4], hex("78780512"));
    let stored = stored_positions(&store.db).await.unwrap();
    assert_eq!(stored.len(), 41, "each once");
    yard.server.stop().await;
}

async fn killed_at_any_moment_what_a_device_forgot_is_stored_once(store: TestStore) {
    let (organization, ..) = Yard::furnish(&store).await;
    let ports = [0; 4].map(|_| port_for_restarts());
    let listeners: Vec<String> = listeners(&organization, ports).iter().map(ToString::to_string).collect();
    let mut launch = launch(&store);
    launch.settings.push(("WAYPOST_DEVICE_LISTENERS".to_owned(), listeners.join(",")));
    let mut server = Program::start(&launch).await;
    let start = (waypost::clock::Clock::system().now().as_millis() / 1_000 - 7_200) * 1_000;
    let (mut forgotten, mut reporting) = (Vec::new(), Vec::new());
    for (speaks, name, port, first) in [
        (Speaks::Teltonika, NAMES[0], ports[0], 0),
        (Speaks::Datagrams, NAMES[1], ports[0], 0),
        (Speaks::Queclink, NAMES[3], ports[3], 0),
    ] {
        let mut device = Device::new(speaks, name, (first..first + 300).map(|n| start + n * 1_000));
        forgotten.push(device.forgotten.clone());
        reporting.push(actix_rt::spawn(async move {
            device.report(SocketAddr::from(([127, 0, 0, 1], port))).await;
            device.again
        }));
    }
    let count = || forgotten.iter().map(|one| one.borrow().len()).sum::<usize>();
    for _ in 0..3 {
        let before = count();
        eventually(DEADLINE, || async { count() >= before + 60 || count() == 900 }).await;
        server.kill();
        server = Program::start(&launch).await;
    }
    let mut again = 0;
    for device in reporting {
        again += timeout(DEADLINE * 2, device).await.expect("all is reported").unwrap();
    }
    assert!(again > 0, "nothing was sent again");
    let stored = stored_positions(&store.db).await.unwrap();
    let mut instants: Vec<_> = stored.iter().map(|(vehicle, at)| (*vehicle, at.recorded_at)).collect();
    instants.sort_unstable_by_key(|(vehicle, at)| (vehicle.0, *at));
    instants.dedup();
    assert_eq!((stored.len(), instants.len(), count()), (900, 900, 900));
    server.stop().await;
}

async fn the_input_of_an_organization_that_is_gone_keeps_no_server_from_its_start(store: TestStore) {
    let port = port_for_restarts();
    let yard = Yard::open(&store, |settings| {
        let gone = "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";
        settings.device_listeners.extend(listeners(gone, [port, 0, 0, 0]).into_iter().take(1));
    })
    .await;
    assert_eq!(yard.server.device_addresses.len(), NAMES.len());
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nobody could report there");
    let mut wire = yard.connect(0).await;
    wire.write_all(&[greeting(NAMES[0]), teltonika(&[yard.start()])].concat()).await.unwrap();
    assert_eq!(heard(&mut wire, 5).await, [1, 0, 0, 0, 1]);
    yard.server.stop().await;
}
