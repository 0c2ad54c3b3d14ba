//! THE table of who may do what: per action the roles of people, and what it takes of a system user.

use crate::domain::account::Role;
use crate::domain::system_user::Scope;

/// What an action takes of a system user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It is for people only.
    Never,
    /// Every system user may, whatever its scopes.
    Any,
    /// It needs this scope.
    With(Scope),
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $action:ident [$($role:ident)*] $program:expr;)+) => {
        /// Something that needs a permission.
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

            /// What it takes of a system user.
            #[must_use]
            pub const fn program(self) -> Program {
                use Program::{Any, Never, With};
                use Scope::{
                    DriversRead, DriversWrite, EventsRead, FuelRead, GeofencesRead, GeofencesWrite, PositionsIngest,
                    PositionsRead, UsersRead, VehiclesRead, VehiclesWrite,
                };
                match self { $(Self::$action => $program,)+ }
            }
        }
    };
}

permissions! {
    /// List the system users of an organization.
    ListSystemUsers    [SuperAdmin Admin OrgAdmin] Never;
    /// See a system user; a system user sees itself.
    ReadSystemUser     [SuperAdmin Admin OrgAdmin] Any;
    /// Make, change and delete system users, with their scopes.
    WriteSystemUsers   [SuperAdmin Admin OrgAdmin] Never;
    /// See organizations: operators all of them, others their own.
    ReadOrganization   [SuperAdmin Admin OrgAdmin Dispatcher Viewer] Any;
    /// See organizations that are not active.
    ListAllOrganizations [SuperAdmin Admin] Never;
    /// Make an organization without waiting for its activation.
    CreateOrganization [SuperAdmin Admin] Never;
    /// Activate an organization by hand.
    ActivateOrganization [SuperAdmin Admin] Never;
    /// See the requests for activation by mail.
    ReadActivationRequests [SuperAdmin] Never;
    /// Delete an organization.
    DeleteOrganization [SuperAdmin] Never;
    /// Change an organization's own data and settings.
    UpdateOrganization [SuperAdmin Admin OrgAdmin] Never;
    /// Change an organization's subscription and status.
    ManageSubscription [SuperAdmin Admin] Never;
    /// See the users of an organization; everybody sees themselves.
    ReadUsers          [SuperAdmin Admin OrgAdmin Dispatcher] With(UsersRead);
    /// Invite and change users; everybody changes themselves, but for role and status.
    WriteUsers         [SuperAdmin Admin OrgAdmin] Never;
    /// Invite and change the platform's operators; everybody changes themselves, but for role and status.
    WriteOperators     [SuperAdmin] Never;
    /// See drivers, and find one by license.
    ReadDrivers        [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(DriversRead);
    /// Make, change and delete drivers.
    WriteDrivers       [SuperAdmin Admin OrgAdmin] With(DriversWrite);
    /// Assign drivers to vehicles and end assignments.
    AssignDrivers      [SuperAdmin Admin OrgAdmin Dispatcher] With(DriversWrite);
    /// Lock and unlock drivers.
    LockDrivers        [SuperAdmin Admin OrgAdmin] With(DriversWrite);
    /// See vehicles and where they are.
    ReadVehicles       [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(VehiclesRead);
    /// Make, change and delete vehicles.
    WriteVehicles      [SuperAdmin Admin OrgAdmin] With(VehiclesWrite);
    /// See trackers, never their tokens.
    ReadTrackers       [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(VehiclesRead);
    /// Make, change and delete trackers, and their tokens.
    WriteTrackers      [SuperAdmin Admin OrgAdmin] With(VehiclesWrite);
    /// See geofences.
    ReadGeofences      [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(GeofencesRead);
    /// Make, change, delete and import geofences.
    WriteGeofences     [SuperAdmin Admin OrgAdmin Dispatcher] With(GeofencesWrite);
    /// See geofence events and who is inside.
    ReadEvents         [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(EventsRead);
    /// See fuel logs, charts and raw data.
    ReadFuel           [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(FuelRead);
    /// See where a vehicle was.
    ReadPositions      [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(PositionsRead);
    /// See who changed what.
    ReadAudit          [SuperAdmin Admin OrgAdmin] Never;
    /// Watch the live feed.
    WatchLive          [SuperAdmin Admin OrgAdmin Dispatcher Viewer] With(PositionsRead);
    /// Report positions for the trackers of an organization; a tracker reports its own by its own token.
    IngestPositions    [] With(PositionsIngest);
}

impl Action {
    /// Whether a role may do it.
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        self.roles().contains(&role)
    }

    /// What one must be to do it, for people.
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
            Program::With(scope) => Some(format!("a system user with the scope {}", scope.as_str())),
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
    }

    #[test]
    fn every_scope_opens_something() {
        for (word, scope) in Scope::WORDS {
            let opens = Action::ALL.iter().any(|action| action.program() == Program::With(*scope));
            assert!(opens, "{word}");
        }
    }
}
