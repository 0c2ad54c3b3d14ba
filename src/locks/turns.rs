//! Work of which each organization does one piece at a time, and all together few. Without a turn a caller is refused: nothing waits.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

/// The organizations that are at work.
#[derive(Clone, Debug)]
pub struct Turns {
    taken: Arc<Mutex<HashSet<Uuid>>>,
    most: usize,
}

/// The right to do the work, until dropped.
#[derive(Debug)]
pub struct OwnTurn {
    turns: Turns,
    of: Uuid,
}

impl Turns {
    /// How many in all.
    #[must_use]
    pub fn of(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    /// Begins an organization's work; `None` if it is at work already, or too many are.
    #[must_use]
    pub fn begin(&self, organization: Uuid) -> Option<OwnTurn> {
        let mut taken = self.taken.lock();
        let is_free = taken.len() < self.most && taken.insert(organization);
        is_free.then(|| OwnTurn { turns: self.clone(), of: organization })
    }
}

impl Drop for OwnTurn {
    fn drop(&mut self) {
        self.turns.taken.lock().remove(&self.of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_and_few_of_all() {
        let [a, b, c] = [1, 2, 3].map(Uuid::from_u128);
        let turns = Turns::of(2);
        let first = turns.begin(a).unwrap();
        assert!(turns.begin(a).is_none(), "one at a time");
        let second = turns.begin(b).unwrap();
        assert!(turns.begin(c).is_none(), "two in all");
        drop(first);
        assert!(turns.begin(c).is_some() && turns.begin(b).is_none());
        drop(second);
        assert!(turns.begin(b).is_some());
    }
}
