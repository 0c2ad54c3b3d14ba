//! The parts of a vehicle that a caller may see.

use waypost_actors::model::Analytics;

use super::caller::Caller;
use super::permission::Action;

/// The parts of a vehicle's live state that a caller may see, each by a right of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Where it is, and whether it moves.
    pub positions: bool,
    /// The geofences it is in.
    pub occupancy: bool,
    /// Its fuel, and what its sensor reported.
    pub fuel: bool,
}

impl Sees {
    /// Whether everything is visible.
    #[must_use]
    pub const fn all(self) -> bool {
        self.positions && self.occupancy && self.fuel
    }

    /// Removes from a visit's analytics what the caller may not see: the fuel used.
    pub const fn narrow(self, analytics: &mut Option<Analytics>) {
        if let Some(analytics) = analytics
            && !self.fuel
        {
            analytics.fuel_used_liters = None;
        }
    }
}

impl Caller {
    /// The parts of a vehicle that the caller may see now.
    #[must_use]
    pub fn sees(&self) -> Sees {
        let may = |action| self.may(action).is_ok();
        Sees {
            positions: may(Action::ReadLivePositions),
            occupancy: may(Action::ReadEvents),
            fuel: may(Action::ReadFuel),
        }
    }
}
