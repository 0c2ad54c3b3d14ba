//! The task of one broker: connects, for as long as it takes, and publishes.

use std::sync::Arc;
use std::time::Duration;

use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet};
use waypost_actors::meters::Share;

use super::parts::Ports;
use super::session::Session;
use super::target::{Parts, Target};
use super::unacknowledged::Unacknowledged;
use super::window::Window;
use crate::config::{MqttBroker, MqttOutput};
use crate::ingest::mqtt::{MqttError, Pauses, publisher};

/// Events that are on their way to a broker.
const MOST_UNDER_WAY: u16 = 100;
/// Messages that wait for the connection. What waits longer waits where newer positions take their place.
const MOST_HANDED_OVER: usize = 64;
/// A broker has this long to let the server in, and a message as long to leave: one of megabytes takes its time.
const CONNECTED_WITHIN: Duration = Duration::from_secs(15);

/// Publishes to one broker.
pub struct Publisher {
    target: Target,
    options: MqttOptions,
}

impl Publisher {
    /// One that is not connected yet.
    pub fn new(broker: (MqttBroker, MqttOutput), parts: Parts, ports: Ports) -> Result<Self, MqttError> {
        let options = publisher(&broker.0, MOST_UNDER_WAY)?;
        Ok(Self { target: Target::new(broker, parts, ports), options })
    }

    /// Publishes until the server stops. What is not acknowledged by then is published again after the next start.
    pub async fn run(self) {
        let mut stopping = self.target.parts.stopping.clone();
        let _served = Share::new(Arc::clone(&self.target.parts.meters), |of| &of.brokers).of(1);
        tokio::select! {
            () = self.publish() => {}
            _ = stopping.wait_for(|stops| *stops) => {}
        }
        self.target.save().await;
    }

    async fn publish(&self) {
        self.target.until_active().await;
        self.target.begin().await;
        let (mut pauses, mut unacknowledged) = (Pauses::default(), Unacknowledged::default());
        loop {
            self.target.until_active().await;
            let why = match self.connect().await {
                Ok((client, events)) => {
                    pauses.connected();
                    self.serve(client, events, &mut unacknowledged).await
                }
                Err(why) => why,
            };
            self.target.save().await;
            tracing::warn!(broker = %self.target.broker, why, "nothing is published to the broker; it is tried again");
            pauses.wait().await;
        }
    }

    async fn connect(&self) -> Result<(AsyncClient, EventLoop), String> {
        let (client, mut events) = AsyncClient::new(self.options.clone(), MOST_HANDED_OVER);
        let mut options = events.network_options();
        options.set_connection_timeout(CONNECTED_WITHIN.as_secs());
        events.set_network_options(options);
        match events.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => Ok((client, events)),
            Ok(other) => Err(format!("the broker says {other:?} instead of letting the server in")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Publishes over a connection until it ends; returns why it did.
    async fn serve(
        &self,
        client: AsyncClient,
        mut events: EventLoop,
        unacknowledged: &mut Unacknowledged,
    ) -> String {
        tracing::info!(broker = %self.target.broker, "connected to the broker, to publish");
        let _connected = Share::new(Arc::clone(&self.target.parts.meters), |of| &of.connected).of(1);
        let window = Window::new(self.target.next(), MOST_UNDER_WAY.into(), unacknowledged.is_any());
        let session = Session::new(&self.target, client, window);
        let why = tokio::select! {
            why = session.listen(&mut events) => why,
            why = session.work() => why,
        };
        let first = session.first_unacknowledged();
        let is_refused = unacknowledged.ended(self.target.next(), first.map(|(sequence, _)| sequence));
        if is_refused && let Some((sequence, bytes)) = first {
            tracing::error!(broker = %self.target.broker, sequence, bytes, "the broker takes an event on no connection: it is passed over, so that others follow");
            self.target.reached(sequence + 1);
        }
        why
    }
}
