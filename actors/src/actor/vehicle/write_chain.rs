//! A vehicle's line of writes: each builds on the state that the one before it leaves. Knows nothing of what
//! is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The line a vehicle's writes stand in. When the store refuses one of them for good, the line is cut: what stands
/// behind it was judged by a state that never was, and is refused unseen; the vehicle begins a new one from
/// what is stored. Nobody else's writes are touched.
#[derive(Debug, Default)]
pub(crate) struct WriteChain {
    shared: Arc<Shared>,
    number: u64,
}

/// What a vehicle and its writes have in common, wherever they are.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the line that is not cut.
    newest: AtomicU64,
    /// Writes whose commit is not known yet, of cut lines too.
    waiting: AtomicUsize,
}

/// A write's place in its line, until its commit is known.
pub(crate) struct ChainLink {
    shared: Arc<Shared>,
    number: u64,
}

impl WriteChain {
    /// Whether it was not cut.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared.is_valid(self.number)
    }

    /// Whether no write is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.waiting.load(Ordering::Acquire) == 0
    }

    /// A place for the next write.
    pub(crate) fn append(&self) -> ChainLink {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        ChainLink { shared: Arc::clone(&self.shared), number: self.number }
    }

    /// Begins the newest line. By the vehicle, before it takes over what is stored.
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
    /// Whether the line was not cut.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared.is_valid(self.number)
    }

    /// Ends the line. By the writer, before it tells anybody.
    pub(crate) fn invalidate(&self) {
        let next = self.number + 1;
        // One that was cut already stays so.
        self.shared.newest.compare_exchange(self.number, next, Ordering::AcqRel, Ordering::Acquire).ok();
    }
}

impl Drop for ChainLink {
    fn drop(&mut self) {
        self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
