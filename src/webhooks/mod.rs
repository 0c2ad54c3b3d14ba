//! Webhooks: what happens is sent to addresses of an organization's own, signed, in order of each vehicle, and again
//! until it succeeds or is given up.
//!
//! One task per webhook follows the log by a cursor of its own, all on one thread apart from everything else, so that
//! neither a slow receiver nor the work of signing delays anybody. Knows no SQL, no route and no use case; what it may
//! show of a change and how a webhook is disabled it is given (docs/webhooks.md).

mod client;
mod delivery_log;
mod delivery_queue;
mod guard;
mod handle;
mod log;
mod manual;
mod message;
mod meters;
mod orders;
mod parts;
mod recent;
mod schedule;
mod supervisor;
mod worker;

mod signature;

pub use guard::Guard;
pub use handle::{NotDone, Webhooks};
pub use log::read_log;
pub use message::{Message, Selection, Writer};
pub use meters::Meters;
pub use parts::{Disable, Ports};
pub use recent::{Known, Recent};
pub use signature::SECRET_PREFIX;
pub use supervisor::Supervisor;
