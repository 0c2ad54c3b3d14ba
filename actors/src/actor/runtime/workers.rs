//! The threads that vehicles live on: the core's own, and those lent to it by who hears trackers. A vehicle whose
//! fixes come in on a lent thread lives there, so that no other thread is woken to judge them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use actix::prelude::*;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::model::VehicleId;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) thread: ArbiterHandle,
    /// `None`: the core's own.
    lent_by: Option<ThreadId>,
}

impl Worker {
    /// Whether the other one is the same, of those that are lent.
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

/// Where a vehicle is wanted by who asks for it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Affinity {
    /// Wherever it is, or on the core's own worker.
    #[default]
    Any,
    /// Wherever it is, or on this one.
    Preferred(Worker),
    /// On this one; if it lives elsewhere, it is called here.
    Pinned(Worker),
}

impl Affinity {
    /// The worker that is wished for, if any.
    pub(crate) fn worker(&self) -> Option<&Worker> {
        match self {
            Self::Any => None,
            Self::Preferred(worker) | Self::Pinned(worker) => Some(worker),
        }
    }

    /// The same worker, for long.
    pub(crate) fn for_long(self) -> Self {
        match self {
            Self::Preferred(worker) => Self::Pinned(worker),
            other => other,
        }
    }

    /// Whether a vehicle that lives there is to come here.
    pub(crate) fn should_migrate(&self, worker: &Worker) -> bool {
        matches!(self, Self::Pinned(here) if !here.is(worker))
    }
}

/// All of them.
#[derive(Clone)]
pub(crate) struct Workers {
    own: Arc<[Worker]>,
    lent: Arc<Mutex<Vec<Worker>>>,
}

impl Workers {
    /// Starts so many of the core's own, one at least: for vehicles that nobody's connection asks for.
    pub(crate) fn start(own: usize) -> Self {
        let start = |_| Worker { thread: Arbiter::new().handle(), lent_by: None };
        Self { own: (0..own.max(1)).map(start).collect(), lent: Arc::default() }
    }

    /// Takes the calling thread as a worker, if it runs an arbiter.
    pub(crate) fn lend(&self) {
        let Some(arbiter) = Arbiter::try_current() else { return };
        let here = Some(thread::current().id());
        let mut lent = self.lock();
        lent.retain(|worker| worker.lent_by != here && worker.is_there());
        lent.push(Worker { thread: arbiter, lent_by: here });
    }

    /// Near the calling thread, if it is lent.
    pub(crate) fn here(&self) -> Affinity {
        let here = Some(thread::current().id());
        self.lock()
            .iter()
            .find(|worker| worker.lent_by == here)
            .cloned()
            .map_or(Affinity::Any, Affinity::Preferred)
    }

    /// The core's own worker for a vehicle.
    pub(crate) fn of(&self, vehicle: VehicleId) -> Worker {
        let worker = vehicle.0.as_u64_pair().1 % self.own.len() as u64;
        self.own[worker as usize].clone()
    }

    /// Those that are lent now.
    pub(crate) fn lent(&self) -> Vec<Worker> {
        self.lock().clone()
    }

    /// The core's own.
    pub(crate) fn own(&self) -> &[Worker] {
        &self.own
    }

    /// Waits until every step of a vehicle that runs now is over and handed to the writer.
    pub(crate) async fn drain(&self) {
        let lent = self.lent();
        let turns = self.own.iter().chain(&lent).map(|worker| {
            let (turn, came) = oneshot::channel();
            // A worker runs one step at a time, and this between two of them; one that ended runs none.
            worker.thread.spawn(async move {
                turn.send(()).ok();
            });
            came
        });
        join_all(turns.collect::<Vec<_>>()).await;
    }

    /// Stops the core's own.
    pub(crate) fn stop(&self) {
        for worker in &*self.own {
            worker.thread.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
