//! Whether the server can do its work, and if not, why. Set at start and stop and by a probe of the store once a
//! second; read by every listener. Knows no HTTP.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use waypost_actors::live::{Health, Live};

use crate::store::probe::{Probe, StoreBacklog, Trouble};

/// Pause between two probes of the store.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A store that is silent for this long counts as away. With the pauses before and after it, a request to a store
/// that hangs is answered within five seconds.
const ANSWER_WITHIN: Duration = Duration::from_millis(2_500);
/// Time left for a request once the store is away: the answer may come from memory.
const GRACE: Duration = Duration::from_millis(500);
/// Probes between two counts of what waits in the store.
const COUNT_EVERY: u32 = 15;

/// The state of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerState {
    /// Not serving yet, with the reason.
    Starting(String),
    /// Not serving because another server has the store, which answers; with what is waited for.
    Standby(String),
    /// It serves.
    Serving,
    /// Serving from memory while the store is away, with the reason.
    Away(String),
    /// Stopping.
    Stopping,
}

/// The shared state of the server; cheap to clone.
#[derive(Clone, Debug)]
pub struct Readiness {
    state: watch::Sender<ServerState>,
    backlog: watch::Sender<StoreBacklog>,
}

impl Default for Readiness {
    fn default() -> Self {
        let state = ServerState::Starting("the server starts".to_owned());
        Self { state: watch::Sender::new(state), backlog: watch::Sender::new(StoreBacklog::default()) }
    }
}

impl Readiness {
    /// Sets what the start waits for.
    pub fn starting(&self, why: impl Into<String>) {
        self.state.send_replace(ServerState::Starting(why.into()));
    }

    /// Notes that another server has the store and this one waits for it.
    pub fn standby(&self, why: impl Into<String>) {
        self.state.send_replace(ServerState::Standby(why.into()));
    }

    /// Notes that the store answers and requests are served.
    pub fn serving(&self) {
        self.state.send_replace(ServerState::Serving);
    }

    /// Notes that the server stops.
    pub fn stopping(&self) {
        self.state.send_replace(ServerState::Stopping);
    }

    /// Why the server cannot do its work, if it cannot.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        match &*self.state.borrow() {
            ServerState::Serving => None,
            ServerState::Starting(why) | ServerState::Standby(why) | ServerState::Away(why) => {
                Some(why.clone())
            }
            ServerState::Stopping => Some("the server stops".to_owned()),
        }
    }

    /// As [`Readiness::trouble`], including the health of the live core.
    #[must_use]
    pub fn trouble_with(&self, live: &Live) -> Option<String> {
        match live.health() {
            Health::Well if live.is_available() => self.trouble(),
            Health::Well => Some(self.trouble().unwrap_or_else(|| "fixes cannot be stored now".to_owned())),
            Health::Stalled(what) | Health::Broken(what) => Some(what),
        }
    }

    /// Whether the store answered its last probe, or answered when the server began to stop, or says that another server has it.
    #[must_use]
    pub fn is_store_up(&self) -> bool {
        let state = self.state.borrow();
        matches!(*state, ServerState::Serving | ServerState::Standby(_) | ServerState::Stopping)
    }

    /// Whether it waits because another server has the store.
    #[must_use]
    pub fn is_standby(&self) -> bool {
        matches!(*self.state.borrow(), ServerState::Standby(_))
    }

    /// The latest count of what waits in the store.
    #[must_use]
    pub fn backlog(&self) -> StoreBacklog {
        *self.backlog.borrow()
    }

    /// Completes once a request to the store has waited long enough to be given up.
    pub async fn in_vain(&self) {
        let mut state = self.state.subscribe();
        loop {
            // `wait_for` cannot fail, because `self` keeps the sender alive.
            state.wait_for(|state| matches!(state, ServerState::Away(_))).await.ok();
            sleep(GRACE).await;
            if matches!(*state.borrow_and_update(), ServerState::Away(_)) {
                return;
            }
        }
    }

    /// Probes the store once a second, over a connection of its own, for as long as the server runs. A store that is
    /// away is probed no more often. Returns when another server has taken over or the store was put back to an
    /// earlier state; this server must then end.
    pub async fn keep_looking(self, mut probe: Probe) {
        let mut looks = 0;
        loop {
            let counts = looks % COUNT_EVERY == 0;
            let answer = timeout(ANSWER_WITHIN, probe.look(counts)).await.unwrap_or(Err(Trouble::Silent));
            let ends = matches!(answer, Err(Trouble::TakenOver | Trouble::PutBack));
            self.note(answer);
            if ends {
                return;
            }
            looks += 1;
            sleep(LOOK_EVERY).await;
        }
    }

    fn note(&self, answer: Result<Option<StoreBacklog>, Trouble>) {
        if let Ok(Some(backlog)) = answer {
            self.backlog.send_replace(backlog);
        }
        let answer = answer.map_err(|trouble| trouble.to_string());
        self.state.send_if_modified(|state| {
            let next = match (&*state, answer) {
                (ServerState::Serving, Err(why)) => {
                    tracing::error!(why, "the store is away; it is asked once a second");
                    ServerState::Away(why)
                }
                (ServerState::Away(before), Err(why)) if *before != why => ServerState::Away(why),
                (ServerState::Away(_), Ok(_)) => {
                    tracing::info!("the store answers");
                    ServerState::Serving
                }
                _ => return false,
            };
            *state = next;
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_a_server_that_serves_comes_to_be_away_and_back() {
        let readiness = Readiness::default();
        assert_eq!(readiness.trouble().as_deref(), Some("the server starts"));
        readiness.note(Ok(None));
        assert!(!readiness.is_store_up(), "the start itself says when it is over");
        readiness.serving();
        assert_eq!(readiness.trouble(), None);
        readiness.note(Err(Trouble::Silent));
        assert_eq!(
            (readiness.trouble().as_deref(), readiness.is_store_up()),
            (Some("the database does not answer"), false)
        );
        readiness.note(Err(Trouble::ReadOnly));
        assert_eq!(readiness.trouble().as_deref(), Some("the database is read-only"), "what is so now");
        readiness.note(Ok(None));
        assert_eq!(readiness.trouble(), None);
        readiness.stopping();
        readiness.note(Err(Trouble::Silent));
        assert_eq!(readiness.trouble().as_deref(), Some("the server stops"));
    }

    #[test]
    fn a_standby_is_not_ready_and_its_store_is_there() {
        let readiness = Readiness::default();
        readiness.standby("another server has this store");
        assert_eq!(readiness.trouble().as_deref(), Some("another server has this store"));
        assert!(readiness.is_standby() && readiness.is_store_up());
        readiness.starting("the database does not answer");
        assert!(!readiness.is_standby() && !readiness.is_store_up());
        readiness.standby("another server has this store");
        readiness.serving();
        assert!(!readiness.is_standby());
    }

    #[actix_rt::test]
    async fn nobody_waits_in_vain_while_the_store_answers() {
        let readiness = Readiness::default();
        readiness.serving();
        let mut waiting = Box::pin(readiness.in_vain());
        assert_eq!(waiting.as_mut().now_or_never(), None);
        readiness.note(Err(Trouble::Silent));
        assert_eq!(waiting.as_mut().now_or_never(), None, "what is in memory may still be answered");
        waiting.await;
    }
}
