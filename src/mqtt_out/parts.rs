//! What publishing asks use cases for.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use waypost_actors::live::VehicleNow;
use waypost_actors::model::{OrganizationId, VehicleId};

use crate::feed::ShowChange;

/// The newest position of a vehicle as JSON, in the form in which GET gives it.
pub type ShowPosition = Rc<dyn Fn(VehicleId, &VehicleNow) -> String>;

/// The vehicles of an organization that ever had a position, as they are now.
pub struct FleetNow {
    /// The vehicles.
    pub vehicles: Vec<(VehicleId, VehicleNow)>,
    /// How one is shown.
    pub show: ShowPosition,
}

/// Reads a fleet; the error is the store's or the live core's.
pub type ReadFleet = Rc<dyn Fn(OrganizationId) -> LocalBoxFuture<'static, Result<FleetNow, String>>>;

/// Reads all vehicles of an organization with their names; the error is the store's.
pub type ReadNames =
    Rc<dyn Fn(OrganizationId) -> LocalBoxFuture<'static, Result<Vec<(VehicleId, String)>, String>>>;

/// What publishing asks use cases for.
#[derive(Clone)]
pub struct Ports {
    /// What a caller may see of a change.
    pub show_change: ShowChange,
    /// The newest positions.
    pub fleet: ReadFleet,
    /// What vehicles are called.
    pub names: ReadNames,
}
