//! THE table of permissions: per action the roles of people, what a system user needs, and whether it still works
//! without a subscription.

use crate::domain::account::Role;
use crate::domain::system_user::Scope;

/// The effect of an action on an organization's data, which decides whether it still works without a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Shows something: still works.
    Read,
    /// Changes something: refused.
    Write,
    /// Stores what trackers report: still works.
    Track,
    /// Takes access away: still works, because a key that leaked must not stay until somebody has paid.
    Revoke,
}

/// What a system user needs for an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It is for people only.
    Never,
    /// Every system user may, whatever its scopes.
    Any,
    /// It needs one of these scopes.
    With(&'static [Scope]),
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $action:ident [$($role:ident)*] $program:expr, $effect:ident;)+) => {
        /// An action that needs a permission.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$doc])* $action,)+
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$action,)+];

            /// The roles that may do it.
            #[must_use]
            pub const fn roles(self) -> &'static [Role] {
                match self { $(Self::$action => &[$(Role::$role),*],)+ }
            }

            /// What a system user needs for it.
            #[must_use]
            pub const fn program(self) -> Program {
                use Program::{Any, Never, With};
                use Scope::{
                    DriversRead, DriversWrite, EventsRead, FuelRead, GeofencesRead, GeofencesWrite, PositionsIngest,
                    PositionsRead, UsersRead, VehiclesRead, VehiclesWrite, WebhooksRead, WebhooksWrite,
                };
                match self { $(Self::$action => $program,)+ }
            }

            /// Its effect on an organization's data.
            #[must_use]
            pub const fn effect(self) -> Effect {
                match self { $(Self::$action => Effect::$effect,)+ }
            }
        }
    };
}

