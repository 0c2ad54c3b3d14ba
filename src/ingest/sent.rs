//! Frames on their way to their commit, and what may be acknowledged of them.

use std::collections::VecDeque;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use waypost_actors::live::LiveError;
use waypost_actors::ports::Counts;

use super::intake::Rejected;

/// What became of some frames, in order.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The last item of the last frame that is committed or refused; `None` when none is.
    pub(super) acked: Option<i64>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) counts: Counts,
    /// The frame after those failed: nothing from its first item on is promised.
    pub(super) failed: Option<LiveError>,
}

/// What became of one frame.
type Committed = Result<(Counts, Vec<Rejected>), LiveError>;

struct Done {
    last_seq: i64,
    result: Committed,
}

/// The frames of a connection that wait for their commit, oldest first.
#[derive(Default)]
pub(super) struct Sent {
    waiting: FuturesOrdered<BoxFuture<'static, Done>>,
    /// The first item of each that waits.
    firsts: VecDeque<i64>,
    /// After a failure: the first item that must come again. What is numbered higher is not taken
    /// until it does.
    resume_at: Option<i64>,
}

impl Sent {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a frame that begins with this item is taken up, or was sent before the client knew
    /// that an earlier one failed.
    pub(super) fn takes(&mut self, first_seq: i64) -> bool {
        if self.resume_at.is_some_and(|resume_at| first_seq > resume_at) {
            return false;
        }
        self.resume_at = None;
        true
    }

    /// Waits for a frame's commit, behind those that wait already.
    pub(super) fn push(
        &mut self,
        first_seq: i64,
        last_seq: i64,
        committed: impl Future<Output = Committed> + Send + 'static,
    ) {
        self.firsts.push_back(first_seq);
        self.waiting.push_back(async move { Done { last_seq, result: committed.await } }.boxed());
    }

    /// A frame failed: it must come again, and with it whatever came after it. What still waits is
    /// not acknowledged either, so the first of all these items is where the client goes on.
    pub(super) fn fail(&mut self, first_seq: i64) {
        self.waiting.clear();
        let unacknowledged = self.firsts.drain(..).chain([first_seq]).chain(self.resume_at);
        self.resume_at = unacknowledged.min();
    }

    /// Waits for the oldest frame, and takes all behind it that are done too. Never ends while
    /// nothing waits.
    pub(super) async fn next(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(mut done) = self.waiting.next().await else { return std::future::pending().await };
        loop {
            let first_seq = self.firsts.pop_front();
            match done.result {
                Ok((counts, rejected)) => {
                    outcome.acked = Some(done.last_seq);
                    outcome.rejected.extend(rejected);
                    outcome.counts.stored += counts.stored;
                    outcome.counts.duplicates += counts.duplicates;
                }
                Err(error) => {
                    self.fail(first_seq.unwrap_or(done.last_seq));
                    outcome.failed = Some(error);
                    return outcome;
                }
            }
            match self.waiting.next().now_or_never() {
                Some(Some(next)) => done = next,
                _ => return outcome,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[test]
    fn frames_are_acknowledged_in_order_and_together() {
        let mut sent = Sent::default();
        let stored = |stored| ready(Ok((Counts { stored, duplicates: 0 }, Vec::new())));
        sent.push(1, 10, stored(10));
        sent.push(11, 20, stored(9));
        sent.push(21, 30, pending());
        let outcome = sent.next().now_or_never().expect("two are done");
        assert_eq!((outcome.acked, outcome.counts.stored, sent.len()), (Some(20), 19, 1));
        assert!(sent.next().now_or_never().is_none());
    }

    #[test]
    fn after_a_failure_nothing_is_taken_before_the_first_unacknowledged_item() {
        let mut sent = Sent::default();
        sent.push(1, 10, ready(Ok(Default::default())));
        sent.push(11, 20, ready(Err(LiveError::Unavailable)));
        sent.push(21, 30, pending());
        let outcome = sent.next().now_or_never().expect("two are done");
        assert_eq!((outcome.acked, outcome.failed.is_some(), sent.len()), (Some(10), true, 0));
        assert!(!sent.takes(31) && !sent.takes(21) && !sent.takes(12));
        assert!(sent.takes(11) && sent.takes(31));
    }

    #[test]
    fn a_frame_that_cannot_be_taken_takes_back_those_that_wait() {
        let mut sent = Sent::default();
        sent.push(1, 10, pending());
        sent.fail(11);
        // Going on at 11 would acknowledge the first ten, of which nothing is known.
        assert!(!sent.takes(11));
        assert!(sent.takes(1));
    }
}
