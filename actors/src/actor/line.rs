//! A vehicle's line of writes: each builds on the state that the one before it leaves. Knows nothing of what
//! is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The line a write stands in. When the store refuses one of them for good, the line is cut: what stands
/// behind it was judged by a state that never was, and is refused unseen; the vehicle begins a new one from
/// what is stored. Nobody else's writes are touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    newest: Arc<AtomicU64>,
    number: u64,
}

impl Line {
    /// Whether it was not cut.
    pub(crate) fn holds(&self) -> bool {
        self.newest.load(Ordering::Acquire) == self.number
    }

    /// Ends the line. By the writer, before it tells anybody.
    pub(crate) fn cut(&self) {
        let next = self.number + 1;
        // One that was cut already stays so.
        self.newest.compare_exchange(self.number, next, Ordering::AcqRel, Ordering::Acquire).ok();
    }

    /// Begins the newest line. By the vehicle, before it takes over what is stored.
    pub(crate) fn renew(&mut self) {
        self.number = self.newest.load(Ordering::Acquire);
    }
}

/// Counts a write on its way until its commit is known.
pub(crate) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    pub(crate) fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
