//! THE table of who may do what.

use crate::domain::account::Role;

macro_rules! permissions {
    ($($(#[$doc:meta])* $action:ident [$($role:ident)*];)+) => {
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
        }
    };
}

permissions! {
    /// See organizations: operators all of them, others their own.
    ReadOrganization   [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
    /// See organizations that are not active.
    ListAllOrganizations [SuperAdmin Admin];
    /// Make an organization.
    CreateOrganization [SuperAdmin Admin];
    /// Activate an organization by hand.
    ActivateOrganization [SuperAdmin Admin];
    /// Change an organization's own data and settings.
    UpdateOrganization [SuperAdmin Admin OrgAdmin];
    /// Change an organization's subscription and status.
    ManageSubscription [SuperAdmin Admin];
    /// See vehicles and where they are.
    ReadVehicles       [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
    /// Make, change and delete vehicles.
    WriteVehicles      [SuperAdmin Admin OrgAdmin];
    /// See trackers, never their tokens.
    ReadTrackers       [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
    /// Make, change and delete trackers, and their tokens.
    WriteTrackers      [SuperAdmin Admin OrgAdmin];
    /// See geofences.
    ReadGeofences      [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
    /// Make, change and delete geofences.
    WriteGeofences     [SuperAdmin Admin OrgAdmin Dispatcher];
    /// See geofence events and who is inside.
    ReadEvents         [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
    /// See who changed what.
    ReadAudit          [SuperAdmin Admin OrgAdmin];
    /// Watch the live feed.
    WatchLive          [SuperAdmin Admin OrgAdmin Dispatcher Viewer];
}

impl Action {
    /// Whether a role may do it.
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        self.roles().contains(&role)
    }
}
