//! What publishing asks use cases for.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use waypost_actors::live::VehicleNow;
use waypost_actors::model::{OrganizationId, VehicleId};

use crate::feed::ShowChange;

/// The vehicles of an organization that ever had a position, as they are now.
pub struct FleetNow {
    /// The vehicles.
    pub vehicles: Vec<(VehicleId, VehicleNow)>,
    /// The form in which GET gives a vehicle's newest position.
    pub show: Rc<dyn Fn(VehicleId, &VehicleNow) -> String>,
}

/// Reads a fleet; the error is the store's or the live core's.
pub type ReadFleet = Rc<dyn Fn(OrganizationId) -> LocalBoxFuture<'static, Result<FleetNow, String>>>;

/// What publishing asks use cases for.
#[derive(Clone)]
pub struct Ports {
    /// What a caller may see of a change.
    pub show_change: ShowChange,
    /// The newest positions.
    pub fleet: ReadFleet,
}
