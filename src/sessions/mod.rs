//! Open sockets, and how to end them: a tracker's, somebody's, an organization's, all of them at the end.
//!
//! Knows no protocol: a socket waits for its [`End`], whoever wants it gone says why.

mod fleet;
mod news;
mod tracker;
mod watchers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, TrackerId};

use crate::domain::tracker::TrackerConfig;
use fleet::Fleets;
pub use fleet::{Changes, FleetSession};
pub use news::{End, KeepDays, News};
pub use tracker::TrackerSession;
use tracker::Trackers;
pub use watchers::WatcherSession;
use watchers::{Watcher, Watchers};

/// The open sockets.
#[derive(Clone)]
pub struct Sessions {
    trackers: Trackers,
    watchers: Watchers,
    fleets: Fleets,
    all: Arc<watch::Sender<Option<End>>>,
    /// How often a right was taken, or what trackers report for was changed.
    revoked: Arc<AtomicU64>,
}

/// How many sockets are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Trackers'.
    pub trackers: usize,
    /// System users', over which they report for fleets.
    pub fleets: usize,
    /// Of those who watch.
    pub dispatchers: usize,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            trackers: Trackers::default(),
            watchers: Watchers::default(),
            fleets: Fleets::default(),
            all: Arc::new(watch::channel(None).0),
            revoked: Arc::default(),
        }
    }
}

impl Sessions {
    /// How often somebody's right to a socket changed so far. A socket that is opened by what was looked up
    /// at one count must be looked up again if there is another count once it is open: before that, whoever
    /// took the right found no socket to end.
    #[must_use]
    pub fn revocations(&self) -> u64 {
        self.revoked.load(Ordering::Acquire)
    }

    /// A right is taken, and committed. Before any look at who is open: who opens meanwhile sees the count.
    fn revoke(&self) {
        self.revoked.fetch_add(1, Ordering::AcqRel);
    }

    /// Opens the socket of somebody who watches. Whoever changed what they may do before this found no
    /// socket to end: look again after it.
    #[must_use]
    pub fn watch(&self, who: Uuid, session: Uuid, organization: Option<OrganizationId>) -> WatcherSession {
        self.watchers.add(Watcher { who, session, organization, is_fleet: false }, &self.all)
    }

    /// Opens a socket over which a system user reports. Whoever changed what it may do before this found
    /// no socket to end: look again after it.
    #[must_use]
    pub fn open_fleet(&self, who: Uuid, session: Uuid, organization: OrganizationId) -> FleetSession {
        let watcher = Watcher { who, session, organization: Some(organization), is_fleet: true };
        self.fleets.open(who, self.watchers.add(watcher, &self.all))
    }

    /// The count of changes to an organization's trackers.
    #[must_use]
    pub fn tracker_changes(&self, organization: OrganizationId) -> Changes {
        self.fleets.changes(organization)
    }

    /// Tells whoever keeps trackers of an organization that one of them, or where it sits, is different now.
    pub fn trackers_changed(&self, organization: OrganizationId) {
        self.revoke();
        self.fleets.count_change(organization);
    }

    /// Opens a tracker's socket; one that was open before is told that it was replaced.
    #[must_use]
    pub fn open(&self, tracker: TrackerId, organization: OrganizationId) -> TrackerSession {
        self.trackers.open(tracker, organization, self.all.subscribe())
    }

    /// Ends a tracker's socket, if it has one; whoever keeps what the tracker was hears that it changed.
    pub fn end(&self, tracker: TrackerId, organization: OrganizationId, why: End) {
        self.trackers_changed(organization);
        self.trackers.end(tracker, why);
    }

    /// Tells a tracker what it is to do from now on, if it is connected. To be called in the order of the changes.
    pub fn configure(&self, tracker: TrackerId, config: TrackerConfig) {
        self.revoke();
        self.trackers.configure(tracker, config);
    }

    /// Tells an organization's sockets for how many days it keeps positions from now on. To be called in the order of
    /// the changes.
    pub fn keep_positions(&self, organization: OrganizationId, days: Option<i64>) {
        self.trackers_changed(organization);
        self.trackers.keep_positions(organization, KeepDays(days));
    }

    /// Ends the sockets of an account or system user.
    pub fn end_of(&self, who: Uuid, why: End) {
        self.end_watchers(why, |watcher| watcher.who == who);
    }

    /// Ends the sockets that were opened within one session.
    pub fn end_session(&self, session: Uuid, why: End) {
        self.end_watchers(why, |watcher| watcher.session == session);
    }