permissions! {
    /// List the system users of an organization.
    ListSystemUsers    [SuperAdmin Admin OrgAdmin] Never, Read;
    /// See a system user; a system user sees itself.
    ReadSystemUser     [SuperAdmin Admin OrgAdmin] Any, Read;
    /// Make, change and delete system users, with their scopes.
    WriteSystemUsers   [SuperAdmin Admin OrgAdmin] Never, Write;
    /// List the keys of system users, never their tokens.
    ReadApiKeys        [SuperAdmin Admin OrgAdmin] Never, Read;
    /// Make keys of system users. No key makes keys.
    WriteApiKeys       [SuperAdmin Admin OrgAdmin] Never, Write;
    /// Revoke keys of system users.
    RevokeApiKeys      [SuperAdmin Admin OrgAdmin] Never, Revoke;
    /// See organizations: operators all of them, others their own.
    ReadOrganization   [SuperAdmin Admin OrgAdmin Dispatcher Viewer] Any, Read;
    /// See organizations that are not active.
    ListAllOrganizations [SuperAdmin Admin] Never, Read;
    /// Make an organization without waiting for its activation.
    CreateOrganization [SuperAdmin Admin] Never, Write;
    /// Activate an organization by hand.
    ActivateOrganization [SuperAdmin Admin] Never, Write;
    /// See the requests for activation by mail.
    ReadActivationRequests [SuperAdmin] Never, Read;
    /// Delete an organization.
    DeleteOrganization [SuperAdmin] Never, Write;
    /// Change an organization's own data and settings.
    UpdateOrganization [SuperAdmin Admin OrgAdmin] Never, Write;
    /// Change an organization's subscription and status.
    ManageSubscription [SuperAdmin Admin] Never, Write;
    /// List the users of an organization.
    ListUsers          [SuperAdmin Admin OrgAdmin Dispatcher] With(&[UsersRead]), Read;
    /// See a user by itself; everybody sees themselves.
    ReadUsers          [SuperAdmin Admin OrgAdmin] With(&[UsersRead]), Read;
    /// Invite and change users; everybody changes themselves, but for role and status.
    WriteUsers         [SuperAdmin Admin OrgAdmin] Never, Write;
    /// Invite and change the platform's operators; everybody changes themselves, but for role and status.
    WriteOperators     [SuperAdmin] Never, Write;
    /// See drivers, and find one by license.
    ReadDrivers        [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[DriversRead]), Read;
    /// Make, change and delete drivers, and correct what they drove.
    WriteDrivers       [SuperAdmin Admin OrgAdmin] With(&[DriversWrite]), Write;
    /// Assign drivers to vehicles and end assignments.
    AssignDrivers      [SuperAdmin Admin OrgAdmin Dispatcher] With(&[DriversWrite]), Write;
    /// Lock and unlock drivers.
    LockDrivers        [SuperAdmin Admin OrgAdmin] With(&[DriversWrite]), Write;
    /// See vehicles; where they are and what else is live of them has rights of its own.
    ReadVehicles       [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[VehiclesRead]), Read;
    /// Make, change and delete vehicles.
    WriteVehicles      [SuperAdmin Admin OrgAdmin] With(&[VehiclesWrite]), Write;
    /// See trackers, never their tokens: equipment of vehicles, so by their scope.
    ReadTrackers       [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[VehiclesRead]), Read;
    /// Make, change and delete trackers, and their tokens.
    WriteTrackers      [SuperAdmin Admin OrgAdmin] With(&[VehiclesWrite]), Write;
    /// See geofences, and how many vehicles are in each; which ones takes `ReadEvents`.
    ReadGeofences      [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[GeofencesRead]), Read;
    /// Make, change, delete and import geofences.
    WriteGeofences     [SuperAdmin Admin OrgAdmin Dispatcher] With(&[GeofencesWrite]), Write;
    /// Try out a geofence on what is stored; what was where takes `ReadPositions` too.
    TryGeofences       [SuperAdmin Admin OrgAdmin Dispatcher] With(&[GeofencesWrite]), Read;
    /// See geofence events and who is inside.
    ReadEvents         [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[EventsRead]), Read;
    /// Say of alerts that they are seen, put them off, and say whether a drain was one; who sees them takes `ReadEvents`.
    HandleAlerts       [SuperAdmin Admin OrgAdmin Dispatcher] Never, Write;
    /// See links that show vehicles without an account, never their tokens.
    ReadShares         [SuperAdmin Admin OrgAdmin Dispatcher] Never, Read;
    /// Make links that show vehicles without an account.
    WriteShares        [SuperAdmin Admin OrgAdmin Dispatcher] Never, Write;
    /// Revoke links that show vehicles without an account.
    RevokeShares       [SuperAdmin Admin OrgAdmin Dispatcher] Never, Revoke;
    /// See fuel logs, charts and raw data.
    ReadFuel           [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[FuelRead]), Read;
    /// See where a vehicle was: it is part of positions, and what events were made of.
    ReadPositions      [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[PositionsRead, EventsRead]), Read;
    /// See who changed what.
    ReadAudit          [SuperAdmin Admin OrgAdmin] Never, Read;
    /// See where vehicles are now: in the live feed, and as `live` of a vehicle.
    ReadLivePositions  [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[PositionsRead]), Read;
    /// Open the live feed. Each of its topics takes a right of its own.
    WatchLive          [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[PositionsRead, EventsRead, FuelRead,
        VehiclesRead, DriversRead, GeofencesRead, UsersRead]), Read;
    /// Follow changes of master data; each is told to who may see what was changed.
    ReadChanges        [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(&[VehiclesRead, DriversRead, GeofencesRead,
        UsersRead]), Read;
    /// See webhooks and their attempts, never their secrets.
    ReadWebhooks       [SuperAdmin Admin OrgAdmin] With(&[WebhooksRead]), Read;
    /// Make, change, delete and test webhooks, and have them send again.
    WriteWebhooks      [SuperAdmin Admin OrgAdmin] With(&[WebhooksWrite]), Write;
    /// Report positions for the trackers of an organization; a tracker reports its own by its own token.
    IngestPositions    [] With(&[PositionsIngest]), Track;
}

impl Action {
    /// Whether a role may do it.
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        self.roles().contains(&role)
    }

    /// The roles that may do it, for people.
    #[must_use]
    pub fn needs(self) -> String {
        let roles: Vec<&str> = self.roles().iter().map(|role| role.as_str()).collect();
        let people = match roles.as_slice() {
            [] => None,
            [one] => Some(format!("the role {one}")),
            several => Some(format!("one of the roles {}", several.join(", "))),
        };
        let program = match self.program() {
            Program::Never => None,
            Program::Any => Some("a system user".to_owned()),
            Program::With(scopes) => {
                let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
                Some(format!("a system user with the scope {}", scopes.join(" or ")))
            }
        };
        let needed: Vec<String> = people.into_iter().chain(program).collect();
        format!("this needs {}", needed.join(", or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_roles_and_scope() {
        assert_eq!(
            Action::WriteVehicles.needs(),
            "this needs one of the roles superAdmin, admin, orgAdmin, or a system user with the scope vehicles:write"
        );
        assert_eq!(Action::DeleteOrganization.needs(), "this needs the role superAdmin");
        assert_eq!(
            Action::IngestPositions.needs(),
            "this needs a system user with the scope positions:ingest"
        );
        let needs = Action::ReadPositions.needs();
        assert!(needs.ends_with("with the scope positions:read or events:read"), "{needs}");
    }

    #[test]
    fn every_scope_opens_something() {
        for (word, scope) in Scope::WORDS {
            let opens = Action::ALL
                .iter()
                .any(|action| matches!(action.program(), Program::With(scopes) if scopes.contains(scope)));
            assert!(opens, "{word}");
        }
    }
}
