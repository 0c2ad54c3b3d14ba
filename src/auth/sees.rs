//! What a caller is shown of a vehicle.

use waypost_actors::model::Analytics;

use super::caller::Caller;
use super::permission::Action;

/// Which parts of what the live core knows of a vehicle a caller is shown; each has a right of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Where it is, and whether it moves.
    pub positions: bool,
    /// Which geofences it is in.
    pub occupancy: bool,
    /// Its fuel, and what its sensor reported.
    pub fuel: bool,
}

impl Sees {
    /// Whether nothing is left out.
    #[must_use]
    pub const fn all(self) -> bool {
        self.positions && self.occupancy && self.fuel
    }

    /// Leaves out of what a visit came to what is not shown: the fuel it took.
    pub const fn narrow(self, analytics: &mut Option<Analytics>) {
        if let Some(analytics) = analytics
            && !self.fuel
        {
            analytics.fuel_used_liters = None;
        }
    }
}

impl Caller {
    /// What the caller is shown of a vehicle now.
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
