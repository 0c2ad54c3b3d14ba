//! How long to wait before a broker is connected to again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Pause after the first connection that ended or could not be made; each is twice the one before.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// After a connection that lasted so long the pauses begin anew. A broker may let a client in and end the connection at once,
/// each time.
const LASTED: Duration = Duration::from_secs(60);

/// The pauses between the connections to one broker.
pub struct Pauses {
    next: Duration,
    connected_at: Option<Instant>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST, connected_at: None }
    }
}

impl Pauses {
    /// Notes that the broker let the client in.
    pub fn connected(&mut self) {
        self.connected_at = Some(Instant::now());
    }

    /// Waits after a connection that ended or could not be made.
    pub async fn wait(&mut self) {
        let pause = self.after_end(Instant::now());
        sleep(pause).await;
    }

    fn after_end(&mut self, now: Instant) -> Duration {
        if self.connected_at.take().is_some_and(|at| now.duration_since(at) >= LASTED) {
            self.next = FIRST;
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_ends_at_once_makes_the_pauses_no_shorter() {
        let (mut pauses, now) = (Pauses::default(), Instant::now());
        let mut after = |lasted: Option<u64>| {
            pauses.connected_at = lasted.map(|_| now);
            pauses.after_end(now + Duration::from_secs(lasted.unwrap_or_default())).as_secs()
        };
        assert_eq!([None, Some(0), Some(59), None].map(&mut after), [1, 2, 4, 8]);
        assert_eq!([Some(60), Some(1)].map(&mut after), [1, 2]);
        assert_eq!([None; 6].map(&mut after), [4, 8, 16, 32, 60, 60]);
    }
}
