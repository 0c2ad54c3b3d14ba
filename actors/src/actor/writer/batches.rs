//! Writes on their way to a commit: gathered, cut into transactions, and halved around one that the store refuses.
//! Owns the answers that the senders are owed; commits nothing.

use std::collections::VecDeque;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::inbox::Write;
use crate::actor::vehicle::report_batch::VehicleReport;
use crate::actor::vehicle::write_chain::ChainLink;
use crate::error::LiveError;
use crate::meters::Invariant;
use crate::model::{Timestamp, VehicleId};
use crate::ports::{Batch, Committed};

/// What a commit owes the sender of a write.
pub(super) struct PendingReply {
    pub(super) part: VehicleReport,
    pub(super) known_duplicates: u64,
    /// Fixes that the commit's counts must add up to.
    pub(super) rows: u64,
    /// Whether the write marked its vehicle dirty, or corrected it: only then is the sender answered whether it is
    /// dirty.
    pub(super) is_about_late_data: bool,
    pub(super) link: ChainLink,
    pub(super) came: Instant,
    /// How long ago its oldest fix had arrived when it was handed over. Seconds.
    pub(super) age_seconds: f64,
}

/// One transaction and the answers it owes, in the same order.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) batch: Batch,
    pub(super) owed: Vec<PendingReply>,
}

impl Transaction {
    /// Its weight: rows and records.
    pub(super) fn weight(&self) -> usize {
        self.batch.writes.iter().map(|write| write.effects.weight()).sum()
    }

    /// When its newest fix arrived.
    pub(super) fn newest_arrival(&self) -> Option<Timestamp> {
        let rows = self.batch.writes.iter().flat_map(|write| &write.effects.rows);
        rows.map(|row| row.fix.received_at).max()
    }

    fn halves(mut self) -> [Self; 2] {
        let middle = self.batch.writes.len() / 2;
        let writes = self.batch.writes.split_off(middle);
        let owed = self.owed.split_off(middle);
        [self, Self { batch: Batch { writes }, owed }]
    }

    /// Separates the writes whose chain is invalid.
    fn without_void(self) -> (Self, Vec<PendingReply>) {
        if self.owed.iter().all(|owed| owed.link.is_valid()) {
            return (self, Vec::new());
        }
        let mut kept = Self::default();
        let mut void = Vec::new();
        for (write, owed) in self.batch.writes.into_iter().zip(self.owed) {
            if owed.link.is_valid() {
                kept.batch.writes.push(write);
                kept.owed.push(owed);
            } else {
                void.push(owed);
            }
        }
        (kept, void)
    }
}

/// The writes that wait for their commit.
#[derive(Default)]
pub(super) struct Waiting {
    writes: VecDeque<(Write, Instant)>,
    rows: usize,
    /// Halves of a batch that the store refused; they are tried before everything else, in their order.
    halves: VecDeque<Transaction>,
    /// Writes taken in so far, and those of them that are committed or refused.
    taken: u64,
    finished: u64,
    /// Each barrier with the number of writes taken in before it.
    barriers: VecDeque<(u64, oneshot::Sender<Result<(), LiveError>>)>,
}

impl Waiting {
    /// Adds a write that has waited since `came`.
    pub(super) fn push(&mut self, write: Write, came: Instant) {
        self.taken += 1;
        self.rows += write.to_store.effects.weight();
        self.writes.push_back((write, came));
    }

