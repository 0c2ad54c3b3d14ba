//! WebSockets on connections of their own.
//!
//! The HTTP server keeps 16 KiB of buffers for each of its connections, and a queue between its own task and the one
//! that speaks. There are very many trackers, and each is silent nearly all of the time. So after the handshake its
//! connection leaves the HTTP server ([`switching`]), is read and written by the one task that serves it, and holds
//! no buffer while it is idle. Knows framing, and nothing of the content.

mod frame;
mod frame_limit;
mod handshake;
mod messages;
mod out;
mod switch;

pub use frame::Frame;
pub use frame_limit::Broken;
pub use handshake::{handshake, serve, take_over};
pub use messages::{Message, Messages};
pub use out::{Closed, Out};
pub use switch::switching;
