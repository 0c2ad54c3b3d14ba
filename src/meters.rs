//! What the process counts for operators, over all organizations that it serves, whichever shards they are in.

use std::sync::Arc;

use crate::ingest::adapters::ADAPTERS;
use crate::ingest::mqtt;
use crate::report_log::Tallies;
use crate::{mqtt_out, webhooks};

/// The figures; cheap to clone.
#[derive(Clone)]
pub struct Meters {
    /// What live cores count.
    pub live: waypost_actors::meters::Meters,
    /// What came in other clients' words.
    pub inputs: Tallies,
    /// Deliveries to webhooks.
    pub webhooks: Arc<webhooks::Meters>,
    /// What is read from brokers.
    pub mqtt_in: Arc<mqtt::Meters>,
    /// What is published to brokers.
    pub mqtt_out: Arc<mqtt_out::Meters>,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            live: waypost_actors::meters::Meters::default(),
            inputs: Tallies::of(ADAPTERS.iter().map(|adapter| adapter.name)),
            webhooks: Arc::default(),
            mqtt_in: Arc::default(),
            mqtt_out: Arc::default(),
        }
    }
}
