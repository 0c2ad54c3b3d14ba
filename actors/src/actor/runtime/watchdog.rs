//! Checks whether all threads, and the actors of which each core has one, still answer. Runs on a thread of its own, so that no
//! thread is asked about itself. Reports what it finds; ends nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Instant;

use actix::prelude::*;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::workers::Workers;
use crate::health::{Health, WatchdogConfig};
use crate::meters::Meters;

/// The threads that are checked.
pub(crate) struct WatchedThreads {
    /// Threads by name, which may not end.
    pub(crate) own: Vec<(String, ArbiterHandle)>,
    /// Whose lent threads are checked too; those may end.
    pub(crate) workers: Workers,
}

/// Whether an actor is there.
pub(crate) type IsThere = Box<dyn Fn() -> bool + Send + Sync>;

/// The actors of a core, and who is told about its health; no longer once this is dropped.
pub(crate) struct Watched {
    actors: Vec<(&'static str, IsThere)>,
    told: watch::Sender<Health>,
}

type Cores = Arc<Mutex<Vec<Weak<Watched>>>>;

/// A watchdog; ends when dropped.
pub(crate) struct Watchdog {
    cores: Cores,
    /// Ends the thread when dropped.
    _stop: mpsc::Sender<()>,
}

/// A question to a thread, and when it was asked.
struct Question {
    asked: Instant,
    answered: Arc<AtomicBool>,
}

/// What was found at one look.
#[derive(Clone, Default)]
struct Found {
    stalled: Vec<String>,
    broken: Vec<String>,
}

impl Watchdog {
    /// Starts checking; the threads that do not answer are counted in `meters`.
    pub(crate) fn start(threads: WatchedThreads, config: WatchdogConfig, meters: &Meters) -> Self {
        let (stop, stopped) = mpsc::channel();
        let cores = Cores::default();
        let watched = Arc::clone(&cores);
        let mut stalled = meters.share(|of| &of.stalled_threads);
        let run = move || {
            let mut questions = HashMap::new();
            while stopped.recv_timeout(config.every) == Err(RecvTimeoutError::Timeout) {
                let found = look(&threads, config, &mut questions);
                stalled.set(found.stalled.len());
                watched.lock().retain(|core| core.upgrade().map(|core| core.tell(found.clone())).is_some());
            }
        };
        if let Err(error) = std::thread::Builder::new().name("watchdog".to_owned()).spawn(run) {
            tracing::error!(%error, "there is no watchdog over the threads");
        }
        Self { cores, _stop: stop }
    }

    /// Checks the actors of a core too, and tells its health, with that of the threads, to `told`, for as long as what is returned
    /// is kept.
    pub(crate) fn watch(
        &self,
        actors: Vec<(&'static str, IsThere)>,
        told: watch::Sender<Health>,
    ) -> Arc<Watched> {
        let watched = Arc::new(Watched { actors, told });
        self.cores.lock().push(Arc::downgrade(&watched));
        watched
    }
}

impl Watched {
    /// Tells the health of a core, if it changed, by what was found of the threads.
    fn tell(&self, mut found: Found) {
        let gone = self.actors.iter().filter(|(_, is_there)| !is_there());
        found.broken.extend(gone.map(|(name, _)| format!("the actor {name} ended")));
        let health = found.health();
        self.told.send_if_modified(|known| {
            // Broken is final.
            let changed = *known != health && !matches!(known, Health::Broken(_));
            if changed {
                report(&health);
                *known = health;
            }
            changed
        });
    }
}

impl Found {
    fn health(&self) -> Health {
        match (self.broken.is_empty(), self.stalled.is_empty()) {
            (false, _) => Health::Broken(self.broken.join(", ")),
            (_, false) => Health::Stalled(self.stalled.join(", ")),
            _ => Health::Well,
        }
    }
}

fn report(health: &Health) {
    match health {
        Health::Well => tracing::info!("every thread of the live core answers again"),
        Health::Stalled(what) => tracing::error!(what, "the live core stands still"),
        Health::Broken(what) => tracing::error!(what, "the live core is broken and cannot go on"),
    }
}

fn look(
    threads: &WatchedThreads,
    config: WatchdogConfig,
    questions: &mut HashMap<String, Question>,
) -> Found {
    let mut found = Found::default();
    let own = threads.own.iter().map(|(name, thread)| (name.clone(), thread.clone(), false));
    let lent = threads
        .workers
        .lent()
        .into_iter()
        .map(|worker| (format!("{:?}", worker.lent_by()), worker.thread, true));
    for (name, thread, may_end) in own.chain(lent) {
        let open = questions.remove(&name).filter(|open| !open.answered.load(Ordering::Acquire));
        // A lent thread may have ended since, with its connections.
        let open = open.filter(|_| !may_end || thread.spawn_fn(|| ()));
        let Some(open) = open else {
            match ask(&thread) {
                Some(asked) => {
                    questions.insert(name, asked);
                }
                None if may_end => {}
                None => found.broken.push(format!("the thread {name} ended")),
            }
            continue;
        };
        let silent = open.asked.elapsed();
        if silent >= config.broken_after {
            found.broken.push(format!("the thread {name} does not answer for {} s", silent.as_secs()));
        }
        if silent >= config.stalled_after {
            found.stalled.push(format!("the thread {name} does not answer"));
        }
        questions.insert(name, open);
    }
    found
}

fn ask(thread: &ArbiterHandle) -> Option<Question> {
    let answered = Arc::new(AtomicBool::new(false));
    let answer = Arc::clone(&answered);
    let is_there = thread.spawn_fn(move || answer.store(true, Ordering::Release));
    is_there.then(|| Question { asked: Instant::now(), answered })
}
