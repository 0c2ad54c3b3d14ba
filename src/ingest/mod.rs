//! Ingestion of fixes: the tracker socket, and the items it shares with `POST /v1/positions`.
//!
//! The hot path: from bytes to items to fixes to the live core, and back with an acknowledgement after the commit.
//! Knows no SQL and no route.

pub mod decode;
mod intake;
pub mod protocol;
mod sent;
mod session;

pub use intake::{Batch, Intake, Rejected};
pub use session::{SocketLimits, run};
