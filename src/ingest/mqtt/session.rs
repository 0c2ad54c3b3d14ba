//! A broker's messages on their way to the store. Each is acknowledged once all that it says is committed or refused for good,
//! on the connection that brought it; what is not, the broker brings again.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use rumqttc::{
    AsyncClient, ConnAck, Event, EventLoop, Packet, QoS, SubAck, SubscribeFilter, SubscribeReasonCode,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;
use waypost_actors::live::Live;
use waypost_actors::meters::Share;

use super::batch::Batch;
use super::client::{self, MqttError};
use super::message::Message;
use super::meters::Meters;
use super::pauses::Pauses;
use crate::auth::{Auth, Reports};
use crate::config::{MqttBroker, MqttInput, MqttPayload};
use crate::domain::organization::OrganizationStatus;
use crate::domain::tracker::SpeedUnit;
use crate::ingest::Intake;
use crate::ingest::protocol::MAX_ITEMS;
use crate::report_log::ReportLog;
use crate::sessions::Sessions;

/// How what comes by a broker is counted and named in reports.
const INPUT: &str = "mqtt";
/// Messages that wait for the store. Beyond that the broker is not read.
const MOST_HELD: usize = 1_000;
/// Bytes of those.
const MOST_HELD_BYTES: usize = 16 * 1024 * 1024;
/// Pause before an organization that may not report is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A connection to a broker, with what it needs of the server.
pub struct Subscriber {
    auth: Arc<Auth>,
    live: Live,
    sessions: Sessions,
    report_log: ReportLog,
    meters: Arc<Meters>,
    broker: MqttBroker,
    input: MqttInput,
    client: AsyncClient,
    events: EventLoop,
}

/// What both halves of a connection share.
struct Shared<'a> {
    broker: &'a MqttBroker,
    input: &'a MqttInput,
    client: &'a AsyncClient,
    meters: &'a Arc<Meters>,
    /// Counts connections that ended: an acknowledgement is for the connection that brought its message.
    ended: Cell<u64>,
}

impl Subscriber {
    /// A connection that is not opened yet.
    pub fn new(
        (broker, input): (MqttBroker, MqttInput),
        auth: Arc<Auth>,
        live: Live,
        sessions: Sessions,
        report_log: ReportLog,
        meters: Arc<Meters>,
    ) -> Result<Self, MqttError> {
        let (client, events) = client::reader(&broker)?;
        Ok(Self { auth, live, sessions, report_log, meters, broker, input, client, events })
    }

    /// Subscribes and stores until the server stops. What is not acknowledged by then comes again after the next start.
    pub async fn run(mut self) {
        let mut stopping = self.sessions.stopping();
        let fleet = Reports::Fleet(Box::new(self.auth.fleet_of(self.broker.organization)));
        let intake = Intake::new(self.live.clone(), fleet, self.report_log.clone())
            .item_by_item()
            .by(INPUT)
            .assuming(assumed_speed(&self.input));
        let (sender, held) = mpsc::channel(MOST_HELD);
        let (broker, input, client, meters) = (&self.broker, &self.input, &self.client, &self.meters);
        let _read = Share::new(Arc::clone(meters), |of| &of.brokers).of(1);
        let shared = Shared { broker, input, client, meters, ended: Cell::new(0) };
        let allowed = Allowed::new(&self.auth, &self.sessions, &self.broker);
        tokio::select! {
            () = shared.listen(&mut self.events, sender) => {}
            () = shared.store(held, intake, allowed, &self.live) => {}
            _ = stopping.wait_for(Option::is_some) => {}
        }
    }
}

