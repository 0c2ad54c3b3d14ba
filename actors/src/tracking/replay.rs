//! Applies again what was applied before, to derive a state from an earlier one and the fixes since.

use super::attributes::apply_with;
use super::change::catch_up;
use super::context::Context;
use super::effects::{Effects, PositionRow};
use super::state::VehicleState;
use crate::model::Timestamp;

/// What one step applied to a vehicle, and what it recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The server's clock at the step.
    pub judged_at: Timestamp,
    /// The fixes that were handed to the store, in the order in which they were applied.
    pub rows: Vec<PositionRow>,
    /// How many records it made.
    pub records: usize,
}

/// Applies a step again, as of its own time. Returns whether the outcome is the same: it may differ if the
/// vehicle's settings or a fence were changed and no fix was judged by them before the server stopped; what was
/// recorded since then awaits a correction.
pub fn replay(state: &mut VehicleState, applied: &Applied, context: &Context<'_>) -> bool {
    let context = Context { detected_at: applied.judged_at, ..*context };
    let mut effects = Effects::default();
    for row in &applied.rows {
        apply_with(state, row.fix, row.attributes.as_ref(), &context, &mut effects);
    }
    catch_up(state, &context, &mut effects);
    effects.records.len() == applied.records && effects.rows[..] == applied.rows[..]
}
