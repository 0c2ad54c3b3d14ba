//! The vocabulary of live tracking: ids, instants, fixes, fences, events.
//!
//! Owns the words every other module speaks. Knows nothing of geometry, actors, SQL or HTTP;
//! it reads no clock and draws no random number.

mod analytics;
mod attributes;
mod attributes_by_fix;
mod change;
mod connection;
mod event;
mod fence;
mod fix;
mod ids;
mod sensor;
mod time;
mod vehicle;

pub use analytics::{Analytics, Motion};
pub use attributes::{
    AttributeProblem, AttributeValue, Attributes, MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, NewAttributes,
};
pub use attributes_by_fix::AttributesByFix;
pub use change::{Change, ChangeKind, ChangedResource};
pub use connection::{Connection, Silence};
pub use event::{Cause, Event, EventFix, EventKind, EventStatus, Origin};
pub use fence::{Circle, Fence, FenceVersion, MultiPolygon, Polygon, Ring, Rules, ShapeSpec};
pub use fix::{Fix, FuelReading, Merged, Place};
pub use ids::{DriverId, EventId, GeofenceId, OrganizationId, TrackerId, VehicleId, VisitId};
pub use sensor::{Calibration, CalibrationPoint, Sensor, SensorKind};
pub use time::{InvalidTimestamp, Timestamp};
pub use vehicle::{Vehicle, VehicleLimits};
