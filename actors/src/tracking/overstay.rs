//! What the engine remembers of a stay that is too long.

use serde::{Deserialize, Serialize};

use crate::model::{Place, Timestamp};

/// A stay that has lasted longer than its fence's rule says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overstay {
    /// Since when it is too long.
    pub(super) since: Timestamp,
    /// Where the fix was that showed it.
    pub(super) place: Place,
    /// The instant that confirmed it.
    pub(super) confirmed_at: Timestamp,
}
