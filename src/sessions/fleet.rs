//! The sockets over which system users report for whole fleets: several at once, each with boots of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::news::End;
use super::watchers::WatcherSession;

/// Boots remembered per system user, those of open sockets in any case; beyond that, the least recently heard of is dropped.
const BOOTS: usize = 64;

/// A boot of what reports for a system user.
#[derive(Debug)]
struct Boot {
    name: String,
    /// The newest acknowledged `seq`.
    acked: Option<i64>,
    /// Open sockets that said it.
    sockets: usize,
    /// Whether several sockets had it at once. Whether they share their numbers too nobody knows, so what one was acknowledged
    /// says nothing of the others' items.
    is_shared: bool,
}

/// Some boots, most recently heard of last.
type Boots = VecDeque<Boot>;

/// The boots of system users that report, and the change counts of organizations' trackers.
#[derive(Clone, Default)]
pub(super) struct Fleets {
    boots: Arc<Mutex<HashMap<Uuid, Boots>>>,
    changes: Arc<Mutex<HashMap<OrganizationId, ChangeCounter>>>,
}

/// Counts changes to what reports for an organization: its trackers and keys. A cache of them is valid as long as the
/// count stays the same.
#[derive(Clone, Debug, Default)]
pub struct ChangeCounter(Arc<AtomicU64>);

impl ChangeCounter {
    /// How many changes there have been so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// A system user's reporting socket among the open ones, until dropped.
pub struct FleetSession {
    fleets: Fleets,
    who: Uuid,
    watcher: WatcherSession,
    boot: Option<String>,
}

impl Fleets {
    /// Wraps the open socket of a system user that reports.
    pub(super) fn open(&self, who: Uuid, watcher: WatcherSession) -> FleetSession {
        FleetSession { fleets: self.clone(), who, watcher, boot: None }
    }

    /// The count of changes to an organization's trackers.
    pub(super) fn changes(&self, organization: OrganizationId) -> ChangeCounter {
        let mut changes = self.changes.lock();
        changes.entry(organization).or_default().clone()
    }

    /// Counts a change to an organization's trackers.
    pub(super) fn count_change(&self, organization: OrganizationId) {
        let changes = self.changes.lock();
        if let Some(changes) = changes.get(&organization) {
            changes.0.fetch_add(1, Ordering::Release);
        }
    }
}

impl FleetSession {
    /// Waits until the socket must end.
    pub async fn ended(&mut self) -> End {
        let told = self.watcher.ending.wait_for(Option::is_some).await;
        told.ok().and_then(|end| *end).unwrap_or(End::Restarting)
    }

    /// Begins a boot, or none. Returns the newest acknowledged `seq` of it, as far as this process remembers; `None` while
    /// another socket has the same one.
    pub fn begin_boot(&mut self, boot: Option<&str>) -> Option<i64> {
        self.end_boot();
        let name = boot?;
        self.boot = Some(name.to_owned());
        self.with(name, |boot| {
            boot.sockets += 1;
            boot.is_shared |= boot.sockets > 1;
            boot.acked.filter(|_| !boot.is_shared)
        })
    }

    /// Remembers the newest acknowledged `seq` of the boot.
    pub fn remember(&self, seq: i64) {
        if let Some(name) = &self.boot {
            self.with(name, |boot| boot.acked = boot.acked.max(Some(seq)));
        }
    }

    fn end_boot(&mut self) {
        let Some(name) = self.boot.take() else { return };
        let mut boots = self.fleets.boots.lock();
        let Some(own) = boots.get_mut(&self.who) else { return };
        own.retain_mut(|boot| {
            if boot.name == name {
                boot.sockets = boot.sockets.saturating_sub(1);
            }
            boot.sockets > 0 || !boot.is_shared
        });
    }

