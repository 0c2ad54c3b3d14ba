//! The fixes of one frame or request, for one vehicle or many. A batch carries them to the vehicles, and the
//! vehicles' answers and the permits back; its waiting reporter is woken once for all of them. Owns which vehicles
//! have answered, and knows nothing of what the answers mean.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedSemaphorePermit;

use crate::actor::runtime::permits::{Permit, WriteTicket};
use crate::error::LiveError;
use crate::model::{Attributes, AttributesByFix, Fix, VehicleId};
use crate::ports::{Cause, Counts};

/// What became of a vehicle's part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// Whether the vehicle awaits a correction that this request caused, or left behind.
    pub(crate) is_dirty: bool,
    /// Why the store will never take it: nothing of it is stored.
    pub(crate) refused: Option<Cause>,
}

/// Fixes on their way, grouped by vehicle. A request without fixes is a batch of one empty part.
pub(crate) struct ReportBatch {
    fixes: Vec<Fix>,
    attributes: AttributesByFix,
    /// The range of each vehicle's fixes.
    parts: Vec<Range<usize>>,
    ticket: WriteTicket,
    answers: Mutex<Answers>,
    /// The task that waits for them.
    waiting: AtomicWaker,
}

struct Answers {
    stages: Vec<Stage>,
    /// Parts that are not applied, refused or lost yet.
    unapplied: usize,
    /// Parts whose outcome is not known yet.
    unresolved: usize,
    /// Fixes that a part's vehicle left out because the engine panics on them.
    quarantined: QuarantinedByReport,
    /// Given back once every part is resolved.
    room: Option<OwnedSemaphorePermit>,
}

/// How far a part has come.
enum Stage {
    /// In a vehicle's mailbox, or on the way there.
    Sent,
    /// Its vehicle stopped before it was applied.
    Lost,
    /// Applied, and on its way to its commit.
    Applied,
    Resolved(Result<Outcome, LiveError>),
}

/// Fixes that vehicles left out, by part.
pub(crate) type QuarantinedByReport = Vec<(usize, Vec<Fix>)>;

/// The outcome of a part.
pub(crate) type Resolution = Result<Outcome, LiveError>;

/// One vehicle's part of a batch. Dropped before it is applied, it is lost and may be sent again; dropped after
/// that, its outcome is unknown, and it has to be reported again.
pub(crate) struct VehicleReport {
    batch: Arc<ReportBatch>,
    index: usize,
    is_resolved: bool,
}

/// Notes that a part was applied by its vehicle.
pub(crate) struct AppliedSignal {
    batch: Arc<ReportBatch>,
    index: usize,
}

impl ReportBatch {
    /// A batch that holds the room of a permit until all of it is resolved.
    pub(crate) fn new(
        fixes: Vec<Fix>,
        attributes: AttributesByFix,
        parts: Vec<Range<usize>>,
        permit: Permit,
    ) -> Arc<Self> {
        let Permit { room, ticket } = permit;
        let many = parts.len();
        let answers = Answers {
            stages: (0..many).map(|_| Stage::Sent).collect(),
            unapplied: many,
            unresolved: many,
            quarantined: Vec::new(),
            room: Some(room),
        };
        let (answers, waiting) = (Mutex::new(answers), AtomicWaker::new());
        Arc::new(Self { fixes, attributes, parts, ticket, answers, waiting })
    }

    /// A request to one vehicle that carries no fix. It is never sent a second time, so it counts as applied from
    /// the beginning: if it is lost, the caller gets an error that leaves the outcome open.
    pub(crate) fn empty(permit: Permit) -> Arc<Self> {
        let batch = Self::new(Vec::new(), AttributesByFix::default(), iter::once(0..0).collect(), permit);
        batch.note(0, Stage::Applied);
        batch
    }

    /// A part to be sent to its vehicle, once.
    pub(crate) fn part(self: &Arc<Self>, index: usize) -> VehicleReport {
        VehicleReport { batch: Arc::clone(self), index, is_resolved: false }
    }

    /// A part that was lost, to be sent again.
    pub(crate) fn lost_part(self: &Arc<Self>, index: usize) -> VehicleReport {
        let mut answers = self.answers();
        if let Some(stage) = answers.stages.get_mut(index).filter(|stage| matches!(stage, Stage::Lost)) {
            *stage = Stage::Sent;
            answers.unapplied += 1;
            answers.quarantined.retain(|(part, _)| *part != index);
        }
        drop(answers);
        self.part(index)
    }

    /// A part's fixes, in the order in which they were reported.
    pub(crate) fn fixes(&self, index: usize) -> &[Fix] {
        self.parts.get(index).and_then(|part| self.fixes.get(part.clone())).unwrap_or_default()
    }

