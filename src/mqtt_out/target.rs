//! A broker that is published to: how far it acknowledged the log, and whether it is to be told anything.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use waypost_actors::live::Live;
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::RecordLog;

use super::meters::Meters;
use super::parts::Ports;
use crate::auth::Auth;
use crate::clock::Clock;
use crate::config::{MqttBroker, MqttOutput};
use crate::domain::organization::OrganizationStatus;
use crate::store::mqtt_cursor;
use crate::store::sql::Db;

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

/// A broker with what is published there.
pub(super) struct Target {
    pub(super) parts: Parts,
    pub(super) ports: Ports,
    pub(super) broker: MqttBroker,
    pub(super) output: MqttOutput,
    /// Everything before this number is acknowledged, and is stored to be.
    reached: Cell<i64>,
    saved: Cell<i64>,
    /// Something was acknowledged since.
    has_published: Cell<bool>,
}

impl Target {
    pub(super) fn new((broker, output): (MqttBroker, MqttOutput), parts: Parts, ports: Ports) -> Self {
        let (reached, saved) = (Cell::new(0), Cell::new(0));
        Self { parts, ports, broker, output, reached, saved, has_published: Cell::new(false) }
    }

    pub(super) const fn organization(&self) -> OrganizationId {
        self.broker.organization
    }

    /// Reads where events go on.
    pub(super) async fn begin(&self) {
        let begun = self.stored().await;
        self.reached.set(begun);
        self.saved.set(begun);
    }

    async fn stored(&self) -> i64 {
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
    pub(super) async fn until_active(&self) {
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

    /// Where it goes on: everything before is acknowledged.
    pub(super) const fn next(&self) -> i64 {
        self.reached.get()
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
