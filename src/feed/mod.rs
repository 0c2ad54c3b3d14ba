//! The dispatcher's feed: positions, occupancy and every event, live and resumable.
//!
//! A subscription watches the live core; events it missed are read from the event log. Knows no SQL and no route.

mod changes;
mod cursor;
mod deliver;
mod ending;
mod filter;
mod occupancy;
mod parts;
pub mod protocol;
mod session;
mod sign_in;
mod subscription;
mod wire;

pub use parts::{Feed, FeedLimits};
pub use session::{Opening, run};
