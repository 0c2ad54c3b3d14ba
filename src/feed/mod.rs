//! The dispatcher's feed: positions, occupancy, every event and every change of master data, live and resumable.
//!
//! A subscription watches the live core; what it missed of events and changes is read from the log. Knows no SQL and no route.

mod changes;
pub mod cursor;
mod deliver;
mod ending;
mod filter;
mod heard;
mod merged;
mod occupancy;
mod outlet;
mod parts;
pub mod protocol;
mod session;
pub mod shard_feed;
mod sign_in;
mod subscription;
mod wire;

pub use heard::ticket_in;
pub use parts::{Feed, FeedLimits};
pub use session::{Opening, ShowChange, refusal, run, stream};
pub use subscription::{Entry, encoded};
