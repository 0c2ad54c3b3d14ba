//! Mail: the texts of letters, their recipients, and a post that survives restarts.
//!
//! Use cases put letters into the outbox (`store::outbox`) in their own transaction and wake the [`Post`], which
//! writes and sends them. Knows no use case and no HTTP.

mod addressee;
mod allowance;
mod letter;
mod post;
mod transport;

pub use allowance::COUNTED_SECONDS;
pub use letter::{masked, path};
pub use post::{MailError, Post};
pub use transport::{Mailbox, Received, Transport};
