//! Frames that wait for their commit, and what may be acknowledged of them.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;
use waypost_actors::live::LiveError;
use waypost_actors::ports::Counts;

use super::rejected::Rejected;

/// A client that keeps sending behind a failed frame gets a new `retry` only after this: until then, its frames may
/// have been on their way before it heard of the failure.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// A client that has not resumed after this is given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(30);

/// The outcome of some frames, in order.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The last item of the last frame that is committed or refused; `None` when none is.
    pub(super) acked: Option<i64>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) counts: Counts,
    /// The frame after those failed: nothing from this item on is promised.
    pub(super) failed: Option<(LiveError, i64)>,
}

/// The outcome of one frame.
type Committed = Result<(Counts, Vec<Rejected>), LiveError>;

struct Done {
    last_seq: i64,
    result: Committed,
}

/// The frames of a connection that wait for their commit, oldest first.
#[derive(Default)]
pub(super) struct Sent {
    waiting: FuturesOrdered<BoxFuture<'static, Done>>,
    /// The number of the first item of each waiting frame.
    firsts: VecDeque<i64>,
    gap: Option<Gap>,
}

/// Where the client must resume after a failure. Higher numbers are not taken until it does.
struct Gap {
    /// The first item that must be sent again.
    resume_at: i64,
    since: Instant,
    /// When the client last got a `retry`.
    told_at: Instant,
}

/// What to do with a frame, by its position relative to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameAction {
    /// Take it.
    Accept,
    /// It was sent before the client knew that an earlier one failed.
    Ignore,
    /// So late that the client may have missed the `retry`; this is the item it must resume with.
    Retry(i64),
    /// The client has not resumed with that item for too long.
    GiveUp(i64),
}

impl Sent {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// What to do with a frame of these items, from the first to the last. A gap is closed by the frame that has the item to
    /// resume with; one that repeats what came before that is taken too, but says nothing of what failed.
    pub(super) fn admit(&mut self, (first_seq, last_seq): (i64, i64), now: Instant) -> FrameAction {
        match &mut self.gap {
            Some(gap) if first_seq > gap.resume_at => {
                if now - gap.since >= GIVEN_UP_AFTER {
                    return FrameAction::GiveUp(gap.resume_at);
                }
                if now - gap.told_at < TOLD_AGAIN_AFTER {
                    return FrameAction::Ignore;
                }
                gap.told_at = now;
                FrameAction::Retry(gap.resume_at)
            }
            Some(gap) if last_seq < gap.resume_at => FrameAction::Accept,
            _ => {
                self.gap = None;
                FrameAction::Accept
            }
        }
    }

    /// Adds a frame that waits for its commit.
    pub(super) fn push(
        &mut self,
        first_seq: i64,
        last_seq: i64,
        committed: impl Future<Output = Committed> + Send + 'static,
    ) {
        self.firsts.push_back(first_seq);
        self.waiting.push_back(async move { Done { last_seq, result: committed.await } }.boxed());
    }

    /// Records that a frame failed: it and every later frame must be sent again. Frames that still wait are not
    /// acknowledged either, so the client must resume at the first of all these items, which is returned.
    pub(super) fn fail(&mut self, first_seq: i64, now: Instant) -> i64 {
        self.waiting.clear();
        let before = self.gap.as_ref().map(|gap| gap.resume_at);
        let resume_at = self.firsts.drain(..).chain(before).fold(first_seq, i64::min);
        self.gap = Some(Gap { resume_at, since: now, told_at: now });
        resume_at
    }

    /// Waits for the oldest frame, and takes all others behind it that are done too. Never completes while no frame
    /// waits.
    pub(super) async fn next(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(mut done) = self.waiting.next().await else { return std::future::pending().await };
        loop {
            let first_seq = self.firsts.pop_front();
            match done.result {
                Ok((counts, rejected)) => {
                    outcome.acked = Some(done.last_seq);
                    outcome.rejected.extend(rejected);
                    outcome.counts += counts;
                }
                Err(error) => {
                    let resume_at = self.fail(first_seq.unwrap_or(done.last_seq), Instant::now());
                    outcome.failed = Some((error, resume_at));
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
        let (mut sent, now) = (Sent::default(), Instant::now());
        sent.push(1, 10, ready(Ok(Default::default())));
        sent.push(11, 20, ready(Err(LiveError::Unavailable)));
        sent.push(21, 30, pending());
        let outcome = sent.next().now_or_never().expect("two are done");
        let failed = Some((LiveError::Unavailable, 11));
        assert_eq!((outcome.acked, outcome.failed, sent.len()), (Some(10), failed, 0));
        for ahead in [31, 21, 12] {
            assert_eq!(sent.admit((ahead, ahead + 9), now), FrameAction::Ignore);
        }
        for resumed in [11, 31] {
            assert_eq!(sent.admit((resumed, resumed + 9), now), FrameAction::Accept);
        }
    }

    #[test]
    fn what_comes_again_from_before_a_gap_does_not_close_it() {
        let (mut sent, now) = (Sent::default(), Instant::now());
        sent.push(11, 20, ready(Err(LiveError::Unavailable)));
        let outcome = sent.next().now_or_never().expect("it is done");
        assert_eq!(outcome.failed, Some((LiveError::Unavailable, 11)));
        // An ack of 30 would promise what failed.
        assert_eq!(sent.admit((1, 10), now), FrameAction::Accept);
        assert_eq!(sent.admit((21, 30), now), FrameAction::Ignore);
        assert_eq!(sent.admit((8, 11), now), FrameAction::Accept);
        assert_eq!(sent.admit((21, 30), now), FrameAction::Accept);
    }

    #[test]
    fn a_frame_that_cannot_be_taken_takes_back_those_that_wait() {
        let (mut sent, now) = (Sent::default(), Instant::now());
        sent.push(1, 10, pending());
        // Resuming at 11 would acknowledge the first ten, whose outcome is unknown.
        assert_eq!(sent.fail(11, now), 1);
        assert_eq!(sent.admit((11, 20), now), FrameAction::Ignore);
        assert_eq!(sent.admit((1, 10), now), FrameAction::Accept);
    }

    #[test]
    fn a_client_that_goes_on_elsewhere_is_told_again_and_then_given_up() {
        let (mut sent, begin) = (Sent::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        sent.fail(11, begin);
        assert_eq!(
            (sent.admit((12, 12), at(4)), sent.admit((12, 12), at(5))),
            (FrameAction::Ignore, FrameAction::Retry(11))
        );
        assert_eq!(
            (sent.admit((12, 12), at(9)), sent.admit((12, 12), at(10))),
            (FrameAction::Ignore, FrameAction::Retry(11))
        );
        // A new failure restarts the timers: the client had resumed as asked.
        sent.fail(11, at(12));
        assert_eq!(
            (sent.admit((12, 12), at(40)), sent.admit((12, 12), at(42))),
            (FrameAction::Retry(11), FrameAction::GiveUp(11))
        );
        assert_eq!(sent.admit((11, 11), at(43)), FrameAction::Accept);
    }
}
