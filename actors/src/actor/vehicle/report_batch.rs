//! What comes together: the fixes of one frame or request, for one vehicle or many. It carries them to the vehicles,
//! the vehicles' answers back and the room they take; who waits is woken once for all. Owns who has answered, and
//! knows nothing of what the answers mean.

use std::iter;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use tokio::sync::OwnedSemaphorePermit;

use crate::actor::runtime::permits::{Permit, WriteTicket};
use crate::error::LiveError;
use crate::model::Fix;
use crate::ports::Counts;

/// What became of what was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// Whether the vehicle awaits a correction that what was asked for brought about, or left.
    pub(crate) is_dirty: bool,
    /// The store will never take it, and why: nothing of it is stored.
    pub(crate) refused: Option<Arc<str>>,
}

/// Fixes on their way, by vehicle. What is asked of a vehicle without any is a batch of one empty part.
pub(crate) struct ReportBatch {
    fixes: Vec<Fix>,
    /// Where each vehicle's fixes are.
    parts: Vec<Range<usize>>,
    ticket: WriteTicket,
    answers: Mutex<Answers>,
    /// Who waits for them.
    waiting: AtomicWaker,
}

struct Answers {
    stages: Vec<Stage>,
    /// Parts that no vehicle has applied, refused or lost yet.
    unapplied: usize,
    /// Parts of which it is not known what became of them.
    unsettled: usize,
    /// Fixes that a part's vehicle left out, because the engine panics on them.
    quarantined: QuarantinedByReport,
    /// Given back once all is settled.
    room: Option<OwnedSemaphorePermit>,
}

/// How far a part has come.
enum Stage {
    /// In a vehicle's mailbox, or on the way there.
    Sent,
    /// Its vehicle stopped before it was applied.
    Lost,
    /// On its way to its commit.
    Applied,
    Settled(Result<Outcome, LiveError>),
}

/// Fixes that vehicles left out, by part.
pub(crate) type QuarantinedByReport = Vec<(usize, Vec<Fix>)>;

/// What became of a part.
pub(crate) type Settled = Result<Outcome, LiveError>;

/// One vehicle's part of a batch. Dropped before anything is known of it, it is lost; dropped after it was applied,
/// nobody knows what became of it, and it has to come again.
pub(crate) struct VehicleReport {
    batch: Arc<ReportBatch>,
    index: usize,
    is_settled: bool,
}

/// Says of a part that its vehicle applied it.
pub(crate) struct AppliedSignal {
    batch: Arc<ReportBatch>,
    index: usize,
}

impl ReportBatch {
    /// One that takes the room of a permit until all of it is settled.
    pub(crate) fn new(fixes: Vec<Fix>, parts: Vec<Range<usize>>, permit: Permit) -> Arc<Self> {
        let Permit { room, ticket } = permit;
        let many = parts.len();
        let answers = Answers {
            stages: (0..many).map(|_| Stage::Sent).collect(),
            unapplied: many,
            unsettled: many,
            quarantined: Vec::new(),
            room: Some(room),
        };
        Arc::new(Self { fixes, parts, ticket, answers: Mutex::new(answers), waiting: AtomicWaker::new() })
    }

    /// Something asked of a vehicle that brings no fix. Nobody sends it a second time: it counts as applied from the
    /// beginning, so that, once it is lost, whoever asked hears that nobody knows what became of it.
    pub(crate) fn empty(permit: Permit) -> Arc<Self> {
        let batch = Self::new(Vec::new(), iter::once(0..0).collect(), permit);
        batch.note(0, Stage::Applied);
        batch
    }

    /// A part, to be given to its vehicle; again only after it was lost.
    pub(crate) fn part(self: &Arc<Self>, index: usize) -> VehicleReport {
        let mut answers = self.answers();
        if let Some(stage) = answers.stages.get_mut(index).filter(|stage| matches!(stage, Stage::Lost)) {
            *stage = Stage::Sent;
            answers.unapplied += 1;
        }
        drop(answers);
        VehicleReport { batch: Arc::clone(self), index, is_settled: false }
    }

    /// A part's fixes, in the order in which they were reported.
    pub(crate) fn fixes(&self, index: usize) -> &[Fix] {
        self.parts.get(index).and_then(|part| self.fixes.get(part.clone())).unwrap_or_default()
    }

