//! The task of one broker: connects, for as long as it takes, and keeps how far events got.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use waypost_actors::live::Live;
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::RecordLog;

use super::meters::Meters;
use super::parts::Ports;
use super::session::Session;
use super::window::Window;
use crate::auth::Auth;
use crate::clock::Clock;
use crate::config::{MqttBroker, MqttOutput};
use crate::domain::organization::OrganizationStatus;
use crate::ingest::mqtt::{MqttError, publisher};
use crate::store::mqtt_cursor;
use crate::store::sql::Db;

/// Events that are on their way to a broker.
const MOST_UNDER_WAY: u16 = 100;
/// Messages that wait for the connection. What waits longer waits where newer positions take their place.
const MOST_HANDED_OVER: usize = 64;
/// A broker has this long to let the server in.
const CONNECTED_WITHIN: Duration = Duration::from_secs(15);
/// Pause after the first failure to reach the broker; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Pause before what the store refused is tried again, and before an organization is looked at again that is not active.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What publishing needs of the server.
#[derive(Clone)]
pub struct Parts {
    /// The store, for the cursor.
    pub db: Db,
    /// The live core, for what is committed from now on.
    pub live: Live,
    /// The log, for what was committed before.
    pub log: Arc<dyn RecordLog>,
    /// Whether the organization is active.
    pub auth: Arc<Auth>,
    /// The clock.
    pub clock: Clock,
    /// What it counts.
    pub meters: Arc<Meters>,
    /// Becomes true when the server stops.
    pub stopping: watch::Receiver<bool>,
}

/// Publishes to one broker.
pub struct Publisher {
    pub(super) parts: Parts,
    pub(super) ports: Ports,
    pub(super) broker: MqttBroker,
    pub(super) output: MqttOutput,
    options: MqttOptions,
    /// Everything before this number is acknowledged, and is stored to be.
    reached: Cell<i64>,
    saved: Cell<i64>,
    /// Something was acknowledged since.
    has_published: Cell<bool>,
}

impl Publisher {
    /// One that is not connected yet.
    pub fn new(
        (broker, output): (MqttBroker, MqttOutput),
        parts: Parts,
        ports: Ports,
    ) -> Result<Self, MqttError> {
        let options = publisher(&broker, MOST_UNDER_WAY)?;
        let (reached, saved) = (Cell::new(0), Cell::new(0));
        let has_published = Cell::new(false);
        Ok(Self { parts, ports, broker, output, options, reached, saved, has_published })
    }

    /// Publishes until the server stops. What is not acknowledged by then is published again after the next start.
    pub async fn run(self) {
        let mut stopping = self.parts.stopping.clone();
        self.parts.meters.brokers.add(1);
        tokio::select! {
            () = self.publish() => {}
            _ = stopping.wait_for(|stops| *stops) => {}
        }
        self.save().await;
        self.parts.meters.brokers.add(-1);
    }

    pub(super) const fn organization(&self) -> OrganizationId {
        self.broker.organization
    }

    async fn publish(&self) {
        self.until_active().await;
        let begun = self.begin().await;
        self.reached.set(begun);
        self.saved.set(begun);
        let mut pause = FIRST_PAUSE;
        loop {
            self.until_active().await;
            let why = match self.connect().await {
                Ok((client, events)) => {
                    pause = FIRST_PAUSE;
                    self.serve(client, events).await
                }
                Err(why) => why,
            };
            self.save().await;
            tracing::warn!(broker = %self.broker, why, "nothing is published to the broker; it is tried again");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Where events go on.
    async fn begin(&self) -> i64 {
        loop {
            let (db, now) = (&self.parts.db, self.parts.clock.now());
            match mqtt_cursor::begin(db, self.organization(), &self.place(), now).await {
                Ok(next) => return next,
                Err(error) => {
                    tracing::warn!(broker = %self.broker, %error, "how far events were published is not known yet");
                }
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Under which name the cursor is stored: another broker, or other topics, are told from the beginning.
    fn place(&self) -> String {
        format!("{}:{}/{}", self.broker.host, self.broker.port, self.output.prefix)
    }

    /// Waits until the organization is active.
    async fn until_active(&self) {
        let mut is_told = false;
        while !self.is_active().await {
            if !is_told {
                tracing::info!(broker = %self.broker, "the organization is not active: nothing is published");
                is_told = true;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Whether the organization is; also if that cannot be told now.
    pub(super) async fn is_active(&self) -> bool {
        match self.parts.auth.organization_status(self.organization()).await {
            Ok(status) => status == Some(OrganizationStatus::Active),
            Err(_) => true,
        }
    }

    async fn connect(&self) -> Result<(AsyncClient, EventLoop), String> {
        let (client, mut events) = AsyncClient::new(self.options.clone(), MOST_HANDED_OVER);
        match timeout(CONNECTED_WITHIN, events.poll()).await {
            Ok(Ok(Event::Incoming(Packet::ConnAck(_)))) => Ok((client, events)),
            Ok(Ok(other)) => Err(format!("the broker says {other:?} instead of letting the server in")),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the broker does not answer".to_owned()),
        }
    }

    /// Publishes over a connection until it ends; returns why it did.
    async fn serve(&self, client: AsyncClient, mut events: EventLoop) -> String {
        tracing::info!(broker = %self.broker, "connected to the broker, to publish");
        self.parts.meters.connected.add(1);
        let window = Window::new(self.reached.get(), MOST_UNDER_WAY.into());
        let session = Session::new(self, client, window);
        let why = tokio::select! {
            why = session.listen(&mut events) => why,
            why = session.work() => why,
        };
        self.parts.meters.connected.add(-1);
        why
    }

    /// Notes how far the broker acknowledged.
    pub(super) fn reached(&self, next: i64) {
        self.reached.set(next);
    }

    /// Notes that the broker acknowledged an event.
    pub(super) fn published(&self) {
        self.parts.meters.events.add(1);
        self.has_published.set(true);
    }

    /// Whether it did since the last save.
    pub(super) const fn has_published(&self) -> bool {
        self.has_published.get()
    }

    /// Stores how far the broker acknowledged; what is not stored is published again after a kill.
    pub(super) async fn save(&self) {
        let (next, parts) = (self.reached.get(), &self.parts);
        if next == self.saved.get() {
            return;
        }
        let now = parts.clock.now();
        match mqtt_cursor::save(&parts.db, self.organization(), &self.place(), next, now).await {
            Ok(()) => {
                self.saved.set(next);
                self.has_published.set(false);
            }
            Err(error) => tracing::debug!(%error, "how far events were published is stored later"),
        }
    }
}