impl Shared<'_> {
    /// Reads the broker, and connects to it anew for as long as it takes.
    async fn listen(&self, events: &mut EventLoop, held: mpsc::Sender<Message>) {
        let room = Arc::new(Semaphore::new(MOST_HELD_BYTES));
        let mut pauses = Pauses::default();
        let mut connections = Share::new(Arc::clone(self.meters), |of| &of.connected);
        let mut is_first = true;
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(connected))) => {
                    pauses.connected();
                    connections.set(1);
                    self.meters.reconnects.add(u64::from(!std::mem::replace(&mut is_first, false)));
                    self.subscribe(connected);
                }
                Ok(Event::Incoming(Packet::SubAck(answer))) => self.check_subscribed(&answer),
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    let bytes =
                        u32::try_from(publish.payload.len() + publish.topic.len()).unwrap_or(u32::MAX);
                    let Ok(room) = Arc::clone(&room).acquire_many_owned(bytes).await else { return };
                    let message = Message { publish, connection: self.ended.get(), _room: room };
                    if held.send(message).await.is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    self.ended.set(self.ended.get() + 1);
                    connections.set(0);
                    tracing::warn!(broker = %self.broker, %error, "no connection to the broker; it is tried again");
                    pauses.wait().await;
                }
            }
        }
    }

    fn subscribe(&self, connected: ConnAck) {
        let is_kept = connected.session_present;
        tracing::info!(broker = %self.broker, is_kept, "connected to the broker; is_kept: it kept what came meanwhile");
        let filter = |topic: &String| SubscribeFilter::new(topic.clone(), QoS::AtLeastOnce);
        if self.client.try_subscribe_many(self.input.topics.iter().map(filter)).is_err() {
            tracing::warn!(broker = %self.broker, "the subscription could not be sent");
        }
    }

    fn check_subscribed(&self, answer: &SubAck) {
        for (topic, code) in self.input.topics.iter().zip(&answer.return_codes) {
            if *code == SubscribeReasonCode::Failure {
                tracing::error!(broker = %self.broker, topic, "the broker refuses the subscription: see to its access rules");
            }
        }
    }

    /// Stores what was read, many messages together.
    async fn store(
        &self,
        mut held: mpsc::Receiver<Message>,
        mut intake: Intake,
        mut allowed: Allowed<'_>,
        live: &Live,
    ) {
        let mut messages = Vec::new();
        while held.recv_many(&mut messages, MAX_ITEMS).await > 0 {
            // The broker has brought it again meanwhile, or will.
            messages.retain(|message| self.is_current(message) || message.publish.qos == QoS::AtMostOnce);
            allowed.wait().await;
            let batch = Batch::read(self.input, &messages, live.now());
            let Ok(refused) = batch.store(&mut intake).await else { return };
            self.meters.messages.add(messages.len() as u64);
            self.meters.refused.add(refused as u64);
            for message in messages.drain(..).filter(|message| self.is_current(message)) {
                if self.client.try_ack(&message.publish).is_err() {
                    return;
                }
            }
        }
    }

    fn is_current(&self, message: &Message) -> bool {
        message.connection == self.ended.get()
    }
}

/// The unit of the speeds in a broker's messages, where it is left open.
fn assumed_speed(input: &MqttInput) -> Option<SpeedUnit> {
    (input.payload == MqttPayload::OwnTracks).then_some(SpeedUnit::KilometersPerHour)
}

/// Whether the organization may report: looked up again when something about it has changed.
struct Allowed<'a> {
    auth: &'a Auth,
    broker: &'a MqttBroker,
    changes: crate::sessions::ChangeCounter,
    as_of: Option<u64>,
}

impl<'a> Allowed<'a> {
    fn new(auth: &'a Auth, sessions: &Sessions, broker: &'a MqttBroker) -> Self {
        Self { auth, broker, changes: sessions.tracker_changes(broker.organization), as_of: None }
    }

    /// Waits until it may. What has come is not acknowledged meanwhile, and the broker keeps the rest.
    async fn wait(&mut self) {
        loop {
            let count = self.changes.count();
            if self.as_of == Some(count) {
                return;
            }
            match self.auth.organization_status(self.broker.organization).await {
                Ok(Some(OrganizationStatus::Active)) => {
                    self.as_of = Some(count);
                    return;
                }
                Ok(_) => {
                    tracing::info!(broker = %self.broker, "the organization is not active: its messages wait")
                }
                Err(error) => {
                    tracing::warn!(broker = %self.broker, %error, "the organization cannot be looked up")
                }
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}
