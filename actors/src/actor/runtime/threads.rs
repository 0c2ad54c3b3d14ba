//! The threads of live cores, and how actors live on them. A core ends its own actors, since others may live on the same threads.

use std::sync::Arc;

use actix::dev::channel::{AddressReceiver, channel};
use actix::prelude::*;
use tokio_util::sync::CancellationToken;

use super::watchdog::{Watchdog, WatchedThreads};
use super::workers::Workers;
use crate::health::WatchdogConfig;
use crate::meters::Meters;

/// Messages that may wait for an actor without their senders waiting, as actix has it.
const MAILBOX: usize = 16;

/// The threads of a live core, or of several; cheap to clone. They end with the last of those that hold them.
#[derive(Clone)]
pub struct LiveThreads(Arc<Threads>);

struct Threads {
    router: ArbiterHandle,
    registry: ArbiterHandle,
    writer: ArbiterHandle,
    workers: Workers,
    watchdog: Watchdog,
}

impl LiveThreads {
    /// Starts them, and a watchdog over them that counts in `meters`; needs a running actix system. `workers`: how many, at least one,
    /// for vehicles that live on no thread of a connection.
    #[must_use]
    pub fn start(workers: usize, config: WatchdogConfig, meters: &Meters) -> Self {
        let thread = || Arbiter::new().handle();
        let (router, registry, writer) = (thread(), thread(), thread());
        let workers = Workers::of((0..workers.max(1)).map(|_| thread()));
        let once = [("router", &router), ("registry", &registry), ("writer", &writer)];
        let once = once.map(|(name, thread)| (name.to_owned(), thread.clone()));
        let own = workers.own().iter().enumerate();
        let own = own.map(|(number, worker)| (format!("worker {number}"), worker.thread.clone()));
        let watched = WatchedThreads { own: once.into_iter().chain(own).collect(), workers: workers.clone() };
        let watchdog = Watchdog::start(watched, config, meters);
        Self(Arc::new(Threads { router, registry, writer, workers, watchdog }))
    }

    /// Of directory, occupancy, connections, cache and corrections.
    pub(crate) fn router(&self) -> &ArbiterHandle {
        &self.0.router
    }

    /// Of the registry of fences: preparing a large one takes milliseconds, which must not hold up other actors.
    pub(crate) fn registry(&self) -> &ArbiterHandle {
        &self.0.registry
    }

    pub(crate) fn writer(&self) -> &ArbiterHandle {
        &self.0.writer
    }

    /// Of vehicles.
    pub(crate) fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// What looks after all of them.
    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.0.watchdog
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let workers = self.workers.own().iter().map(|worker| &worker.thread);
        for thread in [&self.router, &self.registry, &self.writer].into_iter().chain(workers) {
            thread.stop();
        }
    }
}

/// The threads as one core uses them: what it starts there ends with it.
pub(crate) struct CoreThreads {
    threads: LiveThreads,
    stopping: CancellationToken,
}

impl CoreThreads {
    pub(crate) fn on(threads: LiveThreads) -> Self {
        Self { threads, stopping: CancellationToken::new() }
    }

    /// The threads, which may be others' too.
    pub(crate) fn shared(&self) -> &LiveThreads {
        &self.threads
    }

    /// Starts an actor beside the directory.
    pub(crate) fn start<A: Actor<Context = Context<A>> + Send>(&self, actor: A) -> Addr<A> {
        self.start_on(self.threads.router(), actor)
    }

    /// Starts an actor on a thread. It lives until it ends by itself, or at most until [`Self::stop`].
    pub(crate) fn start_on<A: Actor<Context = Context<A>> + Send>(
        &self,
        thread: &ArbiterHandle,
        actor: A,
    ) -> Addr<A> {
        let (sender, receiver) = channel(MAILBOX);
        self.start_behind(thread, receiver, actor);
        Addr::new(sender)
    }

    /// As [`Self::start_on`], for an actor whose address is in use already.
    pub(crate) fn start_behind<A: Actor<Context = Context<A>> + Send>(
        &self,
        thread: &ArbiterHandle,
        receiver: AddressReceiver<A>,
        actor: A,
    ) {
        let stopping = self.stopping.clone();
        thread.spawn_fn(move || {
            let actor = Context::with_receiver(receiver).into_future(actor);
            actix::spawn(stopping.run_until_cancelled_owned(actor));
        });
    }

    /// Runs a task beside the directory, until it ends or at most until [`Self::stop`].
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.threads.router().spawn(async move {
            stopping.run_until_cancelled(task).await;
        });
    }

    /// Ends all that was started.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }
}
