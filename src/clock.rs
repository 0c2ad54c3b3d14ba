//! The server's clock and its random numbers, in one place.

use std::sync::Arc;

use uuid::Uuid;
use waypost_actors::model::Timestamp;

/// The clock of the server; tests bring their own.
#[derive(Clone)]
pub struct Clock(waypost_actors::clock::Clock);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(waypost_actors::clock::system())
    }

    /// A clock that reads its time from `tell`.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The clock, for the live core.
    #[must_use]
    pub fn shared(&self) -> waypost_actors::clock::Clock {
        Arc::clone(&self.0)
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// A new id that sorts by creation.
#[must_use]
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// Bytes that cannot be guessed.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    rand::random()
}

/// A number from 0 to 1, for pauses that should not end together.
#[must_use]
pub fn random_part() -> f64 {
    rand::random()
}
