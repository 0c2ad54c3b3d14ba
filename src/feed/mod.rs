//! The dispatcher's feed: who is where, who is inside what, and every event, live and resumable.
//!
//! One subscription watches the live core; what it misses it reads from the event log. Knows no SQL
//! and no route.

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
