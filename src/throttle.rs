//! A bound on how often something is said that there is reason to say again and again.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Lets something be said once per pause.
pub struct Throttle {
    pause: Duration,
    said_at: Cell<Option<Instant>>,
}

impl Throttle {
    /// With this pause between two times.
    #[must_use]
    pub const fn new(pause: Duration) -> Self {
        Self { pause, said_at: Cell::new(None) }
    }

    /// Whether it may be said now, which counts as saying it.
    #[must_use]
    pub fn is_due(&self) -> bool {
        let is_due = self.said_at.get().is_none_or(|at| at.elapsed() >= self.pause);
        if is_due {
            self.said_at.set(Some(Instant::now()));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_per_pause() {
        let throttle = Throttle::new(Duration::from_secs(3600));
        assert!(throttle.is_due() && !throttle.is_due());
        let always = Throttle::new(Duration::ZERO);
        assert!(always.is_due() && always.is_due());
    }
}
