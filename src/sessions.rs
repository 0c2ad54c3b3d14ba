//! Open sockets, and how to end them: one per tracker, all of them at the end.
//!
//! Knows no protocol: a socket waits for its [`End`], whoever wants it gone says why.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use waypost_actors::model::TrackerId;

/// Why a socket ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Another connection of the same tracker took its place.
    Replaced,
    /// The credential is not valid any more.
    Credential,
    /// The tracker, or its organization, is disabled.
    Disabled,
    /// The server stops.
    Restarting,
}

/// The open sockets.
#[derive(Clone)]
pub struct Sessions {
    trackers: Arc<Mutex<HashMap<TrackerId, Tracker>>>,
    all: Arc<watch::Sender<Option<End>>>,
}

#[derive(Default)]
struct Tracker {
    socket: Option<(u64, watch::Sender<Option<End>>)>,
    opened: u64,
    /// The newest acknowledged `seq` of the boot the tracker declared last.
    boot: Option<(String, i64)>,
}

/// A socket's place among the open ones, until dropped.
pub struct TrackerSession {
    sessions: Sessions,
    tracker: TrackerId,
    number: u64,
    ending: watch::Receiver<Option<End>>,
    stopping: watch::Receiver<Option<End>>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { trackers: Arc::default(), all: Arc::new(watch::channel(None).0) }
    }
}

impl Sessions {
    /// Opens a tracker's socket; one that was open before is told that it was replaced.
    #[must_use]
    pub fn open(&self, tracker: TrackerId) -> TrackerSession {
        let (sender, ending) = watch::channel(None);
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = trackers.entry(tracker).or_default();
        entry.opened += 1;
        let number = entry.opened;
        if let Some((_, before)) = entry.socket.replace((number, sender)) {
            before.send_replace(Some(End::Replaced));
        }
        TrackerSession { sessions: self.clone(), tracker, number, ending, stopping: self.all.subscribe() }
    }

    /// Ends a tracker's socket, if it has one.
    pub fn end(&self, tracker: TrackerId, why: End) {
        let trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, socket)) = trackers.get(&tracker).and_then(|entry| entry.socket.as_ref()) {
            socket.send_replace(Some(why));
        }
    }

    /// Ends every socket.
    pub fn end_all(&self) {
        self.all.send_replace(Some(End::Restarting));
    }

    /// Tells when every socket must end; for sockets that are no tracker's.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<Option<End>> {
        self.all.subscribe()
    }
}

impl TrackerSession {
    /// Waits until the socket must end.
    pub async fn ended(&mut self) -> End {
        let why = |end: &Option<End>| end.is_some();
        tokio::select! {
            Ok(end) = self.ending.wait_for(why) => end.unwrap_or(End::Replaced),
            Ok(end) = self.stopping.wait_for(why) => end.unwrap_or(End::Restarting),
            else => End::Restarting,
        }
    }

    /// The newest acknowledged `seq` of a boot, as far as this process remembers.
    #[must_use]
    pub fn acked(&self, boot: &str) -> Option<i64> {
        let trackers = self.sessions.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = trackers.get(&self.tracker).and_then(|entry| entry.boot.as_ref());
        known.filter(|(known, _)| known == boot).map(|(_, seq)| *seq)
    }

    /// Remembers the newest acknowledged `seq` of a boot.
    pub fn remember(&self, boot: &str, seq: i64) {
        let mut trackers = self.sessions.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = trackers.entry(self.tracker).or_default();
        match &mut entry.boot {
            Some((known, acked)) if known == boot => *acked = seq.max(*acked),
            other => *other = Some((boot.to_owned(), seq)),
        }
    }
}

impl Drop for TrackerSession {
    fn drop(&mut self) {
        let mut trackers = self.sessions.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = trackers.get_mut(&self.tracker) {
            if entry.socket.as_ref().is_some_and(|(number, _)| *number == self.number) {
                entry.socket = None;
            }
            // A tracker that never named its boot leaves nothing behind.
            if entry.socket.is_none() && entry.boot.is_none() {
                trackers.remove(&self.tracker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const TRACKER: TrackerId = TrackerId(uuid::Uuid::nil());

    #[test]
    fn the_second_socket_of_a_tracker_replaces_the_first() {
        let sessions = Sessions::default();
        let mut first = sessions.open(TRACKER);
        let mut second = sessions.open(TRACKER);
        assert_eq!(first.ended().now_or_never(), Some(End::Replaced));
        drop(first);
        assert_eq!(second.ended().now_or_never(), None);
        sessions.end(TRACKER, End::Credential);
        assert_eq!(second.ended().now_or_never(), Some(End::Credential));
    }

    #[test]
    fn acknowledged_numbers_belong_to_a_boot() {
        let sessions = Sessions::default();
        let session = sessions.open(TRACKER);
        session.remember("a", 7);
        session.remember("a", 5);
        assert_eq!((session.acked("a"), session.acked("b")), (Some(7), None));
        drop(session);
        assert_eq!(sessions.open(TRACKER).acked("a"), Some(7));
    }

    #[test]
    fn all_sockets_end_at_the_end() {
        let sessions = Sessions::default();
        let mut session = sessions.open(TRACKER);
        sessions.end_all();
        assert_eq!(session.ended().now_or_never(), Some(End::Restarting));
        assert_eq!(sessions.open(TRACKER).ended().now_or_never(), Some(End::Restarting));
    }
}
