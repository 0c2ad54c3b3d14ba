//! Turns: what concerns one thing is done by one after another.
//!
//! Knows neither what the things are nor what is done. Good within one process, which is the only one
//! that writes to its store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as Gate, OwnedMutexGuard};
use uuid::Uuid;

/// The turns that are taken or waited for.
#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<HashMap<Uuid, Arc<Gate<()>>>>>);

/// A turn, until dropped.
pub struct Turn {
    turns: Turns,
    thing: Uuid,
    gate: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn of a thing, in the order of asking.
    pub async fn take(&self, thing: Uuid) -> Turn {
        let gate = {
            let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(gates.entry(thing).or_default())
        };
        Turn { turns: self.clone(), thing, gate: Some(gate.lock_owned().await) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut gates = self.turns.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.gate = None;
        // Whoever waits holds the gate too; the last one leaves nothing behind.
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
        let (turns, thing, other) = (Turns::default(), Uuid::from_u128(1), Uuid::from_u128(2));
        let first = turns.take(thing).await;
        let mut second = Box::pin(turns.take(thing));
        assert!(second.as_mut().now_or_never().is_none(), "the second waits");
        assert!(turns.take(other).now_or_never().is_some(), "another thing's turn is free");
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
        drop(second);
        assert!(turns.0.lock().unwrap().is_empty());
    }

    #[actix_rt::test]
    async fn whoever_waits_no_more_leaves_nothing_behind() {
        let (turns, thing) = (Turns::default(), Uuid::nil());
        let first = turns.take(thing).await;
        let mut second = Box::pin(turns.take(thing));
        assert!(second.as_mut().now_or_never().is_none());
        drop(second);
        drop(first);
        assert!(turns.0.lock().unwrap().is_empty());
    }
}
