//! Devices that do not speak the tracker socket: hardware at a listener of any node, and what publishes to the fleet's own
//! broker. Each keeps what nobody took.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use nom_teltonika::encoder::{AvlRecordFields, encode_avl_frame};
use nom_teltonika::protocol::{AvlCodec, GpsElement, Priority};
use rand::RngExt;
use rand::rngs::StdRng;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Packet, PubAckReason};
use rumqttc::v5::{AsyncClient, Event, EventLoop, MqttOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use waypost_client::trace::Point;
use waypost_client::{Api, Method};
use waypost_test_support::{Mosquitto, eventually};

use crate::book::Book;
use crate::ground::{Bus, DEADLINE};
use crate::ledger::FixKey;
use crate::outlets::DEVICES;

/// Coordinates are whole numbers of so many to a degree.
const TO_A_DEGREE: f64 = 1e7;
/// Records of one packet at most, and messages that are published one after the other.
const PACKET: usize = 5;
/// Pause before something is tried again that nobody is there for yet.
const NOBODY_THERE: Duration = Duration::from_millis(100);

/// How devices behave.
#[derive(Clone)]
pub(crate) struct Habits {
    /// The least time between two packets.
    pub(crate) pace: Duration,
    /// The longest time before one connects again.
    pub(crate) away: Duration,
    /// Without an answer for this long, a connection counts as lost.
    pub(crate) patience: Duration,
}

/// Whether these devices can say all that a bus reports, without loss.
pub(crate) fn can_report(bus: &Bus) -> bool {
    bus.unique_id.bytes().all(|digit| digit.is_ascii_digit()) && bus.points.iter().all(is_plain)
}

fn is_plain(point: &Point) -> bool {
    let Point { place, speed_kmh, heading_degrees, altitude_meters, accuracy_meters, .. } = *point;
    let is_kept = |degrees: f64| f64::from(raw(degrees)) / TO_A_DEGREE == degrees;
    is_kept(place.latitude)
        && is_kept(place.longitude)
        && speed_kmh.is_some_and(|speed| (0.0..1_000.0).contains(&speed))
        && heading_degrees.is_some_and(|course| (0.0..360.0).contains(&course))
        && altitude_meters.or(accuracy_meters).is_none()
}

#[expect(clippy::cast_possible_truncation, reason = "a degree has 1e7, and there are 180")]
fn raw(degrees: f64) -> i32 {
    (degrees * TO_A_DEGREE).round() as i32
}

/// Hardware in a bus.
pub(crate) struct Hardware {
    pub(crate) bus: Bus,
    /// The listeners of all nodes, of which each connection takes one.
    pub(crate) listeners: Vec<SocketAddr>,
    pub(crate) habits: Habits,
    pub(crate) book: Rc<Book>,
    pub(crate) dice: StdRng,
}

impl Hardware {
    /// Reports everything, through as many connections as it takes.
    pub(crate) async fn run(mut self) {
        let mut stored = 0;
        while stored < self.bus.points.len() {
            match self.session(&mut stored).await {
                Ok(()) => {}
                Err(_) if self.book.is_over.get() => return,
                Err(why) => self.book.count(|counts| *counts.ends.entry(why.to_owned()).or_default() += 1),
            }
            let most = self.habits.away.as_millis().max(2) as u64;
            sleep(Duration::from_millis(self.dice.random_range(1..most))).await;
        }
    }

    async fn session(&mut self, stored: &mut usize) -> Result<(), &'static str> {
        let to = self.listeners[self.dice.random_range(0..self.listeners.len())];
        let mut wire = TcpStream::connect(to).await.map_err(|_| "no listener")?;
        let name = self.bus.unique_id.as_bytes();
        let greeting = [&(name.len() as u16).to_be_bytes(), name].concat();
        if self.ask::<1>(&mut wire, &greeting).await? != [1] {
            return Err("unknown device");
        }
        self.book.count(|counts| counts.connections += 1);
        while *stored < self.bus.points.len() {
            let left = &self.bus.points[*stored..];
            let points = &left[..self.dice.random_range(1..=PACKET).min(left.len())];
            let fixes: Vec<FixKey> = points.iter().map(|point| self.bus.key(point)).collect();
            let (count, packet) = (points.len(), packet(points));
            self.book.sent(&fixes);
            let sent_at = Instant::now();
            let answer = u32::from_be_bytes(self.ask(&mut wire, &packet).await?);
            if answer as usize != count {
                return Err("not counted");
            }
            let (refused, acked): (Vec<_>, Vec<_>) = fixes.into_iter().partition(FixKey::is_nowhere);
            self.book.acked(&acked, &refused, sent_at);
            *stored += count;
            if !self.book.has_seen_enough.get() {
                sleep(self.habits.pace).await;
            }
        }
        Ok(())
    }

    async fn ask<const N: usize>(&self, wire: &mut TcpStream, say: &[u8]) -> Result<[u8; N], &'static str> {
        let mut answer = [0; N];
        let asked = async {
            wire.write_all(say).await?;
            wire.read_exact(&mut answer).await
        };
        match timeout(self.habits.patience, asked).await {
            Ok(Ok(_)) => Ok(answer),
            Ok(Err(_)) => Err("broken"),
            Err(_) => Err("silent"),
        }
    }
}

