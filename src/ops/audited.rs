//! The resources whose changes are audited, and how the audit names them.

use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId};

use super::publish::LiveResource;
use crate::domain::alert::Alert;
use crate::domain::api_key::ApiKey;
use crate::domain::audit::AuditResource;
use crate::domain::driver::Driver;
use crate::domain::fuel_verdict::JudgedFuelEvent;
use crate::domain::geofence::Geofence;
use crate::domain::organization::Organization;
use crate::domain::pending_tracker::PendingTracker;
use crate::domain::share::Share;
use crate::domain::system_user::SystemUser;
use crate::domain::tracker::Tracker;
use crate::domain::user::User;
use crate::domain::vehicle::Vehicle;
use crate::domain::webhook::Webhook;

/// A resource whose changes are audited.
pub(super) trait Audited {
    /// Its kind.
    const RESOURCE: AuditResource;

    /// Its id.
    fn audit_id(&self) -> Uuid;

    /// The organization whose audit records the change, given that of the change's scope; `None` for the platform's
    /// own.
    fn owner(&self, of_scope: Option<OrganizationId>) -> Option<OrganizationId> {
        of_scope
    }

    /// The part of the live core to update after the commit, if there is one.
    fn live_resource(&self) -> Option<LiveResource> {
        None
    }
}

/// `Type => AuditResource, its id;`, with the methods that differ from the defaults.
macro_rules! audited {
    ($($type:ty => $resource:ident, |$self:ident| $id:expr $(, $method:item)?;)+) => {$(
        impl Audited for $type {
            const RESOURCE: AuditResource = AuditResource::$resource;

            fn audit_id(&self) -> Uuid {
                let $self = self;
                $id
            }

            $($method)?
        }
    )+};
}

audited!(
    Organization => Organization, |organization| organization.id.0;
    OrganizationId => Organization, |id| id.0;
    Driver => Driver, |driver| driver.id.0;
    DriverId => Driver, |id| id.0;
    Tracker => Tracker, |tracker| tracker.id.0;
    Webhook => Webhook, |webhook| webhook.id;
    PendingTracker => PendingTracker, |device| device.id;
    Alert => Alert, |alert| alert.event.id.0;
    JudgedFuelEvent => FuelEvent, |judged| judged.event.event.id.0;
    Share => Share, |share| share.id;
    Vehicle => Vehicle, |vehicle| vehicle.id.0, fn live_resource(&self) -> Option<LiveResource> {
        Some(LiveResource::Vehicle(self.id))
    };
    Geofence => Geofence, |geofence| geofence.id.0, fn live_resource(&self) -> Option<LiveResource> {
        Some(LiveResource::Geofence(self.id))
    };
    User => User, |user| user.id, fn owner(&self, _: Option<OrganizationId>) -> Option<OrganizationId> {
        self.organization_id
    };
    ApiKey => ApiKey, |key| key.id, fn owner(&self, _: Option<OrganizationId>) -> Option<OrganizationId> {
        self.organization_id
    };
    SystemUser => SystemUser, |user| user.id, fn owner(&self, _: Option<OrganizationId>) -> Option<OrganizationId> {
        self.organization_id
    };
);
