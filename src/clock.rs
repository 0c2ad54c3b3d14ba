//! The one place where the server reads its clock and draws its random numbers.

use std::sync::Arc;

use jiff::Timestamp as Now;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

/// Tells the time; tests bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(|| Timestamp::from_micros(Now::now().as_microsecond())))
    }

    /// A clock that says what `tell` says.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
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

/// So many bytes nobody can guess.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    rand::random()
}
