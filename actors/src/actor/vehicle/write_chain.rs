//! A vehicle's chain of writes: each builds on the state that the one before it leaves. Knows nothing of what
//! is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The writes of a vehicle that are on their way. When the store refuses one of them for good, the chain is
/// invalid: the writes behind it were judged by a state that never came to be, and are refused unseen; the vehicle
/// starts a new chain from what is stored. Writes of other vehicles are not affected.
#[derive(Debug, Default)]
pub(crate) struct WriteChain {
    shared: Arc<Shared>,
    number: u64,
}

/// What a vehicle shares with its writes, wherever they are.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the chain that is valid.
    newest: AtomicU64,
    /// Writes whose outcome is not known yet, those of invalid chains included.
    waiting: AtomicUsize,
}

/// A write's place in its chain, held until its commit is known.
pub(crate) struct ChainLink {
    shared: Arc<Shared>,
    number: u64,
}

impl WriteChain {
    /// Whether none of its writes was refused.
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

    /// Switches to the newest chain. Called by the vehicle before it takes over what is stored.
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
    /// Whether none of the chain's writes was refused.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared.is_valid(self.number)
    }

    /// Invalidates the chain. Called by the writer before it reports the refusal.
    pub(crate) fn invalidate(&self) {
        let next = self.number + 1;
        // An invalid chain stays as it is.
        self.shared.newest.compare_exchange(self.number, next, Ordering::AcqRel, Ordering::Acquire).ok();
    }
}

impl Drop for ChainLink {
    fn drop(&mut self) {
        self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
