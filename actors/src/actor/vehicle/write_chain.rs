//! A vehicle's chain of writes: each builds on the state that the one before it leaves. Knows nothing of what
//! is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The writes of a vehicle that are on their way. When the store refuses one of them for good, the chain is invalid: the
/// writes behind it were judged by a state that never was, and are refused unseen; the vehicle starts a new chain from
/// what is stored. Nobody else's writes are touched.
#[derive(Debug, Default)]
pub(crate) struct WriteChain {
    shared: Arc<Shared>,
    number: u64,
}

/// What a vehicle and its writes have in common, wherever they are.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the chain that is valid.
    newest: AtomicU64,
    /// Writes whose commit is not known yet, of invalid chains too.
    waiting: AtomicUsize,
}

/// A write in its chain, until its commit is known.
pub(crate) struct ChainLink {
    shared: Arc<Shared>,
    number: u64,
}

impl WriteChain {
    /// Whether no write of it was refused.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared.is_valid(self.number)
    }

    /// Whether no write is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.waiting.load(Ordering::Acquire) == 0
    }

    /// A link for the next write.
    pub(crate) fn append(&self) -> ChainLink {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        ChainLink { shared: Arc::clone(&self.shared), number: self.number }
    }

    /// Starts the newest chain. By the vehicle, before it takes over what is stored.
    pub(crate) fn restart(&mut self) {
        self.number = self.shared.newest.load(Ordering::Acquire);
    }
}

impl Shared {
    fn is_valid(&self, number: u64) -> bool {
        self.newest.load(Ordering::Acquire) == number
    }
}

impl ChainLink {
    /// Whether no write of the chain was refused.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared.is_valid(self.number)
    }

    /// Invalidates the chain. By the writer, before it tells anybody.
    pub(crate) fn invalidate(&self) {
        let next = self.number + 1;
        // One that is invalid already stays so.
        self.shared.newest.compare_exchange(self.number, next, Ordering::AcqRel, Ordering::Acquire).ok();
    }
}

impl Drop for ChainLink {
    fn drop(&mut self) {
        self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
