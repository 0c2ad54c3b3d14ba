//! Hardware trackers, which speak protocols of their own over TCP or UDP and name themselves by their IMEI.
//!
//! A decoder (`message.rs` has its form) is pure: it cuts messages out of the bytes of a connection and says what each
//! of them means and what the device is answered once that is stored. It knows no socket, no clock, no store.
//! `inbox.rs` holds the bytes of a message that is still incomplete. [`ListenerContext`] finds the tracker that a device says it
//! is, and [`serve`] its connection, on which nothing is answered before its commit.

mod datagrams;
mod gt06;
mod h02;
mod inbox;
mod listener_context;
mod message;
mod protocols;
mod queclink;
mod session;
mod teltonika;
mod teltonika_records;
#[cfg(test)]
mod tests;

pub use datagrams::{serve_datagrams, take_datagram};
pub use listener_context::{ListenerContext, LookUps};
pub use session::{ADMITTED, serve, serve_relayed};
pub use teltonika::{Datagram, datagram};
