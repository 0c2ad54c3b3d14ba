//! Where a vehicle is while the store is away. Fixes are judged and shown, and their effects are dropped: they are
//! reported again, and are judged and recorded then.

use std::sync::Arc;

use actix::prelude::*;

use super::actor::VehicleActor;
use super::poison::in_order;
use crate::model::{AttributesByFix, Fix};
use crate::tracking::{self, Context as Judgement, Effects, VehicleState};

/// Fixes that cannot be stored because the store is away: subscribers are still shown where the vehicle is. The
/// fixes are reported again later. From a reporter, which does not wait.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ShowProvisional(pub(crate) Vec<Fix>, pub(crate) AttributesByFix);

impl Handler<ShowProvisional> for VehicleActor {
    type Result = ();

    fn handle(&mut self, ShowProvisional(mut fixes, attributes): ShowProvisional, _: &mut Context<Self>) {
        self.is_new = false;
        let quarantined = self.quarantined.of(&fixes);
        fixes = in_order(&fixes, &quarantined).unwrap_or(fixes);
        let guard = self.parts.poison.guard(&fixes);
        let before = self.provisional.as_ref().unwrap_or(&self.state);
        let mut state = VehicleState::clone(before);
        let fences = self.parts.fences.load();
        let judgement =
            Judgement { vehicle: &self.parts.vehicle, fences: &fences, detected_at: (self.parts.clock)() };
        for (index, fix) in fixes.iter().enumerate() {
            guard.at(index);
            // The effects are found again, and recorded, when the fix can be stored.
            let carried = attributes.of(self.id(), fix);
            tracking::apply_with(&mut state, *fix, carried, &judgement, &mut Effects::default());
        }
        if !self.retired && state.last != before.last {
            let state = Arc::new(state);
            // Nothing of it is recorded.
            let settled = self.state.settled_through(None);
            self.parts.hub.publish_unstorable(self.id(), self.organization(), &state, settled);
            self.provisional = Some(state);
        }
    }
}
