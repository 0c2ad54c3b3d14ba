//! The sockets over which system users report for whole fleets: several at once, each with boots of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::news::End;
use super::watchers::WatcherSession;

/// Boots remembered per system user; beyond that, the least recently heard of is dropped.
const BOOTS: usize = 64;

/// The newest acknowledged `seq` of some boots, most recently heard of last.
type Boots = VecDeque<(String, i64)>;

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
}

impl Fleets {
    /// Wraps the open socket of a system user that reports.
    pub(super) fn open(&self, who: Uuid, watcher: WatcherSession) -> FleetSession {
        FleetSession { fleets: self.clone(), who, watcher }
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

    /// The newest acknowledged `seq` of a boot, as far as this process remembers.
    #[must_use]
    pub fn acked(&self, boot: &str) -> Option<i64> {
        let boots = self.fleets.boots.lock();
        boots.get(&self.who)?.iter().find(|(known, _)| known == boot).map(|(_, seq)| *seq)
    }

    /// Remembers the newest acknowledged `seq` of a boot.
    pub fn remember(&self, boot: &str, seq: i64) {
        let mut boots = self.fleets.boots.lock();
        let own = boots.entry(self.who).or_default();
        let known = own.iter().position(|(known, _)| known == boot).and_then(|index| own.remove(index));
        let before = known.as_ref().map_or(seq, |(_, before)| *before);
        own.push_back((boot.to_owned(), before.max(seq)));
        if own.len() > BOOTS {
            own.pop_front();
        }
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
        let socket = sessions.open_fleet(WHO, WHO, FLEET);
        socket.remember("a", 7);
        socket.remember("b", 3);
        socket.remember("a", 5);
        assert_eq!((socket.acked("a"), socket.acked("b"), socket.acked("c")), (Some(7), Some(3), None));
        for boot in 0..BOOTS {
            socket.remember(&boot.to_string(), 1);
        }
        assert_eq!((socket.acked("a"), socket.acked("0")), (None, Some(1)));
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
