//! The threads that vehicles live on: workers of their own, and those lent by the server's connections. A vehicle
//! whose fixes arrive on a lent thread lives there, so that no other thread is woken to judge them.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use actix::prelude::*;
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::model::VehicleId;

/// A thread that vehicles may live on.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) thread: ArbiterHandle,
    /// The thread that lent it; `None` for one that is not lent.
    lent_by: Option<ThreadId>,
}

impl Worker {
    /// Whether both are the same lent thread.
    fn is(&self, other: &Self) -> bool {
        self.lent_by.is_some() && self.lent_by == other.lent_by
    }

    /// Whether its thread takes tasks.
    pub(crate) fn is_there(&self) -> bool {
        self.thread.spawn_fn(|| ())
    }

    /// The thread that lent it.
    pub(crate) fn lent_by(&self) -> Option<ThreadId> {
        self.lent_by
    }
}

/// Where the caller wants a vehicle to live.
#[derive(Clone, Debug, Default)]
pub(crate) enum Affinity {
    /// Wherever it lives, else on the worker that is its own.
    #[default]
    Any,
    /// Wherever it lives, else on this worker.
    Preferred(Worker),
    /// On this worker; a vehicle that lives elsewhere is asked to move.
    Pinned(Worker),
}

impl Affinity {
    /// The worker that is preferred, if any.
    pub(crate) fn worker(&self) -> Option<&Worker> {
        match self {
            Self::Any => None,
            Self::Preferred(worker) | Self::Pinned(worker) => Some(worker),
        }
    }

    /// Pins the preferred worker, for a caller that stays for long.
    pub(crate) fn for_long(self) -> Self {
        match self {
            Self::Preferred(worker) => Self::Pinned(worker),
            other => other,
        }
    }

    /// Whether a vehicle that lives on `worker` should move.
    pub(crate) fn should_migrate(&self, worker: &Worker) -> bool {
        matches!(self, Self::Pinned(here) if !here.is(worker))
    }
}

/// Workers that are there as long as the live core, and the lent ones; cheap to clone.
#[derive(Clone)]
pub(crate) struct Workers {
    own: Arc<[Worker]>,
    lent: Arc<Mutex<Vec<Worker>>>,
}

impl Workers {
    /// Workers for vehicles that no connection asks for; none is lent yet.
    pub(crate) fn of(threads: impl Iterator<Item = ArbiterHandle>) -> Self {
        let own = threads.map(|thread| Worker { thread, lent_by: None });
        Self { own: own.collect(), lent: Arc::default() }
    }

    /// Those that are not lent.
    pub(crate) fn own(&self) -> &[Worker] {
        &self.own
    }

    /// Takes the calling thread as a worker, if it runs an arbiter.
    pub(crate) fn lend(&self) {
        let Some(arbiter) = Arbiter::try_current() else { return };
        let here = Some(thread::current().id());
        let mut lent = self.lock();
        lent.retain(|worker| worker.lent_by != here && worker.is_there());
        lent.push(Worker { thread: arbiter, lent_by: here });
    }

    /// Prefers the calling thread, if it is lent.
    pub(crate) fn here(&self) -> Affinity {
        let here = Some(thread::current().id());
        self.lock()
            .iter()
            .find(|worker| worker.lent_by == here)
            .cloned()
            .map_or(Affinity::Any, Affinity::Preferred)
    }

    /// The worker of a vehicle that no connection asks for.
    pub(crate) fn own_for(&self, vehicle: VehicleId) -> Worker {
        let worker = vehicle.0.as_u64_pair().1 % self.own.len() as u64;
        self.own[worker as usize].clone()
    }

    /// The threads that are lent now.
    pub(crate) fn lent(&self) -> Vec<Worker> {
        self.lock().clone()
    }

    /// Waits until every step of a vehicle that is running now is over and handed to the writer.
    pub(crate) async fn drain(&self) {
        let lent = self.lent();
        let turns = self.own.iter().chain(&lent).map(|worker| {
            let (turn, came) = oneshot::channel();
            // A worker runs one step at a time, so this task runs between two of them; a thread that ended runs
            // none.
            worker.thread.spawn(async move {
                turn.send(()).ok();
            });
            came
        });
        join_all(turns.collect::<Vec<_>>()).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.lent.lock()
    }
}