    /// Where a part's fixes are among all of them.
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        self.parts.get(index).cloned().unwrap_or_default()
    }

    /// How many parts there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Waits until each part is applied, refused or lost; which are lost.
    pub(crate) fn poll_applied(&self, cx: &mut Context<'_>) -> Poll<Vec<usize>> {
        self.poll(cx, |answers| {
            let lost = |(index, stage): (usize, &Stage)| matches!(stage, Stage::Lost).then_some(index);
            let is_over = answers.unapplied == 0;
            is_over.then(|| answers.stages.iter().enumerate().filter_map(lost).collect())
        })
    }

    /// Waits until it is known what became of each part, and takes that: with the fixes that were left out of it.
    pub(crate) fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<(Vec<Settled>, QuarantinedByReport)> {
        self.poll(cx, |answers| {
            let settled = |stage| match stage {
                Stage::Settled(settled) => settled,
                Stage::Sent | Stage::Lost | Stage::Applied => Err(LiveError::Unavailable),
            };
            (answers.unsettled == 0).then(|| {
                let stages = std::mem::take(&mut answers.stages);
                (stages.into_iter().map(settled).collect(), std::mem::take(&mut answers.quarantined))
            })
        })
    }

    fn poll<T>(&self, cx: &mut Context<'_>, mut ready: impl FnMut(&mut Answers) -> Option<T>) -> Poll<T> {
        if let Some(over) = ready(&mut self.answers()) {
            return Poll::Ready(over);
        }
        self.waiting.register(cx.waker());
        // What came between the two looks has found nobody to wake.
        ready(&mut self.answers()).map_or(Poll::Pending, Poll::Ready)
    }

    /// Notes how far a part has come, unless it came farther.
    fn note(&self, index: usize, news: Stage) {
        let mut answers = self.answers();
        let Some(stage) = answers.stages.get_mut(index) else { return };
        let was_sent = matches!(stage, Stage::Sent);
        let next = match (&*stage, news) {
            (Stage::Settled(_), _) | (Stage::Applied | Stage::Lost, Stage::Applied) => return,
            // Nobody will ever say what became of it.
            (Stage::Applied, Stage::Lost) => Stage::Settled(Err(LiveError::Unavailable)),
            (_, news) => news,
        };
        let is_settled = matches!(next, Stage::Settled(_));
        *stage = next;
        answers.unapplied -= usize::from(was_sent);
        answers.unsettled -= usize::from(is_settled);
        let is_news = (was_sent && answers.unapplied == 0) || (is_settled && answers.unsettled == 0);
        let room = if answers.unsettled == 0 { answers.room.take() } else { None };
        drop(answers);
        // Before anybody hears that it is over: there is room then.
        drop(room);
        if is_news {
            self.waiting.wake();
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VehicleReport {
    /// Its fixes, in the order in which they were reported.
    pub(crate) fn fixes(&self) -> &[Fix] {
        self.batch.fixes(self.index)
    }

    /// What it may still be written by.
    pub(crate) fn ticket(&self) -> &WriteTicket {
        &self.batch.ticket
    }

    /// Leaves fixes out of it. Before it is settled: who hears of that takes them with it.
    pub(crate) fn set_aside(&self, fixes: &[Fix]) {
        let mut answers = self.batch.answers();
        answers.quarantined.retain(|(part, _)| *part != self.index);
        if !fixes.is_empty() {
            answers.quarantined.push((self.index, fixes.to_vec()));
        }
    }

    /// For saying that it is applied, when it may be settled already.
    pub(crate) fn notice(&self) -> AppliedSignal {
        AppliedSignal { batch: Arc::clone(&self.batch), index: self.index }
    }

    /// Says what became of it.
    pub(crate) fn settle(mut self, outcome: Settled) {
        self.is_settled = true;
        self.batch.note(self.index, Stage::Settled(outcome));
    }
}

impl Drop for VehicleReport {
    fn drop(&mut self) {
        if !self.is_settled {
            self.batch.note(self.index, Stage::Lost);
        }
    }
}

impl AppliedSignal {
    /// Its vehicle applied it.
    pub(crate) fn applied(self) {
        self.batch.note(self.index, Stage::Applied);
    }
}
