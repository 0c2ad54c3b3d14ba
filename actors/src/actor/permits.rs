//! The bound on everything on its way to a commit.
//!
//! A fix takes a permit before it enters the engine and gives it back when it is committed or
//! refused. So the queues between are bounded by the permits, whatever a mailbox allows, and a fix
//! that could not be queued for a commit never reaches a vehicle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::live::LiveError;

/// Room for fixes on their way to a commit, and whether the store can be written at all.
#[derive(Clone)]
pub(crate) struct Permits {
    shared: Arc<Shared>,
}

struct Shared {
    room: Arc<Semaphore>,
    total: u32,
    available: AtomicBool,
    term: AtomicU64,
    restored: Notify,
}

/// Room for some fixes, until dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _room: OwnedSemaphorePermit,
    /// The writer's term it was given in. After a failed commit a new term begins, and what was
    /// taken in an older one is not written any more.
    pub(crate) term: u64,
}

impl Permits {
    pub(crate) fn new(total: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                room: Arc::new(Semaphore::new(total as usize)),
                total,
                available: AtomicBool::new(true),
                term: AtomicU64::new(1),
                restored: Notify::new(),
            }),
        }
    }

    /// Waits for room for so many fixes; more than there is in all counts as all there is.
    pub(crate) async fn take(&self, fixes: usize) -> Result<Permit, LiveError> {
        let wanted = u32::try_from(fixes).unwrap_or(u32::MAX).clamp(1, self.shared.total);
        let room =
            Arc::clone(&self.shared.room).acquire_many_owned(wanted).await.map_err(|_| LiveError::Stopped)?;
        if self.is_available() {
            Ok(Permit { _room: room, term: self.term() })
        } else {
            Err(LiveError::Unavailable)
        }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.shared.available.load(Ordering::Acquire)
    }

    pub(crate) fn term(&self) -> u64 {
        self.shared.term.load(Ordering::Acquire)
    }

    /// A commit failed: nothing is taken until [`Self::restore`], and nothing taken before is written.
    pub(crate) fn suspend(&self) -> u64 {
        self.shared.available.store(false, Ordering::Release);
        self.shared.term.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The store can be written again.
    pub(crate) fn restore(&self) {
        self.shared.available.store(true, Ordering::Release);
        self.shared.restored.notify_waiters();
    }

    /// Waits until the store can be written.
    pub(crate) async fn available(&self) {
        let restored = self.shared.restored.notified();
        if !self.is_available() {
            restored.await;
        }
    }

    /// No more permits, for ever.
    pub(crate) fn close(&self) {
        self.shared.room.close();
    }
}