    /// The weight of the writes not yet cut into transactions: rows and records.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of writes not yet cut into transactions.
    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.halves.is_empty()
    }

    /// Whether there is no point in waiting for more writes.
    pub(super) fn is_due(&self, max_rows: usize) -> bool {
        self.rows >= max_rows || !self.barriers.is_empty() || !self.halves.is_empty()
    }

    /// Takes the next transaction, as large as `max_rows` allows; may be empty if everything that waited had an
    /// invalid chain.
    pub(super) fn next(&mut self, max_rows: usize) -> Transaction {
        let transaction = match self.halves.pop_front() {
            Some(half) => half,
            None => self.gather(max_rows),
        };
        let (transaction, void) = transaction.without_void();
        self.finished(void.len());
        refuse(void);
        transaction
    }

    fn gather(&mut self, max_rows: usize) -> Transaction {
        let many = self.writes.len();
        let (batch, owed) = (Batch { writes: Vec::with_capacity(many) }, Vec::with_capacity(many));
        let mut transaction = Transaction { batch, owed };
        let mut rows = 0;
        while let Some((write, _)) = self.writes.front() {
            let more = write.to_store.effects.weight();
            if rows > 0 && rows + more > max_rows {
                break;
            }
            let Some((write, came)) = self.writes.pop_front() else { break };
            rows += more;
            let Write { to_store, part, link, age_seconds } = write;
            let effects = &to_store.effects;
            transaction.owed.push(PendingReply {
                known_duplicates: effects.duplicates,
                rows: effects.rows.len() as u64,
                is_about_late_data: effects.late.is_some() || effects.correction.is_some(),
                part,
                link,
                age_seconds,
                came,
            });
            transaction.batch.writes.push(to_store);
        }
        self.rows -= rows;
        transaction
    }

    /// Tries a refused transaction again in two halves.
    pub(super) fn halve(&mut self, transaction: Transaction) {
        for half in transaction.halves().into_iter().rev() {
            self.halves.push_front(half);
        }
    }

    /// Counts writes that are committed or refused.
    pub(super) fn finished(&mut self, writes: usize) {
        self.finished += writes as u64;
    }

    /// Adds a barrier, to be released once everything taken in so far is committed or refused.
    pub(super) fn add_barrier(&mut self, released: oneshot::Sender<Result<(), LiveError>>) {
        self.barriers.push_back((self.taken, released));
    }

    /// Releases the barriers whose writes are all finished. Writes that came after a barrier do not delay it,
    /// however many there are.
    pub(super) fn release_barriers(&mut self) {
        while self.barriers.front().is_some_and(|(before, _)| *before <= self.finished) {
            if let Some((_, barrier)) = self.barriers.pop_front() {
                barrier.send(Ok(())).ok();
            }
        }
    }

    pub(super) fn refuse_barriers(&mut self, why: &LiveError) {
        for (_, barrier) in self.barriers.drain(..) {
            barrier.send(Err(why.clone())).ok();
        }
    }

    /// Refuses everything that waits; returns how many writes that was.
    pub(super) fn refuse_all(&mut self) -> usize {
        self.rows = 0;
        self.finished = self.taken;
        let halves: Vec<PendingReply> =
            self.halves.drain(..).flat_map(|transaction| transaction.owed).collect();
        let many = halves.len() + self.writes.len();
        refuse(halves);
        for (write, _) in self.writes.drain(..) {
            write.part.resolve(Err(LiveError::Unavailable));
        }
        many
    }
}

/// Answers the senders that their writes came to nothing and have to be sent again.
pub(super) fn refuse(owed: impl IntoIterator<Item = PendingReply>) {
    for owed in owed {
        owed.part.resolve(Err(LiveError::Unavailable));
    }
}

/// The vehicles to report to the coordinator of corrections. For its own correction steps it gets the answer
/// anyway.
pub(super) fn dirty_vehicles(batch: &Batch, committed: &[Committed]) -> Vec<VehicleId> {
    let writes = batch.writes.iter().zip(committed);
    let dirty =
        writes.filter(|(write, committed)| committed.is_dirty() && write.effects.correction.is_none());
    dirty.map(|(write, _)| write.vehicle_id).collect()
}

/// What is impossible about a commit's answer, if anything.
pub(super) fn broken_invariant(
    owed: &[PendingReply],
    committed: &[Committed],
    next: i64,
) -> Option<(Invariant, String)> {
    let accounted = |(owed, committed): (&PendingReply, &Committed)| {
        owed.rows == committed.counts.stored + committed.counts.duplicates
    };
    if owed.len() != committed.len() || !owed.iter().zip(committed).all(accounted) {
        let what = format!("a commit of {} writes does not account for their fixes", owed.len());
        return Some((Invariant::Accounts, what));
    }
    let records = committed.iter().flat_map(|committed| &committed.records);
    let wrong = misnumbered(records.map(|record| record.sequence), next);
    wrong.map(|what| (Invariant::EventNumbers, what))
}

/// What is wrong with numbers that should follow each other from `next` on, if anything.
pub(super) fn misnumbered(numbers: impl Iterator<Item = i64>, next: i64) -> Option<String> {
    let mut numbers: Vec<i64> = numbers.collect();
    numbers.sort_unstable();
    let is_whole = numbers.iter().zip(next..).all(|(number, expected)| *number == expected);
    let what =
        || format!("events are numbered {:?}…{:?}, not from {next} on", numbers.first(), numbers.last());
    (!is_whole).then(what)
}
