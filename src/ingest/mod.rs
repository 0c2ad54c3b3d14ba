//! Ingestion of fixes: the tracker socket, the adapters of other clients, hardware, brokers, and the items they share
//! with `POST /v1/positions`.
//!
//! The hot path: from bytes to items to fixes to the live core, and back with an acknowledgement after the commit.
//! Knows no SQL and no route.

pub mod adapters;
pub mod decode;
pub mod devices;
mod ignored_members;
mod intake;
mod item;
pub mod mqtt;
mod pending;
pub mod protocol;
mod rejected;
mod sent;
mod session;
mod unreadable;
mod wire;

pub use ignored_members::Warning;
pub use intake::{Batch, Intake};
pub use rejected::Rejected;
pub use session::{SocketLimits, run};
