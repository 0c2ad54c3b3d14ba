//! What an open socket is told.

use crate::domain::tracker::TrackerConfig;

/// Why a socket ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Another connection of the same tracker took its place.
    Replaced,
    /// The credential is not valid any more.
    Credential,
    /// The tracker, or the organization, is switched off.
    Disabled,
    /// The server stops.
    Restarting,
}

/// For how many days an organization keeps positions; `None` = for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepDays(pub Option<i64>);

/// What an open socket is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It must end.
    End(End),
    /// Its tracker is to do this from now on.
    Config(TrackerConfig),
    /// Older positions are refused from now on.
    KeepDays(KeepDays),
}
