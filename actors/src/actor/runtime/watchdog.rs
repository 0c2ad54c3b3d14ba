//! Checks whether the actors of which there is one each, and all threads, still answer. Runs on a thread of its
//! own, so that no thread is asked about itself. Reports what it finds; ends nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::watch;

use super::workers::Workers;
use crate::config::Health;
use crate::meters::{Figures, Meters, Share};

/// What is checked, and how patiently.
pub(crate) struct WatchdogParts {
    /// Threads by name.
    pub(crate) threads: Vec<(String, ArbiterHandle)>,
    /// Threads that may be lent, and may end.
    pub(crate) workers: Workers,
    /// Whether an actor is still there, by name.
    pub(crate) actors: Vec<(&'static str, IsThere)>,
    pub(crate) meters: Meters,
    /// The time between two checks.
    pub(crate) every: Duration,
    /// A thread that has not answered for this long is reported as stalled.
    pub(crate) stalled_after: Duration,
    /// A thread that has not answered for this long is reported as broken for good.
    pub(crate) broken_after: Duration,
}

/// Whether an actor is there.
pub(crate) type IsThere = Box<dyn Fn() -> bool + Send>;

/// A watchdog; ends when dropped.
pub(crate) struct Watchdog {
    /// Ends the thread when dropped.
    _stop: mpsc::Sender<()>,
}

/// A question to a thread, and when it was asked.
struct Question {
    asked: Instant,
    answered: Arc<AtomicBool>,
}

impl Watchdog {
    /// Starts checking, and reports changes to `told`.
    pub(crate) fn start(parts: WatchdogParts, told: watch::Sender<Health>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let started = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || run(&parts, &told, &stopped));
        if let Err(error) = started {
            tracing::error!(%error, "there is no watchdog over the threads");
        }
        Self { _stop: stop }
    }
}

fn run(parts: &WatchdogParts, told: &watch::Sender<Health>, stopped: &mpsc::Receiver<()>) {
    let mut questions = HashMap::new();
    let mut stalled = parts.meters.share(|of| &of.stalled_threads);
    while stopped.recv_timeout(parts.every) == Err(RecvTimeoutError::Timeout) {
        let health = look(parts, &mut questions, &mut stalled);
        told.send_if_modified(|known| {
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

fn report(health: &Health) {
    match health {
        Health::Well => tracing::info!("every thread of the live core answers again"),
        Health::Stalled(what) => tracing::error!(what, "the live core stands still"),
        Health::Broken(what) => tracing::error!(what, "the live core is broken and cannot go on"),
    }
}

fn look(
    parts: &WatchdogParts,
    questions: &mut HashMap<String, Question>,
    many: &mut Share<Figures>,
) -> Health {
    let mut stalled = Vec::new();
    let mut broken = Vec::new();
    let own = parts.threads.iter().map(|(name, thread)| (name.clone(), thread.clone(), false));
    let lent = parts
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
                None => broken.push(format!("the thread {name} ended")),
            }
            continue;
        };
        let silent = open.asked.elapsed();
        if silent >= parts.broken_after {
            broken.push(format!("the thread {name} does not answer for {} s", silent.as_secs()));
        }
        if silent >= parts.stalled_after {
            stalled.push(format!("the thread {name} does not answer"));
        }
        questions.insert(name, open);
    }
    many.set(stalled.len());
    let gone = parts.actors.iter().filter(|(_, is_there)| !is_there());
    broken.extend(gone.map(|(name, _)| format!("the actor {name} ended")));
    match (broken.is_empty(), stalled.is_empty()) {
        (false, _) => Health::Broken(broken.join(", ")),
        (_, false) => Health::Stalled(stalled.join(", ")),
        _ => Health::Well,
    }
}

fn ask(thread: &ArbiterHandle) -> Option<Question> {
    let answered = Arc::new(AtomicBool::new(false));
    let answer = Arc::clone(&answered);
    let is_there = thread.spawn_fn(move || answer.store(true, Ordering::Release));
    is_there.then(|| Question { asked: Instant::now(), answered })
}
