//! Ids of the things that are tracked. UUIDv7 for what is created, UUIDv8 for what is derived.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "schema", schema(value_type = String, format = "uuid"))]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id!(
    /// An organization: the tenant everything tracked belongs to.
    OrganizationId
);
id!(
    /// A vehicle.
    VehicleId
);
id!(
    /// A tracker: the device whose credential sends fixes.
    TrackerId
);
id!(
    /// A driver.
    DriverId
);
id!(
    /// A geofence, through all of its versions.
    GeofenceId
);
id!(
    /// An entry, exit or dwell record. Derived from what it records, so that a replay finds it again.
    EventId
);
id!(
    /// One stay of a vehicle in a geofence, from its entry to its exit.
    VisitId
);
