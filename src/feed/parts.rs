//! The feed's dependencies and limits.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use waypost_actors::live::Live;
use waypost_actors::ports::RecordLog;
use waypost_actors::watch::Audience;

use super::shard_feed::ShardFeeds;
use crate::auth::Auth;

/// The dependencies of a feed.
#[derive(Clone)]
pub struct Feed {
    /// The live core.
    pub live: Live,
    /// The log, for events that a client missed.
    pub log: Arc<dyn RecordLog>,
    /// Tickets, cursors, and checks of sessions.
    pub auth: Arc<Auth>,
    /// Whether an audience is served here.
    pub serves: Arc<dyn Fn(Audience) -> bool + Send + Sync>,
    /// On a node of a cluster, the way to the feeds of all shards, for who follows every organization.
    pub shards: Option<Rc<dyn ShardFeeds>>,
    /// Its limits.
    pub limits: FeedLimits,
}

impl Feed {
    /// The feeds of all shards, if an audience is told by them.
    pub(super) fn shards_of(&self, audience: Audience) -> Option<&Rc<dyn ShardFeeds>> {
        self.shards.as_ref().filter(|_| audience == Audience::Everyone)
    }
}

/// Limits of the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedLimits {
    /// Time between two heartbeats; a client that answers none of three pings is dead.
    pub heartbeat_every: Duration,
    /// A socket without credentials must sign in within this time.
    pub sign_in_within: Duration,
    /// Time between two checks of the session.
    pub check_every: Duration,
    /// A client that takes no data for this long is closed.
    pub write_within: Duration,
    /// Resets for slow reading within a minute, before the socket is closed.
    pub resets_per_minute: usize,
    /// Most subscriptions of one socket.
    pub subscriptions: usize,
}

impl Default for FeedLimits {
    fn default() -> Self {
        Self {
            heartbeat_every: Duration::from_secs(15),
            sign_in_within: Duration::from_secs(10),
            check_every: Duration::from_secs(10),
            write_within: Duration::from_secs(30),
            resets_per_minute: 3,
            subscriptions: 20,
        }
    }
}
