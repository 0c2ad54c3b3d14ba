//! The one place that reads the server's clock.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use crate::model::Timestamp;

/// The server's clock; tests bring their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The machine's clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(now)
}

/// The machine's clock, read now; to the millisecond.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    let since_1970 = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(millis).unwrap_or(Timestamp::MAX)
}
