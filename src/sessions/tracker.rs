//! Trackers' sockets: at most one per tracker, the news sent to it, and what is remembered of its boots.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use waypost_actors::model::{OrganizationId, TrackerId};

use super::news::{End, KeepDays, News};
use crate::domain::tracker::TrackerConfig;

/// The state of trackers that are, or were, connected.
#[derive(Clone, Default)]
pub(super) struct Trackers(Arc<Mutex<HashMap<TrackerId, Tracker>>>);

#[derive(Default)]
struct Tracker {
    socket: Option<TrackerSocket>,
    opened: u64,
    /// The newest acknowledged `seq` of the boot the tracker declared last.
    boot: Option<(String, i64)>,
}

struct TrackerSocket {
    number: u64,
    organization: OrganizationId,
    news: watch::Sender<LatestNews>,
}

/// The latest news for a tracker's socket.
#[derive(Clone, Copy, Debug, Default)]
struct LatestNews {
    /// The tracker's config, if it changed since the socket was opened.
    config: Option<TrackerConfig>,
    /// How long its organization keeps positions, if that changed since the socket was opened.
    keep_days: Option<KeepDays>,
    /// Why the socket must end.
    end: Option<End>,
}

impl TrackerSocket {
    fn end(&self, why: End) {
        self.news.send_modify(|news| news.end = Some(why));
    }
}

/// A tracker's socket among the open ones, until dropped.
pub struct TrackerSession {
    trackers: Trackers,
    tracker: TrackerId,
    number: u64,
    news: watch::Receiver<LatestNews>,
    /// The config it was last sent.
    config: Option<TrackerConfig>,
    /// The retention it was last sent.
    keep_days: Option<KeepDays>,
    stopping: watch::Receiver<Option<End>>,
}

impl Trackers {
    /// Opens a tracker's socket. A socket that is already open for it ends with [`End::Replaced`].
    /// `stopping` yields the reason once every socket must end.
    pub(super) fn open(
        &self,
        tracker: TrackerId,
        organization: OrganizationId,
        stopping: watch::Receiver<Option<End>>,
    ) -> TrackerSession {
        let (sender, news) = watch::channel(LatestNews::default());
        let mut trackers = self.0.lock();
        let entry = trackers.entry(tracker).or_default();
        entry.opened += 1;
        let number = entry.opened;
        let socket = TrackerSocket { number, organization, news: sender };
        if let Some(before) = entry.socket.replace(socket) {
            before.end(End::Replaced);
        }
        TrackerSession {
            trackers: self.clone(),
            tracker,
            number,
            news,
            config: None,
            keep_days: None,
            stopping,
        }
    }

    /// Ends a tracker's socket, if it has one.
    pub(super) fn end(&self, tracker: TrackerId, why: End) {
        let trackers = self.0.lock();
        if let Some(socket) = trackers.get(&tracker).and_then(|entry| entry.socket.as_ref()) {
            socket.end(why);
        }
    }

    /// Ends the sockets of an organization's trackers.
    pub(super) fn end_organization(&self, organization: OrganizationId, why: End) {
        let trackers = self.0.lock();
        let sockets = trackers.values().filter_map(|entry| entry.socket.as_ref());
        sockets.filter(|socket| socket.organization == organization).for_each(|socket| socket.end(why));
    }

    /// Sends a connected tracker its new config. Must be called in the order of the changes.
    pub(super) fn configure(&self, tracker: TrackerId, config: TrackerConfig) {
        let trackers = self.0.lock();
        if let Some(socket) = trackers.get(&tracker).and_then(|entry| entry.socket.as_ref()) {
            socket.news.send_modify(|news| news.config = Some(config));
        }
    }

    /// Informs the sockets of an organization's trackers how long it keeps positions from now on.
    pub(super) fn keep_positions(&self, organization: OrganizationId, days: KeepDays) {
        let trackers = self.0.lock();
        let sockets = trackers.values().filter_map(|entry| entry.socket.as_ref());
        for socket in sockets.filter(|socket| socket.organization == organization) {
            socket.news.send_modify(|news| news.keep_days = Some(days));
        }
    }

