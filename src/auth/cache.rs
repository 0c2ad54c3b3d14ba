//! What was looked up for those who report, by what identifies it: trackers by token or name, keys by token. Found in
//! memory until something about the trackers and keys of its organization changes.

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::{Mutex, MutexGuard};
use waypost_actors::model::OrganizationId;

use crate::sessions::{ChangeCounter, Sessions};

/// Values that were looked up. Beyond its bound it is emptied.
pub(super) struct Cache<K, V> {
    most: usize,
    known: Mutex<HashMap<K, Known<V>>>,
}

struct Known<V> {
    value: V,
    /// Counts changes to the trackers and keys of its organization.
    changes: ChangeCounter,
    /// The count of changes as of which `value` is valid.
    as_of: u64,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// An empty cache that holds at most `most` values.
    pub(super) fn of(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    /// What is known, if nothing about it has changed.
    pub(super) fn known(&self, key: &K) -> Option<V> {
        let all = self.lock();
        let known = all.get(key)?;
        (known.changes.count() == known.as_of).then(|| known.value.clone())
    }

    /// Whether something was found the last time, even if it has changed since.
    pub(super) fn recalls(&self, key: &K) -> bool {
        self.lock().contains_key(key)
    }

    /// A value from memory, or looked up and kept. What is found nowhere, or belongs to no organization, is not kept: a
    /// stranger can make up any number of tokens.
    pub(super) async fn look_up<E>(
        &self,
        sessions: &Sessions,
        key: K,
        organization: impl FnOnce(&V) -> Option<OrganizationId>,
        look_up: impl Future<Output = Result<Option<V>, E>>,
    ) -> Result<Option<V>, E> {
        match self.known(&key) {
            Some(known) => Ok(Some(known)),
            None => self.learn(sessions, key, organization, look_up).await,
        }
    }

    /// As [`look_up`](Self::look_up), but looked up whatever is known.
    pub(super) async fn learn<E>(
        &self,
        sessions: &Sessions,
        key: K,
        organization: impl FnOnce(&V) -> Option<OrganizationId>,
        look_up: impl Future<Output = Result<Option<V>, E>>,
    ) -> Result<Option<V>, E> {
        let looked_up_at = sessions.revocations();
        let Some(value) = look_up.await? else {
            self.lock().remove(&key);
            return Ok(None);
        };
        if let Some(organization) = organization(&value) {
            let changes = sessions.tracker_changes(organization);
            let as_of = changes.count();
            // A change committed after the query is counted already, or will be counted later than `as_of`.
            if sessions.revocations() == looked_up_at {
                self.keep([(key, value.clone())], &changes, as_of);
            }
        }
        Ok(Some(value))
    }

    /// Keeps values that were looked up as of a count of changes, which was read before the query.
    pub(super) fn keep(&self, values: impl IntoIterator<Item = (K, V)>, changes: &ChangeCounter, as_of: u64) {
        let mut all = self.lock();
        for (key, value) in values {
            if all.len() >= self.most {
                all.clear();
            }
            all.insert(key, Known { value, changes: changes.clone(), as_of });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Known<V>>> {
        self.known.lock()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const FLEET: OrganizationId = OrganizationId(Uuid::from_u128(1));
    const OTHER: OrganizationId = OrganizationId(Uuid::from_u128(2));

    #[test]
    fn what_was_looked_up_is_found_until_something_changes() {
        let (sessions, cache) = (Sessions::default(), Cache::of(10));
        let changes = sessions.tracker_changes(FLEET);
        cache.keep([("a", 1)], &changes, changes.count());
        cache.keep([("b", 2)], &sessions.tracker_changes(OTHER), 0);
        assert_eq!((cache.known(&"a"), cache.known(&"b"), cache.known(&"c")), (Some(1), Some(2), None));
        let before = changes.count();
        sessions.trackers_changed(FLEET);
        assert_eq!((cache.known(&"a"), cache.known(&"b")), (None, Some(2)));
        assert!(cache.recalls(&"a") && !cache.recalls(&"c"), "that there was one is known still");
        cache.keep([("a", 1)], &changes, before);
        assert_eq!(cache.known(&"a"), None, "a late answer is no news");
    }

    #[actix_rt::test]
    async fn what_changed_while_it_was_looked_up_is_not_kept() {
        let (sessions, cache) = (Sessions::default(), Cache::of(10));
        let found = |is_changed: bool| {
            let sessions = sessions.clone();
            async move {
                if is_changed {
                    sessions.trackers_changed(FLEET);
                }
                Ok::<_, ()>(Some(1))
            }
        };
        for (is_changed, kept) in [(true, None), (false, Some(1))] {
            let looked_up = cache.look_up(&sessions, "a", |_| Some(FLEET), found(is_changed)).await;
            assert_eq!((looked_up, cache.known(&"a")), (Ok(Some(1)), kept));
        }
        let from_memory = cache.look_up(&sessions, "a", |_| None, async { Err("looked up again") }).await;
        assert_eq!(from_memory, Ok(Some(1)));
        assert_eq!(cache.look_up(&sessions, "b", |_| None, found(false)).await, Ok(Some(1)));
        sessions.trackers_changed(FLEET);
        let gone = async { Ok::<Option<i32>, ()>(None) };
        assert_eq!(cache.look_up(&sessions, "a", |_| None, gone).await, Ok(None));
        assert!(!cache.recalls(&"a"));
        assert_eq!(cache.known(&"b"), None, "without an organization nothing would tell of a change");
    }

    #[test]
    fn their_number_is_bounded() {
        let (changes, cache) = (Sessions::default().tracker_changes(FLEET), Cache::of(3));
        cache.keep((0..4).map(|key| (key, key)), &changes, changes.count());
        assert_eq!((cache.known(&0), cache.known(&3)), (None, Some(3)));
    }
}
