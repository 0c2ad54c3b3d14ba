//! Trackers: the devices whose credentials send fixes.

use super::words::words;

words!(
    /// Whether a tracker may send fixes.
    TrackerStatus {
        /// It may.
        Active = "active",
        /// Its token is refused.
        Disabled = "disabled",
    }
);
