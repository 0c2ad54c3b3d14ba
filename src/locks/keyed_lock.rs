//! A lock per key: work on one thing is done in turn, in the order of asking.
//!
//! Knows neither the things nor the work. Valid within one process, which is the only one that writes to its store.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Gate, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Most holders and waiters of one thing's turn.
const MOST_OF_ONE: usize = 8;
/// Most over all things.
const MOST: usize = 64;

/// The keys that are locked or waited for: ids of things, if nothing else is named.
#[derive(Clone)]
pub struct KeyedLock<K: Clone + Eq + Hash = Uuid> {
    gates: Arc<Mutex<HashMap<K, Arc<Gate<()>>>>>,
    places: Arc<Semaphore>,
}

/// Room in the queues of some keys, until dropped.
pub struct Reservation(#[expect(dead_code, reason = "is there until it is dropped")] OwnedSemaphorePermit);

/// A locked key, until dropped.
pub struct KeyGuard<K: Clone + Eq + Hash = Uuid> {
    lock: KeyedLock<K>,
    thing: K,
    gate: Option<OwnedMutexGuard<()>>,
}

impl<K: Clone + Eq + Hash> Default for KeyedLock<K> {
    fn default() -> Self {
        Self { gates: Arc::default(), places: Arc::new(Semaphore::new(MOST)) }
    }
}

impl<K: Clone + Eq + Hash> KeyedLock<K> {
    /// Reserves a place in the queues of these things; `None` if too many are reserved already. Called before work
    /// that will then queue for its turn, so that the queues are bounded.
    #[must_use]
    pub fn reserve(&self, things: impl IntoIterator<Item = K>) -> Option<Reservation> {
        let gates = self.gates.lock();
        // The map holds a reference too.
        let is_full = |thing| gates.get(&thing).is_some_and(|gate| Arc::strong_count(gate) > MOST_OF_ONE);
        if things.into_iter().any(is_full) {
            return None;
        }
        Arc::clone(&self.places).try_acquire_owned().ok().map(Reservation)
    }

    /// Waits for a thing's turn, in the order of asking.
    pub async fn lock(&self, thing: K) -> KeyGuard<K> {
        // Made first, so that who gives up waiting last removes the entry.
        let mut guard = KeyGuard { lock: self.clone(), thing, gate: None };
        let gate = {
            let mut gates = self.gates.lock();
            Arc::clone(gates.entry(guard.thing.clone()).or_default())
        };
        guard.gate = Some(gate.lock_owned().await);
        guard
    }
}

impl<K: Clone + Eq + Hash> Drop for KeyGuard<K> {
    fn drop(&mut self) {
        let mut gates = self.lock.gates.lock();
        self.gate = None;
        // Waiters hold the gate too; after the last one, the entry is removed.
        if gates.get(&self.thing).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            gates.remove(&self.thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[actix_rt::test]
    async fn one_after_another_and_nothing_is_left_behind() {
        let (lock, thing, other) = (KeyedLock::default(), Uuid::from_u128(1), Uuid::from_u128(2));
        let first = lock.lock(thing).await;
        let mut second = Box::pin(lock.lock(thing));
        assert!(second.as_mut().now_or_never().is_none(), "the second waits");
        assert!(lock.lock(other).now_or_never().is_some(), "another thing's turn is free");
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
        drop(second);
        assert!(lock.gates.lock().is_empty());
    }

    #[actix_rt::test]
    async fn lines_are_bounded_and_who_leaves_gives_his_place_back() {
        let (lock, thing, other) = (KeyedLock::default(), Uuid::from_u128(1), Uuid::from_u128(2));
        let first = lock.lock(thing).await;
        let mut waiting: Vec<_> = (1..MOST_OF_ONE).map(|_| Box::pin(lock.lock(thing))).collect();
        for turn in &mut waiting {
            assert!(turn.as_mut().now_or_never().is_none());
        }
        assert!(lock.reserve([other, thing]).is_none(), "so many wait for one thing");
        waiting.pop();
        let places: Vec<_> = std::iter::from_fn(|| lock.reserve([thing])).collect();
        assert_eq!(places.len(), MOST);
        assert!(lock.reserve([other]).is_none(), "so many wait in all");
        drop((first, waiting, places));
        assert!(lock.reserve([other]).is_some());
    }

    #[actix_rt::test]
    async fn whoever_waits_no_more_leaves_nothing_behind() {
        let (lock, thing) = (KeyedLock::default(), Uuid::nil());
        let first = lock.lock(thing).await;
        let mut second = Box::pin(lock.lock(thing));
        assert!(second.as_mut().now_or_never().is_none());
        drop(second);
        drop(first);
        assert!(lock.gates.lock().is_empty());

        let first = lock.lock(thing).await;
        let mut second = Box::pin(lock.lock(thing));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        drop(second);
        assert!(lock.gates.lock().is_empty(), "its turn came and was not taken");
    }
}
