//! How a server ends, and how long it waits for what.

use std::time::Duration;

/// How long a stopping server waits for its sockets to end. Together with the seconds for requests, for commits and
/// for the store, it stops in less than ten seconds, however stuck the store is.
pub(super) const SOCKETS_WITHIN: Duration = Duration::from_secs(4);
/// How long it waits for connections to the store to close.
pub(super) const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By request.
    Asked,
    /// Another server has taken over its store, or the store was put back to an earlier state.
    TakenOver,
    /// The server cannot go on, as the log explains; it should be started again.
    Broken,
}
