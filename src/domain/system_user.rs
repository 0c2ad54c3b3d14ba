//! Programs that sign in: what they are allowed, and how they stand.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

use super::words::words;

words!(
    /// What a system user may do; `auth::permission` says which actions that are.
    Scope {
        /// Read drivers.
        DriversRead = "drivers:read",
        /// Make, change, lock and assign drivers.
        DriversWrite = "drivers:write",
        /// Read vehicles and trackers.
        VehiclesRead = "vehicles:read",
        /// Make and change vehicles and trackers.
        VehiclesWrite = "vehicles:write",
        /// Read geofences.
        GeofencesRead = "geofences:read",
        /// Make, change and import geofences.
        GeofencesWrite = "geofences:write",
        /// Read geofence events, visits and who is inside.
        EventsRead = "events:read",
        /// Read fuel logs.
        FuelRead = "fuel:read",
        /// Read the history of positions and the live feed.
        PositionsRead = "positions:read",
        /// Report positions for any tracker of the organization.
        PositionsIngest = "positions:ingest",
        /// Read the organization's users.
        UsersRead = "users:read",
    }
);

words!(
    /// How a system user stands.
    SystemUserStatus {
        /// Its address is not verified yet.
        PendingVerification = "pendingVerification",
        /// Can sign in.
        Active = "active",
        /// Has to wait after too many failed sign-ins.
        Locked = "locked",
        /// Was switched off.
        Disabled = "disabled",
    }
);

/// A set of scopes, in the order of the interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(from = "Vec<Scope>")]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Every scope.
    #[must_use]
    pub fn all() -> Self {
        Self(Scope::WORDS.iter().map(|(_, scope)| *scope).collect())
    }

    /// Whether a scope is one of them.
    #[must_use]
    pub fn contains(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(given: Vec<Scope>) -> Self {
        let mut all = Self::all();
        all.0.retain(|scope| given.contains(scope));
        all
    }
}

impl SystemUserStatus {
    /// The status as it is told: one that is active but has to wait is locked.
    #[must_use]
    pub fn at(self, locked_until: Option<Timestamp>, now: Timestamp) -> Self {
        if self == Self::Active && locked_until.is_some_and(|until| now < until) {
            Self::Locked
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_a_set_in_one_order() {
        let given = vec![Scope::FuelRead, Scope::DriversRead, Scope::FuelRead];
        let scopes = Scopes::from(given);
        assert_eq!(serde_json::json!(scopes), serde_json::json!(["drivers:read", "fuel:read"]));
        assert!(scopes.contains(Scope::FuelRead) && !scopes.contains(Scope::UsersRead));
    }
}
