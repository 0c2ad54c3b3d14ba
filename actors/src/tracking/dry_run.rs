//! What fences would have made of a vehicle's stored fixes, had they been in force then: the fixes are judged by the very steps that
//! judge live ones, from the first on (docs/tracking.md, "Dry runs").

use super::change::advance;
use super::context::Context;
use super::correction::one_of_each;
use super::effects::{Effects, VisitRow};
use super::state::VehicleState;
use super::timeline::apply;
use crate::model::{Fix, Timestamp, VisitId};

/// A vehicle's fixes so far, and the stays they made.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    state: VehicleState,
    /// Fixes of the newest instant given: more of it may come.
    waiting: Vec<Fix>,
    stays: Vec<(Timestamp, Option<Timestamp>)>,
    /// Those that go on, with their places among all.
    open: Vec<(VisitId, usize)>,
}

impl DryRun {
    /// Judges stored fixes that are not older than those given before.
    pub fn judge(&mut self, fixes: Vec<Fix>, context: &Context<'_>) {
        let Some(newest) = fixes.iter().map(|fix| fix.recorded_at).max() else { return };
        let given = std::mem::take(&mut self.waiting).into_iter().chain(fixes);
        let (waiting, before) = given.partition(|fix| fix.recorded_at == newest);
        self.waiting = waiting;
        self.apply(before, context);
    }

    /// Everything recorded up to an instant is given.
    pub fn settle(&mut self, until: Timestamp, context: &Context<'_>) {
        let waiting = std::mem::take(&mut self.waiting);
        self.apply(waiting, context);
        let mut effects = Effects::default();
        advance(&mut self.state, until, context, &mut effects);
        self.keep(&effects.visits);
    }

    /// From when each stay lasted, and until when unless it goes on; those in one fence in order.
    #[must_use]
    pub fn stays(&self) -> &[(Timestamp, Option<Timestamp>)] {
        &self.stays
    }

    fn apply(&mut self, fixes: Vec<Fix>, context: &Context<'_>) {
        let mut effects = Effects::default();
        for fix in one_of_each(fixes) {
            apply(&mut self.state, fix, context, &mut effects);
        }
        self.keep(&effects.visits);
    }

    fn keep(&mut self, rows: &[VisitRow]) {
        for row in rows {
            let exited_at = row.exit.map(|(_, at)| at);
            match self.open.iter().position(|(id, _)| *id == row.id) {
                Some(index) if exited_at.is_some() => {
                    let (_, place) = self.open.swap_remove(index);
                    self.stays[place].1 = exited_at;
                }
                Some(_) => {}
                None => {
                    self.open.push((row.id, self.stays.len()));
                    self.stays.push((row.entered_at, None));
                }
            }
        }
    }
}