    /// How many trackers are connected.
    pub(super) fn count(&self) -> usize {
        let trackers = self.0.lock();
        trackers.values().filter(|entry| entry.socket.is_some()).count()
    }
}

impl TrackerSession {
    /// Waits for news for the socket. A new config or retention comes before the end.
    pub async fn news(&mut self) -> News {
        loop {
            let news = *self.news.borrow_and_update();
            if let Some(config) = news.config.filter(|config| self.config != Some(*config)) {
                self.config = Some(config);
                return News::Config(config);
            }
            if let Some(days) = news.keep_days.filter(|days| self.keep_days != Some(*days)) {
                self.keep_days = Some(days);
                return News::KeepDays(days);
            }
            if let Some(end) = news.end {
                return News::End(end);
            }
            tokio::select! {
                Ok(()) = self.news.changed() => {}
                Ok(end) = self.stopping.wait_for(Option::is_some) => return News::End(end.unwrap_or(End::Restarting)),
                else => return News::End(End::Restarting),
            }
        }
    }

    /// The newest acknowledged `seq` of a boot, as far as this process remembers.
    #[must_use]
    pub fn acked(&self, boot: &str) -> Option<i64> {
        let trackers = self.trackers.0.lock();
        let known = trackers.get(&self.tracker).and_then(|entry| entry.boot.as_ref());
        known.filter(|(known, _)| known == boot).map(|(_, seq)| *seq)
    }

    /// Remembers the newest acknowledged `seq` of a boot.
    pub fn remember(&self, boot: &str, seq: i64) {
        let mut trackers = self.trackers.0.lock();
        let entry = trackers.entry(self.tracker).or_default();
        match &mut entry.boot {
            Some((known, acked)) if known == boot => *acked = seq.max(*acked),
            other => *other = Some((boot.to_owned(), seq)),
        }
    }
}

impl Drop for TrackerSession {
    fn drop(&mut self) {
        let mut trackers = self.trackers.0.lock();
        if let Some(entry) = trackers.get_mut(&self.tracker) {
            if entry.socket.as_ref().is_some_and(|socket| socket.number == self.number) {
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
    use uuid::Uuid;

    use super::*;
    use crate::sessions::Sessions;

    const TRACKER: TrackerId = TrackerId(Uuid::nil());
    const FLEET: OrganizationId = OrganizationId(Uuid::nil());

    #[test]
    fn the_second_socket_of_a_tracker_replaces_the_first() {
        let sessions = Sessions::default();
        let mut first = sessions.open(TRACKER, FLEET);
        let mut second = sessions.open(TRACKER, FLEET);
        assert_eq!(first.news().now_or_never(), Some(News::End(End::Replaced)));
        drop(first);
        assert_eq!(second.news().now_or_never(), None);
        sessions.end(TRACKER, FLEET, End::Credential);
        assert_eq!(second.news().now_or_never(), Some(News::End(End::Credential)));
    }

    #[test]
    fn acknowledged_numbers_belong_to_a_boot() {
        let sessions = Sessions::default();
        let session = sessions.open(TRACKER, FLEET);
        session.remember("a", 7);
        session.remember("a", 5);
        assert_eq!((session.acked("a"), session.acked("b")), (Some(7), None));
        drop(session);
        assert_eq!(sessions.open(TRACKER, FLEET).acked("a"), Some(7));
    }

    #[test]
    fn the_newest_config_is_told_once_and_before_the_end() {
        let sessions = Sessions::default();
        let mut session = sessions.open(TRACKER, FLEET);
        let every = |interval_seconds| TrackerConfig { interval_seconds, ..TrackerConfig::default() };
        sessions.configure(TRACKER, every(3));
        sessions.configure(TRACKER, every(4));
        assert_eq!(session.news().now_or_never(), Some(News::Config(every(4))));
        sessions.configure(TRACKER, every(4));
        assert_eq!(session.news().now_or_never(), None);
        sessions.configure(TRACKER, every(5));
        sessions.end(TRACKER, FLEET, End::Restarting);
        assert_eq!(session.news().now_or_never(), Some(News::Config(every(5))));
        assert_eq!(session.news().now_or_never(), Some(News::End(End::Restarting)));
    }
}