    fn with<T>(&self, name: &str, change: impl FnOnce(&mut Boot) -> T) -> T {
        let mut boots = self.fleets.boots.lock();
        let own = boots.entry(self.who).or_default();
        let known = own.iter().position(|boot| boot.name == name).and_then(|index| own.remove(index));
        let new = || Boot { name: name.to_owned(), acked: None, sockets: 0, is_shared: false };
        let mut boot = known.unwrap_or_else(new);
        let changed = change(&mut boot);
        own.push_back(boot);
        if own.len() > BOOTS
            && let Some(oldest) = own.iter().position(|boot| boot.sockets == 0)
        {
            own.remove(oldest);
        }
        changed
    }
}

impl Drop for FleetSession {
    fn drop(&mut self) {
        self.end_boot();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use waypost_actors::model::TrackerId;

    use super::*;
    use crate::sessions::Sessions;

    const WHO: Uuid = Uuid::from_u128(1);
    const FLEET: OrganizationId = OrganizationId(Uuid::from_u128(2));

    #[test]
    fn several_sockets_of_one_system_user_are_open_at_once_and_end_by_session() {
        let sessions = Sessions::default();
        let mut one = sessions.open_fleet(WHO, Uuid::from_u128(10), FLEET);
        let mut two = sessions.open_fleet(WHO, Uuid::from_u128(11), FLEET);
        assert_eq!(one.ended().now_or_never(), None);
        sessions.end_session(Uuid::from_u128(10), End::Credential);
        assert_eq!(one.ended().now_or_never(), Some(End::Credential));
        assert_eq!(two.ended().now_or_never(), None);
        sessions.end_of(WHO, End::Disabled);
        assert_eq!(two.ended().now_or_never(), Some(End::Disabled));
    }

    #[test]
    fn each_boot_has_its_own_number_and_the_oldest_is_forgotten() {
        let sessions = Sessions::default();
        let mut socket = sessions.open_fleet(WHO, WHO, FLEET);
        for (boot, before, seq) in [("a", None, 7), ("b", None, 3), ("a", Some(7), 5), ("a", Some(7), 9)] {
            assert_eq!(socket.begin_boot(Some(boot)), before);
            socket.remember(seq);
        }
        drop(socket);
        let mut socket = sessions.open_fleet(WHO, WHO, FLEET);
        assert_eq!(
            [Some("a"), Some("b"), Some("c"), None].map(|boot| socket.begin_boot(boot)),
            [Some(9), Some(3), None, None]
        );
        for boot in 0..BOOTS {
            socket.begin_boot(Some(&boot.to_string()));
            socket.remember(1);
        }
        assert_eq!((socket.begin_boot(Some("0")), socket.begin_boot(Some("a"))), (Some(1), None));
    }

    #[test]
    fn what_one_socket_of_a_boot_was_acknowledged_says_nothing_to_another() {
        let sessions = Sessions::default();
        let [mut one, mut other] = [(); 2].map(|()| sessions.open_fleet(WHO, WHO, FLEET));
        assert_eq!(one.begin_boot(Some("gateway")), None);
        one.remember(5_000);
        assert_eq!(other.begin_boot(Some("gateway")), None, "it has numbers of its own");
        drop(other);
        let mut other = sessions.open_fleet(WHO, WHO, FLEET);
        assert_eq!(other.begin_boot(Some("gateway")), None, "one of them is open still");
        drop((one, other));
        let mut again = sessions.open_fleet(WHO, WHO, FLEET);
        assert_eq!(again.begin_boot(Some("gateway")), None, "whose numbers they were nobody knows");
        again.remember(7);
        drop(again);
        assert_eq!(sessions.open_fleet(WHO, WHO, FLEET).begin_boot(Some("gateway")), Some(7));
    }

    #[test]
    fn changes_are_counted_by_organization() {
        let sessions = Sessions::default();
        let changes = sessions.tracker_changes(FLEET);
        sessions.trackers_changed(OrganizationId(Uuid::from_u128(3)));
        assert_eq!(changes.count(), 0);
        sessions.trackers_changed(FLEET);
        assert_eq!(changes.count(), 1);
        sessions.end(TrackerId(Uuid::nil()), FLEET, End::Credential);
        assert_eq!(changes.count(), 2);
    }
}
