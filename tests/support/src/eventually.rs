//! Waiting for something that happens elsewhere, without a sleep in the test.

use std::fmt::Debug;
use std::panic::Location;
use std::time::Duration;

/// The pause between two checks of a condition.
const POLL: Duration = Duration::from_millis(5);

/// The result of one check of a condition.
pub trait Attempt {
    /// The result of the wait once the condition holds.
    type Value;

    /// The value, or the message to fail with when the time is up.
    ///
    /// # Errors
    /// The condition does not hold yet, with what was seen.
    fn outcome(self) -> Result<Self::Value, String>;
}

impl Attempt for bool {
    type Value = ();
    fn outcome(self) -> Result<(), String> {
        self.then_some(()).ok_or_else(|| "it stayed false".to_owned())
    }
}

impl<T> Attempt for Option<T> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.ok_or_else(|| "it stayed none".to_owned())
    }
}

impl<T, E: Debug> Attempt for Result<T, E> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.map_err(|error| format!("the last error was {error:?}"))
    }
}

/// Checks a condition until it holds and returns its value.
///
/// # Panics
/// It does not hold within `deadline`: at the caller's line, with what was seen last.
#[track_caller]
pub fn eventually<A, F, Fut>(deadline: Duration, mut look: F) -> impl Future<Output = A::Value>
where
    A: Attempt,
    F: FnMut() -> Fut,
    Fut: Future<Output = A>,
{
    let caller = Location::caller();
    async move {
        let end = tokio::time::Instant::now() + deadline;
        loop {
            let last = match look().await.outcome() {
                Ok(value) => return value,
                Err(seen) => seen,
            };
            assert!(tokio::time::Instant::now() < end, "{caller}: not within {deadline:?}; {last}");
            tokio::time::sleep(POLL).await;
        }
    }
}
