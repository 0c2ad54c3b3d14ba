//! Open sockets, and how to end them: one tracker's, one user's, an organization's, or all of them at shutdown.
//!
//! Knows no protocol: a socket waits for its [`End`], and the code that ends it gives the reason.

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
pub use fleet::{ChangeCounter, FleetSession};
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
    /// Counts revoked rights and changes to what trackers report for.
    revoked: Arc<AtomicU64>,
}

/// How many sockets are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sockets of trackers.
    pub trackers: usize,
    /// Sockets of system users that report for fleets.
    pub fleets: usize,
    /// Sockets of watchers.
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
    /// Counts changes to the right to hold a socket. Read it before the lookup that authorizes a socket and again
    /// once the socket is open. If it changed, repeat the lookup: a revocation in between found no socket to end.
    #[must_use]
    pub fn revocations(&self) -> u64 {
        self.revoked.load(Ordering::Acquire)
    }

    /// Counts a committed revocation. Call this before looking for open sockets, so that a socket opened meanwhile
    /// sees the new count.
    fn revoke(&self) {
        self.revoked.fetch_add(1, Ordering::AcqRel);
    }

    /// Opens a watcher's socket. A change to the watcher's rights before this call found no socket to end, so look
    /// them up again afterwards.
    #[must_use]
    pub fn watch(&self, who: Uuid, session: Uuid, organization: Option<OrganizationId>) -> WatcherSession {
        self.watchers.add(Watcher { who, session, organization, is_fleet: false }, &self.all)
    }

    /// Opens the socket over which a system user reports. A change to its rights before this call found no socket to
    /// end, so look them up again afterwards.
    #[must_use]
    pub fn open_fleet(&self, who: Uuid, session: Uuid, organization: OrganizationId) -> FleetSession {
        let watcher = Watcher { who, session, organization: Some(organization), is_fleet: true };
        self.fleets.open(who, self.watchers.add(watcher, &self.all))
    }

    /// The count of changes to an organization's trackers.
    #[must_use]
    pub fn tracker_changes(&self, organization: OrganizationId) -> ChangeCounter {
        self.fleets.changes(organization)
    }

    /// Invalidates what is cached of an organization's trackers and keys after a change to one of them, to where a
    /// tracker is installed, or to a key's system user.
    pub fn trackers_changed(&self, organization: OrganizationId) {
        self.revoke();
        self.fleets.count_change(organization);
    }

    /// Invalidates cached keys of an organization's system users after a change to a key or its system user. Without
    /// an organization none is cached.
    pub fn keys_changed(&self, organization: Option<OrganizationId>) {
        if let Some(organization) = organization {
            self.trackers_changed(organization);
        }
    }

    /// Opens a tracker's socket. A socket that is already open for it ends with [`End::Replaced`].
    #[must_use]
    pub fn open(&self, tracker: TrackerId, organization: OrganizationId) -> TrackerSession {
        self.trackers.open(tracker, organization, self.all.subscribe())
    }

    /// Ends a tracker's socket, if it has one, and invalidates cached trackers of the organization.
    pub fn end(&self, tracker: TrackerId, organization: OrganizationId, why: End) {
        self.trackers_changed(organization);
        self.trackers.end(tracker, why);
    }

    /// Sends a connected tracker its new config. Must be called in the order of the changes.
    pub fn configure(&self, tracker: TrackerId, config: TrackerConfig) {
        self.revoke();
        self.trackers.configure(tracker, config);
    }

    /// Informs an organization's sockets for how many days it keeps positions from now on. Must be called in the
    /// order of the changes.
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

    /// Yields the reason once every socket must end; for sockets that have not signed in yet.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<Option<End>> {
        self.all.subscribe()
    }
}

/// The registration of a reporting socket: a tracker's own, or a system user's for a fleet.
pub enum ReportingSession {
    /// A tracker's.
    Tracker(TrackerSession),
    /// A system user's.
    Fleet(FleetSession),
}

impl ReportingSession {
    /// Waits for news for the socket.
    pub async fn news(&mut self) -> News {
        match self {
            Self::Tracker(session) => session.news().await,
            Self::Fleet(session) => News::End(session.ended().await),
        }
    }

    /// Begins a boot, or none; returns the newest acknowledged `seq` of it, as far as this process remembers.
    pub fn begin_boot(&mut self, boot: Option<&str>) -> Option<i64> {
        match self {
            Self::Tracker(session) => session.acked(boot?),
            Self::Fleet(session) => session.begin_boot(boot),
        }
    }

    /// Remembers the newest acknowledged `seq` of a boot.
    pub fn remember(&self, boot: &str, seq: i64) {
        match self {
            Self::Tracker(session) => session.remember(boot, seq),
            Self::Fleet(session) => session.remember(seq),
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
