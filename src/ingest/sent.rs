//! Frames on their way to their commit, and what may be acknowledged of them.

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use waypost_actors::live::LiveError;
use waypost_actors::ports::Counts;

use super::intake::{Batch, Rejected};

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

struct Done {
    first_seq: i64,
    last_seq: i64,
    result: Result<(Counts, Vec<Rejected>), LiveError>,
}

/// The frames of a connection that wait for their commit, oldest first.
#[derive(Default)]
pub(super) struct Sent {
    waiting: FuturesOrdered<BoxFuture<'static, Done>>,
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

    pub(super) fn push(&mut self, first_seq: i64, last_seq: i64, batch: Batch) {
        self.waiting
            .push_back(async move { Done { first_seq, last_seq, result: batch.committed().await } }.boxed());
    }

    /// A frame failed: it must come again, and with it whatever came after it.
    pub(super) fn fail(&mut self, first_seq: i64) {
        self.waiting.clear();
        self.resume_at = Some(self.resume_at.map_or(first_seq, |seq| seq.min(first_seq)));
    }

    /// Waits for the oldest frame, and takes all behind it that are done too. Never ends while
    /// nothing waits.
    pub(super) async fn next(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(mut done) = self.waiting.next().await else { return std::future::pending().await };
        loop {
            match done.result {
                Ok((counts, rejected)) => {
                    outcome.acked = Some(done.last_seq);
                    outcome.rejected.extend(rejected);
                    outcome.counts.stored += counts.stored;
                    outcome.counts.duplicates += counts.duplicates;
                }
                Err(error) => {
                    self.fail(done.first_seq);
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
