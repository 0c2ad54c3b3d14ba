//! The open-loop loader: what is sent when is fixed before the first byte goes out, and every time is counted
//! from the intended moment. Trackers and dispatchers live in this process, on one clock.
//!
//! Knows bytes and sockets; what they say is the business of the systems' [`Ear`]s.

mod ears;
mod log;
mod plan;
mod sender;

pub(crate) use ears::{Awaited, Ear, Ears, Expecting};
pub(crate) use log::{Log, SharedLog};
pub(crate) use plan::{Plan, Slice};
pub(crate) use sender::{send, send_in_turn};
