//! A change of master data in the log: to what, by which act. What the thing looks like now is read where it is told.

use uuid::Uuid;

use super::ids::OrganizationId;
use super::time::Timestamp;

crate::words!(
    /// The kind of a thing that was changed.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    ChangedResource {
        /// An organization and its settings.
        Organization = "organization",
        /// A vehicle.
        Vehicle = "vehicle",
        /// A tracker.
        Tracker = "tracker",
        /// A geofence.
        Geofence = "geofence",
        /// A driver, as one organization sees them.
        Driver = "driver",
        /// A user.
        User = "user",
        /// A system user.
        SystemUser = "systemUser",
        /// A key of a system user, never its token.
        ApiKey = "apiKey",
        /// An assignment of a driver to a vehicle.
        Assignment = "assignment",
        /// What was done with an alert; what becomes of the alert itself is an event.
        Alert = "alert",
    }
);

crate::words!(
    /// How a thing was changed.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    ChangeKind {
        /// It was made.
        Created = "created",
        /// It was changed.
        Updated = "updated",
        /// It is gone.
        Deleted = "deleted",
    }
);

/// A change of master data, numbered in the same order as records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its place in the log, given by the writer: records and changes share one order of numbers.
    pub sequence: i64,
    /// Whose; `None` for the platform's own accounts.
    pub organization_id: Option<OrganizationId>,
    /// The kind of the thing.
    pub resource: ChangedResource,
    /// Which.
    pub resource_id: Uuid,
    /// How it was changed.
    pub kind: ChangeKind,
    /// When.
    pub changed_at: Timestamp,
}
