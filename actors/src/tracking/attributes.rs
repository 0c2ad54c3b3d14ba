//! What fixes carry beside where the vehicle is, on their way to the store. Nothing is judged by it.

use super::context::Context;
use super::effects::{Effects, Freshness, PositionRow};
use super::state::VehicleState;
use super::timeline::apply;
use crate::model::{Attributes, Fix};

/// Applies one accepted fix, and notes what its report says beside it.
pub fn apply_with(
    state: &mut VehicleState,
    fix: Fix,
    attributes: Option<&Attributes>,
    context: &Context<'_>,
    effects: &mut Effects,
) {
    let first = effects.rows.len();
    apply(state, fix, context, effects);
    if let Some(attributes) = attributes {
        carry(state, &fix, attributes, first, effects);
    }
}

/// `first`: where the step's rows begin.
fn carry(state: &mut VehicleState, fix: &Fix, attributes: &Attributes, first: usize, effects: &mut Effects) {
    let is_newest =
        state.last.is_some_and(|last| last.recorded_at == fix.recorded_at && last.place == fix.place);
    let mut adds = true;
    if is_newest {
        let whole =
            state.attributes.as_ref().map_or_else(|| attributes.clone(), |known| known.merge(attributes));
        adds = state.attributes.as_ref() != Some(&whole);
        state.attributes = Some(whole);
    }
    match effects.rows[first..].iter_mut().rfind(|row| row.fix.place == fix.place) {
        Some(row) => row.attributes = Some(attributes.clone()),
        // The fix itself was known, member by member.
        None if adds => {
            effects.duplicates -= 1;
            effects.rows.push(PositionRow {
                fix: *fix,
                quarantine: None,
                attributes: Some(attributes.clone()),
                freshness: Freshness::Repeat,
            });
        }
        None => {}
    }
}
