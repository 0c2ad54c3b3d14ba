//! Whether a node wants shards. One that fails to start them, by a wrong `masterKey` or for want of connections to the database, leaves
//! them to others for a while, and then tries again.

use std::time::{Duration, Instant};

/// After so many failed starts in a row, whichever shards they are of, it may be the node that cannot start them.
const REST_AFTER: u32 = 2;
/// How long it leaves its shards to others.
const REST_FOR: Duration = Duration::from_secs(60);

/// A node's failed starts, and its rest from them.
#[derive(Default)]
pub(super) struct Rest {
    /// Since the last start that did not fail: after a rest, one more is enough for the next.
    failed: u32,
    until: Option<Instant>,
}

impl Rest {
    /// Notes a start that did not fail.
    pub(super) fn started(&mut self) {
        self.failed = 0;
    }

    /// Notes a failed start, and says whether a rest begins with it: never where there are no others to start the shard.
    pub(super) fn failed(&mut self, has_others: bool, now: Instant) -> bool {
        self.failed += 1;
        let begins = self.failed >= REST_AFTER && has_others && self.until.is_none();
        if begins {
            self.until = Some(now + REST_FOR);
        }
        begins
    }

    /// Whether the node wants no shards now.
    pub(super) const fn is_on(&self) -> bool {
        self.until.is_some()
    }

    /// Ends a rest that was long enough, or for which there are no others any more, and says whether it did.
    pub(super) fn end(&mut self, has_others: bool, now: Instant) -> bool {
        self.until.take_if(|until| !has_others || now >= *until).is_some()
    }

    /// Ends a rest, if there is one.
    pub(super) const fn cancel(&mut self) {
        self.until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_rests_after_two_failed_starts_in_a_row_and_then_after_one() {
        let (mut rest, now) = (Rest::default(), Instant::now());
        assert!(!rest.failed(true, now));
        rest.started();
        assert!(!rest.failed(true, now) && !rest.is_on());
        assert!(rest.failed(true, now) && rest.is_on());
        assert!(!rest.failed(true, now), "it rests already");
        assert!(!rest.end(true, now + REST_FOR / 2));
        assert!(rest.end(true, now + REST_FOR) && !rest.is_on());
        assert!(!rest.end(true, now + REST_FOR), "once");
        assert!(rest.failed(true, now));
    }

    #[test]
    fn a_node_without_others_does_not_rest() {
        let (mut rest, now) = (Rest::default(), Instant::now());
        assert!(!rest.failed(false, now) && !rest.failed(false, now));
        assert!(rest.failed(true, now));
        assert!(rest.end(false, now), "the others are gone");
    }
}