    /// What its fixes carry.
    pub(crate) fn attributes(&self) -> AttributesByFix {
        self.attributes.clone()
    }

    /// The range of a part's fixes among all of the batch.
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        self.parts.get(index).cloned().unwrap_or_default()
    }

    /// The number of parts.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Waits until each part is applied, refused or lost; returns the lost ones.
    pub(crate) fn poll_applied(&self, cx: &mut Context<'_>) -> Poll<Vec<usize>> {
        self.poll(cx, |answers| {
            let lost = |(index, stage): (usize, &Stage)| matches!(stage, Stage::Lost).then_some(index);
            let is_over = answers.unapplied == 0;
            is_over.then(|| answers.stages.iter().enumerate().filter_map(lost).collect())
        })
    }

    /// Waits until the outcome of each part is known, and takes the outcomes together with the fixes that were left
    /// out.
    pub(crate) fn poll_resolved(&self, cx: &mut Context<'_>) -> Poll<(Vec<Resolution>, QuarantinedByReport)> {
        self.poll(cx, |answers| {
            let resolved = |stage| match stage {
                Stage::Resolved(resolved) => resolved,
                Stage::Sent | Stage::Lost | Stage::Applied => Err(LiveError::Unavailable),
            };
            (answers.unresolved == 0).then(|| {
                let stages = std::mem::take(&mut answers.stages);
                (stages.into_iter().map(resolved).collect(), std::mem::take(&mut answers.quarantined))
            })
        })
    }

    fn poll<T>(&self, cx: &mut Context<'_>, mut ready: impl FnMut(&mut Answers) -> Option<T>) -> Poll<T> {
        if let Some(over) = ready(&mut self.answers()) {
            return Poll::Ready(over);
        }
        self.waiting.register(cx.waker());
        // An answer that came between the two checks found no waker to wake.
        ready(&mut self.answers()).map_or(Poll::Pending, Poll::Ready)
    }

    /// Notes how far a part has come, unless it is further already.
    fn note(&self, index: usize, news: Stage) {
        let mut answers = self.answers();
        let Some(stage) = answers.stages.get_mut(index) else { return };
        let was_sent = matches!(stage, Stage::Sent);
        let next = match (&*stage, news) {
            (Stage::Resolved(_), _) | (Stage::Applied | Stage::Lost, Stage::Applied) => return,
            // Its outcome can no longer be known.
            (Stage::Applied, Stage::Lost) => Stage::Resolved(Err(LiveError::Unavailable)),
            (_, news) => news,
        };
        let is_resolved = matches!(next, Stage::Resolved(_));
        *stage = next;
        answers.unapplied -= usize::from(was_sent);
        answers.unresolved -= usize::from(is_resolved);
        let is_news = (was_sent && answers.unapplied == 0) || (is_resolved && answers.unresolved == 0);
        let room = if answers.unresolved == 0 { answers.room.take() } else { None };
        drop(answers);
        // Before the waiter is woken, so that it finds the room free.
        drop(room);
        if is_news {
            self.waiting.wake();
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock()
    }
}

impl VehicleReport {
    /// Its fixes, in the order in which they were reported.
    pub(crate) fn fixes(&self) -> &[Fix] {
        self.batch.fixes(self.index)
    }

    /// What one of its fixes carries beside where the vehicle is.
    pub(crate) fn attributes(&self, vehicle: VehicleId, fix: &Fix) -> Option<&Attributes> {
        self.batch.attributes.of(vehicle, fix)
    }

    /// The write generation it belongs to.
    pub(crate) fn ticket(&self) -> &WriteTicket {
        &self.batch.ticket
    }

    /// Leaves fixes out of it. To be called before it is resolved: the waiter takes both together.
    pub(crate) fn set_aside(&self, fixes: &[Fix]) {
        self.batch.answers().quarantined.push((self.index, fixes.to_vec()));
    }

    /// A signal for noting later that it was applied, even if it is resolved by then.
    pub(crate) fn notice(&self) -> AppliedSignal {
        AppliedSignal { batch: Arc::clone(&self.batch), index: self.index }
    }

    /// Resolves it with its outcome.
    pub(crate) fn resolve(mut self, outcome: Resolution) {
        self.is_resolved = true;
        self.batch.note(self.index, Stage::Resolved(outcome));
    }
}

impl Drop for VehicleReport {
    fn drop(&mut self) {
        if !self.is_resolved {
            self.batch.note(self.index, Stage::Lost);
        }
    }
}

impl AppliedSignal {
    /// Notes that the vehicle applied the part.
    pub(crate) fn applied(self) {
        self.batch.note(self.index, Stage::Applied);
    }
}
