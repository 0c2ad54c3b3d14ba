//! The messages of the tracker socket (`waypost.tracker.v1`): JSON text frames, in both directions.

use serde::Serialize;
use waypost_actors::model::{Timestamp, TrackerId};

pub use super::decode::MAX_ITEMS;
use super::ignored_members::Warning;
use super::rejected::Rejected;
use crate::domain::tracker::TrackerConfig;

/// The subprotocol.
pub const SUBPROTOCOL: &str = "waypost.tracker.v1";
/// Prefix of a token that is sent as the second subprotocol, for clients that cannot set headers.
pub const BEARER_PREFIX: &str = "bearer.";
/// The largest frame, in bytes.
pub const MAX_FRAME_BYTES: usize = 256 * 1024;
/// Most characters in a boot's name, which is remembered per tracker.
pub const MAX_BOOT_ID_CHARS: usize = 64;
/// Most frames that may wait for their commit; beyond that, the socket is not read.
pub const CREDIT: usize = 8;

/// Why the server closes a tracker's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// A frame cannot be understood.
    Malformed,
    /// The token is no longer valid.
    Credential,
    /// The tracker or its organization is disabled.
    Disabled,
    /// The tracker's vehicle was deleted or is out of use.
    VehicleOutOfUse,
    /// No sign of life.
    Timeout,
    /// Another connection of the same tracker took its place.
    Replaced,
    /// A frame exceeded the limit.
    TooLarge,
    /// The server restarts; reconnect after a random moment.
    Restarting,
    /// What is known of the tracker has changed; connect again.
    Changed,
}

impl Close {
    /// The close code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Malformed => 4400,
            Self::Credential => 4401,
            Self::Disabled | Self::VehicleOutOfUse => 4403,
            Self::Timeout => 4408,
            Self::Replaced => 4409,
            Self::TooLarge => 4413,
            Self::Restarting | Self::Changed => 1012,
        }
    }

    /// The code in the `error` frame that precedes the close.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformedFrame",
            Self::Credential => "credentialRevoked",
            Self::Disabled => "trackerDisabled",
            Self::VehicleOutOfUse => "vehicleOutOfUse",
            Self::Timeout => "timeout",
            Self::Replaced => "replaced",
            Self::TooLarge => "frameTooLarge",
            Self::Restarting => "restarting",
            Self::Changed => "trackerChanged",
        }
    }
}

/// Messages of the server.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Say<'a> {
    /// The answer to `hello`.
    Welcome {
        /// The server's clock.
        server_time: Timestamp,
        /// The newest acknowledged `seq` of this boot that the server remembers.
        acked_seq: Option<i64>,
        /// What the tracker should do; a system user gets a `config` frame for each tracker instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        config: Option<TrackerConfig>,
        /// The server's limits.
        limits: Limits,
    },
    /// A tracker's new config.
    Config {
        /// The tracker, on a system user's socket.
        #[serde(skip_serializing_if = "Option::is_none")]
        tracker_id: Option<TrackerId>,
        /// The device's own id, on a system user's socket.
        #[serde(skip_serializing_if = "Option::is_none")]
        unique_id: Option<&'a str>,
        /// The config.
        #[serde(flatten)]
        config: TrackerConfig,
    },
    /// Everything up to `seq` is committed or refused.
    Ack {
        /// The number of the last item.
        seq: i64,
        /// Refused items since the last ack.
        rejected: &'a [Rejected],
        /// What items were stored without.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        warnings: &'a [Warning],
        /// Fixes stored since the last ack.
        stored: u64,
        /// Fixes since the last ack that were stored before.
        duplicates: u64,
        /// Frames that may still be sent before an ack.
        credit: usize,
    },
    /// Nothing since the last ack is promised; it must be sent again.
    Retry {
        /// The first item to send again.
        seq: i64,
        /// Milliseconds to wait first.
        after_ms: u64,
    },
    /// The reason, before the socket closes.
    Error {
        /// The reason's code.
        code: &'a str,
        /// The reason, for people.
        detail: &'a str,
    },
}

/// The server's limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Items in a frame.
    pub max_items: usize,
    /// Bytes in a frame.
    pub max_frame_bytes: usize,
    /// Frames that may wait for their commit.
    pub credit: usize,
}

/// The limits in force.
pub const LIMITS: Limits = Limits { max_items: MAX_ITEMS, max_frame_bytes: MAX_FRAME_BYTES, credit: CREDIT };
