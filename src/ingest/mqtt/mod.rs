//! A client of the fleet's own broker (MQTT 3.1.1), so that devices report that publish to it.
//!
//! The broker keeps the session while the server is away, and each message is acknowledged after the commit of what it says
//! and not before: with QoS 1 nothing is lost, however either side ends, and what comes twice is stored once. The broker's
//! access rules say who may publish for whom; a connection reports for one organization.

mod batch;
mod client;
mod message;
mod meters;
mod pauses;
mod session;

pub use client::{MqttError, check, publisher};
pub use meters::Meters;
pub use pauses::Pauses;
pub use session::Subscriber;
