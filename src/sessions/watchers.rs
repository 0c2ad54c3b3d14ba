//! Sockets of people and system users, and how to end them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::news::End;

/// The sockets that are open.
#[derive(Clone, Default)]
pub(super) struct Watchers(Arc<Mutex<Open>>);

/// Keyed by the order of opening.
#[derive(Default)]
struct Open {
    opened: u64,
    open: HashMap<u64, (Watcher, watch::Sender<Option<End>>)>,
}

/// The owner of a socket.
pub(super) struct Watcher {
    pub(super) who: Uuid,
    pub(super) session: Uuid,
    pub(super) organization: Option<OrganizationId>,
    /// Whether it is a system user that reports, rather than a watcher.
    pub(super) is_fleet: bool,
}

/// A watcher's socket among the open ones, until dropped.
pub struct WatcherSession {
    watchers: Watchers,
    number: u64,
    /// Yields the reason once the socket must end.
    pub ending: watch::Receiver<Option<End>>,
}

impl Watchers {
    /// Opens a socket; if `all` holds a reason to end every socket, this one ends with it.
    pub(super) fn add(&self, watcher: Watcher, all: &watch::Sender<Option<End>>) -> WatcherSession {
        let mut watchers = self.0.lock();
        let (ending, told) = watch::channel(*all.borrow());
        watchers.opened += 1;
        let number = watchers.opened;
        watchers.open.insert(number, (watcher, ending));
        WatcherSession { watchers: self.clone(), number, ending: told }
    }

    /// Ends the sockets that `is_meant` selects.
    pub(super) fn end(&self, why: End, is_meant: impl Fn(&Watcher) -> bool) {
        let watchers = self.0.lock();
        for (_, ending) in watchers.open.values().filter(|(watcher, _)| is_meant(watcher)) {
            ending.send_replace(Some(why));
        }
    }

    /// How many sockets of reporting system users are open, and how many of others.
    pub(super) fn counts(&self) -> (usize, usize) {
        let watchers = self.0.lock();
        let fleets = watchers.open.values().filter(|(watcher, _)| watcher.is_fleet).count();
        (fleets, watchers.open.len() - fleets)
    }
}

impl Drop for WatcherSession {
    fn drop(&mut self) {
        self.watchers.0.lock().open.remove(&self.number);
    }
}
