//! The condition of a live core's threads and actors, and how they are checked.

use std::time::Duration;

/// The condition of the core's threads and actors, whatever the store does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of them answer.
    Well,
    /// Some do not answer, which may pass.
    Stalled(String),
    /// It cannot go on: the process must end and be started again.
    Broken(String),
}

/// How often threads and actors are checked, and how patiently.
#[derive(Clone, Copy, Debug)]
pub struct WatchdogConfig {
    /// The time between two checks.
    pub every: Duration,
    /// A thread that has not answered for this long is reported as stalled.
    pub stalled_after: Duration,
    /// A thread that has not answered for this long is reported as broken for good.
    pub broken_after: Duration,
}

impl Default for WatchdogConfig {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            stalled_after: Duration::from_secs(5),
            broken_after: Duration::from_secs(60),
        }
    }
}
