//! Backpressure: the bound on everything on its way to a commit.
//!
//! A fix takes a permit before it enters the engine and gives it back when it is committed or
//! refused. So the queues between are bounded by the permits, whatever a mailbox allows, and a fix
//! that could not be queued for a commit never reaches a vehicle.

use std::iter::Sum;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::error::LiveError;
use crate::meters::Meters;

/// Room for fixes on their way to a commit, and whether the store can be written at all.
#[derive(Clone)]
pub(crate) struct Permits {
    shared: Arc<Shared>,
}

struct Shared {
    room: Arc<Semaphore>,
    total: u32,
    /// Number and writing change together, so they are read together: a permit of a generation that has not begun
    /// would let a vehicle judge by what it knew before the failure.
    generation: watch::Sender<Generation>,
    meters: Meters,
}

/// Fixes between their arrival and their commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixesInFlight {
    /// How many there are.
    pub count: u32,
    /// How many there may be.
    pub capacity: u32,
}

impl Sum for FixesInFlight {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, of| Self {
            count: sum.count + of.count,
            capacity: sum.capacity + of.capacity,
        })
    }
}

/// The time between two failed commits. Fixes accepted in one generation are not written in another.
#[derive(Clone, Copy, Debug)]
struct Generation {
    number: u64,
    writing: Writing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// Permits are given out.
    Open,
    /// A commit failed, and what it left in the store is not read back yet.
    Suspended,
    /// Permits are never given out again.
    Ended,
}

/// Whether fixes can be stored, with a way to wait for a change.
pub struct Storing {
    generation: watch::Receiver<Generation>,
}

impl Storing {
    /// Whether fixes can be stored now.
    #[must_use]
    pub fn is_so(&self) -> bool {
        self.generation.borrow().writing == Writing::Open
    }

    /// Waits until the answer differs from `known`.
    pub async fn other_than(&mut self, known: bool) {
        let changed =
            self.generation.wait_for(|generation| (generation.writing == Writing::Open) != known).await;
        if changed.is_err() {
            // The core is gone, and its sockets with it.
            std::future::pending::<()>().await;
        }
    }
}

/// Room for some fixes, held until dropped, and the generation they may be written in.
pub(crate) struct Permit {
    pub(crate) room: OwnedSemaphorePermit,
    pub(crate) ticket: WriteTicket,
}

/// The write generation in which something was accepted.
#[derive(Clone)]
pub(crate) struct WriteTicket {
    pub(crate) generation: u64,
    permits: Permits,
}

impl WriteTicket {
    /// Whether no commit has failed since, so that it may still be written.
    pub(crate) fn is_current(&self) -> bool {
        self.permits.generation() == self.generation
    }
}

impl Permits {
    pub(crate) fn new(total: u32, meters: Meters) -> Self {
        let total = total.max(1);
        let room = Arc::new(Semaphore::new(total as usize));
        let (generation, _) = watch::channel(Generation { number: 1, writing: Writing::Open });
        Self { shared: Arc::new(Shared { room, total, generation, meters }) }
    }

    fn read(&self) -> Generation {
        *self.shared.generation.borrow()
    }

    /// Waits for room for this many fixes; more than the total counts as the total. Fails at once while no permits
    /// are given out.
    pub(crate) async fn take(&self, fixes: usize) -> Result<Permit, LiveError> {
        let (meter, many, begun) = (&self.shared.meters.fixes, fixes as u64, Instant::now());
        meter.offer(many);
        let taken = self.take_room(fixes).await;
        match &taken {
            Ok(_) => meter.accept(many, begun.elapsed()),
            Err(_) => meter.refuse(many),
        }
        taken
    }

    async fn take_room(&self, fixes: usize) -> Result<Permit, LiveError> {
        self.open_generation()?;
        let wanted = u32::try_from(fixes).unwrap_or(u32::MAX).clamp(1, self.shared.total);
        let room = Arc::clone(&self.shared.room).acquire_many_owned(wanted).await;
        let room = room.map_err(|_| LiveError::Stopped)?;
        Ok(Permit {
            room,
            ticket: WriteTicket { generation: self.open_generation()?, permits: self.clone() },
        })
    }

    fn open_generation(&self) -> Result<u64, LiveError> {
        let generation = self.read();
        match generation.writing {
            Writing::Open => Ok(generation.number),
            Writing::Suspended => Err(LiveError::Unavailable),
            Writing::Ended => Err(LiveError::Stopped),
        }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.read().writing == Writing::Open
    }

    /// The newest generation, even if it is still suspended.
    pub(crate) fn generation(&self) -> u64 {
        self.read().number
    }

    /// The newest generation that has begun in memory: a suspended one does not count yet.
    pub(crate) fn begun_generation(&self) -> u64 {
        let generation = self.read();
        if generation.writing == Writing::Suspended { generation.number - 1 } else { generation.number }
    }

    /// The generation that begins once the store answers again; `None` unless one is suspended.
    pub(crate) fn next_generation(&self) -> Option<u64> {
        let generation = self.read();
        (generation.writing == Writing::Suspended).then_some(generation.number)
    }

    /// A commit failed: no permits are given out until [`Self::restore`], and nothing accepted before is written.
    pub(crate) fn suspend(&self) {
        self.shared.generation.send_modify(|generation| {
            generation.number += 1;
            if generation.writing == Writing::Open {
                generation.writing = Writing::Suspended;
            }
        });
    }

    /// The store can be written again, and memory shows what it holds.
    pub(crate) fn restore(&self) {
        self.shared.generation.send_modify(|generation| {
            if generation.writing == Writing::Suspended {
                generation.writing = Writing::Open;
            }
        });
    }

    /// The fixes that hold room now.
    pub(crate) fn in_flight(&self) -> FixesInFlight {
        let free = u32::try_from(self.shared.room.available_permits()).unwrap_or(u32::MAX);
        let capacity = self.shared.total;
        FixesInFlight { count: capacity.saturating_sub(free), capacity }
    }

    pub(crate) fn storing(&self) -> Storing {
        Storing { generation: self.shared.generation.subscribe() }
    }

    /// Waits until the store can be written.
    pub(crate) async fn available(&self) -> Result<(), LiveError> {
        let mut generation = self.shared.generation.subscribe();
        let resumed = generation.wait_for(|generation| generation.writing != Writing::Suspended).await;
        match resumed.map(|generation| generation.writing) {
            Ok(Writing::Open) => Ok(()),
            _ => Err(LiveError::Stopped),
        }
    }

    /// Gives out no more permits, ever. Fixes that hold one may still be written.
    pub(crate) fn end(&self) {
        self.shared.generation.send_modify(|generation| generation.writing = Writing::Ended);
    }

    /// Waits until every permit is back: all fixes that held one are committed or refused.
    pub(crate) async fn all_back(&self) {
        // Fails only if the semaphore is closed, which never happens.
        self.shared.room.acquire_many(self.shared.total).await.ok();
    }
}
