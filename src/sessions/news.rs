//! What an open socket can be informed of.

use crate::domain::tracker::TrackerConfig;

/// Why a socket ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Another connection of the same tracker took its place.
    Replaced,
    /// The credential is no longer valid.
    Credential,
    /// The tracker, or the organization, is switched off.
    Disabled,
    /// The tracker's vehicle was deleted.
    VehicleDeleted,
    /// The tracker was moved to another vehicle, or out of its own. What the socket knows of it is out of date; it may
    /// connect again.
    Moved,
    /// Something else of the tracker was changed. It may connect again.
    Changed,
    /// The server stops.
    Restarting,
}

/// For how many days an organization keeps positions; `None` = for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepDays(pub Option<i64>);

/// News for an open socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It must end.
    End(End),
    /// Its tracker has this config from now on.
    Config(TrackerConfig),
    /// Older positions are refused from now on.
    KeepDays(KeepDays),
}