fn packet(points: &[Point]) -> Vec<u8> {
    let record = |point: &Point| {
        let gps = GpsElement {
            longitude_raw: raw(point.place.longitude),
            latitude_raw: raw(point.place.latitude),
            altitude_meters: 0,
            angle_degrees: point.heading_degrees.unwrap_or_default() as u16,
            satellites: 9,
            speed_kph: point.speed_kmh.unwrap_or_default() as u16,
        };
        AvlRecordFields::new((point.recorded_at.as_millis() as u64).into(), Priority::Low, gps)
    };
    let records: Vec<AvlRecordFields<'_>> = points.iter().map(record).collect();
    encode_avl_frame(AvlCodec::Codec8, &records).unwrap()
}

/// A device that publishes to a broker, which has its word once it took a message.
pub(crate) struct Publisher {
    bus: Bus,
    pace: Duration,
    book: Rc<Book>,
    client: AsyncClient,
    events: EventLoop,
}

impl Publisher {
    pub(crate) fn new(bus: Bus, broker: &Mosquitto, pace: Duration, book: Rc<Book>) -> Self {
        let (address, credentials) = (broker.address(), broker.credentials());
        let (host, port) = address.split_once(':').unwrap();
        let (user, password) = credentials.split_once(':').unwrap();
        let mut options = MqttOptions::new(&bus.unique_id, host, port.parse().unwrap());
        options.set_credentials(user, password);
        let (client, events) = AsyncClient::new(options, 1);
        Self { bus, pace, book, client, events }
    }

    /// Publishes everything in its order.
    pub(crate) async fn run(mut self) {
        for (number, point) in self.bus.points.clone().into_iter().enumerate() {
            let (fix, sent_at) = (self.bus.key(&point), Instant::now());
            self.book.sent(&[fix]);
            let message = json!({ "ident": self.bus.unique_id,
                "timestamp": point.recorded_at.as_millis() as f64 / 1_000.0,
                "position.latitude": point.place.latitude, "position.longitude": point.place.longitude,
                "position.speed": point.speed_kmh, "position.direction": point.heading_degrees })
            .to_string();
            while !self.is_taken(&message).await {
                sleep(NOBODY_THERE).await;
            }
            match fix.is_nowhere() {
                true => self.book.acked(&[], &[fix], sent_at),
                false => self.book.entrusted(fix),
            }
            if number % PACKET == 0 && !self.book.has_seen_enough.get() {
                sleep(self.pace).await;
            }
        }
    }

    /// Whether the broker took it for somebody.
    async fn is_taken(&mut self, message: &str) -> bool {
        let topic = format!("{DEVICES}/{}", self.bus.unique_id);
        self.client.try_publish(topic, QoS::AtLeastOnce, false, message.to_owned()).unwrap();
        loop {
            if let Event::Incoming(Packet::PubAck(ack)) = self.events.poll().await.unwrap() {
                return ack.reason == PubAckReason::Success;
            }
        }
    }
}

/// Takes the tracker out of a bus, so that its device is one that nobody knows, until it is a tracker again: once it waits
/// among such devices, and so many fixes of all are answered.
pub(crate) async fn come_unknown(api: Rc<Api>, organization: String, bus: Bus, book: Rc<Book>, when: usize) {
    let pending = format!("/v1/pending-trackers?limit=100&organizationId={organization}");
    let is_pending = async || {
        sleep(NOBODY_THERE).await;
        let listed = api.get(&pending).await.map_err(|error| error.to_string())?;
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        let times = |one: &&Value| one["uniqueId"] == bus.unique_id;
        let times = listed["data"].as_array().unwrap().iter().filter(times).count();
        assert!(times <= 1, "{listed}");
        if times == 1 { Ok(()) } else { Err(format!("{} is not pending", bus.unique_id)) }
    };
    eventually(DEADLINE, is_pending).await;
    let in_time = book.until(DEADLINE, || book.read(|counts| counts.answered >= when)).await;
    assert!(in_time, "{} is to become a tracker", bus.unique_id);
    let tracker =
        json!({ "organizationId": organization, "uniqueId": bus.unique_id, "vehicleId": bus.vehicle });
    api.send(Method::POST, "/v1/trackers", &tracker).await.unwrap();
    eventually(DEADLINE, async || match is_pending().await {
        Err(_) => Ok(()),
        Ok(()) => Err("it is pending still"),
    })
    .await;
}
