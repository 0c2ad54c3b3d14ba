//! Fixes on which a vehicle's actor panicked. They outlive the actor, so that its successors know them.

use std::cell::Cell;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::model::Fix;
use crate::tracking;

/// A fix is taken out after this many panics on it.
const PANICS: u32 = 3;
/// Fixes remembered per vehicle; beyond that, the oldest is forgotten.
const REMEMBERED: usize = 64;

/// The fixes on which one vehicle's actors panicked, with the number of panics.
#[derive(Clone, Default)]
pub(crate) struct PoisonFixes(Arc<Mutex<Vec<(Fix, u32)>>>);

/// Fixes that a vehicle leaves out.
#[derive(Default)]
pub(crate) struct Quarantined(Vec<Fix>);

/// Notes the fix that is being applied, should the step panic.
pub(crate) struct PanicGuard<'a> {
    poison: &'a PoisonFixes,
    fixes: &'a [Fix],
    at: Cell<usize>,
}

impl PoisonFixes {
    fn known(&self) -> MutexGuard<'_, Vec<(Fix, u32)>> {
        self.0.lock()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    /// The fixes on which the engine panicked often enough. They do not change while an actor lives: the panic that
    /// adds one ends it.
    pub(crate) fn quarantined(&self) -> Quarantined {
        let known = self.known();
        Quarantined(known.iter().filter(|(_, panics)| *panics >= PANICS).map(|(fix, _)| *fix).collect())
    }

    /// Watches a step over some fixes, until dropped.
    pub(crate) fn guard<'a>(&'a self, fixes: &'a [Fix]) -> PanicGuard<'a> {
        PanicGuard { poison: self, fixes, at: Cell::new(0) }
    }

    fn note(&self, fix: &Fix) {
        let mut known = self.known();
        if let Some((_, panics)) = known.iter_mut().find(|(known_fix, _)| is_same(known_fix, fix)) {
            *panics += 1;
            return;
        }
        if known.len() == REMEMBERED {
            known.remove(0);
        }
        known.push((*fix, 1));
    }
}

impl Quarantined {
    /// The fixes of a report that are left out.
    pub(crate) fn of(&self, fixes: &[Fix]) -> Vec<Fix> {
        let is_out = |fix: &&Fix| self.0.iter().any(|quarantined| is_same(quarantined, fix));
        if self.0.is_empty() { Vec::new() } else { fixes.iter().filter(is_out).copied().collect() }
    }
}

impl PanicGuard<'_> {
    /// The step is at this fix.
    pub(crate) fn at(&self, index: usize) {
        self.at.set(index);
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(fix) = self.fixes.get(self.at.get())
        {
            self.poison.note(fix);
        }
    }
}

/// The fixes in the order in which they are applied, without the quarantined ones; `None` if that changes nothing.
pub(super) fn in_order(fixes: &[Fix], quarantined: &[Fix]) -> Option<Vec<Fix>> {
    let is_ranked = fixes.is_sorted_by(|one, next| tracking::by_rank(one, next).is_le());
    if is_ranked && quarantined.is_empty() {
        return None;
    }
    let stays = |fix: &&Fix| !quarantined.iter().any(|out| is_same(out, fix));
    let mut fixes: Vec<Fix> = fixes.iter().filter(stays).copied().collect();
    fixes.sort_by(tracking::by_rank);
    Some(fixes)
}

/// Whether two reports are of one fix, by the key under which it is stored once.
pub(crate) fn is_same(one: &Fix, other: &Fix) -> bool {
    let key = |fix: &Fix| (fix.recorded_at, fix.place.latitude.to_bits(), fix.place.longitude.to_bits());
    key(one) == key(other)
}
