//! System users: programs that sign in, their scopes and their status.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::account::new_password;
use super::body::body;
use super::fold::folded;
use super::members::{Read, any_text, email, id, one_of};
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
        /// Read geofence events, visits, who is inside, and the history of positions.
        EventsRead = "events:read",
        /// Read fuel logs.
        FuelRead = "fuel:read",
        /// Read the history of positions and the live feed.
        PositionsRead = "positions:read",
        /// Report positions for any tracker of the organization.
        PositionsIngest = "positions:ingest",
        /// Read the organization's users.
        UsersRead = "users:read",
        /// Read webhooks and their attempts.
        WebhooksRead = "webhooks:read",
        /// Make and change webhooks, which are sent what the other scopes read.
        WebhooksWrite = "webhooks:write",
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

/// A system user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemUser {
    /// Which.
    pub id: Uuid,
    /// Its organization; one that signed up by itself has none before it made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Its address, unique among system users.
    pub email: String,
    /// What may be changed of it.
    #[serde(flatten)]
    pub attributes: SystemUserIn,
    /// How it stands: may be set to `active` or `disabled`.
    pub status: SystemUserStatus,
    /// When its address was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_verified_at: Option<Timestamp>,
    /// When it last signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

body!(
    /// The attributes of a system user that a client sets.
    #[derive(Eq)]
    pub struct SystemUserIn {
        /// What it is called, 1 to 120 characters.
        name "name": required String, text(1..=120);
        /// What it may do.
        scopes "scopes": required Scopes, by(scopes, value_type = Vec<Scope>);
    }
);

body!(
    /// A new system user.
    pub struct CreateSystemUser {
        /// What it is called.
        name "name": required String, text(1..=120);
        /// Its address; a letter with a link goes there.
        email "email": required String, by(email, format = Email, max_length = 254);
        /// Its password.
        password "password": required String, by(new_password, format = Password, min_length = 12, max_length = 128);
        /// What it may do; not for a sign-up.
        scopes "scopes": optional Scopes, by(scopes, value_type = Option<Vec<Scope>>);
        /// Whose it is; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
    }
);

body!(
    /// What may be changed of a system user.
    pub struct UpdateSystemUser {
        /// `active` (also after it was locked) or `disabled`.
        status "status": given SystemUserStatus, word;
        /// The rest.
        ..attributes: SystemUserIn;
        /// A new password, which ends its sessions.
        password "password": given String, by(any_text, format = Password, min_length = 12, max_length = 128);
    }
    READ_ONLY: &["id", "organizationId", "email", "emailVerifiedAt", "lastLoginAt", "createdAt", "updatedAt"];
);

impl SystemUserIn {
    /// The text that is searched, including the address.
    #[must_use]
    pub fn search_key(&self, email: &str) -> String {
        folded(&format!("{} {email}", self.name))
    }
}

impl SystemUser {
    /// The part that clients change, which `If-Match` guards.
    #[must_use]
    pub fn tagged(&self) -> Self {
        let status =
            if self.status == SystemUserStatus::Locked { SystemUserStatus::Active } else { self.status };
        Self { last_login_at: None, status, ..self.clone() }
    }
}

/// A list of scopes.
pub fn scopes(value: &Value) -> Read<Scopes> {
    let items = value.as_array().ok_or_else(|| ("type", "a list of scopes".to_owned()))?;
    let read: Result<Vec<Scope>, _> = items.iter().map(one_of(Scope::WORDS)).collect();
    read.map(Scopes::from).map_err(|(code, must)| (code, format!("a list, each {must}")))
}

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

    /// Whether a scope is among them.
    #[must_use]
    pub fn contains(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Those that are not among others, as words.
    #[must_use]
    pub fn without(&self, others: &Self) -> Vec<&'static str> {
        self.0.iter().filter(|scope| !others.contains(**scope)).map(|scope| scope.as_str()).collect()
    }

    /// Those that are among others too.
    #[must_use]
    pub fn within(&self, others: &Self) -> Self {
        Self(self.0.iter().copied().filter(|scope| others.contains(*scope)).collect())
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
    /// The status to show: an active user that has to wait after failed sign-ins is locked.
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