    /// Ends the sockets of an organization: its trackers', its users' and its system users'.
    pub fn end_organization(&self, organization: OrganizationId, why: End) {
        self.end_watchers(why, |watcher| watcher.organization == Some(organization));
        self.fleets.count_change(organization);
        self.trackers.end_organization(organization, why);
    }

    /// Ends every socket.
    pub fn end_all(&self) {
        self.all.send_replace(Some(End::Restarting));
        self.end_watchers(End::Restarting, |_| true);
    }

    fn end_watchers(&self, why: End, is_meant: impl Fn(&Watcher) -> bool) {
        self.revoke();
        self.watchers.end(why, is_meant);
    }

    /// How many are open.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let (fleets, dispatchers) = self.watchers.counts();
        Counts { trackers: self.trackers.count(), fleets, dispatchers }
    }

    /// Tells when every socket must end; for sockets that are nobody's yet.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<Option<End>> {
        self.all.subscribe()
    }
}

/// A reporting socket's place: a tracker's own, or a system user's for a fleet.
pub enum Place {
    /// A tracker's.
    Tracker(TrackerSession),
    /// A system user's.
    Fleet(FleetSession),
}

impl Place {
    /// Waits until there is something to tell the socket.
    pub async fn news(&mut self) -> News {
        match self {
            Self::Tracker(session) => session.news().await,
            Self::Fleet(session) => News::End(session.ended().await),
        }
    }

    /// The newest acknowledged `seq` of a boot, as far as this process remembers.
    #[must_use]
    pub fn acked(&self, boot: &str) -> Option<i64> {
        match self {
            Self::Tracker(session) => session.acked(boot),
            Self::Fleet(session) => session.acked(boot),
        }
    }

    /// Remembers the newest acknowledged `seq` of a boot.
    pub fn remember(&self, boot: &str, seq: i64) {
        match self {
            Self::Tracker(session) => session.remember(boot, seq),
            Self::Fleet(session) => session.remember(boot, seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const TRACKER: TrackerId = TrackerId(Uuid::nil());
    const FLEET: OrganizationId = OrganizationId(Uuid::nil());
    const OTHER: OrganizationId = OrganizationId(Uuid::max());

    #[test]
    fn whoever_opens_while_a_right_is_taken_sees_it_by_the_count() {
        let sessions = Sessions::default();
        let looked_up_at = sessions.revocations();
        let open = sessions.open(TRACKER, FLEET);
        assert_eq!(sessions.revocations(), looked_up_at);
        drop(open);
        let mut count = looked_up_at;
        let taken: [&dyn Fn(); 6] = [
            &|| sessions.configure(TRACKER, TrackerConfig::default()),
            &|| sessions.end(TRACKER, FLEET, End::Credential),
            &|| sessions.end_of(Uuid::nil(), End::Credential),
            &|| sessions.end_session(Uuid::nil(), End::Credential),
            &|| sessions.end_organization(FLEET, End::Disabled),
            &|| sessions.trackers_changed(FLEET),
        ];
        for take in taken {
            take();
            assert!(sessions.revocations() > count);
            count = sessions.revocations();
        }
    }

    #[test]
    fn all_sockets_end_at_the_end() {
        let sessions = Sessions::default();
        let mut session = sessions.open(TRACKER, FLEET);
        sessions.end_all();
        let restarting = Some(News::End(End::Restarting));
        assert_eq!(session.news().now_or_never(), restarting);
        assert_eq!(sessions.open(TRACKER, FLEET).news().now_or_never(), restarting);
    }

    #[test]
    fn an_organizations_sockets_end_together_and_others_stay() {
        let sessions = Sessions::default();
        let (anna, bert) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut tracker = sessions.open(TRACKER, FLEET);
        let watching = [(anna, Some(FLEET)), (bert, Some(OTHER)), (bert, None)];
        let watching = watching.map(|(who, organization)| sessions.watch(who, Uuid::nil(), organization));
        let told = || watching.each_ref().map(|session| *session.ending.borrow());
        sessions.end_organization(FLEET, End::Disabled);
        assert_eq!(tracker.news().now_or_never(), Some(News::End(End::Disabled)));
        assert_eq!(told(), [Some(End::Disabled), None, None]);
        sessions.end_of(bert, End::Credential);
        assert_eq!(told()[1..], [Some(End::Credential), Some(End::Credential)]);
        drop(watching);
        assert_eq!(sessions.counts().dispatchers, 0);
        sessions.end_all();
        assert_eq!(*sessions.watch(anna, Uuid::nil(), None).ending.borrow(), Some(End::Restarting));
    }
}
